/** From calls to an async iterable: how providers tell what they learn from listeners. */
import type { FleetChange } from "./types.ts";

/**
 * What `start` tells, in order, until `signal` fires or it says that it failed. What `start` answers, if anything,
 * is called at the end.
 */
export async function* changesFrom(
  signal: AbortSignal,
  start: (tell: (change: FleetChange) => void, fail: (error: unknown) => void) => (() => void) | undefined,
): AsyncGenerator<FleetChange> {
  let told: FleetChange[] = [];
  let failure: { error: unknown } | undefined;
  let wake = () => {};
  const onAbort = () => wake();
  signal.addEventListener("abort", onAbort);
  const stop = start(
    (change) => {
      told.push(change);
      wake();
    },
    (error) => {
      failure ??= { error };
      wake();
    },
  );
  try {
    while (!signal.aborted) {
      const now = told;
      told = [];
      yield* now;
      if (failure) throw failure.error;
      if (told.length > 0 || signal.aborted) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop?.();
  }
}
