/** Objects by key, with indexes; tells what changed. */
import { type KubeObject, keyOf } from "#api/meta";

/** An object that came (no `before`), changed, or went (no `after`). */
export interface Change<T> {
  before: T | undefined;
  after: T | undefined;
}

export type IndexValue<T> = (object: T) => string | readonly string[] | undefined;

/** Objects by a value computed from them. */
export interface ObjectIndex<T> {
  at(value: string): T[];
}

export class Store<T extends KubeObject> {
  #objects = new Map<string, T>();
  readonly #indexes: StoreIndex<T>[] = [];

  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  get size(): number {
    return this.#objects.size;
  }

  indexBy(value: IndexValue<T>): ObjectIndex<T> {
    const index = new StoreIndex(value);
    for (const [key, object] of this.#objects) index.move(key, undefined, object);
    this.#indexes.push(index);
    return index;
  }

  /** Puts an object in; undefined if the store has just this state of it. */
  put(object: T): Change<T> | undefined {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    if (before && isSameState(before, object)) return undefined;
    this.#objects.set(key, object);
    return this.#changed(key, before, object);
  }

  /** Takes an object out; undefined if it is not there. */
  remove(object: T): Change<T> | undefined {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    if (!before) return undefined;
    this.#objects.delete(key);
    return this.#changed(key, before, undefined);
  }

  /** Makes the store hold just these objects; the answer is what that changed, departures first. */
  replace(objects: ReadonlyMap<string, T>): Change<T>[] {
    const changes: Change<T>[] = [];
    for (const [key, before] of [...this.#objects]) {
      if (objects.has(key)) continue;
      this.#objects.delete(key);
      changes.push(this.#changed(key, before, undefined));
    }
    for (const object of objects.values()) {
      const change = this.put(object);
      if (change) changes.push(change);
    }
    return changes;
  }

  #changed(key: string, before: T | undefined, after: T | undefined): Change<T> {
    for (const index of this.#indexes) index.move(key, before, after);
    return { before, after };
  }
}

/** resourceVersions can only be compared for equality; an object made anew has another uid. */
function isSameState(a: KubeObject, b: KubeObject): boolean {
  const { resourceVersion } = a.metadata;
  return (
    resourceVersion !== undefined && resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid
  );
}

class StoreIndex<T extends KubeObject> implements ObjectIndex<T> {
  readonly #value: IndexValue<T>;
  /** By value, the object itself where there is only one: mostly so, and a Map for each would take more than the object. */
  readonly #byValue = new Map<string, T | Map<string, T>>();

  constructor(value: IndexValue<T>) {
    this.#value = value;
  }

  at(value: string): T[] {
    const found = this.#byValue.get(value);
    if (found === undefined) return [];
    return found instanceof Map ? [...found.values()] : [found];
  }

  move(key: string, before: T | undefined, after: T | undefined): void {
    for (const value of this.#valuesOf(before)) this.#remove(value, key);
    for (const value of this.#valuesOf(after)) this.#add(value, key, after as T);
  }

  #remove(value: string, key: string): void {
    const found = this.#byValue.get(value);
    if (found instanceof Map) found.delete(key);
    if (found instanceof Map ? found.size === 0 : found && keyOf(found) === key) this.#byValue.delete(value);
  }

  #add(value: string, key: string, object: T): void {
    const found = this.#byValue.get(value);
    if (found instanceof Map) found.set(key, object);
    else if (found === undefined || keyOf(found) === key) this.#byValue.set(value, object);
    else this.#byValue.set(value, new Map([[keyOf(found), found] as const, [key, object] as const]));
  }

  /** An object that the function cannot cope with is under no value: one odd object must not stop the cache. */
  #valuesOf(object: T | undefined): readonly string[] {
    if (object === undefined) return [];
    try {
      const values = this.#value(object) ?? [];
      return typeof values === "string" ? [values] : values;
    } catch {
      return [];
    }
  }
}
