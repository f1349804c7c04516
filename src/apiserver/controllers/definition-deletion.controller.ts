/**
 * Removes the instances of a deleted CustomResourceDefinition, then lets it go.
 *
 * Key     CustomResourceDefinition name
 * Reads   CustomResourceDefinition, its instances
 * Writes  deletes the instances; condition Terminating; metadata.finalizers
 * Twin    apiextensions-apiserver: finalizing controller
 */
import type { Condition, DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { setCondition } from "#lib/conditions";
import { DEFINITIONS } from "../catalog.ts";
import type { Store } from "../store/index.ts";
import type { ServerController } from "./runner.ts";
import type { SystemWriter } from "./system.ts";

const CLEANUP = "customresourcecleanup.apiextensions.k8s.io";

export function definitionDeletionController(options: {
  store: Store;
  writer: SystemWriter;
  clock: Clock;
}): ServerController {
  const { store, writer, clock } = options;
  return {
    name: "definition-deletion",
    keysOf({ resource, type, key, object }) {
      if (resource === DEFINITIONS) return object.metadata.deletionTimestamp ? [key] : [];
      if (type !== "DELETED") return [];
      const [group = "", plural = ""] = resource.split("/");
      const name = `${plural}.${group}`;
      return store.get(DEFINITIONS, name)?.metadata.deletionTimestamp ? [name] : [];
    },
    async reconcile(name) {
      const definition = store.get(DEFINITIONS, name);
      if (!definition?.metadata.deletionTimestamp || !definition.metadata.finalizers?.includes(CLEANUP))
        return undefined;
      const storage = storageOf(definition);
      for (const object of store.list(storage).items) {
        if (!object.metadata.deletionTimestamp) await writer.remove(storage, object);
      }
      if (store.list(storage).items.length > 0) {
        await writer.change(DEFINITIONS, name, (draft) => terminating(draft, clock.now()), "status");
        return undefined; // the deletion of the last instance brings us back
      }
      await writer.change(DEFINITIONS, name, (draft) => {
        draft.metadata.finalizers = (draft.metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP);
        return draft;
      });
      return undefined;
    },
  };
}

function storageOf({ spec }: DynamicObject): string {
  const { group, names } = spec as { group: string; names: { plural: string } };
  return `${group}/${names.plural}`;
}

function terminating(draft: DynamicObject, now: Date): DynamicObject {
  const status = (draft.status ?? {}) as { conditions?: Condition[] };
  const conditions = setCondition(
    status.conditions ?? [],
    {
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionInProgress",
      message: "CustomResource deletion is in progress",
    },
    now,
  );
  return { ...draft, status: { ...status, conditions } };
}
