/**
 * Whether an object has the values that a manifest names, for where nobody tells who owns them: caches leave that out.
 * Servers write some values in another way than people do; what looks different and is not is told apart here, and
 * where that cannot be done the answer is no: applying once too often does no harm.
 */
import { equal, isObject } from "#lib/json";

/** Whether all that is wished for is there; what is there beside it does not matter. */
export function holds(wished: unknown, live: unknown): boolean {
  if (isVoid(wished)) return live === undefined || live === null || isVoid(live) || equal(wished, live);
  if (isObject(wished)) {
    if (!isObject(live)) return false;
    return Object.entries(wished).every(([key, value]) =>
      holds(value, Object.hasOwn(live, key) ? live[key] : undefined),
    );
  }
  if (Array.isArray(wished)) return Array.isArray(live) && holdsItems(wished, live);
  return equal(wished, live) || isSameAmount(wished, live);
}

/** What a server drops where it is written down. */
function isVoid(value: unknown): boolean {
  if (value === undefined || value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Items with names may have others among them; all others must be the same, one by one. */
function holdsItems(wished: readonly unknown[], live: readonly unknown[]): boolean {
  const named = byName(live);
  if (named && byName(wished)) return wished.every((item) => holds(item, named.get(nameOf(item) ?? "")));
  return wished.length === live.length && wished.every((item, index) => holds(item, live[index]));
}

function byName(items: readonly unknown[]): ReadonlyMap<string, unknown> | undefined {
  const named = new Map(
    items.flatMap((item) => (nameOf(item) === undefined ? [] : [[nameOf(item) ?? "", item] as const])),
  );
  return named.size === items.length ? named : undefined;
}

function nameOf(item: unknown): string | undefined {
  return isObject(item) && typeof item.name === "string" ? item.name : undefined;
}

const QUANTITY = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i))?$/;
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, bigint>> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
/** Amounts are compared in units small enough for every suffix, and every exponent that means anything. */
const SCALE = 120;
const LONGEST_AMOUNT = 64;

/** `1000m` and `1`, `1024Mi` and `1Gi`, `0.5` and `500m`. */
function isSameAmount(a: unknown, b: unknown): boolean {
  const [left, right] = [amountOf(a), amountOf(b)];
  return left !== undefined && left === right;
}

function amountOf(value: unknown): bigint | undefined {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") return undefined;
  const text = String(value);
  const [match, sign, whole = "", fraction = "", exponent = "0", suffix = ""] = QUANTITY.exec(text) ?? [];
  if (match === undefined || text.length > LONGEST_AMOUNT || whole + fraction === "") return undefined;
  const shift = SCALE + Number(exponent) + (DECIMAL[suffix] ?? 0) - fraction.length;
  if (shift < 0) return undefined;
  const amount = (BigInt(whole + fraction) * 10n ** BigInt(shift)) << (BINARY[suffix] ?? 0n);
  return sign === "-" ? -amount : amount;
}
