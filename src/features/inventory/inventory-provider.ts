/** The clusters of the inventory as a fleet, from a provider file alone: for consumers that have no other use for it. */
import { createExecEngine } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Cluster, FleetProvider } from "#runtime";
import { createInventoryAccess, followProviderFile } from "./access/index.ts";
import { clusterProfilesProvider } from "./fleet-provider.ts";

export interface InventoryProviderOptions {
  /** Where the ClusterProfiles are. */
  readonly hub: Cluster;
  /** Which access providers this consumer can use, and how. It is read again whenever it changes. */
  readonly providerFile: string | undefined;
  /** Where to look for profiles; everywhere unless told. */
  readonly namespace?: string;
  /** Where the Secrets of built-in providers are when a profile does not say it; `default` unless told. */
  readonly secretNamespace?: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Every ClusterProfile as a cluster called `namespace/name`. Plugins run as this process would, and end with it. */
export function inventoryProvider(options: InventoryProviderOptions): FleetProvider {
  const { hub, providerFile, namespace, secretNamespace = "default", clock, log } = options;
  const place = namespace === undefined ? {} : { namespace };
  return {
    name: `ClusterProfiles in ${namespace ?? "all namespaces"} of ${hub.name}`,
    async *follow(signal) {
      const exec = createExecEngine({ env: process.env, clock });
      const source = await followProviderFile({ path: providerFile, clock, log });
      try {
        const access = createInventoryAccess({
          source,
          exec,
          hub: { client: hub.client, namespace: secretNamespace },
          clock,
        });
        yield* clusterProfilesProvider({ hub, access, log, ...place }).follow(signal);
      } finally {
        source.close();
        exec.close();
      }
    },
  };
}
