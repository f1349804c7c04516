/** What people ask of a simulated Pod, by annotations on it. On a real cluster they mean nothing. */
import type { Pod } from "#api/core";
import { parseDuration } from "#lib/duration";

const READY_AFTER = "simulate.capstan.dev/ready-after";
const FAIL = "simulate.capstan.dev/fail";

export interface Wishes {
  /** Milliseconds from the start of a container until it is ready. */
  readonly readyAfterMs: number;
  /** The reason for which its containers wait instead of running. */
  readonly fail?: string;
}

/** A time that cannot be read counts as none: a Pod that is ready too soon is easier to understand than one that never is. */
export function wishesOf({ metadata: { annotations = {} } }: Pod): Wishes {
  const fail = annotations[FAIL];
  return {
    readyAfterMs: parseDuration(annotations[READY_AFTER] ?? "") ?? 0,
    ...(fail && { fail }),
  };
}
