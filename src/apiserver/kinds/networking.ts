/** The networking, discovery and policy groups. */
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { at, ensure, fieldsAt, fill, fillText, isAbsent, listAt, objectsAt, textAt } from "./fields.ts";
import { oneOf } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/groups.ts";
import { immutable } from "./validation.ts";

const networking = (kind: string): GroupVersionKind => ({ group: "networking.k8s.io", version: "v1", kind });

const ingresses = resource({
  ...networking("Ingress"),
  plural: "ingresses",
  namespaced: true,
  shortNames: ["ing"],
  table: tables.ingresses,
  hasStatus: true,
  tracksGeneration: true,
  validate(ingress) {
    const rules = objectsAt(ingress, "spec", "rules");
    const errors: FieldError[] = [];
    if (rules.length === 0 && isAbsent(at(ingress, "spec", "defaultBackend"))) {
      errors.push(
        field.invalid("spec", fieldsAt(ingress, "spec"), "either `defaultBackend` or `rules` must be specified"),
      );
    }
    rules.forEach((rule, index) => {
      objectsAt(rule, "http", "paths").forEach((path, at) => {
        const where = `spec.rules[${index}].http.paths[${at}]`;
        if (isAbsent(path.pathType)) errors.push(field.required(`${where}.pathType`, "pathType must be specified"));
        else errors.push(...oneOf(path, "pathType", ["Exact", "ImplementationSpecific", "Prefix"], where));
      });
    });
    return errors;
  },
  subresources: [statusOf(networking("Ingress"))],
});

const ingressClasses = resource({
  ...networking("IngressClass"),
  plural: "ingressclasses",
  namespaced: false,
  table: tables.ingressClasses,
  tracksGeneration: true,
  default(draft) {
    const parameters = at(draft, "spec", "parameters");
    if (parameters) fillText(fieldsAt(draft, "spec", "parameters"), { scope: "Cluster" });
  },
  validateChange: (object, current) =>
    immutable("spec.controller", at(object, "spec", "controller"), at(current, "spec", "controller")),
});

const networkPolicies = resource({
  ...networking("NetworkPolicy"),
  plural: "networkpolicies",
  namespaced: true,
  shortNames: ["netpol"],
  table: tables.networkPolicies,
  tracksGeneration: true,
  default(draft) {
    const spec = ensure(draft, "spec");
    for (const rule of [...objectsAt(spec, "ingress"), ...objectsAt(spec, "egress")]) {
      for (const port of objectsAt(rule, "ports")) fillText(port, { protocol: "TCP" });
    }
    if (listAt(spec, "policyTypes").length === 0) {
      spec.policyTypes = listAt(spec, "egress").length > 0 ? ["Ingress", "Egress"] : ["Ingress"];
    }
  },
});

const endpointSlices = resource({
  group: "discovery.k8s.io",
  version: "v1",
  kind: "EndpointSlice",
  plural: "endpointslices",
  namespaced: true,
  table: tables.endpointSlices,
  tracksGeneration: true,
  default(draft) {
    for (const port of objectsAt(draft, "ports")) {
      fill(port, { name: "" });
      fillText(port, { protocol: "TCP" });
    }
  },
  validate(slice) {
    const errors = oneOf(slice, "addressType", ["FQDN", "IPv4", "IPv6"], "");
    objectsAt(slice, "endpoints").forEach((endpoint, index) => {
      if (listAt(endpoint, "addresses").length === 0) {
        errors.push(field.required(`endpoints[${index}].addresses`, "must contain at least 1 address"));
      }
    });
    const names = objectsAt(slice, "ports").map((port) => textAt(port, "name"));
    names.forEach((name, index) => {
      if (names.indexOf(name) < index) errors.push(field.duplicate(`ports[${index}].name`, name));
    });
    return errors;
  },
  validateChange: (slice, current) => immutable("addressType", slice.addressType, current.addressType),
});

const BUDGET: GroupVersionKind = { group: "policy", version: "v1", kind: "PodDisruptionBudget" };

const podDisruptionBudgets = resource({
  ...BUDGET,
  plural: "poddisruptionbudgets",
  namespaced: true,
  shortNames: ["pdb"],
  table: tables.podDisruptionBudgets,
  hasStatus: true,
  tracksGeneration: true,
  unconditionalUpdate: false,
  validate(budget) {
    const { minAvailable, maxUnavailable } = fieldsAt(budget, "spec");
    if (isAbsent(minAvailable) || isAbsent(maxUnavailable)) return [];
    return [field.invalid("spec", fieldsAt(budget, "spec"), "minAvailable and maxUnavailable cannot be both set")];
  },
  subresources: [statusOf(BUDGET)],
});

export const networkingResources: readonly Resource[] = [
  ingresses,
  ingressClasses,
  networkPolicies,
  endpointSlices,
  podDisruptionBudgets,
];
