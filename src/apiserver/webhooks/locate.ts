/**
 * Where a webhook is, for those that are named by their Service: behind it stand Pods, and those that really run have
 * an address on loopback. All others are simulated, and nobody would answer there.
 */
import type { Endpoints, Pod, Service, ServicePort } from "#api/core";
import type { EndpointSlice } from "#api/discovery";
import { SliceLabel } from "#api/discovery";
import type { DynamicObject } from "#api/meta";
import { labelSelector } from "#lib/selectors";

/** What is asked of the store. */
export interface ObjectLookup {
  get(storage: string, key: string): DynamicObject | undefined;
  list(storage: string, options: { namespace: string }): { readonly items: readonly DynamicObject[] };
}

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** A place to call, what a Service without real Pods is to answer, or why there is neither. */
export type Location =
  | { readonly endpoint: Endpoint }
  | { readonly simulated: SimulatedAnswer }
  | { readonly missing: string };

export type SimulatedAnswer = "allow" | "deny";

/** On a Service: what its webhook does while all Pods behind it are simulated. */
export const SIMULATION_ANNOTATION = "simulate.capstan.dev/webhook";

export function locateService(
  store: ObjectLookup,
  { namespace, name, port }: { readonly namespace: string; readonly name: string; readonly port: number },
): Location {
  const service = store.get("core/services", `${namespace}/${name}`) as Service | undefined;
  if (!service) return { missing: `service "${name}" not found` };
  const { type = "ClusterIP", ports = [] } = service.spec;
  if (type === "ExternalName") return { missing: `unsupported service type "${type}"` };
  const servicePort = ports.find((each) => each.port === port);
  if (!servicePort) return { missing: `no service port ${port} found for service "${name}"` };

  const endpoints = endpointsOf(store, service, servicePort);
  const real = endpoints.filter(({ host }) => isReal(host));
  const chosen = real[Math.floor(Math.random() * real.length)];
  if (chosen) return { endpoint: chosen };
  const wish = service.metadata.annotations?.[SIMULATION_ANNOTATION];
  if (endpoints.length === 0 || wish === "absent") return { missing: `no endpoints available for service "${name}"` };
  return { simulated: wish === "deny" ? "deny" : "allow" };
}

/** Simulated Pods have addresses of networks that do not exist. */
function isReal(host: string): boolean {
  return host.startsWith("127.");
}

/** Those that take part now. Pods are asked themselves, because what is written about them comes a moment later. */
function endpointsOf(store: ObjectLookup, service: Service, port: ServicePort): Endpoint[] {
  const { namespace = "" } = service.metadata;
  const { selector } = service.spec;
  if (selector && Object.keys(selector).length > 0) {
    const selected = labelSelector({ matchLabels: selector });
    const pods = store.list("core/pods", { namespace }).items as unknown as readonly Pod[];
    return pods
      .filter((pod) => selected.matches(pod.metadata.labels ?? {}) && takesPart(pod, service))
      .flatMap((pod) => endpointOf(pod, port));
  }
  const sliced = slicedEndpoints(store, service, port);
  return sliced.length > 0 ? sliced : listedEndpoints(store, service, port);
}

function takesPart({ metadata, status }: Pod, { spec }: Service): boolean {
  const isOver = status?.phase === "Succeeded" || status?.phase === "Failed";
  if (isOver || !status?.podIP) return false;
  if (spec.publishNotReadyAddresses) return true;
  const ready = status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") ?? false;
  return ready && metadata.deletionTimestamp === undefined;
}

function endpointOf({ spec, status }: Pod, { port, targetPort = port }: ServicePort): Endpoint[] {
  const named = spec.containers.flatMap(({ ports = [] }) => ports).find(({ name }) => name === targetPort);
  const number = typeof targetPort === "number" ? targetPort : named?.containerPort;
  return number === undefined ? [] : [{ host: status?.podIP ?? "", port: number }];
}

function slicedEndpoints(store: ObjectLookup, { metadata }: Service, { name = "" }: ServicePort): Endpoint[] {
  const { namespace = "" } = metadata;
  const slices = store.list("discovery.k8s.io/endpointslices", { namespace }).items as unknown as EndpointSlice[];
  return slices
    .filter((slice) => slice.metadata.labels?.[SliceLabel.serviceName] === metadata.name)
    .flatMap(({ ports, endpoints }) => {
      const number = ports?.find((port) => (port.name ?? "") === name)?.port;
      if (number === undefined) return [];
      return endpoints
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ addresses: [host] }) => (host === undefined ? [] : [{ host, port: number }]));
    });
}

function listedEndpoints(store: ObjectLookup, { metadata }: Service, { name = "" }: ServicePort): Endpoint[] {
  const { namespace = "", name: service } = metadata;
  const { subsets = [] } = (store.get("core/endpoints", `${namespace}/${service}`) as Endpoints | undefined) ?? {};
  return subsets.flatMap(({ addresses = [], ports = [] }) => {
    const number = ports.find((port) => (port.name ?? "") === name)?.port;
    return number === undefined ? [] : addresses.map(({ ip }) => ({ host: ip, port: number }));
  });
}
