/** Amounts of which only the least and the most are known. */

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Nothing is larger; sums and products stop here. */
export const MOST = 2 ** 64;

export const NOTHING: Range = { min: 0, max: 0 };
export const UNKNOWN: Range = { min: 0, max: MOST };

export function fixed(value: number): Range {
  return { min: value, max: value };
}

export function add(left: Range, right: Range): Range {
  return { min: capped(left.min + right.min), max: capped(left.max + right.max) };
}

export function times(left: Range, right: Range): Range {
  return { min: capped(left.min * right.min), max: capped(left.max * right.max) };
}

/** Rounded up to whole units. */
export function scaled({ min, max }: Range, factor: number): Range {
  return { min: capped(Math.ceil(min * factor)), max: capped(Math.ceil(max * factor)) };
}

export function union(left: Range, right: Range): Range {
  return { min: Math.min(left.min, right.min), max: Math.max(left.max, right.max) };
}

function capped(value: number): number {
  return Math.min(value, MOST);
}
