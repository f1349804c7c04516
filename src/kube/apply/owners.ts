/** Owner references as a policy wants them; those of others always stay. */
import type { DynamicObject, OwnerReference } from "#api/meta";
import { equal } from "#lib/json";
import { groupVersionOf } from "./identity.ts";
import type { OwnerPolicy } from "./types.ts";

/** The references that the object should carry. */
export function wantedOwners(
  current: readonly OwnerReference[],
  policy: OwnerPolicy | undefined,
): readonly OwnerReference[] {
  if (!policy) return current;
  const { mode, reference } = policy;
  const at = current.findIndex((each) => isSameOwner(each, reference));
  if (mode === "orphaned") return current.filter((each) => !isSameOwner(each, reference));
  if (at < 0) return [...current, reference];
  return equal(current[at], reference) ? current : current.with(at, reference);
}

/** The object's references, if they must change; undefined if they are as the policy wants them. */
export function ownerChange(
  live: DynamicObject,
  policy: OwnerPolicy | undefined,
): readonly OwnerReference[] | undefined {
  const current = live.metadata.ownerReferences ?? [];
  const wanted = wantedOwners(current, policy);
  return equal(current, wanted) ? undefined : wanted;
}

/** An owner that was made anew has another uid and is the same owner. */
export function isSameOwner(a: OwnerReference, b: OwnerReference): boolean {
  return (
    a.name === b.name && a.kind === b.kind && groupVersionOf(a.apiVersion).group === groupVersionOf(b.apiVersion).group
  );
}

/** The manifest as it is created, with its owner. */
export function withOwners(manifest: DynamicObject, policy: OwnerPolicy | undefined): DynamicObject {
  const owners = wantedOwners(manifest.metadata.ownerReferences ?? [], policy);
  if (owners.length === 0) return manifest;
  return { ...manifest, metadata: { ...manifest.metadata, ownerReferences: [...owners] } };
}

/**
 * An owner in a manifest that is applied would be the field manager's, and go with the next manifest of that manager that
 * does not name it, such as that of a second owner. So owners are written beside what is applied, which is a second
 * write. Lest an object that is created be nobody's in between, should the process end there, it is created with a claim:
 * the reference, in other words that mean the same. Writing the reference itself then takes it from the manager, as every
 * change of a field does.
 */
export function claiming(policy: OwnerPolicy | undefined): OwnerPolicy | undefined {
  return policy?.mode === "owned" ? { ...policy, reference: claimOf(policy.reference) } : undefined;
}

/** Whether the object has a claim still, which is to become a reference before anything is applied again. */
export function isClaimed({ metadata }: DynamicObject, policy: OwnerPolicy | undefined): boolean {
  const claim = claiming(policy)?.reference;
  return claim !== undefined && metadata.ownerReferences?.some((each) => equal(each, claim)) === true;
}

/** Only `true` makes an owner wait, so that leaving the field out and `false` are one. */
function claimOf({ blockOwnerDeletion, ...reference }: OwnerReference): OwnerReference {
  return blockOwnerDeletion === false ? reference : { ...reference, blockOwnerDeletion: false };
}
