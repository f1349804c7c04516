/**
 * The names that Kubernetes has agreed on for sets of objects that are applied together (KEP-3659): a parent object
 * says what kinds there are and where, and every member names its parent.
 */
import { createHash } from "node:crypto";
import { groupKindOf, type ObjectId } from "../identity.ts";

export const ApplySetLabel = {
  /** On the parent. */
  id: "applyset.kubernetes.io/id",
  /** On every member. */
  partOf: "applyset.kubernetes.io/part-of",
} as const;

export const ApplySetAnnotation = {
  /** `name/version` of whoever manages the set; nobody else may. */
  tooling: "applyset.kubernetes.io/tooling",
  groupKinds: "applyset.kubernetes.io/contains-group-kinds",
  namespaces: "applyset.kubernetes.io/additional-namespaces",
} as const;

export interface ApplySetParent {
  readonly group: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
}

export function applySetId({ name, namespace = "", kind, group }: ApplySetParent): string {
  const hash = createHash("sha256").update(`${name}.${namespace}.${kind}.${group}`).digest("base64url");
  return `applyset-${hash}-v1`;
}

/** What the parent says of its members. */
export function memberAnnotations(members: readonly ObjectId[], parent: ApplySetParent): Record<string, string> {
  const namespaces = members.flatMap(({ namespace }) =>
    namespace && namespace !== parent.namespace ? [namespace] : [],
  );
  return {
    [ApplySetAnnotation.groupKinds]: sortedUnique(members.map(groupKindOf)).join(","),
    [ApplySetAnnotation.namespaces]: sortedUnique(namespaces).join(","),
  };
}

function sortedUnique(values: readonly string[]): string[] {
  return [...new Set(values)].sort();
}
