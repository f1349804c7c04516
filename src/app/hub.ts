/** Composition root of the hub: all its controllers on one connection. */
import { inventoryHubControllers } from "#features/inventory/hub";
import { registrationHubControllers } from "#features/registration/hub";
import { finishedWorksController } from "#features/work/hub";
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import {
  connectedCluster,
  createElection,
  createEventRecorder,
  createManager,
  type Election,
  type ElectionTiming,
  type EventRecorder,
  runTogether,
} from "#runtime";
import { chosenControllers, DEFAULT_GATES, type HubChoice } from "./hub-choice.ts";
import { type HubWebhookSettings, type ServedWebhooks, serveHubWebhooks } from "./hub-webhooks.ts";
import { type KnativeParts, type KnativeSettings, knativeParts } from "./knative.ts";
import type { ReleaseSettings } from "./knative-releases.ts";
import type { ProgramMetrics } from "./metrics.ts";

/** What people say about a hub. */
export interface HubSettings extends HubChoice {
  readonly autoApproveUsers?: readonly string[];
  readonly detachPatience?: number;
  readonly gcResources?: readonly string[];
  readonly lease?: HubLease;
  readonly endpoints?: HubEndpoints;
  /** Which access providers there are. */
  readonly providerFile?: string;
  readonly releases: ReleaseSettings;
  readonly pollInterval?: number;
  readonly removalPatience?: number;
}

export interface HubOptions extends HubChoice {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Users whose first certificate requests are approved without a person. */
  readonly autoApproveUsers?: readonly string[];
  /** Milliseconds for which a cluster that is known to be lost holds its own removal up; a minute unless told. */
  readonly detachPatience?: number;
  /** What is removed when a cluster goes: `group/version/resource` in this order; add-ons, then works unless told. */
  readonly gcResources?: readonly string[];
  /** Of several hubs that name the same Lease only its holder works; without one, nobody else is expected. */
  readonly lease?: HubLease;
  /** Where to show health, readiness and metrics; nowhere unless told. */
  readonly endpoints?: HubEndpoints;
  /** What is counted; the client given here counts its requests if it was made with them. */
  readonly metrics?: ProgramMetrics;
  /** Runs the Knative operator too. */
  readonly knative?: KnativeSettings;
  /** Serves the webhooks of registration and works from this process, if it runs registration. */
  readonly webhooks?: HubWebhookSettings;
  /** Called when it is clear what runs, before it does. */
  readonly onStart?: () => void;
  /** Called when its caches are filled. */
  readonly onReady?: () => void;
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
 * it; the process should end then. Throws UsageError for controllers that there are not.
 */
export async function runHub(options: HubOptions): Promise<void> {
  const { client, clock, log, signal, autoApproveUsers = [], lease, endpoints, metrics } = options;
  const hub = connectedCluster({ name: "hub", client, clock, log });
  const knative =
    options.knative &&
    (await knativeParts({ ...options.knative, hub, clock, log, signal, ...(metrics && { metrics }) }));
  let webhooks: ServedWebhooks | undefined;
  try {
    const recorder = createEventRecorder({ client, controller: "capstan-hub", clock, log });
    const all = [
      ...registrationHubControllers({
        hub,
        clock,
        log,
        autoApproveUsers,
        detach: detachOptions(options),
      }),
      ...inventoryHubControllers({ hub, clock, recorder }),
      finishedWorksController({ hub, clock }),
      ...(knative?.controllers ?? []),
    ];
    const chosen = chosenControllers(all, options);
    const hasRegistration = chosen.some(({ name }) => name === REGISTRATION);
    webhooks =
      options.webhooks && hasRegistration
        ? await serveHubWebhooks({
            ...options.webhooks,
            cluster: hub,
            gates: options.gates ?? DEFAULT_GATES,
            clock,
            log,
          })
        : undefined;
    const controllers = [...(webhooks ? [webhooks.controller] : []), ...chosen];
    const isWithKnative = knative?.controllers.some((controller) => controllers.includes(controller)) ?? false;
    const fleet = isWithKnative ? knative?.fleet : undefined;
    options.onStart?.();
    if (knative && isWithKnative) sayInterval(knative, log);
    const manager = createManager({
      controllers,
      clock,
      log,
      recorder,
      ...(fleet && { fleet }),
      ...(lease && { election: electionFor(lease, options, recorder) }),
      ...(endpoints && { endpoints: { ...endpoints, ...(metrics && { registry: metrics.registry }) } }),
      ...(metrics && { metrics: metrics.runtime }),
      ...(options.onReady && { onReady: options.onReady }),
    });
    await runTogether(manager, fleet, signal);
  } finally {
    await webhooks?.close();
    knative?.close();
  }
}

/** The controller that webhooks guard: without it nobody is let in here. */
const REGISTRATION = "cluster-acceptance";

function detachOptions({ gates = DEFAULT_GATES, detachPatience: patience, gcResources: resources }: HubOptions) {
  return {
    isCleaned: gates.ResourceCleanup,
    ...(resources && { resources }),
    ...(patience !== undefined && { patience }),
  };
}

/** Upstream's operator says it too, and a value below a second is not the one that counts. */
function sayInterval({ pollInterval }: KnativeParts, log: Logger): void {
  log.info("Knative that does not work yet is looked at when something changes, and in any case after a while", {
    component: "knative",
    interval: `${pollInterval / 1000}s`,
  });
}

export function electionFor(
  lease: HubLease,
  { client, clock, log, metrics }: Pick<HubOptions, "client" | "clock" | "log" | "metrics">,
  recorder: EventRecorder,
): Election {
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
