/** Which objects a workload controls: it adopts those that fit and have no controller, and lets go of those that no longer fit. */
import { type DynamicObject, keyOf } from "#api/meta";
import { controllerOf, ownerReference, withFinalizer, withOwner, withoutFinalizer } from "#lib/meta";
import type { LabelMatcher } from "#lib/selectors";
import type { Ownership } from "../ownership.ts";
import type { SystemWriter } from "../system.ts";

export interface ClaimOptions {
  readonly owner: DynamicObject;
  readonly selector: Pick<LabelMatcher, "matches">;
  /** Where the claimed objects are stored. */
  readonly storage: string;
  readonly ownership: Ownership;
  readonly writer: SystemWriter;
  /** What else must hold of an object before it is adopted. */
  readonly mayAdopt?: (object: DynamicObject) => boolean;
  /** A finalizer that comes with the adoption and goes with the release. */
  readonly finalizer?: string;
}

/** The objects that the owner controls after adopting and releasing, in order of key. */
export async function claim(options: ClaimOptions): Promise<DynamicObject[]> {
  const { owner, selector, storage, ownership, mayAdopt = () => true } = options;
  const { uid = "", namespace = "", deletionTimestamp } = owner.metadata;
  const fits = ({ metadata }: DynamicObject) => selector.matches(metadata.labels);

  // An owner on its way out claims nothing more; what it still has is for the garbage collector to judge.
  if (!deletionTimestamp) {
    const released = ownership.controlledBy(storage, uid).filter((object) => !fits(object));
    const free = ownership.uncontrolled(storage, namespace);
    const adoptable = free.filter((object) => !object.metadata.deletionTimestamp && fits(object) && mayAdopt(object));
    await Promise.all([
      ...released.map((object) => release(options, object)),
      ...adoptable.map((object) => adopt(options, object)),
    ]);
  }
  return ownership.controlledBy(storage, uid).filter(fits);
}

async function adopt(options: ClaimOptions, object: DynamicObject): Promise<void> {
  const { writer, storage, ownership, owner, finalizer } = options;
  const { uid = "" } = owner.metadata;
  await writer.change(storage, keyOf(object), (draft) => {
    // Between the look and the write somebody else may have claimed it, or somebody may have replaced it. And with an
    // owner that is gone by now, the garbage collector would take it for a leftover.
    if (draft.metadata.uid !== object.metadata.uid || controllerOf(draft) || !ownership.placeOf(uid)) return draft;
    const owned = withOwner(draft, ownerReference(owner));
    return finalizer === undefined ? owned : withFinalizer(owned, finalizer);
  });
}

async function release({ writer, storage, owner, finalizer }: ClaimOptions, object: DynamicObject): Promise<void> {
  await writer.change(storage, keyOf(object), (draft) => {
    const references = draft.metadata.ownerReferences ?? [];
    const ownerReferences = references.filter(({ uid }) => uid !== owner.metadata.uid);
    const released = { ...draft, metadata: { ...draft.metadata, ownerReferences } };
    return finalizer === undefined ? released : withoutFinalizer(released, finalizer);
  });
}
