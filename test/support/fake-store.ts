import { type KubeObject, keyOf } from "#api/meta";

export type FakeListener = (before: KubeObject | undefined, after: KubeObject | undefined) => void;

/** Objects by resource and key, with one revision for all of them, as in etcd. What lies here is frozen. */
export class FakeStore {
  readonly #tables = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Map<string, Set<FakeListener>>();
  #revision = 1;

  get revision(): number {
    return this.#revision;
  }

  get(resource: string, key: string): KubeObject | undefined {
    return this.#table(resource).get(key);
  }

  /** In order of key, as an API server lists. */
  list(resource: string): KubeObject[] {
    return [...this.#table(resource)].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }

  put(resource: string, object: KubeObject): KubeObject {
    const key = keyOf(object);
    const before = this.get(resource, key);
    const resourceVersion = String(++this.#revision);
    const after = freeze({ ...object, metadata: { ...object.metadata, resourceVersion } });
    this.#table(resource).set(key, after);
    this.#tell(resource, before, after);
    return after;
  }

  remove(resource: string, key: string): void {
    const before = this.get(resource, key);
    if (!before) return;
    this.#revision++;
    this.#table(resource).delete(key);
    this.#tell(resource, before, undefined);
  }

  onChange(resource: string, listener: FakeListener): () => void {
    const listeners = this.#listeners.get(resource) ?? new Set();
    this.#listeners.set(resource, listeners.add(listener));
    return () => {
      listeners.delete(listener);
    };
  }

  #table(resource: string): Map<string, KubeObject> {
    const table = this.#tables.get(resource) ?? new Map<string, KubeObject>();
    this.#tables.set(resource, table);
    return table;
  }

  #tell(resource: string, before: KubeObject | undefined, after: KubeObject | undefined): void {
    for (const listener of [...(this.#listeners.get(resource) ?? [])]) listener(before, after);
  }
}

/** Whoever changes an object in place gets an error: in production it would change what everybody else reads. */
function freeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}
