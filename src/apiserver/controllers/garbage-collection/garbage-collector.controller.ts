/**
 * Deletes what has owners and has lost them all, and lets deleted owners go when their dependents are gone or orphaned.
 *
 * Key     where an object is stored: resource and key
 * Reads   everything, through the index of owners
 * Writes  deletes dependents; metadata.ownerReferences of dependents, metadata.finalizers of owners
 * Twin    kube-controller-manager: garbage-collector-controller
 */
import type { DynamicObject, OwnerReference } from "#api/meta";
import { equal } from "#lib/json";
import { hasFinalizer, isDeleting, withoutFinalizer } from "#lib/meta";
import { DEFINITIONS } from "../../catalog.ts";
import { ApiError } from "../../errors.ts";
import type { ControllerParts } from "../manager.ts";
import { groupOf, type Place } from "../ownership.ts";
import type { Occurrence, ServerController } from "../runner.ts";
import { sideBySide } from "../side-by-side.ts";
import type { RemoveOptions } from "../system.ts";
import { awaited, blockedBy, FOREGROUND, knots, ORPHAN, ownerFinder, ownersOf } from "./owners.ts";

const EVENTS = "core/events";

/** So many objects are judged, and so many dependents of one owner orphaned, side by side: one record of the log takes them all. */
const AT_ONCE = 64;

