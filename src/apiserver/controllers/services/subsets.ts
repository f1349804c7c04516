/** The addresses behind a Service as Endpoints list them: in subsets of addresses that offer the same ports. */
import type { EndpointAddress, EndpointSubset, EndpointsPort, Pod, Service } from "#api/core";
import { isReady } from "../workloads/pods.ts";
import { targetPort } from "./ports.ts";
import { addressesOf, familyOf, hasAddress, hostnameBelow } from "./selection.ts";

/** More addresses than this are not listed: whoever needs all of them reads slices. */
export const MOST_ADDRESSES = 1000;

export function subsetsOf(service: Service, pods: readonly Pod[]): EndpointSubset[] {
  const { publishNotReadyAddresses = false, ports = [], clusterIP } = service.spec;
  const subsets: EndpointSubset[] = [];
  for (const pod of pods) {
    const isLeaving = pod.metadata.deletionTimestamp !== undefined && !publishNotReadyAddresses;
    const address = hasAddress(pod) && !isLeaving ? addressOf(pod, service) : undefined;
    if (!address) continue;
    const list = publishNotReadyAddresses || isReady(pod) ? "addresses" : "notReadyAddresses";
    const offered = ports.flatMap((servicePort) => {
      const port = targetPort(pod, servicePort);
      return port === undefined ? [] : [endpointsPort(servicePort, port)];
    });
    if (ports.length === 0 && clusterIP === "None") subsets.push({ [list]: [address] });
    for (const port of offered) subsets.push({ [list]: [address], ports: [port] });
  }
  return repacked(subsets);
}

function endpointsPort(
  { name, protocol = "TCP", appProtocol }: { name?: string; protocol?: string; appProtocol?: string },
  port: number,
): EndpointsPort {
  return { ...(name && { name }), port, protocol, ...(appProtocol !== undefined && { appProtocol }) };
}

function addressOf(pod: Pod, service: Service): EndpointAddress | undefined {
  const [ip] = addressesOf(pod, familyWanted(service, pod));
  if (ip === undefined) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const hostname = hostnameBelow(pod, service);
  return {
    ip,
    ...(hostname && { hostname }),
    nodeName: pod.spec.nodeName ?? "",
    targetRef: { kind: "Pod", ...(namespace && { namespace }), name, ...(uid && { uid }) },
  };
}

/** Endpoints know one family only: the first of the Service. */
function familyWanted({ spec: { ipFamilies = [], clusterIP = "" } }: Service, pod: Pod): "IPv4" | "IPv6" {
  const [first] = ipFamilies;
  if (first === "IPv4" || first === "IPv6") return first;
  return familyOf(clusterIP === "" || clusterIP === "None" ? (pod.status?.podIP ?? "") : clusterIP);
}

interface Listed {
  readonly address: EndpointAddress;
  isReady: boolean;
}

/** The same addresses and ports in the one form that all writers agree on: each address once per port, in order. */
export function repacked(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const byPort = new Map<string, { port: EndpointsPort | undefined; addresses: Map<string, Listed> }>();
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    for (const port of ports.length > 0 ? ports : [undefined]) {
      const key = port ? portText(port) : "";
      const entry = byPort.get(key) ?? { port, addresses: new Map<string, Listed>() };
      byPort.set(key, entry);
      for (const address of addresses) list(entry.addresses, address, true);
      for (const address of notReadyAddresses) list(entry.addresses, address, false);
    }
  }
  const bySet = new Map<string, { ports: EndpointsPort[]; listed: Listed[] }>();
  for (const { port, addresses } of byPort.values()) {
    const listed = [...addresses].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, address]) => address);
    const key = JSON.stringify(listed);
    const entry = bySet.get(key) ?? { ports: [], listed };
    bySet.set(key, entry);
    if (port) entry.ports.push(port);
  }
  return [...bySet.values()].map(subsetOf).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

/** An address that is somewhere called not ready is not. */
function list(addresses: Map<string, Listed>, address: EndpointAddress, isReady: boolean): void {
  const key = addressText(address);
  const known = addresses.get(key);
  if (known) known.isReady &&= isReady;
  else addresses.set(key, { address, isReady });
}

function subsetOf({ ports, listed }: { ports: EndpointsPort[]; listed: Listed[] }): EndpointSubset {
  const [ready, notReady] = [true, false].map((wanted) =>
    listed.filter(({ isReady }) => isReady === wanted).map(({ address }) => address),
  );
  return {
    ...(ready?.length && { addresses: ready }),
    ...(notReady?.length && { notReadyAddresses: notReady }),
    ...(ports.length > 0 && { ports: ports.sort((a, b) => (portText(a) < portText(b) ? -1 : 1)) }),
  };
}

/** Two Pods may have the address of their node; they are told apart by who they are. */
function addressText({ ip, targetRef }: EndpointAddress): string {
  return JSON.stringify([ip, targetRef?.uid ?? ""]);
}

function portText({ name = "", port, protocol = "TCP", appProtocol }: EndpointsPort): string {
  return JSON.stringify([name, port, protocol, appProtocol]);
}

export function countAddresses(subsets: readonly EndpointSubset[]): number {
  return sum(subsets.map(({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length));
}

/** At most MOST_ADDRESSES of them: ready ones before others, each subset in proportion to its size. */
export function truncated(subsets: readonly EndpointSubset[]): EndpointSubset[] {
  const ready = sum(subsets.map(({ addresses = [] }) => addresses.length));
  const left = cut(subsets, "addresses", Math.min(ready, MOST_ADDRESSES));
  return cut(left, "notReadyAddresses", MOST_ADDRESSES - Math.min(ready, MOST_ADDRESSES)).filter(
    (subset) => countAddresses([subset]) > 0,
  );
}

function cut(
  subsets: readonly EndpointSubset[],
  key: "addresses" | "notReadyAddresses",
  most: number,
): EndpointSubset[] {
  const total = sum(subsets.map((subset) => subset[key]?.length ?? 0));
  if (total <= most) return [...subsets];
  let room = most;
  return subsets.map((subset) => {
    const { [key]: all = [], ...rest } = subset;
    const kept = all.slice(0, Math.min(room, Math.ceil((all.length / total) * most)));
    room -= kept.length;
    return { ...rest, ...(kept.length > 0 && { [key]: kept }) };
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
