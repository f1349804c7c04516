/** What a cluster holds before anybody asks it for anything. */
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import { bootstrapPolicy } from "./auth/index.ts";
import { SERVICE_ADDRESS } from "./identity.ts";
import { SERVICE_RANGE } from "./service-addresses.ts";

export interface BootstrapObject {
  readonly storage: string;
  readonly object: DynamicObject;
}

const NAMESPACES = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** What differs from one cluster to the next. */
export interface BootstrapFacts {
  /** PEM of the authority of client certificates. */
  readonly authority: string;
  readonly host: string;
  readonly port: number;
  readonly now: Date;
}

/** In the order in which they can be created; what everybody may do comes beside them. */
export function bootstrapObjects({ authority, host, port, now }: BootstrapFacts): BootstrapObject[] {
  return [
    ...NAMESPACES.map((name) => stored("core/namespaces", "v1", "Namespace", { name })),
    stored(
      "core/configmaps",
      "v1",
      "ConfigMap",
      { namespace: "kube-system", name: "extension-apiserver-authentication" },
      {
        data: { "client-ca-file": authority },
      },
    ),
    // Who cleans up must know since when the use of tokens is written down.
    stored(
      "core/configmaps",
      "v1",
      "ConfigMap",
      { namespace: "kube-system", name: "kube-apiserver-legacy-service-account-token-tracking" },
      { data: { since: timestamp(now).slice(0, "YYYY-MM-DD".length) } },
    ),
    ...ownService(host, port),
  ];
}

/** What everybody may do: the same in every cluster. */
export function policyObjects(): readonly BootstrapObject[] {
  policy ??= bootstrapPolicy().map((object) => ({ storage: storageOf(object), object }));
  return policy;
}

let policy: readonly BootstrapObject[] | undefined;

/** The Service by which the API server is found from inside, the range of its address, and where it leads. */
export function ownService(ip: string, port: number): BootstrapObject[] {
  const place = { namespace: "default", name: "kubernetes" };
  const ports = [{ name: "https", protocol: "TCP", port }];
  return [
    stored(
      "networking.k8s.io/servicecidrs",
      "networking.k8s.io/v1",
      "ServiceCIDR",
      { name: "kubernetes" },
      { spec: { cidrs: [SERVICE_RANGE] } },
    ),
    stored(
      "core/services",
      "v1",
      "Service",
      { ...place, labels: { component: "apiserver", provider: "kubernetes" } },
      {
        spec: {
          type: "ClusterIP",
          clusterIP: SERVICE_ADDRESS,
          clusterIPs: [SERVICE_ADDRESS],
          ports: [{ name: "https", protocol: "TCP", port: 443, targetPort: port }],
        },
      },
    ),
    stored(
      "core/endpoints",
      "v1",
      "Endpoints",
      { ...place, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      { subsets: [{ addresses: [{ ip }], ports }] },
    ),
    stored(
      "discovery.k8s.io/endpointslices",
      "discovery.k8s.io/v1",
      "EndpointSlice",
      { ...place, labels: { "kubernetes.io/service-name": "kubernetes" } },
      { addressType: "IPv4", endpoints: [{ addresses: [ip], conditions: { ready: true } }], ports },
    ),
  ];
}

function storageOf({ kind }: DynamicObject): string {
  return `rbac.authorization.k8s.io/${kind.toLowerCase()}s`;
}

function stored(
  storage: string,
  apiVersion: string,
  kind: string,
  metadata: DynamicObject["metadata"],
  more: Record<string, unknown> = {},
): BootstrapObject {
  return { storage, object: { apiVersion, kind, metadata, ...more } };
}
