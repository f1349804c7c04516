/** The rollouts of a Deployment, counted in annotations of its ReplicaSets. */
import { type Deployment, DeploymentAnnotation, type ReplicaSet } from "#api/apps";
import { isDeleting } from "#lib/meta";
import { olderFirst } from "./replica-sets.ts";

/** An older way to wish for a rollback: the revision to go back to, or 0 for the one before. */
export const ROLLBACK_TO = "deprecated.deployment.rollback.to";

/** These say something of the very object that carries them. */
const NOT_COPIED: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  ROLLBACK_TO,
  ...Object.values(DeploymentAnnotation),
]);

/** The history of a ReplicaSet is cut off at its old end when it gets longer than this. */
const LONGEST_HISTORY = 2000;

type Annotations = Readonly<Record<string, string>>;

/** Revisions fill 64 bits, which is more than a number holds. Without a sensible one it is 0. */
export function revisionOf({ metadata }: ReplicaSet): bigint {
  const text = metadata.annotations?.[DeploymentAnnotation.revision] ?? "";
  return /^\d{1,19}$/.test(text) ? BigInt(text) : 0n;
}

/** The greatest first. */
export function revisionsOf(sets: readonly ReplicaSet[]): bigint[] {
  return sets.map(revisionOf).toSorted((a, b) => (a > b ? -1 : 1));
}

/** What the Deployment's newest ReplicaSet is annotated with, beside what it has. */
export function newSetAnnotations(
  deployment: Deployment,
  newSet: ReplicaSet | undefined,
  oldSets: readonly ReplicaSet[],
): Annotations {
  return { ...copied(deployment.metadata.annotations), ...revised(newSet, oldSets) };
}

/** The annotations that a Deployment and its newest ReplicaSet share. */
export function copied(annotations: Annotations = {}): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !NOT_COPIED.has(key)));
}

/** The annotations that belong to a Deployment alone. */
export function kept(annotations: Annotations = {}): Annotations {
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => NOT_COPIED.has(key)));
}

/** The newest ReplicaSet has the greatest revision; one that is the newest again remembers which it was before. */
function revised(newSet: ReplicaSet | undefined, oldSets: readonly ReplicaSet[]): Annotations {
  const next = (revisionsOf(oldSets)[0] ?? 0n) + 1n;
  const annotations = newSet?.metadata.annotations ?? {};
  const before = annotations[DeploymentAnnotation.revision];
  if (newSet && revisionOf(newSet) >= next) return {};
  return {
    [DeploymentAnnotation.revision]: String(next),
    ...(before && {
      [DeploymentAnnotation.revisionHistory]: historyWith(annotations[DeploymentAnnotation.revisionHistory], before),
    }),
  };
}

/** The oldest that are more than the Deployment keeps and that nothing depends on any longer. */
export function expendable<S extends ReplicaSet>(oldSets: readonly S[], limit: number): S[] {
  const alive = oldSets.filter((set) => !isDeleting(set));
  const byRevision = alive.toSorted((a, b) => Number(revisionOf(a) - revisionOf(b)) || olderFirst(a, b));
  return byRevision.slice(0, Math.max(0, alive.length - limit)).filter(isIdle);
}

function isIdle({ metadata, spec, status }: ReplicaSet): boolean {
  const hasSeenItsWish = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return spec.replicas === 0 && (status?.replicas ?? 0) === 0 && hasSeenItsWish;
}

function historyWith(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(",") : []), revision];
  while (revisions.length > 1 && revisions.join().length > LONGEST_HISTORY) revisions.shift();
  return revisions.join();
}
