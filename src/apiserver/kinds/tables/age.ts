/** How long ago something was, in the short form that `kubectl get` shows. */
import { humanDuration } from "#lib/duration";

/** The time since a timestamp; `<unknown>` where there is none. */
export function age(since: unknown, now: Date): string {
  const then = typeof since === "string" ? Date.parse(since) : Number.NaN;
  return Number.isNaN(then) ? "<unknown>" : humanDuration(now.getTime() - then);
}
