/** ReplicationControllers, which find Pods by plain labels and take what they lack from their template. */
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind } from "../resource.ts";
import { at, ensure, fieldsAt, fill, textMapAt } from "./fields.ts";
import { defaultPodTemplate } from "./pod-defaults.ts";
import { notNegative, validatePodTemplate } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { scale, statusOf } from "./subresources.ts";
import { replicaSets as table } from "./tables/workloads.ts";

const KIND: GroupVersionKind = { group: "", version: "v1", kind: "ReplicationController" };

export const replicationControllers = resource({
  ...KIND,
  plural: "replicationcontrollers",
  namespaced: true,
  shortNames: ["rc"],
  categories: ["all"],
  table,
  dependents: "orphaned",
  hasStatus: true,
  tracksGeneration: true,
  selectableFields: { "status.replicas": (object) => String(at(object, "status", "replicas") ?? 0) },
  default(draft) {
    const spec = ensure(draft, "spec");
    fill(spec, { replicas: 1 });
    if (!isObject(spec.template)) return;
    defaultPodTemplate(spec.template);
    const labels = Object.fromEntries(textMapAt(spec, "template", "metadata", "labels"));
    if (Object.keys(labels).length === 0) return;
    fill(spec, { selector: { ...labels } });
    if (Object.keys(draft.metadata.labels ?? {}).length === 0) draft.metadata.labels = labels;
  },
  validate: (object) => [
    ...notNegative(object, "spec", "minReadySeconds"),
    ...(textMapAt(object, "spec", "selector").length === 0 ? [field.required("spec.selector")] : []),
    ...notNegative(object, "spec", "replicas"),
    ...validateTemplate(object),
  ],
  subresources: [statusOf(KIND), scale],
});

function validateTemplate(object: DynamicObject): FieldError[] {
  const template = at(object, "spec", "template");
  if (!isObject(template)) return [field.required("spec.template")];
  const labels = fieldsAt(template, "metadata", "labels");
  const fits = textMapAt(object, "spec", "selector").every(([key, value]) => labels[key] === value);
  return [
    ...(fits
      ? []
      : [field.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")]),
    ...validatePodTemplate(template, "spec.template", ["Always"]),
  ];
}
