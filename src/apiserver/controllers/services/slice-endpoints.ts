/** What an EndpointSlice says of one Pod behind a Service. */
import type { Node, Pod, Service } from "#api/core";
import type { EndpointHints, EndpointPort, SliceEndpoint } from "#api/discovery";
import { isReady } from "../workloads/pods.ts";
import { targetPort } from "./ports.ts";
import { addressesOf, familyOf, hasAddress, hostnameBelow, ZONE_LABEL } from "./selection.ts";

/** Pods that offer the same ports: they may share slices. */
export interface PortGroup {
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly SliceEndpoint[];
}

export interface Surroundings {
  readonly service: Service;
  readonly pods: readonly Pod[];
  nodeOf(name: string): Node | undefined;
}

/** The Pods with an address of that type, by the ports that they offer. */
export function portGroups({ service, pods, nodeOf }: Surroundings, addressType: "IPv4" | "IPv6"): PortGroup[] {
  const groups = new Map<string, { ports: EndpointPort[]; endpoints: SliceEndpoint[] }>();
  for (const pod of pods) {
    if (!hasAddress(pod)) continue;
    const node = nodeOf(pod.spec.nodeName ?? "");
    const ports = portsOn(pod, service);
    const group = groups.get(portKey(ports)) ?? { ports, endpoints: [] };
    groups.set(portKey(ports), group);
    // Who stands on no Node that we know can only be meant where readiness does not matter.
    if (!node && !service.spec.publishNotReadyAddresses) continue;
    const addresses = addressesOf(pod, addressType);
    if (addresses.length > 0) group.endpoints.push(endpointOf(pod, addresses, service, node));
  }
  return [...groups.values()];
}

function endpointOf(pod: Pod, addresses: string[], service: Service, node: Node | undefined): SliceEndpoint {
  const { namespace, name, uid, deletionTimestamp } = pod.metadata;
  const serving = isReady(pod);
  const terminating = deletionTimestamp !== undefined;
  const ready = service.spec.publishNotReadyAddresses === true || (serving && !terminating);
  const hostname = hostnameBelow(pod, service);
  const { nodeName } = pod.spec;
  const zone = node?.metadata.labels?.[ZONE_LABEL];
  const endpoint: SliceEndpoint = {
    addresses: addresses.toSorted(),
    conditions: { ready, serving, terminating },
    ...(hostname && { hostname }),
    targetRef: { kind: "Pod", ...(namespace && { namespace }), name, ...(uid && { uid }) },
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
  };
  const hints = ready ? hintsFor(endpoint, service) : undefined;
  return hints ? { ...endpoint, hints } : endpoint;
}

const NEAR: ReadonlySet<string> = new Set(["PreferClose", "PreferSameZone", "PreferSameNode"]);

/** Traffic that prefers to stay near is told where each endpoint is. */
function hintsFor({ zone, nodeName }: SliceEndpoint, { spec }: Service): EndpointHints | undefined {
  const { trafficDistribution = "" } = spec;
  if (!NEAR.has(trafficDistribution)) return undefined;
  const hints: EndpointHints = {
    ...(zone && { forZones: [{ name: zone }] }),
    ...(nodeName && trafficDistribution === "PreferSameNode" && { forNodes: [{ name: nodeName }] }),
  };
  return Object.keys(hints).length > 0 ? hints : undefined;
}

function portsOn(pod: Pod, { spec: { ports = [] } }: Service): EndpointPort[] {
  return ports.flatMap((servicePort) => {
    const port = targetPort(pod, servicePort);
    if (port === undefined) return [];
    const { name = "", protocol = "TCP", appProtocol } = servicePort;
    return [{ name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) }];
  });
}

/** The same text for the same ports in any order. */
export function portKey(ports: readonly EndpointPort[] | null | undefined): string {
  const texts = (ports ?? []).map(({ name = "", protocol = "TCP", port, appProtocol }) =>
    JSON.stringify([name, protocol, port, appProtocol]),
  );
  return texts.sort().join();
}

/** The families that a Service has addresses of. */
export function addressTypesOf({ spec: { ipFamilies = [], clusterIP = "" } }: Service): ("IPv4" | "IPv6")[] {
  const families = (["IPv4", "IPv6"] as const).filter((family) => ipFamilies.includes(family));
  return families.length > 0 ? families : [familyOf(clusterIP)];
}

/** Tells endpoints apart that must not be mixed up; everything else of an endpoint may change in place. */
export function endpointKey({ addresses, hostname = "", targetRef }: SliceEndpoint): string {
  return JSON.stringify([addresses.toSorted(), hostname, targetRef?.namespace ?? "", targetRef?.name ?? ""]);
}
