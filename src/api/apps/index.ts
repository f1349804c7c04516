/** The group `apps/v1`: the workloads that keep Pods running, and the revisions they remember. */
import type { PodTemplateSpec } from "#api/core";
import { type ConditionStatus, type DynamicObject, type KubeObject, kind, type LabelSelector } from "#api/meta";

/** A number, or a percentage of the wished replicas: `25%`. */
export type IntOrPercent = number | string;

/** A condition of a workload. */
export interface WorkloadCondition {
  type: string;
  status: ConditionStatus;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: PodTemplateSpec;
    strategy?: {
      type?: "RollingUpdate" | "Recreate";
      rollingUpdate?: { maxUnavailable?: IntOrPercent; maxSurge?: IntOrPercent };
    };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    paused?: boolean;
    progressDeadlineSeconds?: number;
  };
  status?: DeploymentStatus;
}
export const Deployment = kind<Deployment>({
  group: "apps",
  version: "v1",
  kind: "Deployment",
  plural: "deployments",
  namespaced: true,
});

export interface DeploymentStatus {
  observedGeneration?: number;
  replicas?: number;
  updatedReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  unavailableReplicas?: number;
  terminatingReplicas?: number;
  collisionCount?: number;
  conditions?: DeploymentCondition[];
}

export interface DeploymentCondition extends WorkloadCondition {
  /** When the controller last had something new to say, though the status may be the same. */
  lastUpdateTime?: string;
}

export const DeploymentConditionType = {
  available: "Available",
  progressing: "Progressing",
  replicaFailure: "ReplicaFailure",
} as const;

export const DeploymentAnnotation = {
  /** Which rollout of the Deployment this is; on the Deployment and on its ReplicaSets. */
  revision: "deployment.kubernetes.io/revision",
  /** The earlier revisions that a ReplicaSet stood for, separated by commas. */
  revisionHistory: "deployment.kubernetes.io/revision-history",
  desiredReplicas: "deployment.kubernetes.io/desired-replicas",
  maxReplicas: "deployment.kubernetes.io/max-replicas",
} as const;

/** The label that tells the Pods of one ReplicaSet of a Deployment from those of the others. */
export const POD_TEMPLATE_HASH = "pod-template-hash";

export interface ReplicaSet extends KubeObject {
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    selector: LabelSelector;
    template: PodTemplateSpec;
  };
  status?: ReplicasStatus;
}
export const ReplicaSet = kind<ReplicaSet>({
  group: "apps",
  version: "v1",
  kind: "ReplicaSet",
  plural: "replicasets",
  namespaced: true,
});

/** What ReplicaSets report, and ReplicationControllers too. */
export interface ReplicasStatus {
  replicas: number;
  fullyLabeledReplicas?: number;
  readyReplicas?: number;
  availableReplicas?: number;
  terminatingReplicas?: number;
  observedGeneration?: number;
  conditions?: WorkloadCondition[];
}

export interface StatefulSet extends KubeObject {
  spec: {
    replicas?: number;
    selector: LabelSelector;
    template: PodTemplateSpec;
    serviceName?: string;
    volumeClaimTemplates?: DynamicObject[];
    podManagementPolicy?: "OrderedReady" | "Parallel";
    updateStrategy?: {
      type?: "RollingUpdate" | "OnDelete";
      rollingUpdate?: { partition?: number; maxUnavailable?: IntOrPercent };
    };
    revisionHistoryLimit?: number;
    minReadySeconds?: number;
    persistentVolumeClaimRetentionPolicy?: { whenDeleted?: "Retain" | "Delete"; whenScaled?: "Retain" | "Delete" };
    ordinals?: { start?: number };
  };
  status?: StatefulSetStatus;
}
export const StatefulSet = kind<StatefulSet>({
  group: "apps",
  version: "v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});

export interface StatefulSetStatus {
  observedGeneration?: number;
  replicas: number;
  readyReplicas?: number;
  currentReplicas?: number;
  updatedReplicas?: number;
  availableReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  collisionCount?: number;
  conditions?: WorkloadCondition[];
}

export interface DaemonSet extends KubeObject {
  spec: {
    selector: LabelSelector;
    template: PodTemplateSpec;
    updateStrategy?: {
      type?: "RollingUpdate" | "OnDelete";
      rollingUpdate?: { maxUnavailable?: IntOrPercent; maxSurge?: IntOrPercent };
    };
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
  };
  status?: DaemonSetStatus;
}
export const DaemonSet = kind<DaemonSet>({
  group: "apps",
  version: "v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  namespaced: true,
});

export interface DaemonSetStatus {
  observedGeneration?: number;
  currentNumberScheduled: number;
  numberMisscheduled: number;
  desiredNumberScheduled: number;
  numberReady: number;
  updatedNumberScheduled?: number;
  numberAvailable?: number;
  numberUnavailable?: number;
  collisionCount?: number;
  conditions?: WorkloadCondition[];
}

/** The template of one revision of a StatefulSet or DaemonSet. */
export interface ControllerRevision extends KubeObject {
  data?: Record<string, unknown>;
  revision: number;
}
export const ControllerRevision = kind<ControllerRevision>({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
});
