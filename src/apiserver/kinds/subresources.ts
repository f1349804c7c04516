/** The subresources that several kinds have: `/status` and `/scale`. */
import type { DynamicObject, LabelSelector } from "#api/meta";
import { clone } from "#lib/json";
import { labelSelector, SelectorError } from "#lib/selectors";
import { type FieldError, field, invalid } from "../errors.ts";
import type { GroupVersionKind, RequestContext, Subresource, Verb } from "../resource.ts";
import { at, ensure, fieldsAt, numberAt, take } from "./fields.ts";

export const EDIT_VERBS: readonly Verb[] = ["get", "patch", "update"];

export interface StatusRules {
  /** Metadata that `/status` leaves alone in addition; a Deployment's labels are part of its wish. */
  keepsLabels?: boolean;
  prepare?(draft: DynamicObject, current: DynamicObject, context: RequestContext): void;
  validate?(object: DynamicObject, current: DynamicObject, context: RequestContext): FieldError[];
}

/** `/status`: the status of the request, with everything else as it is stored but labels and annotations. */
export function statusOf(
  kind: GroupVersionKind,
  { keepsLabels = false, prepare, validate }: StatusRules = {},
): Subresource {
  return {
    name: "status",
    responseKind: gvk(kind),
    verbs: EDIT_VERBS,
    edit: {
      prepare(draft, current, context) {
        keepAllBut("status", draft, current, keepsLabels);
        prepare?.(draft, current, context);
      },
      validate: (object, current, context) => validate?.(object, current, context) ?? [],
    },
  };
}

/** Makes the draft equal to the stored object but for one field, labels and annotations. */
export function keepAllBut(kept: string, draft: DynamicObject, current: DynamicObject, keepsLabels = false): void {
  for (const key of new Set([...Object.keys(draft), ...Object.keys(current)])) {
    if (key !== kept && key !== "metadata") takeCopy(draft, current, key);
  }
  const metadata: Record<string, unknown> = { ...draft.metadata };
  take(metadata, { ...current.metadata }, "ownerReferences");
  take(metadata, { ...current.metadata }, "finalizers");
  if (keepsLabels) take(metadata, { ...current.metadata }, "labels");
  draft.metadata = metadata as unknown as DynamicObject["metadata"];
}

function takeCopy(draft: DynamicObject, current: DynamicObject, key: string): void {
  if (Object.hasOwn(current, key)) draft[key] = clone(current[key]);
  else delete draft[key];
}

const SCALE: GroupVersionKind = { group: "autoscaling", version: "v1", kind: "Scale" };

/** `/scale` of a kind that counts its replicas in spec.replicas and status.replicas. */
export const scale: Subresource = {
  name: "scale",
  responseKind: SCALE,
  verbs: EDIT_VERBS,
  view: {
    read(object) {
      const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
      const replicas = numberAt(object, "spec", "replicas") ?? 0;
      const selector = selectorText(at(object, "spec", "selector"));
      return {
        apiVersion: "autoscaling/v1",
        kind: "Scale",
        metadata: {
          name,
          ...(namespace !== undefined && { namespace }),
          ...(uid !== undefined && { uid }),
          ...(resourceVersion !== undefined && { resourceVersion }),
          ...(creationTimestamp !== undefined && { creationTimestamp }),
        },
        spec: replicas === 0 ? {} : { replicas },
        status: { replicas: numberAt(object, "status", "replicas") ?? 0, ...(selector && { selector }) },
      };
    },
    write(draft, view) {
      const replicas = at(view, "spec", "replicas") ?? 0;
      if (!Number.isInteger(replicas) || Number(replicas) < 0) {
        throw invalid({ group: SCALE.group, kind: SCALE.kind, name: draft.metadata.name }, [
          field.invalid("spec.replicas", replicas, "must be greater than or equal to 0"),
        ]);
      }
      ensure(draft, "spec").replicas = replicas;
    },
    replicasPath: ["spec", "replicas"],
  },
};

/** A selector as one line: `app=web,tier in (a,b),!old`. Plain maps of labels and label selectors alike. */
export function selectorText(selector: unknown): string {
  const isLabelSelector = at(selector, "matchLabels") !== undefined || at(selector, "matchExpressions") !== undefined;
  try {
    return labelSelector(
      (isLabelSelector ? selector : { matchLabels: fieldsAt(selector) }) as LabelSelector,
    ).toString();
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    return ""; // some kinds are stored without a look at their selector
  }
}

function gvk({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind };
}
