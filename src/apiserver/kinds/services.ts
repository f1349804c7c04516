/** Services: addresses and ports that stay while Pods come and go. */
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { dns1123Label, dns1123Subdomain } from "#lib/names";
import { type FieldError, field, invalid } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import type { KindDependencies, ServiceAddresses, ServiceWish } from "./dependencies.ts";
import {
  at,
  ensure,
  type Fields,
  fieldsAt,
  fill,
  fillText,
  isAbsent,
  listAt,
  objectsAt,
  textAt,
  textsAt,
} from "./fields.ts";
import { isPort, oneOf, PROTOCOLS } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import { services as table } from "./tables/core.ts";

const KIND: GroupVersionKind = { group: "", version: "v1", kind: "Service" };
const HEADLESS = "None";
const STICKY_SECONDS = 10_800;
const PORT_RANGE = "must be between 1 and 65535, inclusive";

export function services({ addresses }: Pick<KindDependencies, "addresses">): Resource {
  return resource({
    ...KIND,
    showsDeleted: true,
    plural: "services",
    namespaced: true,
    shortNames: ["svc"],
    categories: ["all"],
    table,
    hasStatus: true,
    createOnUpdate: true,
    nameRule: "label1035",
    selectableFields: {
      "spec.clusterIP": (service) => textAt(service, "spec", "clusterIP"),
      "spec.type": (service) => textAt(service, "spec", "type"),
    },
    default: (draft) => defaultService(ensure(draft, "spec")),
    prepareForCreate: (draft) => allocate(draft, addresses),
    prepareForUpdate(draft, current) {
      keepAllocated(ensure(draft, "spec"), fieldsAt(clone(current), "spec"));
      allocate(draft, addresses);
    },
    validate: validateService,
    validateChange: validateServiceChange,
    subresources: [statusOf(KIND)],
  });
}

function defaultService(spec: Fields): void {
  fillText(spec, { sessionAffinity: "None", type: "ClusterIP" });
  if (spec.sessionAffinity === "ClientIP") {
    fill(ensure(ensure(spec, "sessionAffinityConfig"), "clientIP"), { timeoutSeconds: STICKY_SECONDS });
  }
  for (const port of objectsAt(spec, "ports")) {
    fillText(port, { protocol: "TCP" });
    if (!port.targetPort) port.targetPort = port.port;
  }
  const type = textAt(spec, "type");
  if (type === "ExternalName") return;
  fillText(spec, { internalTrafficPolicy: "Cluster" });
  if (isOutside(type) || listAt(spec, "externalIPs").length > 0) fillText(spec, { externalTrafficPolicy: "Cluster" });
  if (type === "LoadBalancer") fill(spec, { allocateLoadBalancerNodePorts: true });
}

function isOutside(type: string): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}

/** An update that does not mention what was given keeps it. */
function keepAllocated(spec: Fields, current: Fields): void {
  if (textAt(spec, "type") === "ExternalName" || textAt(current, "type") === "ExternalName") return;
  if (!textAt(spec, "clusterIP") && textsAt(spec, "clusterIPs").length === 0) {
    fillText(spec, { clusterIP: textAt(current, "clusterIP") });
    fill(spec, { clusterIPs: textsAt(current, "clusterIPs") });
  }
  fill(spec, { ipFamilies: listAt(current, "ipFamilies") });
  fillText(spec, { ipFamilyPolicy: textAt(current, "ipFamilyPolicy") });
  if (!isOutside(textAt(spec, "type"))) return;
  for (const port of objectsAt(spec, "ports")) {
    if (port.nodePort) continue;
    const before = objectsAt(current, "ports").find(
      (other) => other.port === port.port && other.protocol === port.protocol,
    );
    if (before?.nodePort) port.nodePort = before.nodePort;
  }
}

/** Gives the Service what it wishes for or needs: an address, and node ports where it is reached from outside. */
function allocate(draft: DynamicObject, addresses: ServiceAddresses): void {
  const spec = ensure(draft, "spec");
  const wish: ServiceWish = { namespace: draft.metadata.namespace ?? "", name: draft.metadata.name };
  const type = textAt(spec, "type");
  if (type === "ExternalName") {
    for (const key of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]) delete spec[key];
    return;
  }
  allocateAddress(draft, spec, wish, addresses);
  fill(spec, { ipFamilies: [textAt(spec, "clusterIP").includes(":") ? "IPv6" : "IPv4"] });
  fillText(spec, { ipFamilyPolicy: "SingleStack" });

  const wantsPorts =
    type === "NodePort" || (type === "LoadBalancer" && at(spec, "allocateLoadBalancerNodePorts") !== false);
  if (wantsPorts) allocatePorts(draft, spec, wish, addresses);
  else if (!isOutside(type)) for (const port of objectsAt(spec, "ports")) delete port.nodePort;
}

