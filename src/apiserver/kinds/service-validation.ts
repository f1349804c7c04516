/** What is wrong with a Service, and with a change of one. */
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { dns1123Label, dns1123Subdomain, qualifiedName } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import {
  at,
  type Fields,
  fieldsAt,
  isAbsent,
  listAt,
  numberAt,
  objectsAt,
  textAt,
  textMapAt,
  textsAt,
} from "./fields.ts";
import { blockErrors, ipErrors, unreachableErrors } from "./ip-rules.ts";
import { isPort, oneOf, PROTOCOLS } from "./pod-validation.ts";
import { isHeadless, isOutside, NO_ADDRESS, needsAddress, needsHealthCheck, needsNodePorts } from "./service-types.ts";
import { validateLabels } from "./validation.ts";

const PORT_RANGE = "must be between 1 and 65535, inclusive";
const BALANCER_ONLY = "may only be used when `type` is 'LoadBalancer'";
const LONGEST_AFFINITY_SECONDS = 86_400;

export function validateService(service: DynamicObject): FieldError[] {
  const spec = fieldsAt(service, "spec");
  const ports = objectsAt(spec, "ports");
  const isNameOnly = !needsAddress(spec);
  return [
    ...(ports.length === 0 && !isHeadless(spec) && !isNameOnly ? [field.required("spec.ports")] : []),
    ...(isNameOnly ? nameErrors(spec) : []),
    ...(isHeadless(spec) && needsNodePorts(spec)
      ? [
          field.invalid(
            "spec.clusterIPs[0]",
            NO_ADDRESS,
            `may not be set to 'None' for ${textAt(spec, "type")} services`,
          ),
        ]
      : []),
    ...portErrors(ports),
    ...validateLabels(Object.fromEntries(textMapAt(spec, "selector")), "spec.selector"),
    ...affinityErrors(spec),
    ...(isNameOnly ? [] : addressErrors(spec)),
    ...textsAt(spec, "externalIPs").flatMap((address, index) => {
      const path = `spec.externalIPs[${index}]`;
      return [...ipErrors(path, address), ...unreachableErrors(path, address)];
    }),
    ...oneOf(spec, "type", ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], "spec"),
    ...nodePortErrors(spec, ports),
    ...balancerErrors(spec),
    ...trafficErrors(spec),
  ];
}

/** Services that are only another name for something have nothing else. */
function nameErrors(spec: Fields): FieldError[] {
  const errors = ["clusterIPs", "ipFamilies", "ipFamilyPolicy"]
    .filter((key) => textAt(spec, key) !== "" || listAt(spec, key).length > 0)
    .map((key) => field.forbidden(`spec.${key}`, "may not be set for ExternalName services"));
  const name = textAt(spec, "externalName").replace(/\.$/, "");
  if (!name) return [...errors, field.required("spec.externalName")];
  return [...errors, ...dns1123Subdomain(name).map((problem) => field.invalid("spec.externalName", name, problem))];
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
    errors.push(...targetErrors(port, `${path}.targetPort`));
    const protocol = textAt(port, "appProtocol");
    if (!isAbsent(port.appProtocol)) {
      errors.push(...qualifiedName(protocol).map((problem) => field.invalid(`${path}.appProtocol`, protocol, problem)));
    }
    const pair = `${port.port}/${port.protocol}`;
    if (pairs.has(pair)) errors.push(field.duplicate(path, { port: port.port, protocol: port.protocol }));
    pairs.add(pair);
  });
  return errors;
}

/** A port by its number, or by the name that it has on Pods. */
function targetErrors({ targetPort }: Fields, path: string): FieldError[] {
  if (typeof targetPort === "number") return isPort(targetPort) ? [] : [field.invalid(path, targetPort, PORT_RANGE)];
  if (typeof targetPort !== "string") return [];
  return portNameProblems(targetPort).map((problem) => field.invalid(path, targetPort, problem));
}

function portNameProblems(name: string): string[] {
  if (name.length > 15) return ["must be no more than 15 characters"];
  if (!/^[-a-z0-9]+$/.test(name)) return ["must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"];
  return [
    ...(/[a-z]/.test(name) ? [] : ["must contain at least one letter (a-z)"]),
    ...(name.includes("--") ? ["must not contain consecutive hyphens"] : []),
    ...(/^-|-$/.test(name) ? ["must not begin or end with a hyphen"] : []),
  ];
}

function affinityErrors(spec: Fields): FieldError[] {
  const errors = oneOf(spec, "sessionAffinity", ["ClientIP", "None"], "spec");
  if (spec.sessionAffinity !== "ClientIP") return errors;
  const path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
  const seconds = numberAt(spec, "sessionAffinityConfig", "clientIP", "timeoutSeconds");
  if (seconds === undefined) return [...errors, field.required(path)];
  if (seconds > 0 && seconds <= LONGEST_AFFINITY_SECONDS) return errors;
  return [...errors, field.invalid(path, seconds, `must be greater than 0 and less than ${LONGEST_AFFINITY_SECONDS}`)];
}