export function garbageCollector({
  store,
  writer,
  ownership,
  catalog,
  teller,
}: Pick<ControllerParts, "store" | "writer" | "ownership" | "catalog" | "teller">): ServerController {
  const finder = ownerFinder({ store, ownership, catalog });
  const events = teller("garbage-collector-controller");
  /** Objects with an owner of a kind that is not served, by the group that it may yet come from. */
  const undecided = new Map<string, string>();

  return {
    name: "garbage-collector",
    workers: AT_ONCE,
    keysOf(event) {
      if (event.resource === EVENTS) return [];
      return event.resource === DEFINITIONS ? [...keysFor(event), ...nowDecidable(event.object)] : keysFor(event);
    },
    async reconcile(key) {
      const place = placeOf(key);
      const object = store.get(place.storage, place.key);
      if (!object) return undefined;
      const waitsFor = awaited(object);
      if (waitsFor === "orphaning") await orphanDependents(place, object);
      else if (waitsFor === "dependents") await releaseWhenFree(place, object);
      else if (!isDeleting(object) && ownersOf(object).length > 0) return judge(place, object);
      return undefined;
    },
  };

  function keysFor({ type, resource, key, object, previous }: Occurrence): string[] {
    const self = keyOf({ storage: resource, key });
    const dependents = () => ownership.dependentsOf(object.metadata.uid ?? "").map(keyOf);
    if (type === "DELETED") {
      undecided.delete(self);
      return [...dependents(), ...waitingOwners(blockedBy(object))];
    }
    const waitsFor = awaited(object);
    const begins = waitsFor !== undefined && waitsFor !== (previous && awaited(previous));
    const changesOwners = !equal(ownersOf(previous), ownersOf(object));
    if (!begins && !changesOwners) return [];
    const freed = changesOwners ? waitingOwners(blockedBy(previous)) : [];
    return [self, ...(begins && waitsFor === "dependents" ? dependents() : []), ...freed];
  }

  function waitingOwners(uids: Iterable<string>): string[] {
    return [...uids].flatMap((uid) => {
      const place = ownership.placeOf(uid);
      const owner = place && store.get(place.storage, place.key);
      return owner && awaited(owner) === "dependents" ? [keyOf(place)] : [];
    });
  }

  /** What waited for a kind of this definition's group. */
  function nowDecidable({ spec }: DynamicObject): string[] {
    const { group } = spec as { group: string };
    const keys = [...undecided].flatMap(([key, awaitedGroup]) => (awaitedGroup === group ? [key] : []));
    for (const key of keys) undecided.delete(key);
    return keys;
  }

  async function orphanDependents(place: Place, owner: DynamicObject): Promise<void> {
    const { uid = "" } = owner.metadata;
    // A dependent that came meanwhile is orphaned too: once the owner is gone it would be taken for garbage.
    for (let left = ownership.dependentsOf(uid); left.length > 0; left = ownership.dependentsOf(uid)) {
      const failures = await sideBySide(left, AT_ONCE, (dependent) =>
        changeOwners(dependent, (owners) => owners.filter((reference) => reference.uid !== uid)),
      );
      if (failures.length > 0) throw failures[0];
    }
    await removeFinalizer(place, owner, ORPHAN);
  }

  async function releaseWhenFree(place: Place, owner: DynamicObject): Promise<void> {
    if (!ownership.isBlocked(owner)) return removeFinalizer(place, owner, FOREGROUND);
    const tied = knots(owner, finder);
    if (tied.length === 0) return;
    await changeOwners(place, (owners) =>
      owners.map((reference) => (isAmong(tied, reference) ? { ...reference, blockOwnerDeletion: false } : reference)),
    );
  }

  /** Decides about an object that has owners and is not deleted yet. */
  async function judge(place: Place, object: DynamicObject): Promise<number | undefined> {
    const owners = ownersOf(object).map((reference) => ({ reference, standing: finder.standing(reference, object) }));
    tellOfStrangers(object);
    const unserved = ownersOf(object).find((reference) => !finder.knows(reference));
    if (unserved) undecided.set(keyOf(place), groupOf(unserved.apiVersion));

    const stale = owners.flatMap(({ reference, standing }) => (standing === "solid" ? [] : [reference]));
    if (stale.length < owners.length) {
      if (stale.length > 0) await changeOwners(place, (all) => all.filter((reference) => !isAmong(stale, reference)));
      return undefined;
    }
    const isAwaited = owners.some(({ standing }) => standing === "waiting");
    return removeDependent(place, object, policyFor(object, isAwaited));
  }

  function policyFor(object: DynamicObject, isAwaited: boolean): RemoveOptions["propagationPolicy"] {
    if (isAwaited && ownership.hasDependents(object.metadata.uid ?? "")) return "Foreground";
    // Whoever put a finalizer of ours on it beforehand said what is to become of its dependents.
    if (hasFinalizer(object, ORPHAN)) return "Orphan";
    return hasFinalizer(object, FOREGROUND) ? "Foreground" : "Background";
  }

  async function removeDependent(
    { storage, key }: Place,
    object: DynamicObject,
    propagationPolicy: RemoveOptions["propagationPolicy"],
  ): Promise<number | undefined> {
    const options = propagationPolicy && { propagationPolicy };
    try {
      await writer.remove(storage, object, { ...options, unchanged: true });
    } catch (error) {
      if (!isConflict(error)) throw error;
      const now = store.head(storage, key);
      if (now?.metadata.uid !== object.metadata.uid) return undefined;
      // Somebody gave it an owner in between: look again. Other changes would starve us if we waited for them to end.
      if (!equal(ownersOf(now), ownersOf(object))) return 0;
      await writer.remove(storage, object, { ...options });
    }
    return undefined;
  }

  /** An owner lives in the object's own namespace or in none; one elsewhere was named by mistake. */
  function tellOfStrangers(object: DynamicObject): void {
    const { namespace = "" } = object.metadata;
    for (const reference of ownersOf(object)) {
      const home = finder.live(reference)?.metadata.namespace;
      if (home === undefined || home === namespace) continue;
      const { apiVersion, kind, name, uid } = reference;
      const named = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
      const message = `ownerRef ${named} does not exist in namespace ${JSON.stringify(namespace)}`;
      events.tell(object, { type: "Warning", reason: "OwnerRefInvalidNamespace", message });
    }
  }

  async function changeOwners(
    { storage, key }: Place,
    change: (owners: readonly OwnerReference[]) => OwnerReference[],
  ): Promise<void> {
    await writer.change(storage, key, (draft) => {
      const { ownerReferences = [], ...metadata } = draft.metadata;
      const next = change(ownerReferences);
      return { ...draft, metadata: { ...metadata, ...(next.length > 0 && { ownerReferences: next }) } };
    });
  }

  async function removeFinalizer({ storage, key }: Place, owner: DynamicObject, finalizer: string): Promise<void> {
    await writer.change(storage, key, (draft) =>
      draft.metadata.uid === owner.metadata.uid ? withoutFinalizer(draft, finalizer) : draft,
    );
  }
}

function isAmong(references: readonly OwnerReference[], reference: OwnerReference): boolean {
  return references.some((each) => equal(each, reference));
}

function keyOf({ storage, key }: Place): string {
  return `${storage} ${key}`;
}

function placeOf(key: string): Place {
  const space = key.indexOf(" ");
  return { storage: key.slice(0, space), key: key.slice(space + 1) };
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status.reason === "Conflict";
}
