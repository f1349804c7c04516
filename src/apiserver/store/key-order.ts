/** Up to this many changes are put in place one by one; more are sorted and merged. */
const FEW = 16;

/**
 * The keys of one resource in order. Putting keys in order waits until somebody asks, so that loading many
 * objects sorts once and a single create in a large resource moves little.
 */
export class KeyOrder {
  #keys: string[] = [];
  readonly #added = new Set<string>();
  readonly #removed = new Set<string>();

  add(key: string): void {
    if (this.#removed.delete(key)) return;
    const last = this.#keys.at(-1);
    if (last === undefined || key > last) this.#keys.push(key);
    else this.#added.add(key);
  }

  remove(key: string): void {
    if (!this.#added.delete(key)) this.#removed.add(key);
  }

  /** All keys in order; with a prefix, only those that begin with it. Not to be changed nor kept. */
  sorted(prefix?: string): readonly string[] {
    this.#settle();
    const keys = this.#keys;
    if (prefix === undefined) return keys;
    const start = lowerBound(keys, prefix);
    let end = start;
    while (keys[end]?.startsWith(prefix)) end++;
    return keys.slice(start, end);
  }

  #settle(): void {
    const changes = this.#added.size + this.#removed.size;
    if (changes === 0) return;
    if (changes <= FEW) {
      for (const key of this.#removed) this.#keys.splice(lowerBound(this.#keys, key), 1);
      for (const key of this.#added) this.#keys.splice(lowerBound(this.#keys, key), 0, key);
    } else {
      const kept = this.#removed.size === 0 ? this.#keys : this.#keys.filter((key) => !this.#removed.has(key));
      this.#keys = merge(kept, [...this.#added].sort(compare));
    }
    this.#added.clear();
    this.#removed.clear();
  }
}

/** Orders keys as strings, unit by unit, without regard to language. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function lowerBound(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function merge(left: string[], right: string[]): string[] {
  if (right.length === 0) return left;
  const merged: string[] = [];
  let at = 0;
  for (const key of left) {
    for (let next = right[at]; next !== undefined && next < key; next = right[++at]) merged.push(next);
    merged.push(key);
  }
  for (; at < right.length; at++) merged.push(right[at] as string);
  return merged;
}
