/** Composition root of the hub: all its controllers on one connection. */
import { inventoryHubControllers } from "#features/inventory/hub";
import { registrationHubControllers } from "#features/registration/hub";
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";

export interface HubOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Users whose first certificate requests are approved without a person. */
  readonly autoApproveUsers?: readonly string[];
}

/** Runs until the signal, then until what is being reconciled is done. */
export async function runHub({ client, clock, log, signal, autoApproveUsers = [] }: HubOptions): Promise<void> {
  const hub = connectedCluster({ name: "hub", client, clock, log });
  const controllers = [
    ...registrationHubControllers({ hub, clock, log, autoApproveUsers }),
    ...inventoryHubControllers({ hub, clock }),
  ];
  await runControllers({ controllers, clock, log, signal });
}
