/** What a Deployment asks of its ReplicaSets: which is the newest, how large they are, what they promise. */
import { type Deployment, type DeploymentAnnotation, POD_TEMPLATE_HASH, type ReplicaSet } from "#api/apps";
import type { PodTemplateSpec } from "#api/core";
import { equal } from "#lib/json";
import { withLabels } from "#lib/meta";
import type { Stored } from "../stored.ts";

export type Sets = readonly Stored<ReplicaSet>[];

/** The ReplicaSets of a Deployment: the one with its template, if it exists, and those of earlier ones by age. */
export interface Generations {
  readonly newSet: Stored<ReplicaSet> | undefined;
  readonly oldSets: Sets;
}

export function generationsOf(deployment: Deployment, sets: Sets): Generations {
  const byAge = sets.toSorted(olderFirst);
  const newSet = byAge.find(({ spec }) => isSameTemplate(spec.template, deployment.spec.template));
  return { newSet, oldSets: byAge.filter((set) => set !== newSet) };
}

export function allSets({ newSet, oldSets }: Generations): Sets {
  return newSet ? [...oldSets, newSet] : oldSets;
}

export function olderFirst(a: ReplicaSet, b: ReplicaSet): number {
  const [first, second] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`);
  return first === second ? 0 : (first ?? "") < (second ?? "") ? -1 : 1;
}

/** The hash does not count: it is what the controller itself adds to the template. */
export function isSameTemplate(a: PodTemplateSpec, b: PodTemplateSpec): boolean {
  return equal(withoutHash(a), withoutHash(b));
}

export function withoutHash({ metadata = {}, ...template }: PodTemplateSpec): PodTemplateSpec {
  const named = { metadata: { name: "", ...metadata } };
  const { name: _, ...bare } = withLabels(named, { [POD_TEMPLATE_HASH]: undefined }).metadata;
  return { ...template, metadata: bare };
}

export function sizeOf({ spec }: ReplicaSet): number {
  return spec.replicas ?? 1;
}

export function isInUse(set: ReplicaSet): boolean {
  return sizeOf(set) > 0;
}

/** Pods that exist or will: those of a set that was told to shrink count until it has done so. */
export function occupied(set: ReplicaSet): number {
  return Math.max(sizeOf(set), set.status?.replicas ?? 0);
}

/** Pods that are available and will stay: of a set that was told to shrink, no more than its new size. */
export function dependable(set: ReplicaSet): number {
  return Math.min(sizeOf(set), set.status?.availableReplicas ?? 0);
}

export function total(sets: Sets, amountOf: (set: ReplicaSet) => number): number {
  return sets.reduce((sum, set) => sum + amountOf(set), 0);
}

/** The number in an annotation; undefined when there is none, or nothing that makes sense. */
export function annotatedNumber(
  { metadata }: ReplicaSet,
  annotation: (typeof DeploymentAnnotation)["desiredReplicas" | "maxReplicas"],
): number | undefined {
  const text = metadata.annotations?.[annotation] ?? "";
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
