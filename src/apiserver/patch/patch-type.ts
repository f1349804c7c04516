/** What the type table says about patching: how a field is merged, and what lies below it. */
import { plainError } from "../errors.ts";
import { structOf, type TypeRef } from "../types/index.ts";

/** The type of what is being patched; undefined where nothing is known of it, and nothing merges but objects. */
export type PatchType = TypeRef | undefined;

export interface PatchRule {
  /** Of the field, or of the elements when it is a list. */
  readonly type: PatchType;
  /** `merge`, `replace`, or nothing: objects merge, lists are replaced. */
  readonly strategy: string | undefined;
  /** What elements of a merged list are told apart by; undefined for lists of scalars. */
  readonly mergeKey: string | undefined;
}

const UNKNOWN: PatchRule = { type: undefined, strategy: undefined, mergeKey: undefined };

/** The type of a kind, by its key in the type table. */
export function patchTypeOfKind(typeKey: string | undefined): PatchType {
  return typeKey !== undefined && structOf(typeKey) ? { kind: "struct", key: typeKey } : undefined;
}

/** The rule of a field that holds an object. */
export function ruleOfObject(parent: PatchType, name: string): PatchRule {
  if (parent === undefined) return UNKNOWN;
  const { key, field } = fieldIn(parent, name);
  if (!field) throw plainError(`unable to find api field in struct ${key} for the json field ${JSON.stringify(name)}`);
  // `retainKeys` says that clients should send the directive of that name, which is obeyed wherever it stands.
  const strategy = field.patchStrategy?.split(",").find((each) => each !== "retainKeys");
  return { type: field.type, strategy, mergeKey: field.patchMergeKey };
}

/** The rule of a field that holds a list. */
export function ruleOfList(parent: PatchType, name: string): PatchRule {
  const rule = ruleOfObject(parent, name);
  if (rule.type === undefined) return rule;
  if (rule.type.kind === "items") return { ...rule, type: undefined };
  if (rule.type.kind !== "list") throw plainError("expected slice or array type, but got: struct");
  if (rule.type.of.kind === "list") throw plainError("unexpected slice of slice");
  return { ...rule, type: rule.type.of };
}

/**
 * kube-apiserver refuses to look below a map, and below a type that writes its own JSON; a patch that works here
 * should work there, so both are refused here too.
 */
function fieldIn(parent: TypeRef, name: string) {
  if (parent.kind === "struct") {
    const struct = structOf(parent.key);
    return { key: struct?.name ?? parent.key, field: struct?.byName.get(name) };
  }
  if (parent.kind === "special") return { key: parent.name, field: undefined };
  throw plainError(`merging an object in json but data type is not struct, instead is: ${goKind(parent)}`);
}

function goKind(type: TypeRef): string {
  if (type.kind === "map") return "map";
  return type.kind === "scalar" ? type.name : "slice";
}
