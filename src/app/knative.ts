/** Composition of the Knative operator: the clusters of the inventory, the releases, and the controllers. */
import type { KnativeEventing, KnativeServing } from "#api/knative";
import {
  clusterProfilesProvider,
  createInventoryAccess,
  followProviderFile,
  isAccessFailure,
  type OwnProgram,
} from "#features/inventory";
import {
  createReleases,
  effectivePollInterval,
  type KnativePlan,
  knativeControllers,
  type ManifestText,
  planInstallation,
  type ReleaseSource,
  type Releases,
  type WaysIn,
} from "#features/knative";
import { type Client, createExecEngine } from "#kube";
import type { Clock } from "#lib/clock";
import { type Logger, silentLog } from "#lib/log";
import { type Cluster, type Controller, connectedCluster, createFleet, type Fleet, type FleetProvider } from "#runtime";
import type { ProgramMetrics } from "./metrics.ts";

/** Where installations may go, and where releases come from. */
export interface KnativeSurroundings {
  /** Which access providers there are; without it only the hub itself can be installed on. */
  readonly providerFile?: string;
  /** How the provider file starts Capstan's own plugins, which need no process here. */
  readonly own?: OwnProgram;
  readonly releases: ReleaseSource;
  /** Gets manifests by URL; without it URLs are refused. */
  readonly fetchManifest?: (url: string) => Promise<ManifestText>;
  /** The oldest Kubernetes that Knative's programs may accept; theirs unless told. */
  readonly kubernetesMinVersion?: string | undefined;
}

/** What a hub is told about Knative. */
export interface KnativeSettings extends KnativeSurroundings {
  readonly pollInterval?: number;
  readonly removalPatience?: number;
}

export interface KnativeOptions extends KnativeSettings {
  readonly hub: Cluster;
  readonly metrics?: ProgramMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  /** Fires when the process is about to end. */
  readonly signal: AbortSignal;
}

export interface KnativeParts {
  readonly controllers: readonly Controller[];
  /** Has to run beside the controllers. */
  readonly fleet: Fleet;
  /** Milliseconds, as it is in effect. */
  readonly pollInterval: number;
  close(): void;
}

/** Secrets of access providers that name no namespace are looked for here, as upstream's operator does in its own. */
const OPERATOR_NAMESPACE = "knative-operator";

export async function knativeParts(options: KnativeOptions): Promise<KnativeParts> {
  const { hub, clock, signal, pollInterval, removalPatience, kubernetesMinVersion } = options;
  const { fleet, ways, releases, close } = await surroundings(options);
  const controllers = knativeControllers({
    hub,
    fleet,
    ways,
    releases,
    namespace: OPERATOR_NAMESPACE,
    ...(pollInterval !== undefined && { pollInterval }),
    ...(removalPatience !== undefined && { removalPatience }),
    kubernetesMinVersion,
    clock,
    closing: signal,
  });
  return { controllers, fleet, pollInterval: effectivePollInterval(pollInterval), close };
}

export interface KnativePlanOptions extends KnativeSurroundings {
  readonly hub: Client;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What the operator would do for an installation, seen with the same eyes and by the same hand. Nothing is written. */
export async function planKnative(
  installation: KnativeServing | KnativeEventing,
  options: KnativePlanOptions,
): Promise<KnativePlan> {
  const { clock, signal, kubernetesMinVersion } = options;
  const hub = connectedCluster({ name: "hub", client: options.hub, clock, log: silentLog });
  const ref = installation.spec?.clusterProfileRef;
  const only = ref && `${ref.namespace}/${ref.name}`;
  const { fleet, ways, releases, close } = await surroundings({ ...options, hub, log: silentLog }, only);
  const stop = new AbortController();
  const ended = fleet.run(stop.signal);
  try {
    return await planInstallation(installation, { hub, fleet, ways, releases, kubernetesMinVersion, clock, signal });
  } finally {
    stop.abort();
    await ended;
    close();
  }
}

interface Surroundings {
  readonly fleet: Fleet;
  readonly ways: WaysIn;
  readonly releases: Releases;
  close(): void;
}

/** With `only`, no other cluster is connected. */
async function surroundings(
  options: KnativeSurroundings & Pick<KnativeOptions, "hub" | "metrics" | "clock" | "log">,
  only?: string,
): Promise<Surroundings> {
  const { hub, providerFile, own, metrics, fetchManifest, clock, log } = options;
  const source = await followProviderFile({ path: providerFile, clock, log });
  const exec = createExecEngine({ env: process.env, clock, ...(metrics && { metrics: metrics.exec }) });
  const access = createInventoryAccess({
    source,
    exec,
    hub: { client: hub.client, namespace: OPERATOR_NAMESPACE },
    ...(own && { own }),
    clock,
  });
  const provider = clusterProfilesProvider({ hub, access, log });
  const fleet = createFleet({
    provider: only === undefined ? provider : restricted(provider, only),
    clock,
    log,
    ...(metrics && { metrics: metrics.client }),
  });
  return {
    fleet,
    ways: {
      hindranceTo(profile) {
        const way = access.accessTo(profile);
        return isAccessFailure(way) ? way : undefined;
      },
      onChange: (listener) => access.onChange(listener),
    },
    releases: createReleases({ source: options.releases, ...(fetchManifest && { fetchManifest }) }),
    close() {
      source.close();
      exec.close();
    },
  };
}

function restricted(provider: FleetProvider, only: string): FleetProvider {
  return {
    name: `${only} of ${provider.name}`,
    async *follow(signal) {
      for await (const change of provider.follow(signal)) {
        const name = change.type === "offered" ? change.offer.name : change.type === "removed" ? change.name : only;
        if (name === only) yield change;
      }
    },
  };
}
