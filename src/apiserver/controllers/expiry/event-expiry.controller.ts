/**
 * Removes Events an hour after they were last written.
 *
 * Key     Event namespace/name
 * Reads   Event
 * Writes  removes Events
 * Twin    kube-apiserver: --event-ttl
 */
import type { DynamicObject } from "#api/meta";
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";

const EVENTS = "core/events";
const LIFETIME_MS = 3_600_000;

/** Events come in swarms and go in swarms: so many go side by side, in one record of the log. */
const AT_ONCE = 64;

export function eventExpiryController({ store, clock }: Pick<ControllerParts, "store" | "clock">): ServerController {
  return {
    name: "event-expiry",
    watches: [EVENTS],
    workers: AT_ONCE,
    keysOf: ({ type, key }) => (type === "DELETED" ? [] : [key]),
    async reconcile(key) {
      const event = store.get(EVENTS, key);
      if (!event) return undefined;
      const leftMs = lastWrittenMs(event) + LIFETIME_MS - clock.now().getTime();
      if (leftMs > 0) return leftMs;
      // Not through the verbs: what runs out asks nobody, no webhook and no finalizer, as a lease of etcd would not.
      await store.write(EVENTS, key, (current) =>
        current?.metadata.resourceVersion === event.metadata.resourceVersion ? undefined : current,
      );
      return undefined;
    },
  };
}

/** Every write leaves its time on the object, which a restart does not forget. */
export function lastWrittenMs({ metadata }: DynamicObject): number {
  const times = [metadata.creationTimestamp, ...(metadata.managedFields ?? []).map(({ time }) => time)];
  return times.reduce((latest, time) => Math.max(latest, Date.parse(time ?? "") || 0), 0);
}
