import { describe, expect, it } from "vitest";
import type { Condition, DynamicObject } from "#api/meta";
import { namespaceDeletionController } from "./namespace-deletion.controller.ts";
import { type Bed, bed } from "./testing/bed.ts";

const NAMESPACES = "core/namespaces";
const CONFIG_MAPS = "core/configmaps";
const PODS = "core/pods";
const HOLD = "example.com/f";

type Metadata = Partial<DynamicObject["metadata"]>;

/** A bed with the namespace `ns`. */
async function emptied(): Promise<Bed> {
  const ours = await bed((parts) => [namespaceDeletionController(parts)]);
  await ours.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns" } });
  return ours;
}

const configMap = ({ create }: Bed, name: string, more: Metadata = {}) =>
  create(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "ns", ...more } });

const pod = ({ create }: Bed, name: string, { nodeName, ...more }: Metadata & { nodeName?: string } = {}) =>
  create(PODS, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "ns", ...more },
    spec: { containers: [{ name: "main", image: "registry.example/app:1" }], ...(nodeName && { nodeName }) },
  });

async function remove(ours: Bed): Promise<void> {
  await ours.writer.remove(NAMESPACES, ours.get(NAMESPACES, "ns") as DynamicObject);
  await ours.settle();
}

async function release(ours: Bed, storage: string, name: string): Promise<void> {
  await ours.change(storage, `ns/${name}`, ({ metadata: { finalizers: _, ...metadata }, ...draft }) => ({
    ...draft,
    metadata,
  }));
  await ours.settle();
}

const names = ({ list }: Bed, storage: string) => list(storage).map(({ metadata }) => metadata.name);

/** `type: status reason message`, with `-` before those that say that all is well. */
function conditions({ get }: Bed): string[] {
  const { conditions: all = [] } = (get(NAMESPACES, "ns")?.status ?? {}) as { conditions?: Condition[] };
  return all.map(({ type, status, reason, message }) =>
    status === "True" ? `${type} ${reason}: ${message}` : `- ${type} ${reason}`,
  );
}

const CLEAR = [
  "- NamespaceDeletionDiscoveryFailure ResourcesDiscovered",
  "- NamespaceDeletionGroupVersionParsingFailure ParsedGroupVersions",
  "- NamespaceDeletionContentFailure ContentDeleted",
  "- NamespaceContentRemaining ContentRemoved",
  "- NamespaceFinalizersRemaining ContentHasNoFinalizers",
];

describe("a deleted namespace", () => {
  it("goes with all that is in it, and says before that nothing was in the way", async () => {
    const ours = await emptied();
    await configMap(ours, "a");
    await pod(ours, "b");
    const seen: string[] = [];
    ours.store.subscribe(({ resource, type, object }) => {
      if (resource === NAMESPACES)
        seen.push(`${type} ${(object.status as { conditions?: [] }).conditions?.length ?? 0}`);
    });
    await remove(ours);
    expect(names(ours, NAMESPACES)).toEqual(["default"]);
    expect([...names(ours, CONFIG_MAPS), ...names(ours, PODS)]).toEqual([]);
    expect(seen).toEqual(["MODIFIED 0", "MODIFIED 5", "DELETED 5"]);
  });

  it("loses its Pods first, and the rest when they are gone", async () => {
    const ours = await emptied();
    await configMap(ours, "a");
    await pod(ours, "held", { finalizers: [HOLD] });
    await remove(ours);
    expect(ours.get(PODS, "ns/held")?.metadata.deletionTimestamp).toBeDefined();
    expect(names(ours, CONFIG_MAPS)).toEqual(["a"]);
    expect(conditions(ours)).toEqual(CLEAR);

    await release(ours, PODS, "held");
    expect(names(ours, NAMESPACES)).toEqual(["default"]);
    expect(names(ours, CONFIG_MAPS)).toEqual([]);
  });

  it("says what it waits for, and goes when the last finalizer does", async () => {
    const ours = await emptied();
    await configMap(ours, "free");
    await configMap(ours, "held", { finalizers: [HOLD] });
    await ours.create("apps/controllerrevisions", {
      apiVersion: "apps/v1",
      kind: "ControllerRevision",
      metadata: { name: "r", namespace: "ns", finalizers: [HOLD, "example.com/g"] },
      revision: 1,
      data: {},
    });
    await remove(ours);
    expect(names(ours, CONFIG_MAPS)).toEqual(["held"]);
    expect(conditions(ours)).toEqual([
      ...CLEAR.slice(0, 3),
      "NamespaceContentRemaining SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances, controllerrevisions.apps has 1 resource instances",
      "NamespaceFinalizersRemaining SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/f in 2 resource instances, example.com/g in 1 resource instances",
    ]);

    await release(ours, CONFIG_MAPS, "held");
    await ours.pass(1000);
    expect(conditions(ours).slice(3)).toEqual([
      "NamespaceContentRemaining SomeResourcesRemain: Some resources are remaining: controllerrevisions.apps has 1 resource instances",
      "NamespaceFinalizersRemaining SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances, example.com/g in 1 resource instances",
    ]);
    await release(ours, "apps/controllerrevisions", "r");
    expect(names(ours, NAMESPACES)).toEqual(["default"]);
  });

  it("does not wait for the garbage collector, because nothing in it will stay", async () => {
    const ours = await emptied();
    const owner = await configMap(ours, "owner");
    await ours.writer.remove(CONFIG_MAPS, owner, { propagationPolicy: "Foreground" });
    expect(ours.get(CONFIG_MAPS, "ns/owner")?.metadata.finalizers).toEqual(["foregroundDeletion"]);
    await remove(ours);
    expect(names(ours, NAMESPACES)).toEqual(["default"]);
  });

  it("leaves the finalizers of others to them", async () => {
    const ours = await emptied();
    await ours.change(
      NAMESPACES,
      "ns",
      (draft) => ({ ...draft, spec: { finalizers: ["kubernetes", HOLD] } }),
      "finalize",
    );
    await configMap(ours, "a");
    await remove(ours);
    expect(names(ours, CONFIG_MAPS)).toEqual([]);
    expect(ours.get(NAMESPACES, "ns")?.spec).toEqual({ finalizers: [HOLD] });
    expect(conditions(ours)).toEqual(CLEAR);
  });

  it("writes nothing when nothing has changed", async () => {
    const ours = await emptied();
    await configMap(ours, "held", { finalizers: [HOLD] });
    await remove(ours);
    await ours.pass(1000);
    const { revision } = ours.store;
    await ours.change(CONFIG_MAPS, "ns/held", (draft) => ({ ...draft, data: { still: "writable" } }));
    await ours.pass(60_000);
    expect(ours.store.revision).toBe(revision + 1);
  });
});

