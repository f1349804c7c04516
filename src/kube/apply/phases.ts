/** In which order kinds go in: what others stand on first, what judges others last. */
import type { ObjectId } from "./identity.ts";
import { groupKindOf } from "./identity.ts";

/** One after the other; what is in one phase goes in side by side. */
export const Phase = {
  foundations: 0,
  definitions: 1,
  access: 2,
  configuration: 3,
  services: 4,
  workloads: 5,
  custom: 6,
  registrations: 7,
  guarded: 8,
} as const;
export type Phase = (typeof Phase)[keyof typeof Phase];

export const PHASES: readonly Phase[] = Object.values(Phase);

const ORDER: readonly (readonly [Phase, readonly string[]])[] = [
  [
    Phase.foundations,
    [
      "Namespace",
      "PriorityClass.scheduling.k8s.io",
      "RuntimeClass.node.k8s.io",
      "StorageClass.storage.k8s.io",
      "CSIDriver.storage.k8s.io",
      "IngressClass.networking.k8s.io",
    ],
  ],
  [Phase.definitions, ["CustomResourceDefinition.apiextensions.k8s.io"]],
  [
    Phase.access,
    [
      "ServiceAccount",
      "ClusterRole.rbac.authorization.k8s.io",
      "Role.rbac.authorization.k8s.io",
      "ClusterRoleBinding.rbac.authorization.k8s.io",
      "RoleBinding.rbac.authorization.k8s.io",
      "ResourceQuota",
      "LimitRange",
      "NetworkPolicy.networking.k8s.io",
    ],
  ],
  [Phase.configuration, ["Secret", "ConfigMap", "PersistentVolume", "PersistentVolumeClaim"]],
  [Phase.services, ["Service", "Endpoints", "EndpointSlice.discovery.k8s.io"]],
  [
    Phase.workloads,
    [
      "PodDisruptionBudget.policy",
      "Pod",
      "ReplicationController",
      "ReplicaSet.apps",
      "Deployment.apps",
      "StatefulSet.apps",
      "DaemonSet.apps",
      "HorizontalPodAutoscaler.autoscaling",
      "Job.batch",
      "CronJob.batch",
      "Ingress.networking.k8s.io",
    ],
  ],
  [
    Phase.registrations,
    [
      "APIService.apiregistration.k8s.io",
      "MutatingWebhookConfiguration.admissionregistration.k8s.io",
      "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
      "MutatingAdmissionPolicy.admissionregistration.k8s.io",
      "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
      "ValidatingAdmissionPolicy.admissionregistration.k8s.io",
      "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
    ],
  ],
];

interface Place {
  readonly phase: Phase;
  readonly rank: number;
}

const PLACES: ReadonlyMap<string, Place> = new Map(
  ORDER.flatMap(([phase, kinds]) => kinds.map((kind, rank) => [kind, { phase, rank }] as const)),
);

/** Groups that every server has by itself. A name tells nothing: others define kinds under k8s.io too. */
const BUILT_IN = new Set([
  "",
  "apps",
  "autoscaling",
  "batch",
  "policy",
  "extensions",
  ...[
    "admissionregistration",
    "apiextensions",
    "apiregistration",
    "authentication",
    "authorization",
    "certificates",
    "coordination",
    "discovery",
    "events",
    "flowcontrol.apiserver",
    "internal.apiserver",
    "networking",
    "node",
    "rbac.authorization",
    "resource",
    "scheduling",
    "storage",
    "storagemigration",
  ].map((name) => `${name}.k8s.io`),
]);

export function isBuiltIn({ group }: Pick<ObjectId, "group">): boolean {
  return BUILT_IN.has(group);
}

/** `isGuarded`: a webhook of the same set will judge it. Built-in kinds do not wait for one: it stands on them itself. */
export function placeOf(id: ObjectId, isGuarded: boolean): Place {
  const known = PLACES.get(groupKindOf(id));
  if (known) return known;
  if (isBuiltIn(id)) return { phase: Phase.workloads, rank: LAST };
  return { phase: isGuarded ? Phase.guarded : Phase.custom, rank: 0 };
}

const LAST = 1_000;
