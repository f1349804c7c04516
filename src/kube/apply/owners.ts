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
