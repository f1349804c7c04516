/** From the body of a PATCH to a function that changes an object, and from what went wrong to an answer. */
import { isObject, stringifyJson } from "#lib/json";
import { applyJsonPatch, applyMergePatch, PatchError, parseJsonPatch } from "#lib/patch";
import { ApiError, badRequest, field, tooLarge } from "../errors.ts";
import type { GroupVersionKind } from "../resource.ts";
import { typeOf } from "../types/index.ts";
import { goText, goType } from "./go-text.ts";
import { rejected } from "./refusals.ts";
import { strategicMerge } from "./strategic-merge.ts";

/** A patch that can be told apart from the object it changes. */
export interface DocumentPatch {
  readonly type: "json" | "merge" | "strategic";
  /** The decoded body. */
  readonly patch: unknown;
}

type Fields = Record<string, unknown>;

/** As kube-apiserver: more operations than this are refused before they are tried. */
const MOST_OPERATIONS = 10_000;

/**
 * The function that applies the patch to an object of that kind. The patch is judged when it is applied and not before,
 * because whoever patches what is not there should learn that first.
 */
export function patcher({ type, patch }: DocumentPatch, kind: GroupVersionKind): (object: Fields) => unknown {
  switch (type) {
    case "json":
      return (object) => operate(object, operationsIn(patch));
    case "merge":
      return (object) => applyMergePatch(object, objectIn(patch, "error decoding patch: "));
    case "strategic": {
      const typeKey = typeOf(kind.group, kind.version, kind.kind);
      return (object) => {
        const { apiVersion, kind } = object;
        // The type is that of the URL, and a patch that says otherwise is not listened to.
        return { ...strategicMerge(typeKey, object, objectIn(patch ?? {})), apiVersion, kind };
      };
    }
  }
}

/** The answer when what a patch leaves is no object of its kind: the patch is to blame, and is shown. */
export function resultRefusal({ type, patch }: DocumentPatch, why: string): ApiError {
  const { message, ...cause } = field.invalid(
    "patch",
    type === "strategic" ? goText(patch) : stringifyJson(patch),
    why,
  );
  return new ApiError(422, "Invalid", ` "" is invalid: patch: ${message}`, { causes: [{ ...cause, message }] });
}

function objectIn(patch: unknown, prefix = ""): Fields {
  if (isObject(patch)) return patch;
  throw badRequest(`${prefix}json: cannot unmarshal ${jsonType(patch)} into Go value of type ${goType({})}`);
}

function operationsIn(patch: unknown): readonly unknown[] {
  const operations = patch ?? [];
  if (!Array.isArray(operations)) throw badRequest(`error decoding patch: ${jsonType(patch)} is no list of operations`);
  for (const operation of operations) {
    if (!isObject(operation)) throw badRequest(`error decoding patch: ${jsonType(operation)} is no operation`);
    for (const name of ["op", "path", "from"]) {
      const value = Object.hasOwn(operation, name) ? operation[name] : "";
      if (typeof value !== "string") throw badRequest(`error decoding patch: ${name} must be a string`);
    }
  }
  if (operations.length > MOST_OPERATIONS) {
    throw tooLarge(`The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${operations.length}`);
  }
  return operations;
}

function operate(object: Fields, operations: readonly unknown[]): unknown {
  try {
    return applyJsonPatch(object, parseJsonPatch(operations));
  } catch (error) {
    if (error instanceof PatchError) throw rejected(error.message);
    throw error;
  }
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value === "bigint" ? "number" : typeof value;
}
