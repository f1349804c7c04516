/** Amounts that may be given as a share of something: `3`, `25%`. */
import { type FieldError, field } from "../errors.ts";
import { isAbsent } from "./fields.ts";

const PERCENT = /^(\d+)%$/;

/** What is wrong with a number or a percentage; `atMostAll` where more than everything makes no sense. */
export function validateAmount(amount: unknown, path: string, { atMostAll = false } = {}): FieldError[] {
  if (isAbsent(amount)) return [];
  if (typeof amount === "number") {
    return amount < 0 ? [field.invalid(path, amount, "must be greater than or equal to 0")] : [];
  }
  const percent = percentOf(amount);
  if (percent === undefined) {
    const problem = "a valid percent string must be a numeric string followed by an ending '%'";
    return [field.invalid(path, amount, `${problem} (e.g. '1%',  or '93%')`)];
  }
  return atMostAll && percent > 100 ? [field.invalid(path, amount, "must not be greater than 100%")] : [];
}

/** Whether it comes to nothing, whatever it is a share of. */
export function isNothing(amount: unknown): boolean {
  return typeof amount === "number" ? amount === 0 : !percentOf(amount);
}

function percentOf(amount: unknown): number | undefined {
  const [, percent] = PERCENT.exec(String(amount)) ?? [];
  return percent === undefined ? undefined : Number(percent);
}
