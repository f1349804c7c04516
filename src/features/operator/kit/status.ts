/** What the status of an object tells of all that was made for it. */
import { Deployment } from "#api/apps";
import type { DynamicObject } from "#api/meta";
import type { GenerationStatus, RelatedResource } from "#api/operator";
import { type ApplyReport, idOf, nameOf, type ObjectId, type ObjectReport } from "#kube";
import { SITE_KINDS } from "./site.ts";

export function relatedResources(wishes: readonly DynamicObject[]): RelatedResource[] {
  return wishes.map((object) => referenceTo(idOf(object)));
}

/** Of the Deployments, as they are after they were written last. */
export function generationsOf(deployments: readonly Deployment[]): GenerationStatus[] {
  return deployments.map(({ metadata: { namespace = "", name, generation = 0 } }) => ({
    group: Deployment.group,
    version: Deployment.version,
    resource: Deployment.plural,
    namespace,
    name,
    lastGeneration: generation,
  }));
}

function referenceTo({ group, version, kind, namespace, name }: ObjectId): RelatedResource {
  const known = SITE_KINDS.find((each) => each.group === group && each.kind === kind);
  const resource = known?.plural ?? `${kind.toLowerCase()}s`;
  return { group, version, resource, ...(namespace && { namespace }), name };
}

/** Enough to act on; whoever mends these sees the next. */
const NAMED = 3;
const IN_PLACE: ReadonlySet<ObjectReport["action"]> = new Set(["created", "updated", "unchanged", "skipped", "pruned"]);

/** What of a report is not as wished. */
export function hindrancesIn({ objects }: ApplyReport): readonly ObjectReport[] {
  return objects.filter(({ action, reason }) => !IN_PLACE.has(action) && reason !== "Container");
}

/** The same in a sentence, which stays the same while nothing changes. */
export function sentenceOf(hindrances: readonly ObjectReport[]): string {
  const named = hindrances.slice(0, NAMED).map(({ id, message }) => `${nameOf(id)}: ${message}`);
  const more = hindrances.length > NAMED ? `; and ${hindrances.length - NAMED} more` : "";
  return `${named.join("; ")}${more}`;
}

/** Whether the Pods of a Deployment are not all as it wishes them to be. */
export function isRolling({ metadata, spec, status }: Deployment): boolean {
  const { replicas = 1 } = spec;
  const { observedGeneration, replicas: present = 0, updatedReplicas = 0, readyReplicas = 0 } = status ?? {};
  return (
    metadata.generation !== observedGeneration ||
    replicas !== readyReplicas ||
    present !== replicas ||
    updatedReplicas !== replicas
  );
}
