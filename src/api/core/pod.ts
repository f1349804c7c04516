import { type ConditionStatus, type KubeObject, kind, type LabelSelectorRequirement, type ObjectMeta } from "#api/meta";

export interface Pod extends KubeObject {
  spec: PodSpec;
  status?: PodStatus;
}
export const Pod = kind<Pod>({ group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true });

export interface PodSpec {
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  affinity?: { nodeAffinity?: NodeAffinity } & Record<string, unknown>;
  tolerations?: Toleration[];
  schedulerName?: string;
  schedulingGates?: { name: string }[];
  os?: { name: string };
  hostNetwork?: boolean;
  hostname?: string;
  subdomain?: string;
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  restartPolicy?: "Always" | "OnFailure" | "Never";
  terminationGracePeriodSeconds?: number;
  activeDeadlineSeconds?: number;
  readinessGates?: { conditionType: string }[];
  initContainers?: Container[];
  containers: Container[];
  ephemeralContainers?: Container[];
  volumes?: Volume[];
}

/** Exactly one source besides the name; kinds of sources that Capstan does not look into are among the others. */
export interface Volume {
  name: string;
  secret?: { secretName?: string; items?: KeyToPath[]; defaultMode?: number; optional?: boolean };
  configMap?: { name?: string; items?: KeyToPath[]; defaultMode?: number; optional?: boolean };
  downwardAPI?: { items?: DownwardItem[]; defaultMode?: number };
  projected?: { sources?: VolumeProjection[]; defaultMode?: number };
  emptyDir?: Record<string, unknown>;
  [other: string]: unknown;
}

export interface KeyToPath {
  key: string;
  path: string;
  mode?: number;
}

export interface DownwardItem {
  path: string;
  mode?: number;
  fieldRef?: { apiVersion?: string; fieldPath: string };
  resourceFieldRef?: Record<string, unknown>;
}

export interface VolumeProjection {
  secret?: { name?: string; items?: KeyToPath[]; optional?: boolean };
  configMap?: { name?: string; items?: KeyToPath[]; optional?: boolean };
  downwardAPI?: { items?: DownwardItem[] };
  serviceAccountToken?: { path: string; audience?: string; expirationSeconds?: number };
  [other: string]: unknown;
}

export interface VolumeMount {
  name: string;
  mountPath: string;
  readOnly?: boolean;
  subPath?: string;
  subPathExpr?: string;
}

export interface EnvVarSource {
  fieldRef?: { apiVersion?: string; fieldPath?: string };
  secretKeyRef?: { name?: string; key: string; optional?: boolean };
  configMapKeyRef?: { name?: string; key: string; optional?: boolean };
  [other: string]: unknown;
}

export interface EnvFromSource {
  prefix?: string;
  secretRef?: { name?: string; optional?: boolean };
  configMapRef?: { name?: string; optional?: boolean };
}

/** Posted to `pods/NAME/binding`: puts a Pod on a node. */
export interface Binding extends KubeObject {
  target: { apiVersion?: string; kind?: string; name: string };
}

/** What a workload makes its Pods from. */
export interface PodTemplateSpec {
  metadata?: Partial<Pick<ObjectMeta, "labels" | "annotations" | "finalizers" | "name">>;
  spec: PodSpec;
}

export interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: { name: string; value?: string; valueFrom?: EnvVarSource }[];
  envFrom?: EnvFromSource[];
  volumeMounts?: VolumeMount[];
  ports?: { name?: string; containerPort: number; hostPort?: number; protocol?: string }[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  readinessProbe?: Record<string, unknown>;
  livenessProbe?: Record<string, unknown>;
  /** Set on init containers that run beside the others ("sidecars"). */
  restartPolicy?: "Always" | "OnFailure" | "Never";
}

export interface NodeAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] };
  preferredDuringSchedulingIgnoredDuringExecution?: { weight: number; preference: NodeSelectorTerm }[];
}

export interface NodeSelectorTerm {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
}

export interface NodeSelectorRequirement extends Omit<LabelSelectorRequirement, "operator"> {
  operator: LabelSelectorRequirement["operator"] | "Gt" | "Lt";
}

export interface Toleration {
  key?: string;
  operator?: "Exists" | "Equal" | "Lt" | "Gt";
  value?: string;
  effect?: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
  tolerationSeconds?: number;
}

export type PodPhase = "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";

export interface PodStatus {
  observedGeneration?: number;
  phase?: PodPhase;
  reason?: string;
  message?: string;
  conditions?: PodCondition[];
  hostIP?: string;
  hostIPs?: { ip: string }[];
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  qosClass?: string;
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
  ephemeralContainerStatuses?: ContainerStatus[];
}

export const PodConditionType = {
  scheduled: "PodScheduled",
  readyToStart: "PodReadyToStartContainers",
  initialized: "Initialized",
  containersReady: "ContainersReady",
  ready: "Ready",
  disruptionTarget: "DisruptionTarget",
} as const;

export interface PodCondition {
  type: string;
  status: ConditionStatus;
  observedGeneration?: number;
  reason?: string;
  message?: string;
  lastProbeTime?: string | null;
  lastTransitionTime?: string;
}

export interface ContainerStatus {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  state?: ContainerState;
  lastState?: ContainerState;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: {
    exitCode: number;
    reason?: string;
    message?: string;
    signal?: number;
    startedAt?: string;
    finishedAt?: string;
    containerID?: string;
  };
}
