/** The operator of a spoke: keeps the agents of Klusterlets running, where they manage or elsewhere, and clears up. */

import { OPERATOR_NAMESPACE } from "#api/operator";
import type { Cluster, Controller } from "#runtime";
import { heldRemovalsController } from "./held-removals.controller.ts";
import { type HubConnectionOptions, hubConnectionController } from "./hub-connection.controller.ts";
import { type KlusterletControllerOptions, klusterletController } from "./klusterlet.controller.ts";
import { pullSecretController } from "./pull-secret.controller.ts";

export { klusterletInstallation } from "./installation.ts";
export { managedClustersProvider } from "./managed-clusters.ts";

export interface KlusterletOptions extends KlusterletControllerOptions, Pick<HubConnectionOptions, "connect"> {
  readonly cluster: Cluster;
  /** Where the operator runs, and the pull secret lies that its programs need. */
  readonly namespace?: string;
}

/** All controllers of the operator. The managed clusters that they are given are those of `managedClustersProvider`. */
export function klusterletControllers(options: KlusterletOptions): Controller[] {
  const { cluster, managed, clock, connect, namespace = OPERATOR_NAMESPACE } = options;
  return [
    klusterletController(options),
    hubConnectionController({ cluster, connect, clock }),
    heldRemovalsController({ cluster, managed, clock }),
    pullSecretController({ cluster, namespace }),
  ];
}
