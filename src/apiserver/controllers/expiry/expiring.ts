/** A controller of objects that have an end: it waits for it and deletes them. */
import type { DynamicObject } from "#api/meta";
import type { ControllerParts } from "../manager.ts";
import type { ServerController } from "../runner.ts";
import type { RemoveOptions } from "../system.ts";

export type ExpiryParts = Pick<ControllerParts, "store" | "writer" | "clock">;

export interface Expiring {
  readonly name: string;
  /** Where the objects are stored. */
  readonly storage: string;
  /** When an object is to go, in milliseconds since 1970; undefined as long as there is no end in sight. */
  expiryMs(object: DynamicObject): number | undefined;
  readonly options?: RemoveOptions;
}

export function expiringController(
  { store, writer, clock }: ExpiryParts,
  { name, storage, expiryMs, options = {} }: Expiring,
): ServerController {
  const endOf = (object: DynamicObject) => (object.metadata.deletionTimestamp ? undefined : expiryMs(object));
  return {
    name,
    watches: [storage],
    keysOf: ({ type, key, object }) => (type !== "DELETED" && endOf(object) !== undefined ? [key] : []),
    async reconcile(key) {
      const object = store.get(storage, key);
      const endMs = object && endOf(object);
      if (!object || endMs === undefined) return undefined;
      const leftMs = endMs - clock.now().getTime();
      if (leftMs > 0) return leftMs;
      await writer.remove(storage, object, options);
      return undefined;
    },
  };
}
