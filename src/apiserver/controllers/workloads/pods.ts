/** What workloads ask of Pods, and how they make one from a template. */
import { createHash } from "node:crypto";
import { type Pod, PodConditionType, type PodTemplateSpec } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { findCondition, isTrue } from "#lib/conditions";
import { ownerReference } from "#lib/meta";
import type { NamelessObject } from "../system.ts";

export const PODS = "core/pods";

/** Neither ended nor on its way out. */
export function isActive({ metadata, status }: Pod): boolean {
  return status?.phase !== "Succeeded" && status?.phase !== "Failed" && !metadata.deletionTimestamp;
}

/** On its way out, though something of it may still run. */
export function isTerminating({ metadata, status }: Pod): boolean {
  return status?.phase !== "Succeeded" && status?.phase !== "Failed" && metadata.deletionTimestamp !== undefined;
}

export function isReady({ status }: Pod): boolean {
  return isTrue(status?.conditions, PodConditionType.ready);
}

/**
 * Milliseconds until a Pod will have been ready for so long; 0 when it has, undefined when it is not ready or, where
 * it matters, nobody said since when it is.
 */
export function availableIn(pod: Pod, minReadySeconds: number, now: Date): number | undefined {
  if (!isReady(pod)) return undefined;
  const since = findCondition(pod.status?.conditions, PodConditionType.ready)?.lastTransitionTime;
  if (minReadySeconds === 0) return 0;
  if (!since) return undefined;
  return Math.max(0, Date.parse(since) + minReadySeconds * 1000 - now.getTime());
}

export function isAvailable(pod: Pod, minReadySeconds: number, now: Date): boolean {
  return availableIn(pod, minReadySeconds, now) === 0;
}

/** What a Pod gets beside its template. */
export interface PodExtras {
  /** Without one the server makes up a name from `generateName`, which is the owner's unless told. */
  readonly name?: string;
  readonly generateName?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

/** A Pod of the owner, with a name of its own or one that the server makes up. */
export function podFrom(owner: DynamicObject, template: PodTemplateSpec, more: PodExtras): NamelessObject {
  const { namespace, name } = owner.metadata;
  const labels = { ...template.metadata?.labels, ...more.labels };
  const annotations = { ...template.metadata?.annotations, ...more.annotations };
  const finalizers = [...new Set([...(template.metadata?.finalizers ?? []), ...(more.finalizers ?? [])])];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...(more.name !== undefined && { name: more.name }),
      generateName: more.generateName ?? `${name}-`,
      ...(namespace !== undefined && { namespace }),
      ...(Object.keys(labels).length > 0 && { labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ...(finalizers.length > 0 && { finalizers }),
      ownerReferences: [ownerReference(owner)],
    },
    spec: template.spec,
  };
}

/** Letters that spell no word. */
const HASH_ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

/** A short name for a template: the same for equal templates, another one for each collision counted. */
export function templateHash(template: unknown, collisionCount = 0): string {
  const digest = createHash("sha256").update(canonical(template)).update(String(collisionCount)).digest();
  return [...digest.subarray(0, 10)].map((byte) => HASH_ALPHABET[byte % HASH_ALPHABET.length]).join("");
}

/** JSON with sorted keys, so that the order in which fields were written does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, field: unknown) => {
    if (typeof field === "bigint") return String(field);
    if (typeof field !== "object" || field === null || Array.isArray(field)) return field;
    return Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
