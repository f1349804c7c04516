import type { KnativeKind } from "#api/knative";
import { componentOf } from "../component.ts";
import { migrationProblem, nextStep, type Releases } from "../releases/index.ts";
import type { Installation } from "./installation.ts";

/** Why one cannot go from what is installed to the version that is meant, and where one can go first. */
export async function migrationHindrance(
  installation: Installation,
  kind: KnativeKind,
  releases: Releases,
): Promise<string | undefined> {
  const installed = installation.status?.version;
  const target = await releases.targetVersion(componentOf(installation));
  const problem = migrationProblem({ kind, target, installed });
  if (problem === undefined || installed === undefined) return problem;
  const step = nextStep({ target, installed, available: await releases.versions(kind) });
  return step === undefined ? problem : `${problem}; go to ${step} first`;
}
