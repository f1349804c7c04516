/** A provider that may fail, followed as if it did not. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Backoff, backoffDelay } from "#lib/queue";
import { pause } from "../abort.ts";
import type { FleetChange, FleetProvider } from "./types.ts";

const RETRIES: Backoff = { base: 800, cap: 30_000 };

/**
 * Follows a provider, and follows it anew when it fails. Its clusters stay meanwhile; those that it does not tell
 * of again are told to be removed once it has told of all.
 */
export async function* steadily(
  provider: FleetProvider,
  signal: AbortSignal,
  { clock, log }: { clock: Clock; log: Logger },
): AsyncGenerator<FleetChange> {
  const known = new Set<string>();
  for (let failures = 0; !signal.aborted; failures++) {
    const told = new Set<string>();
    try {
      for await (const change of provider.follow(signal)) {
        if (change.type === "offered") {
          known.add(change.offer.name);
          told.add(change.offer.name);
        } else if (change.type === "removed") {
          known.delete(change.name);
          told.delete(change.name);
        } else {
          failures = 0;
          for (const name of [...known].filter((each) => !told.has(each))) {
            known.delete(name);
            yield { type: "removed", name };
          }
        }
        yield change;
      }
    } catch (error) {
      log.error("the source of clusters failed", { provider: provider.name, error });
    }
    if (!signal.aborted) await pause(clock, backoffDelay(RETRIES, failures), signal);
  }
}
