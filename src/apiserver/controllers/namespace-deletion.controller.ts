/**
 * Empties a deleted Namespace and then lets it go.
 *
 * Key     Namespace name
 * Reads   Namespace, everything in it
 * Writes  deletes what is in it; status.conditions; spec.finalizers through /finalize
 * Twin    kube-controller-manager: namespace-controller
 */
import type { Condition, DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { setCondition } from "#lib/conditions";
import type { Store } from "../store/index.ts";
import type { ServerController } from "./runner.ts";
import type { SystemWriter } from "./system.ts";

const NAMESPACES = "core/namespaces";
const KUBERNETES = "kubernetes";

export function namespaceDeletionController(options: {
  store: Store;
  writer: SystemWriter;
  clock: Clock;
}): ServerController {
  const { store, writer, clock } = options;

  const contentOf = (namespace: string): { storage: string; object: DynamicObject }[] =>
    store
      .resources()
      .flatMap((storage) => store.list(storage, { namespace }).items.map((object) => ({ storage, object })));

  return {
    name: "namespace-deletion",
    keysOf({ resource, type, key, object }) {
      if (resource === NAMESPACES) return object.metadata.deletionTimestamp ? [key] : [];
      const { namespace } = object.metadata;
      if (type !== "DELETED" || !namespace) return [];
      return store.get(NAMESPACES, namespace)?.metadata.deletionTimestamp ? [namespace] : [];
    },
    async reconcile(name) {
      const namespace = store.get(NAMESPACES, name);
      if (!namespace?.metadata.deletionTimestamp) return undefined;
      for (const { storage, object } of contentOf(name)) {
        if (!object.metadata.deletionTimestamp) await writer.remove(storage, object);
      }

      const remaining = contentOf(name);
      if (remaining.length > 0) {
        await writer.change(NAMESPACES, name, (draft) => withConditions(draft, remaining, clock.now()), "status");
        return undefined; // the deletion of what remains brings us back
      }
      await writer.change(NAMESPACES, name, withoutFinalizer, "finalize");
      return undefined;
    },
  };
}

function withoutFinalizer(draft: DynamicObject): DynamicObject {
  const spec = (draft.spec ?? {}) as { finalizers?: string[] };
  return {
    ...draft,
    spec: { ...spec, finalizers: (spec.finalizers ?? []).filter((finalizer) => finalizer !== KUBERNETES) },
  };
}

function withConditions(
  draft: DynamicObject,
  remaining: readonly { storage: string; object: DynamicObject }[],
  now: Date,
): DynamicObject {
  const status = (draft.status ?? {}) as { conditions?: Condition[] };
  let conditions = setCondition(
    status.conditions ?? [],
    {
      type: "NamespaceContentRemaining",
      status: "True",
      reason: "SomeResourcesRemain",
      message: `Some resources are remaining: ${counted(
        remaining.map(({ storage }) => storage.replace(/^core\//, "")),
        "has",
        "resource instances",
      )}`,
    },
    now,
  );
  const finalizers = remaining.flatMap(({ object }) => object.metadata.finalizers ?? []);
  if (finalizers.length > 0) {
    conditions = setCondition(
      conditions,
      {
        type: "NamespaceFinalizersRemaining",
        status: "True",
        reason: "SomeFinalizersRemain",
        message: `Some content in the namespace has finalizers remaining: ${counted(finalizers, "in", "resource instances")}`,
      },
      now,
    );
  }
  return { ...draft, status: { ...status, phase: "Terminating", conditions } };
}

/** `a in 2 resource instances, b in 1 resource instances`, sorted, so that the message moves only when the facts do. */
function counted(names: readonly string[], verb: string, what: string): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${verb} ${count} ${what}`)
    .join(", ");
}
