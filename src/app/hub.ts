/** Composition root of the hub: all its controllers on one connection. */
import { inventoryHubControllers } from "#features/inventory/hub";
import { registrationHubControllers } from "#features/registration/hub";
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import {
  connectedCluster,
  createElection,
  createEventRecorder,
  type Election,
  type ElectionTiming,
  type EventRecorder,
  runControllers,
} from "#runtime";
import type { ProgramMetrics } from "./metrics.ts";

export interface HubOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Users whose first certificate requests are approved without a person. */
  readonly autoApproveUsers?: readonly string[];
  /** Of several hubs that name the same Lease only its holder works; without one, nobody else is expected. */
  readonly lease?: HubLease;
  /** Where to show health, readiness and metrics; nowhere unless told. */
  readonly endpoints?: HubEndpoints;
  /** What is counted; the client given here counts its requests if it was made with them. */
  readonly metrics?: ProgramMetrics;
}

export interface HubLease {
  readonly namespace: string;
  readonly name: string;
  /** Who we are; different for every process. `<hostname>_<uuid>` unless told. */
  readonly identity?: string;
  readonly timing?: Partial<ElectionTiming>;
}

export interface HubEndpoints {
  /** Only this machine unless told. */
  readonly host?: string;
  /** One of the system's choice for 0. */
  readonly port: number;
  /** Hears where they are. */
  readonly onListening?: (port: number) => void;
}

/**
 * Runs until the signal, then until what is being reconciled is done. Throws at once when it held a Lease and has lost
 * it; the process should end then.
 */
export async function runHub(options: HubOptions): Promise<void> {
  const { client, clock, log, signal, autoApproveUsers = [], lease, endpoints, metrics } = options;
  const hub = connectedCluster({ name: "hub", client, clock, log });
  const recorder = createEventRecorder({ client, controller: "capstan-hub", clock, log });
  await runControllers({
    controllers: [
      ...registrationHubControllers({ hub, clock, log, autoApproveUsers }),
      ...inventoryHubControllers({ hub, clock }),
    ],
    clock,
    log,
    signal,
    recorder,
    ...(lease && { election: electionFor(lease, options, recorder) }),
    ...(endpoints && { endpoints: { ...endpoints, ...(metrics && { registry: metrics.registry }) } }),
    ...(metrics && { metrics: metrics.runtime }),
  });
}

function electionFor(lease: HubLease, { client, clock, log, metrics }: HubOptions, recorder: EventRecorder): Election {
  const { namespace, name, identity, timing } = lease;
  metrics?.runtime.leading(name, false);
  return createElection({
    client,
    clock,
    log,
    recorder,
    lease: { namespace, name },
    ...(identity !== undefined && { identity }),
    ...(timing && { timing }),
    onChange: (leads) => metrics?.runtime.leading(name, leads),
  });
}
