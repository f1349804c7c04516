/** What the operator would do for an installation if it existed as it is given here. Nothing is written anywhere. */
import type { ApplyReport } from "#kube";
import type { Clock } from "#lib/clock";
import type { Cluster, Fleet } from "#runtime";
import { ReleaseError, type Releases } from "../releases/index.ts";
import { TransformError } from "../transform/index.ts";
import { Eventing, type Installation, Serving } from "./installation.ts";
import { migrationHindrance } from "./migration.ts";
import { Sites } from "./sites.ts";
import { createTargets, isUnresolved, type WaysIn } from "./target.ts";

export interface PlanOptions {
  readonly hub: Cluster;
  /** Must run, and know at least the cluster that is meant. */
  readonly fleet: Fleet;
  readonly ways: WaysIn;
  readonly releases: Releases;
  readonly kubernetesMinVersion?: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type KnativePlan =
  | { readonly version: string; readonly report: ApplyReport }
  /** What the operator would say instead of doing anything. */
  | { readonly hindrance: string };

export async function planInstallation(installation: Installation, options: PlanOptions): Promise<KnativePlan> {
  try {
    return await planned(installation, options);
  } catch (error) {
    if (!(error instanceof ReleaseError || error instanceof TransformError)) throw error;
    return { hindrance: error.message };
  }
}

async function planned(installation: Installation, options: PlanOptions): Promise<KnativePlan> {
  const { hub, fleet, ways, releases, clock, signal } = options;
  const flavour = installation.kind === Serving.kind.kind ? Serving : Eventing;
  const problem = await migrationHindrance(installation, flavour.kind.kind, releases);
  if (problem !== undefined) return { hindrance: problem };
  const target = await createTargets({ hub, fleet, ways, closing: signal }).resolve(installation);
  if (isUnresolved(target)) return { hindrance: `${target.message} (${target.reason})` };
  const sites = new Sites({ flavour, releases, kubernetesMinVersion: options.kubernetesMinVersion, clock });
  const leave = sites.trigger.subscribe(() => {});
  try {
    return await sites.plan(installation, target, { signal });
  } finally {
    leave();
  }
}
