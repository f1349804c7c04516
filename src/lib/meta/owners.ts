import type { KubeObject, OwnerReference } from "#api/meta";
import { describe } from "./describe.ts";

/** A reference to the owner, as its controller unless told otherwise. The owner must exist: it needs a uid. */
export function ownerReference(owner: KubeObject, { controller = true } = {}): OwnerReference {
  const { name, uid } = owner.metadata;
  if (!uid) throw new Error(`${describe(owner)} has no uid and cannot own anything yet`);
  const { apiVersion, kind } = owner;
  return { apiVersion, kind, name, uid, ...(controller && { controller, blockOwnerDeletion: true }) };
}

/** The object with the reference, which takes the place of an older one to the same owner. */
export function withOwner<T extends Pick<KubeObject, "metadata">>(object: T, reference: OwnerReference): T {
  const others = (object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== reference.uid);
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, reference] } };
}

/** The owner that manages the object; there is at most one. */
export function controllerOf({ metadata }: Pick<KubeObject, "metadata">): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function isOwnedBy({ metadata }: Pick<KubeObject, "metadata">, owner: Pick<KubeObject, "metadata">): boolean {
  const { uid } = owner.metadata;
  return uid !== undefined && (metadata.ownerReferences?.some((reference) => reference.uid === uid) ?? false);
}
