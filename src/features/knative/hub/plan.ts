/** What the operator would do for an installation if it existed as it is given here. Nothing is written anywhere. */
import type { ApplyReport } from "#kube";
import type { Clock } from "#lib/clock";
import type { Cluster, Fleet } from "#runtime";
import { componentOf } from "../component.ts";
import { migrationProblem, nextStep, ReleaseError, type Releases } from "../releases/index.ts";
import { TransformError } from "../transform/index.ts";
import { Eventing, type Installation, Serving } from "./installation.ts";
import { Sites } from "./sites.ts";
import { createTargets, isUnresolved, type WaysIn } from "./target.ts";

export interface PlanOptions {
  readonly hub: Cluster;
  /** Must run, and know at least the cluster that is meant. */
  readonly fleet: Fleet;
  readonly ways: WaysIn;
  readonly releases: Releases;
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
  const problem = await unreachableVersion(installation, releases);
  if (problem !== undefined) return { hindrance: problem };
  const target = await createTargets({ hub, fleet, ways, closing: signal }).resolve(installation);
  if (isUnresolved(target)) return { hindrance: `${target.message} (${target.reason})` };
  const flavour = installation.kind === Serving.kind.kind ? Serving : Eventing;
  const sites = new Sites({ flavour, releases, clock });
  const leave = sites.trigger.subscribe(() => {});
  try {
    return await sites.plan(installation, target, { signal });
  } finally {
    leave();
  }
}

/** Why one cannot go to the version that is meant, and where one can go first. */
async function unreachableVersion(installation: Installation, releases: Releases): Promise<string | undefined> {
  const component = componentOf(installation);
  const target = await releases.targetVersion(component);
  const installed = installation.status?.version;
  const problem = migrationProblem({ kind: component.kind, target, installed });
  if (problem === undefined || installed === undefined) return problem;
  const step = nextStep({ target, installed, available: await releases.versions(component.kind) });
  return step === undefined ? problem : `${problem}; go to ${step} first`;
}
