/**
 * What was made of objects lately, up to a number of bytes, and as much again of what was made before that. Whatever
 * is asked for counts as new; an object that is gone takes what was made of it along.
 */
export class Generations<K extends object, V> {
  readonly #bytes: number;
  readonly #sizeOf: (value: V) => number;
  #recent = new WeakMap<K, V>();
  #earlier = new WeakMap<K, V>();
  #recentBytes = 0;

  constructor(bytes: number, sizeOf: (value: V) => number) {
    this.#bytes = bytes;
    this.#sizeOf = sizeOf;
  }

  get(key: K): V | undefined {
    const recent = this.#recent.get(key);
    if (recent !== undefined) return recent;
    const earlier = this.#earlier.get(key);
    if (earlier !== undefined) this.set(key, earlier);
    return earlier;
  }

  /** As `get`, for those who come by once: it does not count as asked for. */
  peek(key: K): V | undefined {
    return this.#recent.get(key) ?? this.#earlier.get(key);
  }

  set(key: K, value: V): void {
    const size = this.#sizeOf(value);
    this.#recentBytes += size;
    if (this.#recentBytes > this.#bytes) {
      this.#earlier = this.#recent;
      this.#recent = new WeakMap();
      this.#recentBytes = size;
    }
    this.#recent.set(key, value);
  }
}
