import { type KubeObject, kind, type ObjectMeta } from "#api/meta";
import type { ObjectReference } from "./index.ts";
import type { PodTemplateSpec } from "./pod.ts";

export interface Service extends KubeObject {
  spec: {
    type?: "ClusterIP" | "NodePort" | "LoadBalancer" | "ExternalName";
    selector?: Record<string, string>;
    clusterIP?: string;
    clusterIPs?: string[];
    ipFamilies?: string[];
    ports?: ServicePort[];
    publishNotReadyAddresses?: boolean;
    externalName?: string;
    loadBalancerClass?: string;
    loadBalancerIP?: string;
    trafficDistribution?: string;
  };
  status?: { loadBalancer?: { ingress?: LoadBalancerIngress[] }; conditions?: unknown[] };
}
export const Service = kind<Service>({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  namespaced: true,
});

/** On what stands behind a Service without an address of its own. */
export const HEADLESS_LABEL = "service.kubernetes.io/headless";

export interface ServicePort {
  name?: string;
  port: number;
  protocol?: string;
  appProtocol?: string;
  targetPort?: number | string;
  nodePort?: number;
}

export interface LoadBalancerIngress {
  ip?: string;
  hostname?: string;
  ipMode?: "VIP" | "Proxy";
  ports?: { port: number; protocol: string; error?: string }[];
}

/** The older way to list what stands behind a Service; `#api/discovery` has the newer one. */
export interface Endpoints extends KubeObject {
  subsets?: EndpointSubset[];
}
export const Endpoints = kind<Endpoints>({
  group: "",
  version: "v1",
  kind: "Endpoints",
  plural: "endpoints",
  namespaced: true,
});

export const EndpointsAnnotation = {
  /** When that happened which the last change is the answer to; by it people measure how quick the answer was. */
  lastChangeTriggerTime: "endpoints.kubernetes.io/last-change-trigger-time",
  /** Says that there are more addresses than are listed. */
  overCapacity: "endpoints.kubernetes.io/over-capacity",
} as const;

export const ENDPOINTS_MANAGED_BY = "endpoints.kubernetes.io/managed-by";

export interface EndpointSubset {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointsPort[];
}

export interface EndpointsPort {
  name?: string;
  port: number;
  protocol?: string;
  appProtocol?: string;
}

export interface EndpointAddress {
  ip: string;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
}

export interface ReplicationController extends KubeObject {
  spec: {
    replicas?: number;
    minReadySeconds?: number;
    selector?: Record<string, string>;
    template?: PodTemplateSpec & { metadata?: Partial<ObjectMeta> };
  };
  status?: Record<string, unknown>;
}
export const ReplicationController = kind<ReplicationController>({
  group: "",
  version: "v1",
  kind: "ReplicationController",
  plural: "replicationcontrollers",
  namespaced: true,
});
