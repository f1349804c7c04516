import { type Client, createCache } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { createCluster } from "./cluster.ts";
import type { Cluster } from "./types.ts";

/** A cluster behind an API server. */
export function connectedCluster(options: { name: string; client: Client; clock: Clock; log: Logger }): Cluster {
  const { name, client, clock } = options;
  const log = options.log.with({ component: "cache", cluster: name });
  return createCluster({
    name,
    client,
    open: (kind, scope) => createCache({ client, kind, scope, clock, log: (message) => log.warn(message) }),
  });
}
