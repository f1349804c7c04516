/** Amounts that may be a share of something: `3`, `25%`. */
import type { IntOrPercent } from "#api/apps";

export function amountOf(amount: IntOrPercent, whole: number, round: (value: number) => number): number {
  if (typeof amount === "number") return amount;
  return round((Number.parseInt(amount, 10) * whole) / 100);
}
