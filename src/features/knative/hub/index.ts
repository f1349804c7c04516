/** The Knative operator of a hub: installations on the hub itself and on the clusters of the inventory. */
import type { Clock } from "#lib/clock";
import type { Cluster, Controller, Fleet } from "#runtime";
import type { Releases } from "../releases/index.ts";
import { installationController } from "./installation.controller.ts";
import { Eventing, Serving } from "./installation.ts";
import { leftoversController } from "./leftovers.controller.ts";
import { createLeftovers } from "./leftovers.ts";
import { createTargets, type WaysIn } from "./target.ts";

export type { Installation } from "./installation.ts";
export { type KnativePlan, planInstallation } from "./plan.ts";
export type { WaysIn } from "./target.ts";

export interface KnativeOperatorOptions {
  readonly hub: Cluster;
  /** The clusters of the inventory. */
  readonly fleet: Fleet;
  readonly ways: WaysIn;
  readonly releases: Releases;
  /** Where on the hub it is noted what was left behind on lost clusters. */
  readonly namespace?: string;
  /** Milliseconds between looks at what does not work yet, should no watch have told of it. */
  readonly pollInterval?: number;
  /** The oldest Kubernetes that Knative's programs may accept; theirs unless told. */
  readonly kubernetesMinVersion?: string | undefined;
  /** Milliseconds for which a cluster that cannot be reached holds up a deletion. */
  readonly removalPatience?: number;
  readonly clock: Clock;
  /** Fires when this process is about to end. */
  readonly closing: AbortSignal;
}

export const DEFAULT_POLL_INTERVAL = 10_000;
const SHORTEST_POLL_INTERVAL = 1_000;
export const DEFAULT_REMOVAL_PATIENCE = 5 * 60_000;
const OPERATOR_NAMESPACE = "knative-operator";

export function knativeControllers(options: KnativeOperatorOptions): Controller[] {
  const { hub, fleet, ways, releases, closing, clock } = options;
  const { namespace = OPERATOR_NAMESPACE, removalPatience = DEFAULT_REMOVAL_PATIENCE } = options;
  const pollInterval = effectivePollInterval(options.pollInterval);
  const targets = createTargets({ hub, fleet, ways, closing });
  const leftovers = createLeftovers({ hub, namespace });
  const { kubernetesMinVersion } = options;
  const shared = { hub, targets, releases, leftovers, pollInterval, removalPatience, kubernetesMinVersion, clock };
  return [
    installationController({ flavour: Serving, ...shared }),
    installationController({ flavour: Eventing, ...shared }),
    leftoversController({ hub, fleet, targets, clock }),
  ];
}

/** Below a second means the default, as upstream has it. */
export function effectivePollInterval(wished = DEFAULT_POLL_INTERVAL): number {
  return wished < SHORTEST_POLL_INTERVAL ? DEFAULT_POLL_INTERVAL : wished;
}
