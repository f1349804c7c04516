/** Which failures may pass by themselves, and how often one tries until they do. */
import type { Clock } from "#lib/clock";
import {
  isAborted,
  isAlreadyExists,
  isConflict,
  isForbidden,
  isKubeError,
  isNetworkError,
  isNotFound,
  isTimeout,
  isTooManyRequests,
  isUnknownKind,
  type KubeError,
} from "../errors.ts";

/** A field is claimed by somebody else; that does not pass by itself. */
export function isFieldConflict(error: unknown): error is KubeError {
  return isConflict(error) && causesOf(error).some(({ reason }) => reason === "FieldManagerConflict");
}

/** Somebody wrote between our read and our write. */
function isStale(error: unknown): error is KubeError {
  return isConflict(error) && !isFieldConflict(error);
}

/** The namespace is going, and with it whatever would be put into it. */
export function isTerminating(error: unknown): error is KubeError {
  return isForbidden(error) && causesOf(error).some(({ reason }) => reason === "NamespaceTerminating");
}

export function isNamespaceMissing(error: unknown): error is KubeError {
  return isNotFound(error) && error.status?.details?.kind === "namespaces";
}

/** Whether the same call may succeed later, although nobody changes what it asks for. */
export function mayPass(error: unknown): boolean {
  if (!isKubeError(error)) return false;
  const { code } = error;
  return (
    isNetworkError(error) ||
    isTimeout(error) ||
    isTooManyRequests(error) ||
    isStale(error) ||
    isAlreadyExists(error) ||
    isTerminating(error) ||
    isUnknownKind(error) ||
    code >= 500
  );
}

function causesOf(error: KubeError) {
  return error.status?.details?.causes ?? [];
}

/** Tries until a point in time. */
export interface Patience {
  readonly clock: Clock;
  /** Milliseconds since the epoch. */
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

/** How often a read is out of date by the time of the write, and nobody is to blame. */
const STALE_TRIES = 5;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;

/** The result of `work`, tried again for as long as it may still succeed and there is time. */
export async function persist<T>(
  patience: Patience,
  work: (attempt: number) => Promise<T>,
  onPause: (error: unknown) => void = () => {},
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await work(attempt);
    } catch (error) {
      if (isAborted(error) || patience.signal?.aborted || !mayPass(error)) throw error;
      // It is read again at once: time does not help, a newer state does.
      if ((isStale(error) || isAlreadyExists(error)) && attempt < STALE_TRIES) continue;
      const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(attempt, 16), LONGEST_PAUSE);
      if (patience.clock.now().getTime() + pause > patience.until) throw error;
      onPause(error);
      await sleep(patience, pause);
    }
  }
}

/** Ends after so many milliseconds, or when the caller calls everything off. */
export function sleep({ clock, signal }: Pick<Patience, "clock" | "signal">, ms: number): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener("abort", end, { once: true });
  });
}
