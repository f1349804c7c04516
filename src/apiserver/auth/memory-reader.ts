import { type DynamicObject, keyOf } from "#api/meta";
import type { ObjectEvent, ObjectReader } from "./object-reader.ts";

/** A store of the smallest kind, for tests: objects put in by hand, and events for whoever listens. */
export class MemoryReader implements ObjectReader {
  readonly #objects = new Map<string, Map<string, DynamicObject>>();
  readonly #listeners = new Set<(event: ObjectEvent) => void>();

  put(resource: string, ...objects: readonly DynamicObject[]): void {
    for (const object of objects) {
      const key = keyOf(object);
      const type = this.get(resource, key) ? "MODIFIED" : "ADDED";
      const kept = this.#objects.get(resource) ?? new Map<string, DynamicObject>();
      this.#objects.set(resource, kept.set(key, object));
      this.#tell({ type, resource, key, object });
    }
  }

  remove(resource: string, key: string): void {
    const object = this.get(resource, key);
    if (!object) return;
    this.#objects.get(resource)?.delete(key);
    this.#tell({ type: "DELETED", resource, key, object });
  }

  get(resource: string, key: string): DynamicObject | undefined {
    return this.#objects.get(resource)?.get(key);
  }

  list(resource: string): { items: DynamicObject[] } {
    return { items: [...(this.#objects.get(resource)?.values() ?? [])] };
  }

  subscribe(onEvent: (event: ObjectEvent) => void): () => void {
    this.#listeners.add(onEvent);
    return () => this.#listeners.delete(onEvent);
  }

  #tell(event: ObjectEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}
