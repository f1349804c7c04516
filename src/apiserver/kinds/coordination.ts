/** Leases: who leads, and who is alive. */
import { type FieldError, field } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { at, numberAt } from "./fields.ts";
import { resource } from "./strategy.ts";
import { leases as table } from "./tables/groups.ts";

const leases = resource({
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
  table,
  // Two candidates must not both believe that their write was the last one.
  unconditionalUpdate: false,
  createOnUpdate: true,
  validate(lease) {
    const errors: FieldError[] = [];
    const duration = numberAt(lease, "spec", "leaseDurationSeconds");
    if (duration !== undefined && duration <= 0) {
      errors.push(field.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"));
    }
    const transitions = numberAt(lease, "spec", "leaseTransitions");
    if (transitions !== undefined && transitions < 0) {
      errors.push(field.invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"));
    }
    for (const key of ["strategy", "preferredHolder"]) {
      if (at(lease, "spec", key) === "") errors.push(field.invalid(`spec.${key}`, "", "must not be empty"));
    }
    return errors;
  },
});

export const coordinationResources: readonly Resource[] = [leases];