/** Whether the fields about addresses agree with each other; that they can be had is seen when they are claimed. */
export function addressErrors(spec: Fields): FieldError[] {
  const address = textAt(spec, "clusterIP");
  const addresses = textsAt(spec, "clusterIPs");
  const errors: FieldError[] = [];
  if (address && addresses.length === 0) errors.push(field.required("spec.clusterIPs"));
  else if (address && addresses[0] !== address) {
    errors.push(field.invalid("spec.clusterIPs", addresses, "first value must match `clusterIP`"));
  } else if (!address && addresses.length > 0) {
    errors.push(field.invalid("spec.clusterIPs", addresses, "must be empty when `clusterIP` is not specified"));
  }
  const families = textsAt(spec, "ipFamilies");
  families.forEach((family, index) => {
    const path = `spec.ipFamilies[${index}]`;
    if (!["IPv4", "IPv6"].includes(family)) errors.push(field.notSupported(path, family, ["IPv4", "IPv6"]));
    if (families.indexOf(family) < index) errors.push(field.duplicate(path, family));
  });
  if (!isAbsent(spec.ipFamilyPolicy)) {
    errors.push(...oneOf(spec, "ipFamilyPolicy", ["PreferDualStack", "RequireDualStack", "SingleStack"], "spec"));
  }
  return [...errors, ...listedAddressErrors(addresses, families)];
}

function listedAddressErrors(addresses: readonly string[], families: readonly string[]): FieldError[] {
  const path = "spec.clusterIPs";
  if (addresses[0] === NO_ADDRESS) {
    return addresses.length === 1 ? [] : [field.invalid(path, addresses, "'None' must be the first and only value")];
  }
  const invalid = addresses.flatMap((address, index) => ipErrors(`${path}[${index}]`, address));
  const familyOf = (address: string) => (address.includes(":") ? "IPv6" : "IPv4");
  if (invalid.length > 0) return invalid;
  return [
    ...(addresses.length > 2 ? [field.invalid(path, addresses, "may only hold up to 2 values")] : []),
    ...(addresses.length > 1 && new Set(addresses.map(familyOf)).size < 2
      ? [field.invalid(path, addresses, "may specify no more than one IP for each IP family")]
      : []),
    ...addresses.flatMap((address, index) => {
      const family = families[index];
      if (family === undefined || family === familyOf(address)) return [];
      const detail = `expected an ${family} value as indicated by \`ipFamilies[${index}]\``;
      return [field.invalid(`${path}[${index}]`, address, detail)];
    }),
  ];
}

function nodePortErrors(spec: Fields, ports: readonly Fields[]): FieldError[] {
  const seen = new Set<string>();
  return ports.flatMap((port, index) => {
    if (!port.nodePort) return [];
    const path = `spec.ports[${index}].nodePort`;
    const pair = `${port.nodePort}/${port.protocol}`;
    const isRepeated = seen.has(pair);
    seen.add(pair);
    return [
      ...(spec.type === "ClusterIP" ? [field.forbidden(path, "may not be used when `type` is 'ClusterIP'")] : []),
      ...(isRepeated ? [field.duplicate(path, port.nodePort)] : []),
    ];
  });
}

function balancerErrors(spec: Fields): FieldError[] {
  const isBalanced = spec.type === "LoadBalancer";
  const ranges = textsAt(spec, "loadBalancerSourceRanges");
  const path = "spec.LoadBalancerSourceRanges"; // so it is spelled where clients look for it
  const balancer = textAt(spec, "loadBalancerClass");
  return [
    ...(ranges.length > 0 && !isBalanced ? [field.forbidden(path, BALANCER_ONLY)] : []),
    ...ranges.flatMap((range, index) => blockErrors(`${path}[${index}]`, range.trim())),
    ...(!isBalanced && !isAbsent(spec.allocateLoadBalancerNodePorts)
      ? [field.forbidden("spec.allocateLoadBalancerNodePorts", BALANCER_ONLY)]
      : []),
    ...(!isBalanced && balancer ? [field.forbidden("spec.loadBalancerClass", BALANCER_ONLY)] : []),
    ...(isBalanced && !isAbsent(spec.loadBalancerClass)
      ? qualifiedName(balancer).map((problem) => field.invalid("spec.loadBalancerClass", balancer, problem))
      : []),
  ];
}

const DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"] as const;

function trafficErrors(spec: Fields): FieldError[] {
  const policy = textAt(spec, "externalTrafficPolicy");
  const external = isOutside(spec)
    ? oneOf(spec, "externalTrafficPolicy", ["Cluster", "Local"], "spec")
    : policy
      ? [field.invalid("spec.externalTrafficPolicy", policy, "may only be set for externally-accessible services")]
      : [];
  const isExempt = isAbsent(spec.internalTrafficPolicy) && !needsAddress(spec);
  const distribution = textAt(spec, "trafficDistribution");
  const isKnown = isAbsent(spec.trafficDistribution) || DISTRIBUTIONS.some((known) => known === distribution);
  return [
    ...external,
    ...healthCheckErrors(spec),
    ...(isExempt ? [] : oneOf(spec, "internalTrafficPolicy", ["Cluster", "Local"], "spec")),
    ...(isKnown ? [] : [field.notSupported("spec.trafficDistribution", distribution, DISTRIBUTIONS)]),
  ];
}

