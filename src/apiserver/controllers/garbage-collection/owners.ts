/** What an object's owners mean for it: whether any of them keeps it, and which references are worth nothing any more. */
import { apiVersionOf, type DynamicObject, keyOf, type OwnerReference } from "#api/meta";
import { hasFinalizer } from "#lib/meta";
import type { Catalog, Resource } from "../../resource.ts";
import type { Store } from "../../store/index.ts";
import { isMeant, type Ownership } from "../ownership.ts";

export const FOREGROUND = "foregroundDeletion";
export const ORPHAN = "orphan";

/**
 * What became of the owner that a reference names:
 * - `solid`: it is there, or nobody can tell: its kind is not served, or cannot own what has no namespace;
 * - `waiting`: it is deleted and waits for its dependents to go first;
 * - `absent`: it is not where the reference says.
 */
export type Standing = "solid" | "waiting" | "absent";

/** Whether a deleted object waits for the garbage collector, and for what. */
export function awaited({ metadata }: DynamicObject): "orphaning" | "dependents" | undefined {
  if (!metadata.deletionTimestamp) return undefined;
  if (hasFinalizer({ metadata }, ORPHAN)) return "orphaning";
  return hasFinalizer({ metadata }, FOREGROUND) ? "dependents" : undefined;
}

export function ownersOf(object: DynamicObject | undefined): readonly OwnerReference[] {
  return object?.metadata.ownerReferences ?? [];
}

/** The uids of the owners that may not go before the object does. */
export function blockedBy(object: DynamicObject | undefined): ReadonlySet<string> {
  const blocking = ownersOf(object).filter(({ blockOwnerDeletion }) => blockOwnerDeletion);
  return new Set(blocking.map(({ uid }) => uid));
}

export interface OwnerFinder {
  standing(reference: OwnerReference, dependent: DynamicObject): Standing;
  /** The live object with the uid that a reference names, wherever it is and whatever it is called. */
  live(reference: OwnerReference): DynamicObject | undefined;
  /** Whether the kind that a reference names is served. */
  knows(reference: OwnerReference): boolean;
}

export function ownerFinder(parts: { store: Store; ownership: Ownership; catalog: Catalog }): OwnerFinder {
  const { store, ownership, catalog } = parts;
  const kindOf = kindFinder(catalog);

  const live = ({ uid }: OwnerReference): DynamicObject | undefined => {
    const place = ownership.placeOf(uid);
    return place && store.get(place.storage, place.key);
  };

  return {
    live,
    knows: (reference) => kindOf(reference) !== undefined,
    standing(reference, dependent) {
      const { namespace } = dependent.metadata;
      const owner = live(reference);
      if (owner && isMeant(owner, reference, namespace)) return awaited(owner) === "dependents" ? "waiting" : "solid";
      // What went is gone, even when its definition went with it and its kind can no longer be asked for.
      const departed = ownership.departed(reference.uid);
      if (departed && isMeant(departed, reference, namespace)) return "absent";

      const kind = kindOf(reference);
      if (!kind || (kind.namespaced && !namespace)) return "solid";
      const where = { name: reference.name, ...(kind.namespaced && { namespace }) };
      const found = store.get(kind.storage, keyOf({ apiVersion: "", kind: "", metadata: where }));
      return found?.metadata.uid === reference.uid ? "solid" : "absent";
    },
  };
}

/**
 * The references of a waiting object that tie a knot: the owner waits for the object, which waits, maybe through
 * others, for the owner. Looking up from dependent to owner is quick, because owners are few.
 */
export function knots(object: DynamicObject, finder: Pick<OwnerFinder, "live">): readonly OwnerReference[] {
  const waitingOwners = (dependent: DynamicObject): [OwnerReference, DynamicObject][] =>
    ownersOf(dependent).flatMap((reference): [OwnerReference, DynamicObject][] => {
      const owner = reference.blockOwnerDeletion ? finder.live(reference) : undefined;
      if (!owner || !isMeant(owner, reference, dependent.metadata.namespace)) return [];
      return awaited(owner) === "dependents" ? [[reference, owner]] : [];
    });
  const leadsBack = (start: DynamicObject): boolean => {
    const seen = new Set<string | undefined>();
    const ahead = [start];
    for (let next = ahead.pop(); next; next = ahead.pop()) {
      const { uid } = next.metadata;
      if (uid === object.metadata.uid) return true;
      if (seen.has(uid)) continue;
      seen.add(uid);
      for (const [, owner] of waitingOwners(next)) ahead.push(owner);
    }
    return false;
  };
  return waitingOwners(object).flatMap(([reference, owner]) => (leadsBack(owner) ? [reference] : []));
}

/** Kinds by the names that references give them, gathered again when the catalog has changed. */
function kindFinder(catalog: Catalog): (reference: OwnerReference) => Resource | undefined {
  let known = new Map<string, Resource>();
  let generation: number | undefined;
  return ({ apiVersion, kind }) => {
    if (catalog.generation !== generation) {
      generation = catalog.generation;
      known = new Map(catalog.resources.map((resource) => [`${apiVersionOf(resource)} ${resource.kind}`, resource]));
    }
    return known.get(`${apiVersion} ${kind}`);
  };
}
