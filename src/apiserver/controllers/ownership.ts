/** Who owns whom: an index over all objects of a cluster, kept from the events of its store. */
import { type DynamicObject, keyOf, type OwnerReference } from "#api/meta";
import { equal } from "#lib/json";
import { controllerOf } from "#lib/meta";
import type { Store, StoreEvent } from "../store/index.ts";

/** What a workload may claim as its own; only of these it is known which ones nobody controls. */
const CLAIMABLE: ReadonlySet<string> = new Set(["core/pods", "apps/replicasets", "apps/controllerrevisions"]);

/** There are many of them, nothing owns them in earnest, and they own nothing: they are left out. */
const EVENTS = "core/events";

/** Where an object is stored. */
export interface Place {
  readonly storage: string;
  readonly key: string;
}

export interface Ownership {
  /** The objects that name this uid among their owners. */
  dependentsOf(uid: string): readonly Place[];
  hasDependents(uid: string): boolean;
  /** Where the object with this uid lies, if it exists. */
  placeOf(uid: string): Place | undefined;
  /** The last state of an object that went while this runs, for as long as others name it their owner. */
  departed(uid: string): DynamicObject | undefined;
  /** Whether a dependent wants to be gone before its owner goes. */
  isBlocked(owner: DynamicObject): boolean;
  /** Of one resource, the objects whose controller has this uid, in order of key. */
  controlledBy(storage: string, uid: string): readonly DynamicObject[];
  /** Of Pods, ReplicaSets or ControllerRevisions, those in a namespace that no controller owns, in order of key. */
  uncontrolled(storage: string, namespace: string): readonly DynamicObject[];
  close(): void;
}

/**
 * Whether a reference on an object of that namespace means this very object: one of the same uid somewhere else, or
 * called otherwise, is not meant.
 */
export function isMeant(owner: DynamicObject, reference: OwnerReference, namespace = ""): boolean {
  const { uid, name, namespace: home = "" } = owner.metadata;
  return (
    uid === reference.uid &&
    name === reference.name &&
    owner.kind === reference.kind &&
    groupOf(owner.apiVersion) === groupOf(reference.apiVersion) &&
    (home === "" || home === namespace)
  );
}

/** Follows the store; begun before the controllers, so that it knows of an event when they are asked about it. */
export function followOwnership(store: Store): Ownership {
  const index = new OwnershipIndex(store);
  const unsubscribe = store.subscribe((event) => index.take(event));
  for (const resource of store.resources()) {
    for (const object of store.list(resource).items) index.add({ storage: resource, key: keyOf(object) }, object);
  }
  return Object.assign(index, { close: unsubscribe });
}

/** The dependents of one uid that hold it up, which name it alike from the same namespace. */
interface Blockers {
  readonly reference: OwnerReference;
  readonly namespace: string;
  readonly names: Set<string>;
}

class OwnershipIndex {
  readonly #store: Store;
  readonly #places = new Map<string, Place>();
  readonly #dependents = new Map<string, Map<string, Place>>();
  readonly #departed = new Map<string, DynamicObject>();
  readonly #blockers = new Map<string, Map<string, Blockers>>();
  /** By storage and namespace: the keys of what nobody controls. */
  readonly #uncontrolled = new Map<string, Set<string>>();

  constructor(store: Store) {
    this.#store = store;
  }

  dependentsOf(uid: string): readonly Place[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  hasDependents(uid: string): boolean {
    return this.#dependents.has(uid);
  }

  placeOf(uid: string): Place | undefined {
    return this.#places.get(uid);
  }

  departed(uid: string): DynamicObject | undefined {
    return this.#departed.get(uid);
  }

  isBlocked(owner: DynamicObject): boolean {
    const groups = [...(this.#blockers.get(owner.metadata.uid ?? "")?.values() ?? [])];
    return groups.some(({ reference, namespace }) => isMeant(owner, reference, namespace));
  }

  controlledBy(storage: string, uid: string): readonly DynamicObject[] {
    const keys = this.dependentsOf(uid).filter((place) => place.storage === storage);
    return this.#read(
      storage,
      keys.map(({ key }) => key),
    ).filter((object) => controllerOf(object)?.uid === uid);
  }

  uncontrolled(storage: string, namespace: string): readonly DynamicObject[] {
    return this.#read(storage, this.#uncontrolled.get(drawer(storage, namespace)) ?? []);
  }

  #read(storage: string, keys: Iterable<string>): DynamicObject[] {
    return [...keys].sort().flatMap((key) => this.#store.get(storage, key) ?? []);
  }

  take({ type, resource, key, object, previous }: StoreEvent): void {
    if (previous && type === "MODIFIED" && equal(ownersOf(previous), ownersOf(object))) return;
    const place = { storage: resource, key };
    if (previous) this.remove(place, previous);
    if (type !== "DELETED") this.add(place, object);
    else if (this.hasDependents(object.metadata.uid ?? "")) this.#departed.set(object.metadata.uid ?? "", object);
  }

  add(place: Place, object: DynamicObject): void {
    if (place.storage === EVENTS) return;
    const { uid, namespace = "" } = object.metadata;
    if (uid) this.#places.set(uid, place);
    for (const reference of ownersOf(object)) this.#addDependent(place, reference, namespace);
    if (!CLAIMABLE.has(place.storage) || controllerOf(object)) return;
    at(this.#uncontrolled, drawer(place.storage, namespace), () => new Set<string>()).add(place.key);
  }

  remove(place: Place, object: DynamicObject): void {
    const { uid, namespace = "" } = object.metadata;
    if (uid) this.#places.delete(uid);
    for (const reference of ownersOf(object)) this.#removeDependent(place, reference, namespace);
    const where = drawer(place.storage, namespace);
    const keys = this.#uncontrolled.get(where);
    keys?.delete(place.key);
    if (keys?.size === 0) this.#uncontrolled.delete(where);
  }

  #addDependent(place: Place, reference: OwnerReference, namespace: string): void {
    const { uid } = reference;
    at(this.#dependents, uid, () => new Map<string, Place>()).set(nameOf(place), place);
    if (!reference.blockOwnerDeletion) return;
    const groups = at(this.#blockers, uid, () => new Map<string, Blockers>());
    const named = namedBy(reference, namespace);
    at(groups, named, () => ({ reference, namespace, names: new Set<string>() })).names.add(nameOf(place));
  }

  #removeDependent(place: Place, reference: OwnerReference, namespace: string): void {
    const { uid } = reference;
    const dependents = this.#dependents.get(uid);
    dependents?.delete(nameOf(place));
    if (dependents?.size === 0) {
      this.#dependents.delete(uid);
      this.#departed.delete(uid);
    }
    const groups = this.#blockers.get(uid);
    const named = namedBy(reference, namespace);
    const blockers = groups?.get(named);
    blockers?.names.delete(nameOf(place));
    if (blockers?.names.size === 0) groups?.delete(named);
    if (groups?.size === 0) this.#blockers.delete(uid);
  }
}

function ownersOf({ metadata }: DynamicObject): readonly OwnerReference[] {
  return metadata.ownerReferences ?? [];
}

/** What lies at a key; made when there is nothing yet. */
function at<T>(map: Map<string, T>, key: string, make: () => T): T {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

function nameOf({ storage, key }: Place): string {
  return `${storage} ${key}`;
}

function namedBy({ apiVersion, kind, name }: OwnerReference, namespace: string): string {
  return `${namespace} ${apiVersion} ${kind} ${name}`;
}

function drawer(storage: string, namespace: string): string {
  return `${storage} ${namespace}`;
}

export function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}
