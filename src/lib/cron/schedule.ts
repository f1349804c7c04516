/** What all schedules can tell. */
export interface Schedule {
  /** The first time after that one; undefined where there is none in the five years that follow. */
  next(after: Date): Date | undefined;
  /** The last time after `after` that is not after `until`. Intervals are counted from `after`. */
  latest(after: Date, until: Date): Date | undefined;
}
