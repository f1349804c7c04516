/** Waiting that ends. */
import type { Clock } from "#lib/clock";

/** What `promise` gives; throws when `signal` fires, or `ms` have passed, before. */
export function within<T>(promise: T | Promise<T>, ms: number, clock: Clock, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const end = () => {
      cancel();
      signal.removeEventListener("abort", onAbort);
    };
    const onAbort = () => {
      end();
      reject(new Error("called off"));
    };
    const cancel = clock.after(ms, () => {
      end();
      reject(new Error(`no answer within ${ms / 1000} s`));
    });
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    Promise.resolve(promise).then(resolve, reject).finally(end);
  });
}