function healthCheckErrors(spec: Fields): FieldError[] {
  const path = "spec.healthCheckNodePort";
  const port = numberAt(spec, "healthCheckNodePort") ?? 0;
  if (needsHealthCheck(spec)) return isPort(port) ? [] : [field.invalid(path, port, PORT_RANGE)];
  const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
  return port === 0 ? [] : [field.invalid(path, port, detail)];
}

export function validateServiceChange(service: DynamicObject, current: DynamicObject): FieldError[] {
  const [spec, before] = [fieldsAt(service, "spec"), fieldsAt(current, "spec")];
  const errors: FieldError[] = [];
  if (needsAddress(spec) && needsAddress(before)) errors.push(...movedErrors(spec, before));
  const areBalanced = spec.type === "LoadBalancer" && before.type === "LoadBalancer";
  if (areBalanced && textAt(spec, "loadBalancerClass") !== textAt(before, "loadBalancerClass")) {
    const { loadBalancerClass = null } = spec;
    errors.push(field.invalid("spec.loadBalancerClass", loadBalancerClass, "may not change once set"));
  }
  const areChecked = needsHealthCheck(spec) && needsHealthCheck(before);
  if (areChecked && spec.healthCheckNodePort !== before.healthCheckNodePort) {
    errors.push(field.forbidden("spec.healthCheckNodePort", "field is immutable"));
  }
  return errors;
}

/** Addresses are for life. */
function movedErrors(spec: Fields, before: Fields): FieldError[] {
  if (isHeadless(spec) && isHeadless(before)) return [];
  const [after, had] = [textsAt(spec, "clusterIPs"), textsAt(before, "clusterIPs")];
  if (after.length === 0 && had.length > 0) {
    return [field.invalid("spec.clusterIPs[0]", after, "primary clusterIP can not be unset")];
  }
  const addresses = had.flatMap((address, index) =>
    after[index] === address || (after[index] === undefined && index > 0)
      ? []
      : [field.invalid(`spec.clusterIPs[${index}]`, after, "may not change once set")],
  );
  const families = listAt(spec, "ipFamilies");
  const isMoved = isHeadless(spec) === isHeadless(before) && !equal(families[0], listAt(before, "ipFamilies")[0]);
  return [...addresses, ...(isMoved ? [field.invalid("spec.ipFamilies[0]", families, "may not change once set")] : [])];
}

/** What somebody reports about a load balancer. */
export function validateBalancerStatus(service: DynamicObject): FieldError[] {
  const path = "status.loadBalancer.ingress";
  const ingress = objectsAt(service, "status", "loadBalancer", "ingress");
  if (ingress.length > 0 && textAt(service, "spec", "type") !== "LoadBalancer") {
    return [field.forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'")];
  }
  return ingress.flatMap((point, index) => {
    const [ip, host] = [textAt(point, "ip"), textAt(point, "hostname")];
    const here = `${path}[${index}]`;
    const hasMode = !isAbsent(at(point, "ipMode"));
    return [
      ...(ip ? ipErrors(`${here}.ip`, ip) : []),
      ...(hasMode && !ip ? [field.forbidden(`${here}.ipMode`, "may not be specified when `ip` is not set")] : []),
      ...(hasMode && ip ? oneOf(point, "ipMode", ["Proxy", "VIP"], here) : []),
      ...(host ? dns1123Subdomain(host).map((problem) => field.invalid(`${here}.hostname`, host, problem)) : []),
      ...(host && ipErrors(here, host).length === 0
        ? [field.invalid(`${here}.hostname`, host, "must be a DNS name, not an IP address")]
        : []),
    ];
  });
}

/** What is allowed and yet hardly meant. */
export function serviceWarnings(service: DynamicObject): string[] {
  const spec = fieldsAt(service, "spec");
  const has = (key: string) => textAt(spec, key) !== "" || listAt(spec, key).length > 0;
  const isLoose = textAt(spec, "type") === "ClusterIP" && isHeadless(spec);
  const warnings: [isDue: boolean, text: string][] = [
    [isLoose && has("loadBalancerIP"), "spec.loadBalancerIP is ignored for headless services"],
    [isLoose && has("externalIPs"), "spec.externalIPs is ignored for headless services"],
    [isLoose && spec.sessionAffinity !== "None", "spec.SessionAffinity is ignored for headless services"],
    [
      has("externalIPs") && !isLoose && needsAddress(spec),
      "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    ],
    [has("externalIPs") && !needsAddress(spec), 'spec.externalIPs is ignored when spec.type is "ExternalName"'],
    [has("externalName") && needsAddress(spec), 'spec.externalName is ignored when spec.type is not "ExternalName"'],
    [
      spec.trafficDistribution === "PreferClose",
      'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ],
  ];
  return warnings.flatMap(([isDue, text]) => (isDue ? [text] : []));
}