describe("Pods that take their time", () => {
  it("are given as long as they were granted, and then blamed", async () => {
    const ours = await emptied();
    await pod(ours, "slow", { nodeName: "node" });
    await configMap(ours, "a");
    await remove(ours);
    expect(ours.get(PODS, "ns/slow")?.metadata.deletionGracePeriodSeconds).toBe(30);
    expect(conditions(ours)).toEqual(CLEAR);

    await ours.pass(30_000);
    expect(conditions(ours)[2]).toBe(
      "NamespaceDeletionContentFailure ContentDeletionFailed: Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: ns for gvr: /v1, Resource=pods",
    );
    expect(names(ours, CONFIG_MAPS)).toEqual(["a"]);

    await ours.writer.remove(PODS, ours.get(PODS, "ns/slow") as DynamicObject, { gracePeriodSeconds: 0 });
    await ours.settle();
    expect(names(ours, NAMESPACES)).toEqual(["default"]);
  });
});

describe("content that cannot be deleted", () => {
  it("is told of, and tried again", async () => {
    let refuses = true;
    const ours = await bed(({ writer, ...parts }) => {
      const remove: typeof writer.remove = async (...asked) => {
        if (asked[0] === CONFIG_MAPS && refuses) throw new Error("somebody says no");
        await writer.remove(...asked);
      };
      return [namespaceDeletionController({ ...parts, writer: { ...writer, remove } })];
    });
    await ours.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "ns" } });
    for (const name of ["a", "b"]) await configMap(ours, name);
    await remove(ours);
    expect(conditions(ours).slice(2)).toEqual([
      "NamespaceDeletionContentFailure ContentDeletionFailed: Failed to delete all resource types, 1 remaining: somebody says no",
      "NamespaceContentRemaining SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances",
      "- NamespaceFinalizersRemaining ContentHasNoFinalizers",
    ]);
    refuses = false;
    await ours.pass(2000);
    expect(names(ours, NAMESPACES)).toEqual(["default"]);
  });
});

describe("many objects", () => {
  it("are counted seldom while they go one by one, and their end is noticed at once", async () => {
    const ours = await emptied();
    for (let index = 0; index < 100; index++) await configMap(ours, `held-${index}`, { finalizers: [HOLD] });
    await remove(ours);
    let reports = 0;
    ours.store.subscribe(({ resource }) => {
      if (resource === NAMESPACES) reports++;
    });
    for (let index = 0; index < 100; index++) await release(ours, CONFIG_MAPS, `held-${index}`);
    expect(names(ours, NAMESPACES)).toEqual(["default"]);
    expect(reports).toBe(2);
  });
});
