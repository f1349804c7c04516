/** Deployments and their ReplicaSets for tests. */
import type { Deployment, ReplicaSet } from "#api/apps";
import type { Bed } from "../../testing/bed.ts";
import { REPLICA_SETS } from "../replicas/replicas.controller.ts";
import type { Stored } from "../stored.ts";
import { labels, template } from "./pods.ts";

export const DEPLOYMENTS = "apps/deployments";
export const KEY = "default/web";

export function deployment(spec: object = {}, metadata: object = {}) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default", ...metadata },
    spec: { replicas: 3, selector: { matchLabels: labels }, template: template(), ...spec },
  };
}

export function deploymentIn(bed: Bed): Stored<Deployment> {
  return bed.get(DEPLOYMENTS, KEY) as Stored<Deployment>;
}

/** The oldest revision first. */
export function setsIn(bed: Bed): Stored<ReplicaSet>[] {
  const revisionOf = (set: ReplicaSet) => Number(set.metadata.annotations?.["deployment.kubernetes.io/revision"] ?? 0);
  return (bed.list(REPLICA_SETS) as Stored<ReplicaSet>[]).toSorted((a, b) => revisionOf(a) - revisionOf(b));
}

/** By image, the wished size of each ReplicaSet. */
export function sizesIn(bed: Bed): Record<string, number> {
  return Object.fromEntries(
    setsIn(bed).map(({ spec }) => [spec.template.spec.containers[0]?.image ?? "", spec.replicas ?? 0]),
  );
}

export async function created(bed: Bed, spec: object = {}, metadata: object = {}): Promise<void> {
  await bed.create(DEPLOYMENTS, deployment(spec, metadata));
  await bed.settle();
}

export async function changed(bed: Bed, spec: object, annotations: object = {}): Promise<void> {
  await bed.change(DEPLOYMENTS, KEY, (draft) => ({
    ...draft,
    metadata: { ...draft.metadata, annotations: { ...draft.metadata.annotations, ...annotations } },
    spec: { ...(draft.spec as object), ...spec },
  }));
  await bed.settle();
}
