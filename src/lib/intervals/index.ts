/** Sets of whole numbers that take little room however large they grow, written as `0-3,5,7,8`. */

/** Both ends belong to it. */
export type Interval = readonly [first: number, last: number];

export class IntervalSet {
  static readonly empty = new IntervalSet([]);
  /** In order, and no two of them touch. */
  readonly #intervals: readonly Interval[];

  private constructor(intervals: readonly Interval[]) {
    this.#intervals = intervals;
  }

  static of(numbers: Iterable<number>): IntervalSet {
    const single = [...numbers].sort((a, b) => a - b).map((number): Interval => [number, number]);
    return new IntervalSet(joined(single));
  }

  /** Reads the numbers below a limit and overlooks what it cannot read: the text may be anybody's. */
  static parse(text: string, below: number): IntervalSet {
    const read = text.split(",").flatMap((part): Interval[] => {
      const [from = "", to = from] = part.split("-");
      const [first, last] = [wholeNumber(from), wholeNumber(to)];
      return first === undefined || last === undefined || first >= below ? [] : [[first, Math.min(last, below - 1)]];
    });
    return new IntervalSet(joined(read.filter(([first, last]) => first <= last).sort(([a], [b]) => a - b)));
  }

  get size(): number {
    return this.#intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  has(number: number): boolean {
    return this.#intervals.some(([first, last]) => first <= number && number <= last);
  }

  union(other: IntervalSet): IntervalSet {
    return new IntervalSet(joined([...this.#intervals, ...other.#intervals].sort(([a], [b]) => a - b)));
  }

  /** How many numbers are in both. */
  overlap(other: IntervalSet): number {
    return this.#intervals
      .flatMap(([first, last]) =>
        other.#intervals.map(([otherFirst, otherLast]) => Math.min(last, otherLast) - Math.max(first, otherFirst) + 1),
      )
      .reduce((sum, common) => sum + Math.max(0, common), 0);
  }

  /** The first so many numbers below a limit that are not in the set. */
  missing(count: number, below: number): number[] {
    const found: number[] = [];
    let number = 0;
    for (const [first, last] of [...this.#intervals, [below, below] as const]) {
      for (; number < Math.min(first, below) && found.length < count; number++) found.push(number);
      number = Math.max(number, last + 1);
    }
    return found;
  }

  toString(): string {
    return this.#intervals
      .map(([first, last]) => (first === last ? `${first}` : `${first}${last === first + 1 ? "," : "-"}${last}`))
      .join(",");
  }
}

/** Intervals that are in order, with those that touch made one. */
function joined(ordered: readonly Interval[]): Interval[] {
  const result: Interval[] = [];
  for (const [first, last] of ordered) {
    const before = result.at(-1);
    if (before && first <= before[1] + 1) result[result.length - 1] = [before[0], Math.max(before[1], last)];
    else result.push([first, last]);
  }
  return result;
}

/** What is wrong with such a text when its numbers must be below a limit and in order; undefined when nothing is. */
export function intervalsProblem(text: string, below: number): string | undefined {
  let previous = -1;
  for (const part of text === "" ? [] : text.split(",")) {
    const ends = part.split("-");
    if (ends.length > 2) {
      return `the fragment ${JSON.stringify(part)} violates the requirement that an index interval can have at most two parts separated by '-'`;
    }
    for (const end of ends) {
      const number = wholeNumber(end);
      if (number === undefined) return `cannot convert string to integer for index: ${JSON.stringify(end)}`;
      if (number >= below) return `too large index: ${JSON.stringify(end)}`;
      if (number <= previous) return `non-increasing order, previous: ${previous}, current: ${number}`;
      previous = number;
    }
  }
  return undefined;
}

function wholeNumber(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
