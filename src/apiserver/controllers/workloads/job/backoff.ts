/** How long a Job waits after failures before it starts the next Pod. */
import type { Pod } from "#api/core";
import { finishedAt } from "./job-pods.ts";

const FIRST_MS = 10_000;
const LONGEST_MS = 600_000;

/** What is remembered of a Job between two looks; after a restart it starts afresh. */
export interface FailureRecord {
  /** Since the last success. */
  readonly failures: number;
  readonly lastFailure: number;
}

export const NO_FAILURES: FailureRecord = { failures: 0, lastFailure: 0 };

export function recordWith(before: FailureRecord, succeeded: readonly Pod[], failed: readonly Pod[]): FailureRecord {
  const lastSuccess = Math.max(...succeeded.map(finishedAt));
  const failures = failed.map(finishedAt).filter((end) => end > lastSuccess);
  const known = succeeded.length > 0 ? NO_FAILURES : before;
  if (failures.length === 0) return known;
  return { failures: known.failures + failures.length, lastFailure: Math.max(...failures) };
}

/** Milliseconds that are left to wait. */
export function waitAfter({ failures, lastFailure }: FailureRecord, now: Date): number {
  if (failures === 0) return 0;
  const wait = Math.min(FIRST_MS * 2 ** (failures - 1), LONGEST_MS);
  return Math.max(0, lastFailure + wait - now.getTime());
}
