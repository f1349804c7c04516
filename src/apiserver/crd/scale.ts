/** `/scale` of a custom kind: a view of the fields that the definition names. */
import type { CustomResourceScale } from "#api/apiextensions";
import type { DynamicObject, ObjectMeta } from "#api/meta";
import { isObject } from "#lib/json";
import { fieldNames } from "#lib/jsonpath";
import { type FieldError, field, invalid } from "../errors.ts";
import type { GroupVersionKind, Subresource } from "../resource.ts";
import { setOwn } from "./own.ts";

const SCALE: GroupVersionKind = { group: "autoscaling", version: "v1", kind: "Scale" };
const MAX_INT32 = 2 ** 31 - 1;

export function scaleSubresource(scale: CustomResourceScale): Subresource {
  const specPath = fieldNames(scale.specReplicasPath) ?? [];
  const statusPath = fieldNames(scale.statusReplicasPath) ?? [];
  const selectorPath = scale.labelSelectorPath ? (fieldNames(scale.labelSelectorPath) ?? []) : undefined;
  return {
    name: "scale",
    responseKind: SCALE,
    verbs: ["get", "patch", "update"],
    view: {
      read(object) {
        const replicas = count(valueAt(object, specPath));
        const selector = selectorPath && valueAt(object, selectorPath);
        return {
          kind: SCALE.kind,
          apiVersion: `${SCALE.group}/${SCALE.version}`,
          metadata: viewMetadata(object.metadata),
          spec: { ...(replicas !== 0 && { replicas }) },
          status: {
            replicas: count(valueAt(object, statusPath)),
            ...(typeof selector === "string" && selector !== "" && { selector }),
          },
        };
      },
      write(draft, view) {
        const wish = isObject(view.spec) ? (view.spec.replicas ?? 0) : 0;
        if (!Number.isInteger(wish) || Number(wish) < 0 || Number(wish) > MAX_INT32) {
          throw invalid({ group: SCALE.group, kind: SCALE.kind, name: draft.metadata.name }, [
            field.invalid("spec.replicas", wish, "must be greater than or equal to 0"),
          ]);
        }
        setAt(draft, specPath, wish);
      },
      replicasPath: specPath,
    },
  };
}

/** The replicas that the object itself carries must make sense, whatever its schema says of them. */
export function scaleErrors(scale: CustomResourceScale, object: DynamicObject): FieldError[] {
  return [scale.specReplicasPath, scale.statusReplicasPath].flatMap((path) => {
    const value = valueAt(object, fieldNames(path) ?? []);
    if (value === undefined || value === null) return [];
    if (typeof value !== "bigint" && !Number.isInteger(value)) {
      return [field.invalid(path, 0, `${path} accessor error: ${String(value)} is not an integer`)];
    }
    return Number(value) < 0 ? [field.invalid(path, value, "should be a non-negative integer")] : [];
  });
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  let value = object;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

function setAt(object: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let parent = object;
  for (const name of path.slice(0, -1)) {
    const inner = Object.hasOwn(parent, name) ? parent[name] : undefined;
    const next = isObject(inner) ? inner : {};
    setOwn(parent, name, next);
    parent = next;
  }
  const last = path.at(-1);
  if (last !== undefined) setOwn(parent, last, value);
}

function count(value: unknown): number {
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

function viewMetadata({ name, namespace, uid, resourceVersion, creationTimestamp }: ObjectMeta): ObjectMeta {
  return {
    name,
    ...(namespace !== undefined && { namespace }),
    ...(uid !== undefined && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
}