function allocateAddress(draft: DynamicObject, spec: Fields, wish: ServiceWish, addresses: ServiceAddresses): void {
  const address = textAt(spec, "clusterIP") || textsAt(spec, "clusterIPs")[0] || "";
  if (address !== HEADLESS) {
    const given = addresses.clusterIp({ ...wish, ...(address && { address }) });
    if (given.value === undefined) {
      throw invalid({ group: "", kind: KIND.kind, name: draft.metadata.name }, [
        field.invalid(
          "spec.clusterIPs",
          address ? [address] : null,
          `failed to allocate IP ${address}: ${given.refused}`,
        ),
      ]);
    }
    spec.clusterIP = given.value;
  } else spec.clusterIP = HEADLESS;
  spec.clusterIPs = [spec.clusterIP, ...textsAt(spec, "clusterIPs").slice(1)];
}

function allocatePorts(draft: DynamicObject, spec: Fields, wish: ServiceWish, addresses: ServiceAddresses): void {
  const ports = objectsAt(spec, "ports");
  const taken: number[] = [];
  // Wishes first, so that a port that was left to us does not take what another port wishes for.
  const inOrder = [...ports.filter(({ nodePort }) => nodePort), ...ports.filter(({ nodePort }) => !nodePort)];
  for (const port of inOrder) {
    const asked = typeof port.nodePort === "number" && port.nodePort !== 0 ? { port: port.nodePort } : {};
    const given = addresses.nodePort({ ...wish, ...asked, taken });
    if (given.value === undefined) {
      const path = `spec.ports[${ports.indexOf(port)}].nodePort`;
      throw invalid({ group: "", kind: KIND.kind, name: draft.metadata.name }, [
        field.invalid(path, port.nodePort ?? 0, given.refused),
      ]);
    }
    port.nodePort = given.value;
    taken.push(given.value);
  }
}

function validateService(service: DynamicObject): FieldError[] {
  const spec = fieldsAt(service, "spec");
  const type = textAt(spec, "type");
  const errors = [
    ...oneOf(spec, "type", ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], "spec"),
    ...oneOf(spec, "sessionAffinity", ["ClientIP", "None"], "spec"),
  ];
  const isHeadless = textAt(spec, "clusterIP") === HEADLESS;
  if (type === "ExternalName") {
    const name = textAt(spec, "externalName");
    if (!name) errors.push(field.required("spec.externalName"));
    else
      errors.push(
        ...dns1123Subdomain(name.replace(/\.$/, "")).map((problem) =>
          field.invalid("spec.externalName", name, problem),
        ),
      );
  } else if (objectsAt(spec, "ports").length === 0 && !isHeadless) errors.push(field.required("spec.ports"));
  if (isHeadless && isOutside(type)) {
    errors.push(field.invalid("spec.clusterIPs[0]", HEADLESS, `may not be set to 'None' for ${type} services`));
  }
  return [...errors, ...portErrors(objectsAt(spec, "ports"))];
}

function portErrors(ports: readonly Fields[]): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  const pairs = new Set<string>();
  ports.forEach((port, index) => {
    const path = `spec.ports[${index}]`;
    const name = textAt(port, "name");
    if (name === "") {
      if (ports.length > 1) errors.push(field.required(`${path}.name`));
    } else {
      errors.push(...dns1123Label(name).map((problem) => field.invalid(`${path}.name`, name, problem)));
      if (names.has(name)) errors.push(field.duplicate(`${path}.name`, name));
      names.add(name);
    }
    if (!isPort(port.port)) errors.push(field.invalid(`${path}.port`, port.port ?? 0, PORT_RANGE));
    errors.push(...oneOf(port, "protocol", PROTOCOLS, path));
    if (typeof port.targetPort === "number" && !isPort(port.targetPort)) {
      errors.push(field.invalid(`${path}.targetPort`, port.targetPort, PORT_RANGE));
    }
    const pair = `${port.port}/${port.protocol}`;
    if (pairs.has(pair)) errors.push(field.duplicate(path, { port: port.port, protocol: port.protocol }));
    pairs.add(pair);
  });
  return errors;
}

function validateServiceChange(service: DynamicObject, current: DynamicObject): FieldError[] {
  const before = textAt(current, "spec", "clusterIP");
  const after = at(service, "spec", "clusterIP");
  if (before === "" || isAbsent(after) || after === before) return [];
  if ([textAt(service, "spec", "type"), textAt(current, "spec", "type")].includes("ExternalName")) return [];
  return [field.invalid("spec.clusterIPs[0]", listAt(service, "spec", "clusterIPs"), "may not change once set")];
}
