/** Namespaces, which live until their content and their finalizers are gone. */
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { qualifiedName } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { ensure, textAt, textsAt } from "./fields.ts";
import { ALL_VERBS, resource } from "./strategy.ts";
import { keepAllBut, statusOf } from "./subresources.ts";
import * as tables from "./tables/core.ts";

const KIND: GroupVersionKind = { group: "", version: "v1", kind: "Namespace" };
const NAME_LABEL = "kubernetes.io/metadata.name";
const CONTENT = "kubernetes";

export const namespaces: Resource = resource({
  ...KIND,
  plural: "namespaces",
  namespaced: false,
  shortNames: ["ns"],
  // Nobody should empty a cluster with one request.
  verbs: ALL_VERBS.filter((verb) => verb !== "deletecollection"),
  table: tables.namespaces,
  hasStatus: true,
  initialStatus: () => ({ phase: "Active" }),
  nameRule: "label",
  selectableFields: { "status.phase": (object) => textAt(object, "status", "phase") },
  default: nameByLabel,
  prepareForCreate(draft) {
    nameByLabel(draft); // a generated name is known only now
    const finalizers = textsAt(draft, "spec", "finalizers");
    ensure(draft, "spec").finalizers = finalizers.includes(CONTENT) ? finalizers : [...finalizers, CONTENT];
  },
  prepareForUpdate(draft, current) {
    ensure(draft, "spec").finalizers = textsAt(clone(current), "spec", "finalizers");
  },
  prepareForDelete(draft) {
    delete draft.metadata.deletionGracePeriodSeconds; // it goes when it is empty, whatever anybody grants it
    ensure(draft, "status").phase = "Terminating";
  },
  validate: finalizerErrors,
  subresources: [
    statusOf(KIND, {
      validate(object, current) {
        const isLeaving = textAt(object, "status", "phase") === "Terminating";
        if (isLeaving === Boolean(current.metadata.deletionTimestamp)) return [];
        const phase = textAt(object, "status", "phase");
        return [
          isLeaving
            ? field.invalid("status.phase", phase, "may not be 'Terminating' if `deletionTimestamp` is empty")
            : field.invalid("status.phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"),
        ];
      },
    }),
    {
      name: "finalize",
      responseKind: KIND,
      verbs: ["update"],
      edit: { prepare: (draft, current) => keepAllBut("spec", draft, current), validate: finalizerErrors },
    },
  ],
});

/** So that selectors can choose namespaces by their names. */
function nameByLabel({ metadata }: DynamicObject): void {
  if (metadata.name) metadata.labels = { ...metadata.labels, [NAME_LABEL]: metadata.name };
}

function finalizerErrors(object: DynamicObject): FieldError[] {
  return textsAt(object, "spec", "finalizers").flatMap((finalizer, index) => {
    const path = `spec.finalizers[${index}]`;
    const problems = qualifiedName(finalizer);
    if (problems.length > 0) return problems.map((problem) => field.invalid(path, finalizer, problem));
    if (finalizer.includes("/") || finalizer === CONTENT) return [];
    return [field.invalid(path, finalizer, "name is neither a standard finalizer name nor is it fully qualified")];
  });
}
