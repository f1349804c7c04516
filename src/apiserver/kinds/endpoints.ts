/** What stands behind Services: Endpoints, and the slices that took their place. */
import type { DynamicObject } from "#api/meta";
import { dns1123Label, dns1123Subdomain, qualifiedName } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import { type Fields, fill, fillText, isAbsent, listAt, objectsAt, textAt, textsAt } from "./fields.ts";
import { ipErrors } from "./ip-rules.ts";
import { isPort, oneOf, PROTOCOLS } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { endpoints as endpointsTable } from "./tables/core.ts";
import { endpointSlices as slicesTable } from "./tables/groups.ts";
import { immutable } from "./validation.ts";

const MOST_ENDPOINTS = 1000;
const MOST_ADDRESSES = 100;

export const endpoints = resource({
  group: "",
  version: "v1",
  kind: "Endpoints",
  deprecation: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
  plural: "endpoints",
  singular: "endpoints",
  namespaced: true,
  shortNames: ["ep"],
  table: endpointsTable,
  createOnUpdate: true,
  default(draft) {
    for (const subset of objectsAt(draft, "subsets")) {
      for (const port of objectsAt(subset, "ports")) fillText(port, { protocol: "TCP" });
    }
  },
  validate: (object) =>
    objectsAt(object, "subsets").flatMap((subset, index) => subsetErrors(subset, `subsets[${index}]`)),
});

function subsetErrors(subset: Fields, path: string): FieldError[] {
  const lists = ["addresses", "notReadyAddresses"] as const;
  const addresses = lists.flatMap((list) =>
    objectsAt(subset, list).flatMap((address, index) => addressErrors(address, `${path}.${list}[${index}]`)),
  );
  const isEmpty = lists.every((list) => listAt(subset, list).length === 0);
  const ports = objectsAt(subset, "ports");
  return [
    ...(isEmpty ? [field.required(path, "must specify `addresses` or `notReadyAddresses`")] : []),
    ...addresses,
    ...ports.flatMap((port, index) => {
      const here = `${path}.ports[${index}]`;
      const isValid = isPort(port.port);
      return [
        ...portNameErrors(port, here, ports.length > 1),
        ...(isValid ? [] : [field.invalid(`${here}.port`, port.port ?? 0, "must be between 1 and 65535, inclusive")]),
        ...oneOf(port, "protocol", PROTOCOLS, here),
        ...appProtocolErrors(port, here),
      ];
    }),
  ];
}

/** Loopback addresses are fine: on one machine, an API server and the simulated Pods are reached there. */
function addressErrors(address: Fields, path: string): FieldError[] {
  const [hostname, nodeName] = [textAt(address, "hostname"), textAt(address, "nodeName")];
  return [
    ...ipErrors(`${path}.ip`, textAt(address, "ip")),
    ...(hostname ? dns1123Label(hostname).map((problem) => field.invalid(`${path}.hostname`, hostname, problem)) : []),
    ...(nodeName ? dns1123Subdomain(nodeName).map((text) => field.invalid(`${path}.nodeName`, nodeName, text)) : []),
  ];
}

function portNameErrors(port: Fields, path: string, isNeeded: boolean): FieldError[] {
  const name = textAt(port, "name");
  if (name === "") return isNeeded ? [field.required(`${path}.name`)] : [];
  return dns1123Label(name).map((problem) => field.invalid(`${path}.name`, name, problem));
}

function appProtocolErrors(port: Fields, path: string): FieldError[] {
  if (isAbsent(port.appProtocol)) return [];
  const protocol = textAt(port, "appProtocol");
  return qualifiedName(protocol).map((problem) => field.invalid(`${path}.appProtocol`, protocol, problem));
}

export const endpointSlices = resource({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
  table: slicesTable,
  tracksGeneration: true,
  default(draft) {
    for (const port of objectsAt(draft, "ports")) {
      fill(port, { name: "" });
      fillText(port, { protocol: "TCP" });
    }
  },
  validate: (slice) => [
    ...oneOf(slice, "addressType", ["FQDN", "IPv4", "IPv6"], ""),
    ...slicePortErrors(objectsAt(slice, "ports")),
    ...endpointErrors(slice),
  ],
  validateChange: (slice, current) => immutable("addressType", slice.addressType, current.addressType),
});

function slicePortErrors(ports: readonly Fields[]): FieldError[] {
  const names = ports.map((port) => textAt(port, "name"));
  return ports.flatMap((port, index) => {
    const path = `ports[${index}]`;
    const name = names[index] ?? "";
    return [
      ...portNameErrors(port, path, false),
      ...(names.indexOf(name) < index ? [field.duplicate(`${path}.name`, name)] : []),
      ...oneOf(port, "protocol", PROTOCOLS, path),
      ...appProtocolErrors(port, path),
    ];
  });
}

function endpointErrors(slice: DynamicObject): FieldError[] {
  const all = objectsAt(slice, "endpoints");
  if (all.length > MOST_ENDPOINTS) return [field.tooMany("endpoints", all.length, MOST_ENDPOINTS)];
  return all.flatMap((endpoint, index) => {
    const path = `endpoints[${index}]`;
    const addresses = textsAt(endpoint, "addresses");
    const [hostname, nodeName] = [textAt(endpoint, "hostname"), textAt(endpoint, "nodeName")];
    return [
      ...(addresses.length === 0 ? [field.required(`${path}.addresses`, "must contain at least 1 address")] : []),
      ...(addresses.length > MOST_ADDRESSES
        ? [field.tooMany(`${path}.addresses`, addresses.length, MOST_ADDRESSES)]
        : []),
      ...addresses.flatMap((address, at) =>
        typedAddressErrors(address, textAt(slice, "addressType"), `${path}.addresses`, at),
      ),
      ...(nodeName ? dns1123Subdomain(nodeName).map((text) => field.invalid(`${path}.nodeName`, nodeName, text)) : []),
      ...(hostname ? dns1123Label(hostname).map((text) => field.invalid(`${path}.hostname`, hostname, text)) : []),
    ];
  });
}

function typedAddressErrors(address: string, type: string, path: string, index: number): FieldError[] {
  const here = `${path}[${index}]`;
  if (type === "FQDN") {
    const problems = dns1123Subdomain(address.replace(/\.$/, ""));
    const isQualified = address.replace(/\.$/, "").includes(".");
    const all = isQualified
      ? problems
      : [...problems, "should be a domain with at least two segments separated by dots"];
    return all.map((problem) => field.invalid(here, address, problem));
  }
  if (type !== "IPv4" && type !== "IPv6") return [];
  const errors = ipErrors(here, address);
  const isOfType = address.includes(":") === (type === "IPv6");
  return errors.length > 0 || isOfType ? errors : [field.invalid(path, address, `must be an ${type} address`)];
}
