import {
  BucketedSeries,
  type Counter,
  type Gauge,
  type Histogram,
  type Sample,
  Series,
  type Tally,
} from "./families.ts";
import { header, labelText, line } from "./text.ts";

export interface FamilyOptions<L extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly L[];
  /** How many combinations of labels are told apart; 5000 when it is not said. */
  readonly limit?: number;
}

export interface Registry {
  counter<L extends string = never>(options: FamilyOptions<L>): Counter<L>;
  gauge<L extends string = never>(options: FamilyOptions<L>): Gauge<L>;
  /** `buckets` are upper bounds in ascending order. */
  histogram<L extends string = never>(options: FamilyOptions<L> & { buckets?: readonly number[] }): Histogram<L>;
  /** A family whose values are asked for whenever somebody reads. */
  computed<L extends string = never>(
    options: FamilyOptions<L> & { type: "counter" | "gauge"; read: () => Iterable<Sample<L>> },
  ): void;
  /** Everything, in order of name. */
  text(): string;
}

/** For durations in seconds. */
export const DEFAULT_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const DEFAULT_LIMIT = 5_000;
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

export function createRegistry(): Registry {
  const families = new Map<string, () => string>();

  /** Two families of one name would contradict each other: that is a mistake in the program. */
  function register(type: string, { name, help, labels = [] }: FamilyOptions<string>, body: () => string): void {
    if (!NAME.test(name)) throw new Error(`${JSON.stringify(name)} is not a name for a metric`);
    const wrong = labels.find((label) => !LABEL.test(label));
    if (wrong !== undefined) throw new Error(`${JSON.stringify(wrong)} is not a name for a label of ${name}`);
    if (families.has(name)) throw new Error(`the metric ${name} is registered twice`);
    families.set(name, () => {
      const lines = body();
      return lines === "" ? "" : header(name, help, type) + lines;
    });
  }

  function numbers<L extends string>(type: "counter" | "gauge", options: FamilyOptions<L>): Series<L, Tally> {
    const { name, labels = [], limit = DEFAULT_LIMIT } = options;
    const series = new Series<L, Tally>(labels, limit, () => ({ value: 0 }));
    register(type, options, () => series.entries().reduce((text, [of, { value }]) => text + line(name, of, value), ""));
    return series;
  }

  return {
    counter(options) {
      const series = numbers("counter", options);
      return {
        increment(labels, by = 1) {
          if (!(by >= 0)) throw new Error(`the counter ${options.name} cannot go back by ${by}`);
          series.at(labels).value += by;
        },
        forget: (labels) => series.forget(labels),
      };
    },
    gauge(options) {
      const series = numbers("gauge", options);
      return {
        set(labels, value) {
          series.at(labels).value = value;
        },
        add(labels, by) {
          series.at(labels).value += by;
        },
        forget: (labels) => series.forget(labels),
      };
    },
    histogram({ buckets = DEFAULT_BUCKETS, ...options }) {
      const { name, labels = [], limit = DEFAULT_LIMIT } = options;
      if (buckets.some((bound, at) => at > 0 && bound <= (buckets[at - 1] ?? bound)))
        throw new Error(`the buckets of ${name} do not ascend`);
      const series = new BucketedSeries(labels, limit, buckets);
      register("histogram", options, () => series.text(name));
      return series;
    },
    computed({ type, read, ...options }) {
      const { name, labels = [] } = options;
      register(type, options, () =>
        [...read()]
          .map((sample) => line(name, labelText(labels, sample.labels), sample.value))
          .sort()
          .join(""),
      );
    },
    text() {
      return [...families]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, text]) => text())
        .join("");
    },
  };
}
