/** The ReplicaSet that a Deployment makes for its template. */
import { type Deployment, DeploymentAnnotation, POD_TEMPLATE_HASH } from "#api/apps";
import { ownerReference } from "#lib/meta";
import type { NamelessObject } from "../../system.ts";
import { templateHash } from "../pods.ts";
import type { Limits } from "./limits.ts";
import type { Sets } from "./replica-sets.ts";
import { newSetAnnotations } from "./revisions.ts";

const LONGEST_NAME = 253;

/** The name says which template it is of, so that two attempts to create it meet. */
export function newSetOf(deployment: Deployment, limits: Limits, oldSets: Sets, size: number): NamelessObject {
  const { metadata, spec, status } = deployment;
  const hash = templateHash(spec.template, status?.collisionCount);
  const labels = { ...spec.template.metadata?.labels, [POD_TEMPLATE_HASH]: hash };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${metadata.name.slice(0, LONGEST_NAME - hash.length - 1)}-${hash}`,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels,
      annotations: { ...newSetAnnotations(deployment, undefined, oldSets), ...sizeAnnotations(limits) },
      ownerReferences: [ownerReference(deployment)],
    },
    spec: {
      replicas: size,
      minReadySeconds: spec.minReadySeconds ?? 0,
      selector: { ...spec.selector, matchLabels: { ...spec.selector.matchLabels, [POD_TEMPLATE_HASH]: hash } },
      template: { ...spec.template, metadata: { ...spec.template.metadata, labels } },
    },
  };
}

/** What a ReplicaSet remembers of the Deployment's size, to tell a new size from a step of the rollout. */
export function sizeAnnotations({ replicas, maxSurge }: Limits): Record<string, string> {
  return {
    [DeploymentAnnotation.desiredReplicas]: String(replicas),
    [DeploymentAnnotation.maxReplicas]: String(replicas + maxSurge),
  };
}
