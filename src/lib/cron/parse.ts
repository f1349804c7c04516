/** Text to sets of numbers. What is wrong with a text is said in the words that Kubernetes uses. */

export class CronError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "CronError";
  }
}

/** The times of day and the days that a schedule names. */
export interface Pattern {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Whether a day has to fit both of its fields; unless one of them is open, either is enough. */
  readonly bothDays: boolean;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const MINUTES: Bounds = { min: 0, max: 59 };
const HOURS: Bounds = { min: 0, max: 23 };
const DAYS: Bounds = { min: 1, max: 31 };
const MONTHS: Bounds = {
  min: 1,
  max: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const WEEKDAYS: Bounds = { min: 0, max: 6, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

export function parseFields(text: string): Pattern {
  if (text === "") throw new CronError("empty spec string");
  if (text.startsWith("@")) throw new CronError(`unrecognized descriptor: ${text}`);
  const fields = text.split(/\s+/).filter(Boolean);
  const [minute, hour, day, month, weekday, ...more] = fields;
  if (!minute || !hour || !day || !month || !weekday || more.length > 0) {
    throw new CronError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`);
  }
  const days = parseField(day, DAYS);
  const weekdays = parseField(weekday, WEEKDAYS);
  return {
    minutes: parseField(minute, MINUTES).numbers,
    hours: parseField(hour, HOURS).numbers,
    days: days.numbers,
    months: parseField(month, MONTHS).numbers,
    weekdays: weekdays.numbers,
    bothDays: days.isOpen || weekdays.isOpen,
  };
}

interface Field {
  readonly numbers: Set<number>;
  /** Whether it leaves the choice to the others: `*` or `?` without a step. */
  readonly isOpen: boolean;
}

function parseField(text: string, bounds: Bounds): Field {
  const parts = text
    .split(",")
    .filter(Boolean)
    .map((part) => parseRange(part, bounds));
  return {
    numbers: new Set(parts.flatMap(({ numbers }) => [...numbers])),
    isOpen: parts.some(({ isOpen }) => isOpen),
  };
}

/** `5`, `5-9`, `*`, and each of them with a step; `5/10` goes on to the end. */
function parseRange(text: string, bounds: Bounds): Field {
  const [range = "", stepText, ...more] = text.split("/");
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  const { first, last, isOpen } = parseEnds(range, text, bounds, stepText !== undefined);
  if (more.length > 0) throw new CronError(`too many slashes: ${text}`);
  if (first < bounds.min) throw new CronError(`beginning of range (${first}) below minimum (${bounds.min}): ${text}`);
  if (last > bounds.max) throw new CronError(`end of range (${last}) above maximum (${bounds.max}): ${text}`);
  if (first > last) throw new CronError(`beginning of range (${first}) beyond end of range (${last}): ${text}`);
  if (step === 0) throw new CronError(`step of range should be a positive number: ${text}`);
  const numbers = new Set<number>();
  for (let number = first; number <= last; number += step) numbers.add(number);
  return { numbers, isOpen: isOpen && step === 1 };
}

function parseEnds(
  range: string,
  text: string,
  { min, max, names }: Bounds,
  hasStep: boolean,
): { first: number; last: number; isOpen: boolean } {
  const [low = "", high, ...more] = range.split("-");
  if (low === "*" || low === "?") return { first: min, last: max, isOpen: true };
  const first = parseValue(low, min, names);
  if (more.length > 0) throw new CronError(`too many hyphens: ${text}`);
  if (high !== undefined) return { first, last: parseValue(high, min, names), isOpen: false };
  return { first, last: hasStep ? max : first, isOpen: false };
}

/** A number, or a name where the field has names; names count from the least number. */
function parseValue(text: string, min: number, names: readonly string[] | undefined): number {
  const named = names?.indexOf(text.toLowerCase()) ?? -1;
  return named < 0 ? parseNumber(text) : named + min;
}

function parseNumber(text: string): number {
  if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
  throw new CronError(
    `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}
