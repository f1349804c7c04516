/**
 * Everybody who is ready: by priority, within one the groups take turns, within a group its parts do, and within a part
 * it goes in the order of coming.
 */
export interface Standing {
  readonly group: string | undefined;
  readonly part: string | undefined;
  priority: number;
}

interface Group<E> {
  /** How many more may go before it is the next group's turn. */
  credit: number;
  /**
   * The part whose turn it is first. A set remembers the order in which things came: whoever gets ready, or more
   * urgent, goes to the end.
   */
  readonly parts: Map<string | undefined, Set<E>>;
}

/** The groups of one priority, the one whose turn it is first. */
type Line<E> = Map<string | undefined, Group<E>>;

/** Whom to pass over. A group that is passed over keeps its turn. */
export interface Passing<E> {
  isOpen(group: string | undefined): boolean;
  isFree(entry: E): boolean;
}

/**
 * A round goes through all groups, and every group sends as many as it weighs. As all items cost the same, this is
 * deficit round-robin without deficits to carry over.
 */
export class Lines<E extends Standing> {
  readonly #weightOf: (group: string) => number;
  readonly #lines = new Map<number, Line<E>>();

  constructor(weightOf: (group: string) => number) {
    this.#weightOf = weightOf;
  }

  join(entry: E): void {
    const { group: name, part, priority } = entry;
    let line = this.#lines.get(priority);
    if (!line) {
      line = new Map();
      this.#lines.set(priority, line);
    }
    let group = line.get(name);
    if (!group) {
      group = { credit: this.#credit(name), parts: new Map() };
      line.set(name, group);
    }
    const entries = group.parts.get(part);
    if (entries) entries.add(entry);
    else group.parts.set(part, new Set([entry]));
  }

  leave(entry: E): void {
    const line = this.#lines.get(entry.priority);
    const group = line?.get(entry.group);
    const entries = group?.parts.get(entry.part);
    if (!line || !group || !entries?.delete(entry)) return;
    if (entries.size === 0) group.parts.delete(entry.part);
    if (group.parts.size === 0) line.delete(entry.group);
    if (line.size === 0) this.#lines.delete(entry.priority);
  }

  /** Takes out whoever is next. */
  take(passing: Passing<E>): E | undefined {
    const priorities = [...this.#lines.keys()].sort((a, b) => b - a);
    for (const priority of priorities) {
      const entry = this.#first(priority, passing);
      if (entry) return entry;
    }
    return undefined;
  }

  /** How many stand at each priority. */
  sizes(counts: (entry: E) => boolean): Map<number, number> {
    const sizes = new Map<number, number>();
    for (const [priority, line] of this.#lines) {
      let size = 0;
      for (const { parts } of line.values()) {
        for (const entries of parts.values()) for (const entry of entries) if (counts(entry)) size++;
      }
      sizes.set(priority, size);
    }
    return sizes;
  }

  clear(): void {
    this.#lines.clear();
  }

  #first(priority: number, { isOpen, isFree }: Passing<E>): E | undefined {
    const line = this.#lines.get(priority) ?? [];
    for (const [name, group] of line) {
      if (!isOpen(name)) continue;
      const entry = firstOf(group, isFree);
      if (!entry) continue;
      this.leave(entry);
      this.#passOn(priority, name, group);
      passPartOn(group, entry.part);
      return entry;
    }
    return undefined;
  }

  /** After one has gone: a group that has sent its share goes to the end of the round. */
  #passOn(priority: number, name: string | undefined, group: Group<E>): void {
    group.credit--;
    const line = this.#lines.get(priority);
    if (group.credit > 0 || line?.get(name) !== group) return;
    group.credit = this.#credit(name);
    line.delete(name);
    line.set(name, group);
  }

  #credit(name: string | undefined): number {
    return name === undefined ? 1 : Math.max(1, Math.floor(this.#weightOf(name)));
  }
}

function firstOf<E>({ parts }: Group<E>, isFree: (entry: E) => boolean): E | undefined {
  for (const entries of parts.values()) for (const entry of entries) if (isFree(entry)) return entry;
  return undefined;
}

/** A part of which one has gone goes to the end of its group's round. */
function passPartOn<E>({ parts }: Group<E>, part: string | undefined): void {
  const entries = parts.get(part);
  if (!entries || parts.size === 1) return;
  parts.delete(part);
  parts.set(part, entries);
}
