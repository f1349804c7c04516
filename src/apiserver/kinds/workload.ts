/** What the four kinds have in common that keep Pods running. */
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { at, ensure, type Fields, fieldsAt } from "./fields.ts";
import { defaultPodTemplate } from "./pod-defaults.ts";
import { notNegative, validatePodTemplate, validateSelector } from "./pod-validation.ts";
import { type Declaration, resource } from "./strategy.ts";
import { immutable } from "./validation.ts";

export const apps = (kind: string): GroupVersionKind => ({ group: "apps", version: "v1", kind });

/** How many revisions are kept unless told. */
export const HISTORY = 10;

export interface Workload extends Declaration {
  defaultSpec(spec: Fields): void;
  /** The template as its Pods will be, where the workload adds something that belongs to it. */
  completeTemplate?(spec: Fields): Fields;
  /** Whether less than no revisions means all of them. */
  mayKeepAllRevisions?: boolean;
}

export function workload(own: Workload): Resource {
  const { defaultSpec, completeTemplate, mayKeepAllRevisions, validate, validateChange, ...declaration } = own;
  const templateOf = (object: unknown) => {
    const spec = fieldsAt(object, "spec");
    return completeTemplate?.(spec) ?? fieldsAt(spec, "template");
  };
  return resource({
    ...declaration,
    namespaced: true,
    categories: ["all"],
    hasStatus: true,
    tracksGeneration: true,
    default(draft) {
      const spec = ensure(draft, "spec");
      defaultSpec(spec);
      defaultPodTemplate(ensure(spec, "template"));
    },
    validate: (object, context) => [
      ...notNegative(object, "spec", "replicas"),
      ...validateSelector(object, own.kind.toLowerCase()),
      ...validatePodTemplate(templateOf(object), "spec.template", ["Always"]),
      ...deadlineErrors(object, own.kind),
      ...notNegative(object, "spec", "minReadySeconds"),
      ...(mayKeepAllRevisions ? [] : notNegative(object, "spec", "revisionHistoryLimit")),
      ...(validate?.(object, context) ?? []),
    ],
    validateChange: (object, current, context) => [
      ...immutable("spec.selector", at(object, "spec", "selector"), at(current, "spec", "selector")),
      ...(validateChange?.(object, current, context) ?? []),
    ],
  });
}

/** Pods that are always started again have no end that one could set. */
function deadlineErrors(object: unknown, kind: string): FieldError[] {
  if (at(object, "spec", "template", "spec", "activeDeadlineSeconds") === undefined) return [];
  const path = "spec.template.spec.activeDeadlineSeconds";
  return [field.forbidden(path, `activeDeadlineSeconds in ${kind} is not Supported`)];
}
