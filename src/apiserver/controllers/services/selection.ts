/** Which Pods stand behind a Service, and which Services an event is about. */
import type { Pod, Service } from "#api/core";
import { type DynamicObject, keyOf } from "#api/meta";
import { equal } from "#lib/json";
import type { Store } from "../../store/index.ts";
import type { Occurrence } from "../runner.ts";
import { isReady, PODS } from "../workloads/pods.ts";
import type { Stored } from "../workloads/stored.ts";

export const SERVICES = "core/services";
export const ENDPOINTS = "core/endpoints";
export const SLICES = "discovery.k8s.io/endpointslices";
export const NODES = "core/nodes";
export const SERVICE_CIDRS = "networking.k8s.io/servicecidrs";
export const IP_ADDRESSES = "networking.k8s.io/ipaddresses";

export const ZONE_LABEL = "topology.kubernetes.io/zone";

/** Whether our controllers say what stands behind the Service; otherwise it is up to its owner. */
export function isSelecting({ spec }: Service): boolean {
  return spec.type !== "ExternalName" && Object.keys(spec.selector ?? {}).length > 0;
}

export function selectedPods(store: Store, service: Service): Pod[] {
  const { namespace = "" } = service.metadata;
  return podsIn(store, namespace).filter((pod) => isSelected(service, pod));
}

/** Neither ended nor without an address. */
export function hasAddress({ status }: Pod): boolean {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return false;
  return Boolean(status?.podIP) || (status?.podIPs ?? []).length > 0;
}

/** The addresses of a Pod that are of one family. */
export function addressesOf({ status }: Pod, family: "IPv4" | "IPv6"): string[] {
  const listed = (status?.podIPs ?? []).map(({ ip }) => ip);
  const all = listed.length === 0 && status?.podIP ? [status.podIP] : listed;
  return all.filter((address) => familyOf(address) === family);
}

export function familyOf(address: string): "IPv4" | "IPv6" {
  return address.includes(":") ? "IPv6" : "IPv4";
}

/** Services without an address of their own: their name leads to the Pods themselves. */
export function isHeadless({ spec: { clusterIP = "" } }: Service): boolean {
  return clusterIP === "" || clusterIP === "None";
}

/** A Pod has a name of its own below that of the Service which it names as its domain. */
export function hostnameBelow({ spec: { hostname = "", subdomain } }: Pod, service: Service): string {
  return subdomain === service.metadata.name ? hostname : "";
}

/** The key of the Service itself, or of those that select the Pod, or Pods on the Node, of the event. */
export function servicesConcerned(store: Store, event: Occurrence): readonly string[] {
  switch (event.resource) {
    case SERVICES:
      return [event.key];
    case PODS:
      return ofPod(store, event);
    case NODES:
      return ofNode(store, event);
    default:
      return [];
  }
}

function ofPod(store: Store, { type, object, previous }: Occurrence): readonly string[] {
  const pod = object as Stored<Pod>;
  const before = previous as Stored<Pod> | undefined;
  if (type === "MODIFIED" && before && equal(whatMatters(before), whatMatters(pod))) return [];
  const { namespace = "" } = pod.metadata;
  return servicesIn(store, namespace)
    .filter((service) => isSelected(service, pod) || (before && isSelected(service, before)))
    .map(keyOf);
}

/** A Node matters by being there and by its zone; its heartbeats do not. */
function ofNode(store: Store, { type, object, previous }: Occurrence): readonly string[] {
  const zoneOf = (node: DynamicObject | undefined) => node?.metadata.labels?.[ZONE_LABEL];
  if (type === "MODIFIED" && zoneOf(object) === zoneOf(previous)) return [];
  const there = podsIn(store).filter(({ spec }) => spec.nodeName === object.metadata.name);
  const keys = there.flatMap((pod) =>
    servicesIn(store, pod.metadata.namespace ?? "")
      .filter((service) => isSelected(service, pod))
      .map(keyOf),
  );
  return [...new Set(keys)];
}

/** What of a Pod can change what is said about it. */
function whatMatters(pod: Pod): unknown {
  const { metadata, spec, status } = pod;
  return {
    labels: metadata.labels,
    isDeleted: metadata.deletionTimestamp !== undefined,
    place: [spec.nodeName, spec.hostname, spec.subdomain],
    isReachable: hasAddress(pod),
    isReady: isReady(pod),
    addresses: [status?.podIP, status?.podIPs],
  };
}

function isSelected(service: Service, { metadata: { labels = {} } }: Pod): boolean {
  if (!isSelecting(service)) return false;
  return Object.entries(service.spec.selector ?? {}).every(([key, value]) => labels[key] === value);
}

function servicesIn(store: Store, namespace: string): Stored<Service>[] {
  return store.list(SERVICES, { namespace }).items as Stored<Service>[];
}

function podsIn(store: Store, namespace?: string): Stored<Pod>[] {
  return store.list(PODS, namespace === undefined ? {} : { namespace }).items as Stored<Pod>[];
}
