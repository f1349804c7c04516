/** The group `discovery.k8s.io/v1`: what stands behind a Service, in slices of limited size. */
import type { ObjectReference } from "#api/core";
import { type KubeObject, kind } from "#api/meta";

export interface EndpointSlice extends KubeObject {
  addressType: AddressType;
  endpoints: SliceEndpoint[];
  /** Null where all ports of an endpoint are meant, as for headless Services without ports. */
  ports?: EndpointPort[] | null;
}
export const EndpointSlice = kind<EndpointSlice>({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
});

export type AddressType = "IPv4" | "IPv6" | "FQDN";

export interface SliceEndpoint {
  addresses: string[];
  conditions?: { ready?: boolean; serving?: boolean; terminating?: boolean };
  hostname?: string;
  targetRef?: ObjectReference;
  deprecatedTopology?: Record<string, string>;
  nodeName?: string;
  zone?: string;
  hints?: EndpointHints;
}

/** Where an endpoint would rather be reached from. */
export interface EndpointHints {
  forZones?: { name: string }[];
  forNodes?: { name: string }[];
}

export interface EndpointPort {
  name?: string;
  protocol?: string;
  port?: number;
  appProtocol?: string;
}

export const SliceLabel = {
  serviceName: "kubernetes.io/service-name",
  managedBy: "endpointslice.kubernetes.io/managed-by",
  /** On Endpoints: "true" keeps them from being repeated as slices. */
  skipMirror: "endpointslice.kubernetes.io/skip-mirror",
} as const;
