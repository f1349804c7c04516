/** The networking, discovery and policy groups. */
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { podDisruptionBudgets } from "./disruption-budgets.ts";
import { endpointSlices } from "./endpoints.ts";
import { at, ensure, fieldsAt, fillText, isAbsent, listAt, objectsAt } from "./fields.ts";
import { oneOf } from "./pod-validation.ts";
import { serviceRangeResources } from "./service-ranges.ts";
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

export const networkingResources: readonly Resource[] = [
  ingresses,
  ingressClasses,
  networkPolicies,
  ...serviceRangeResources,
  endpointSlices,
  podDisruptionBudgets,
];
