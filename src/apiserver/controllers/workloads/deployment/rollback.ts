/** The older way to roll back: an annotation on the Deployment names the revision, and the server does the rest. */
import type { Deployment, ReplicaSet } from "#api/apps";
import { withAnnotations } from "#lib/meta";
import type { Telling } from "../../events.ts";
import { isSameTemplate, type Sets, withoutHash } from "./replica-sets.ts";
import { copied, kept, ROLLBACK_TO, revisionOf, revisionsOf } from "./revisions.ts";

/** The revision that somebody wants back; undefined when nobody does. */
export function wishedRevision({ metadata }: Deployment): bigint | undefined {
  const text = metadata.annotations?.[ROLLBACK_TO] ?? "";
  return /^\d{1,19}$/.test(text) ? BigInt(text) : undefined;
}

export interface Rollback<D extends Deployment> {
  readonly telling: Telling;
  /** The Deployment without the wish, and with the template where there was one to go back to. */
  change(draft: D): D;
}

export function rollbackTo<D extends Deployment>(deployment: D, sets: Sets, wished: bigint): Rollback<D> {
  const change = (draft: D) => withAnnotations(draft, { [ROLLBACK_TO]: undefined });
  const warning = (reason: string, message: string): Rollback<D> => ({
    telling: { type: "Warning", reason, message },
    change,
  });
  const revision = wished === 0n ? (revisionsOf(sets)[1] ?? 0n) : wished;
  const target = sets.find((set) => revisionOf(set) === revision);
  if (!target || revision === 0n)
    return warning("DeploymentRollbackRevisionNotFound", "Unable to find the revision to rollback to.");
  const { name } = deployment.metadata;
  if (isSameTemplate(target.spec.template, deployment.spec.template)) {
    const message = `The rollback revision contains the same template as current deployment "${name}"`;
    return warning("DeploymentRollbackTemplateUnchanged", message);
  }
  return {
    telling: { reason: "DeploymentRollback", message: `Rolled back deployment "${name}" to revision ${revision}` },
    change: (draft) => change(withTemplateOf(draft, target)),
  };
}

/** Annotations come along, so that those of the template that failed do not end up on the one that worked. */
function withTemplateOf<D extends Deployment>(deployment: D, { metadata, spec }: ReplicaSet): D {
  const annotations = { ...kept(deployment.metadata.annotations), ...copied(metadata.annotations) };
  return {
    ...deployment,
    metadata: { ...deployment.metadata, annotations },
    spec: { ...deployment.spec, template: withoutHash(spec.template) },
  };
}
