/** Families of series: one name, and one value for every combination of labels that was seen. */
import { labelText, line, numberText } from "./text.ts";

export type Labels<L extends string> = Readonly<Record<L, string>>;

/** What every family can do. */
interface Family<L extends string> {
  /** Drops every series with these labels: what they counted is gone for good. */
  forget(labels: Partial<Labels<L>>): void;
}

export interface Counter<L extends string = never> extends Family<L> {
  /** Adds one, or `by`, which must not be negative. */
  increment(labels: Labels<L>, by?: number): void;
}

export interface Gauge<L extends string = never> extends Family<L> {
  set(labels: Labels<L>, value: number): void;
  add(labels: Labels<L>, by: number): void;
}

export interface Histogram<L extends string = never> extends Family<L> {
  observe(labels: Labels<L>, value: number): void;
  /** Shows the series with zeros although nothing was observed yet. */
  initialise(labels: Labels<L>): void;
}

/** One value of a gauge or counter that is computed when it is read. */
export interface Sample<L extends string = never> {
  readonly labels: Labels<L>;
  readonly value: number;
}

/** The values of one family, by the text of their labels. */
export class Series<L extends string, V> {
  readonly #names: readonly L[];
  readonly #limit: number;
  readonly #create: () => V;
  readonly #values = new Map<string, V>();
  /** The same values by their bare labels: writing the text of the labels takes longer than counting. */
  readonly #byLabels = new Map<string, { readonly labels: Labels<L>; readonly value: V }>();

  constructor(names: readonly L[], limit: number, create: () => V) {
    this.#names = names;
    this.#limit = limit;
    this.#create = create;
  }

  at(labels: Labels<L>): V {
    let bare = "";
    for (const name of this.#names) {
      const value = labels[name] ?? "";
      bare += `${value.length}:${value}`; // with its length, so that no two combinations read alike
    }
    const known = this.#byLabels.get(bare);
    if (known !== undefined) return known.value;
    const key = labelText(this.#names, labels);
    const isOwn = this.#values.has(key) || this.#values.size < this.#limit;
    const value = this.#valueOf(isOwn ? key : labelText(this.#names, {}));
    if (isOwn) this.#byLabels.set(bare, { labels: { ...labels }, value });
    return value;
  }

  forget(labels: Partial<Labels<L>>): void {
    const wanted = Object.entries(labels) as [L, string][];
    for (const [bare, known] of this.#byLabels) {
      if (!wanted.every(([name, value]) => (known.labels[name] ?? "") === value)) continue;
      this.#byLabels.delete(bare);
      this.#values.delete(labelText(this.#names, known.labels));
    }
  }

  /** Beyond the limit everything new goes to one series whose labels are empty, so that totals stay right. */
  #valueOf(key: string): V {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const created = this.#create();
    this.#values.set(key, created);
    return created;
  }

  entries(): [string, V][] {
    return [...this.#values].sort(([a], [b]) => (a < b ? -1 : 1));
  }
}

/** A number that counts on in place. */
export interface Tally {
  value: number;
}

interface HistogramValue {
  /** How many fell into each bucket, not counting the buckets below it; the last is for what exceeds all bounds. */
  readonly counts: number[];
  sum: number;
}

/** Counts how many values lie below each bound. */
export class BucketedSeries<L extends string> implements Histogram<L> {
  readonly #series: Series<L, HistogramValue>;
  readonly #bounds: readonly number[];

  constructor(names: readonly L[], limit: number, bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#series = new Series(names, limit, () => ({ counts: new Array(bounds.length + 1).fill(0), sum: 0 }));
  }

  observe(labels: Labels<L>, value: number): void {
    const seen = this.#series.at(labels);
    const at = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = at < 0 ? this.#bounds.length : at;
    seen.counts[bucket] = (seen.counts[bucket] ?? 0) + 1;
    seen.sum += value;
  }

  initialise(labels: Labels<L>): void {
    this.#series.at(labels);
  }

  forget(labels: Partial<Labels<L>>): void {
    this.#series.forget(labels);
  }

  text(name: string): string {
    return this.#series.entries().reduce((text, [labels, value]) => text + this.#one(name, labels, value), "");
  }

  #one(name: string, labels: string, { counts, sum }: HistogramValue): string {
    const prefix = labels === "" ? "" : `${labels},`;
    let total = 0;
    let text = "";
    counts.forEach((count, at) => {
      total += count;
      const bound = this.#bounds[at] ?? Number.POSITIVE_INFINITY;
      text += line(`${name}_bucket`, `${prefix}le="${numberText(bound)}"`, total);
    });
    return text + line(`${name}_sum`, labels, sum) + line(`${name}_count`, labels, total);
  }
}
