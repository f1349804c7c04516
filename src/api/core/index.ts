/** The core group (`v1`): namespaces, secrets, service accounts, nodes, Pods and Services, with the fields that Capstan reads or writes. */
import { type KubeObject, kind } from "#api/meta";

export * from "./pod.ts";
export * from "./service.ts";

export interface Namespace extends KubeObject {
  spec?: { finalizers?: string[] };
  status?: { phase?: "Active" | "Terminating" };
}
export const Namespace = kind<Namespace>({
  group: "",
  version: "v1",
  kind: "Namespace",
  plural: "namespaces",
  namespaced: false,
});

export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  /** Base64, as on the wire. */
  data?: Record<string, string>;
  /** Plain text; the server moves it to `data` and never sends it. */
  stringData?: Record<string, string>;
}
export const Secret = kind<Secret>({ group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true });

export const SecretType = {
  opaque: "Opaque",
  serviceAccountToken: "kubernetes.io/service-account-token",
  bootstrapToken: "bootstrap.kubernetes.io/token",
} as const;

export interface ConfigMap extends KubeObject {
  immutable?: boolean;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}
export const ConfigMap = kind<ConfigMap>({
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
});

export interface ServiceAccount extends KubeObject {
  secrets?: { name?: string }[];
  imagePullSecrets?: { name?: string }[];
  automountServiceAccountToken?: boolean;
}
export const ServiceAccount = kind<ServiceAccount>({
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  namespaced: true,
});

export interface Node extends KubeObject {
  spec?: { unschedulable?: boolean; podCIDR?: string; providerID?: string; taints?: Taint[] };
  status?: {
    phase?: string;
    capacity?: Record<string, string | number>;
    allocatable?: Record<string, string | number>;
    conditions?: NodeCondition[];
    addresses?: { type: string; address: string }[];
    daemonEndpoints?: { kubeletEndpoint?: { Port: number } };
    nodeInfo?: Record<string, string>;
  };
}
export const Node = kind<Node>({ group: "", version: "v1", kind: "Node", plural: "nodes", namespaced: false });

export interface Taint {
  key: string;
  value?: string;
  effect: "NoSchedule" | "PreferNoSchedule" | "NoExecute";
  timeAdded?: string;
}

export interface NodeCondition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason?: string;
  message?: string;
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
}

export interface ObjectReference {
  apiVersion?: string;
  kind?: string;
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/** The older of the two Event kinds; new ones are written through `#api/events`. Both are the same objects. */
export interface Event extends KubeObject {
  involvedObject: ObjectReference;
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  eventTime?: string | null;
  source?: { component?: string; host?: string };
  reportingComponent?: string;
  reportingInstance?: string;
  action?: string;
}
export const Event = kind<Event>({ group: "", version: "v1", kind: "Event", plural: "events", namespaced: true });
