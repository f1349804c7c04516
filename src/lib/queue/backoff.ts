export interface Backoff {
  /** Milliseconds after the first failure. */
  readonly base: number;
  /** No delay grows beyond it. */
  readonly cap: number;
}

/** 5 ms, doubled with every failure up to 1000 s: what client-go's controllers do. */
export const DEFAULT_BACKOFF: Backoff = { base: 5, cap: 1_000_000 };

/** How long an item waits that has failed so many times before. */
export function backoffDelay({ base, cap }: Backoff, failures: number): number {
  return Math.min(base * 2 ** failures, cap);
}
