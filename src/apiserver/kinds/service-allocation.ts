/** What a Service is given by the cluster: families of addresses, an address, and ports on every node. */
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { type FieldError, field, internalError, invalid } from "../errors.ts";
import type { ServiceAddresses, ServiceWish } from "./dependencies.ts";
import { ensure, type Fields, fieldsAt, listAt, numberAt, objectsAt, textAt, textsAt } from "./fields.ts";
import { isHeadless, needsAddress, needsHealthCheck, needsNodePorts } from "./service-types.ts";
import { addressErrors } from "./service-validation.ts";

/** The only family that addresses are given of. */
const FAMILY = "IPv4";

export interface AllocationRequest {
  readonly draft: DynamicObject;
  /** The spec as it is stored, for an update. */
  readonly before?: Fields;
  readonly addresses: ServiceAddresses;
  readonly dryRun: boolean;
}

/** Fills in what is missing and claims what is wished for. Throws ApiError 422 where that cannot be had. */
export function allocate({ draft, before, addresses, dryRun }: AllocationRequest): void {
  const spec = ensure(draft, "spec");
  const { namespace = "", name } = draft.metadata;
  const wish: ServiceWish = { namespace, name, dryRun };
  if (needsAddress(spec)) {
    settleFamilies(draft, spec, before);
    const isNew = !before || !needsAddress(before);
    if (isNew && !isHeadless(spec)) allocateAddress(draft, spec, addresses, wish);
  }
  const taken: number[] = [];
  if (needsNodePorts(spec)) allocatePorts(draft, spec, before, addresses, wish, taken);
  const hadHealthCheck = before !== undefined && needsHealthCheck(before);
  if (needsHealthCheck(spec) && !hadHealthCheck) allocateHealthCheck(spec, addresses, wish, taken);
}

function refuse(draft: DynamicObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: "", kind: "Service", name: draft.metadata.name }, errors);
}

/** Addresses of two families are only known of Services that have none from us and no Pods that we know of. */
function settleFamilies(draft: DynamicObject, spec: Fields, before: Fields | undefined): void {
  const isFree = isHeadless(spec) && Object.keys(fieldsAt(spec, "selector")).length === 0;
  const policy =
    textAt(spec, "ipFamilyPolicy") || textAt(before, "ipFamilyPolicy") || (isFree ? "RequireDualStack" : "SingleStack");
  spec.ipFamilyPolicy = policy;
  refuse(draft, addressErrors(spec));
  refuse(draft, policyErrors(spec, policy, before));

  const families = textsAt(spec, "ipFamilies");
  const inferred = textsAt(spec, "clusterIPs").map((address) => (address.includes(":") ? "IPv6" : FAMILY));
  if (families.length === 0) families.push(...(isHeadless(spec) ? [] : inferred));
  if (families.length === 0) families.push(FAMILY);
  if (isFree) {
    if (families.length < 2 && policy !== "SingleStack") families.push(families[0] === FAMILY ? "IPv6" : FAMILY);
  } else refuse(draft, familyErrors(spec, policy, families));
  spec.ipFamilies = families;
}

function policyErrors(spec: Fields, policy: string, before: Fields | undefined): FieldError[] {
  const wrong = (detail: string) => [field.invalid("spec.ipFamilyPolicy", policy, detail)];
  const families = listAt(spec, "ipFamilies");
  const addresses = listAt(spec, "clusterIPs");
  if (policy !== "SingleStack") {
    const isReduced = families.length > 0 && families.length < listAt(before, "ipFamilies").length;
    return isReduced ? wrong("must be 'SingleStack' to release the secondary IP family") : [];
  }
  if (before && families.length > 1 && equal(families, listAt(before, "ipFamilies"))) {
    spec.ipFamilies = families.slice(0, 1);
    return [];
  }
  const needs = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
  return [
    ...(addresses.length > 1 ? wrong(`${needs} cluster IPs are specified`) : []),
    ...(families.length > 1 ? wrong(`${needs} IP families are specified`) : []),
  ];
}

function familyErrors(spec: Fields, policy: string, families: readonly string[]): FieldError[] {
  const named = listAt(spec, "ipFamilies").length > 0;
  const path = (index: number) => (named ? `spec.ipFamilies[${index}]` : `spec.clusterIPs[${index}]`);
  return [
    ...(policy === "RequireDualStack"
      ? [field.invalid("spec.ipFamilyPolicy", policy, "this cluster is not configured for dual-stack services")]
      : []),
    ...families.flatMap((family, index) =>
      family === FAMILY ? [] : [field.invalid(path(index), family, "not configured on this cluster")],
    ),
  ];
}

function allocateAddress(draft: DynamicObject, spec: Fields, addresses: ServiceAddresses, wish: ServiceWish): void {
  const address = textsAt(spec, "clusterIPs")[0] ?? "";
  const given = addresses.clusterIp({ ...wish, ...(address && { address }) });
  if (given.value === undefined) {
    const detail = `failed to allocate IP${address && ` ${address}`}: ${given.refused}`;
    refuse(draft, [field.invalid("spec.clusterIPs", address ? [address] : null, detail)]);
  }
  spec.clusterIP = given.value;
  spec.clusterIPs = [given.value];
}

/** One number per port; in a new Service, the same port in two protocols shares one. */
function allocatePorts(
  draft: DynamicObject,
  spec: Fields,
  before: Fields | undefined,
  addresses: ServiceAddresses,
  wish: ServiceWish,
  taken: number[],
): void {
  const ports = objectsAt(spec, "ports");
  const mayChoose = spec.type === "NodePort" || spec.allocateLoadBalancerNodePorts !== false;
  const wishes = ports.filter(({ nodePort }) => nodePort);
  const claim = (port: Fields, asked: number | undefined): void => {
    if (asked !== undefined && taken.includes(asked)) return;
    const given = addresses.nodePort({ ...wish, ...(asked !== undefined && { port: asked }), taken });
    if (given.value === undefined) {
      refuse(draft, [field.invalid(`spec.ports[${ports.indexOf(port)}].nodePort`, asked ?? 0, given.refused)]);
      return;
    }
    port.nodePort = given.value;
    taken.push(given.value);
  };
  // Wishes first, so that a port that was left to us does not take what another port wishes for.
  for (const port of wishes) claim(port, numberAt(port, "nodePort"));
  for (const port of mayChoose ? ports.filter(({ nodePort }) => !nodePort) : []) {
    const sibling = before ? undefined : ports.find((other) => other.nodePort && other.port === port.port);
    if (sibling) port.nodePort = sibling.nodePort;
    else claim(port, undefined);
  }
}

function allocateHealthCheck(
  spec: Fields,
  addresses: ServiceAddresses,
  wish: ServiceWish,
  taken: readonly number[],
): void {
  const asked = numberAt(spec, "healthCheckNodePort") || undefined;
  const given = addresses.nodePort({ ...wish, ...(asked !== undefined && { port: asked }), taken });
  if (given.value === undefined) {
    throw internalError(`failed to allocate requested HealthCheck NodePort ${asked ?? ""}: ${given.refused}`);
  }
  spec.healthCheckNodePort = given.value;
}
