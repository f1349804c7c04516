import { describe, expect, it } from "vitest";
import type { DynamicObject, OwnerReference } from "#api/meta";
import { type Bed, bed } from "../testing/bed.ts";
import { garbageCollector } from "./garbage-collector.controller.ts";

const CONFIG_MAPS = "core/configmaps";
const ROLES = "rbac.authorization.k8s.io/clusterroles";

type Metadata = Partial<DynamicObject["metadata"]>;

const collected = () => bed((parts) => [garbageCollector(parts)]);

function configMap({ create }: Bed, name: string, more: Metadata = {}): Promise<DynamicObject> {
  const metadata = { name, namespace: "default", ...more };
  return create(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata });
}

function role({ create }: Bed, name: string, more: Metadata = {}): Promise<DynamicObject> {
  return create(ROLES, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, ...more },
    rules: [],
  });
}

const to = ({ apiVersion, kind, metadata }: DynamicObject, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid ?? "",
  ...more,
});
const blocking = (owner: DynamicObject) => to(owner, { blockOwnerDeletion: true });
const ownedBy = (...ownerReferences: OwnerReference[]): Metadata => ({ ownerReferences });
const nobody: OwnerReference = { apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "u-nobody" };

const at = ({ get }: Bed, name: string) => get(CONFIG_MAPS, `default/${name}`);
const names = ({ list }: Bed) => list(CONFIG_MAPS).map(({ metadata }) => metadata.name);
const ownersAt = (ours: Bed, name: string) => at(ours, name)?.metadata.ownerReferences?.map((owner) => owner.name);

async function remove(ours: Bed, object: DynamicObject, propagationPolicy: "Orphan" | "Background" | "Foreground") {
  const storage = object.kind === "ClusterRole" ? ROLES : CONFIG_MAPS;
  await ours.writer.remove(storage, object, { propagationPolicy });
  await ours.settle();
}

async function release(ours: Bed, name: string) {
  await ours.change(CONFIG_MAPS, `default/${name}`, ({ metadata: { finalizers: _, ...metadata }, ...draft }) => ({
    ...draft,
    metadata,
  }));
  await ours.settle();
}

describe("in the background", () => {
  it("deletes dependents after their owner, and theirs after them", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    const child = await configMap(ours, "child", ownedBy(to(owner)));
    await configMap(ours, "grandchild", ownedBy(to(child)));
    await ours.settle();
    expect(names(ours)).toEqual(["child", "grandchild", "owner"]);

    await remove(ours, owner, "Background");
    expect(names(ours)).toEqual([]);
  });

  it("waits for an owner that somebody holds", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner", { finalizers: ["example.com/f"] });
    await configMap(ours, "child", ownedBy(to(owner)));
    await remove(ours, owner, "Background");
    expect(names(ours)).toEqual(["child", "owner"]);
    await release(ours, "owner");
    expect(names(ours)).toEqual([]);
  });

  it("keeps what another owner keeps, without the reference to the one that is gone", async () => {
    const ours = await collected();
    const [first, second] = [await configMap(ours, "first"), await configMap(ours, "second")];
    await configMap(ours, "shared", ownedBy(to(first), to(second)));
    await remove(ours, first, "Background");
    expect(ownersAt(ours, "shared")).toEqual(["second"]);
    await remove(ours, second, "Background");
    expect(names(ours)).toEqual([]);
  });

  it("deletes a dependent as a finalizer on it says", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    const child = await configMap(ours, "child", { ...ownedBy(to(owner)), finalizers: ["orphan"] });
    await configMap(ours, "grandchild", ownedBy(to(child)));
    await remove(ours, owner, "Background");
    expect(names(ours)).toEqual(["grandchild"]);
    expect(ownersAt(ours, "grandchild")).toBeUndefined();
  });

  it("breaks up a circle", async () => {
    const ours = await collected();
    const a = await configMap(ours, "a");
    const b = await configMap(ours, "b", ownedBy(blocking(a)));
    await own(ours, "a", blocking(b));
    await remove(ours, a, "Background");
    expect(names(ours)).toEqual([]);
  });
});

/** Gives an object owners that came after it. */
async function own(ours: Bed, name: string, ...ownerReferences: OwnerReference[]) {
  await ours.change(CONFIG_MAPS, `default/${name}`, (draft) => ({
    ...draft,
    metadata: { ...draft.metadata, ownerReferences },
  }));
  await ours.settle();
}

describe("in the foreground", () => {
  it("lets the owner go last", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    const child = await configMap(ours, "child", ownedBy(blocking(owner)));
    await configMap(ours, "grandchild", { ...ownedBy(blocking(child)), finalizers: ["example.com/f"] });
    await remove(ours, owner, "Foreground");
    expect(names(ours)).toEqual(["child", "grandchild", "owner"]);
    expect(at(ours, "owner")?.metadata.finalizers).toEqual(["foregroundDeletion"]);
    expect(at(ours, "child")?.metadata.finalizers).toEqual(["foregroundDeletion"]);
    expect(at(ours, "grandchild")?.metadata.deletionTimestamp).toBeDefined();

    await release(ours, "grandchild");
    expect(names(ours)).toEqual([]);
  });

  it("does not wait for dependents that do not ask for it, and deletes them all the same", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    await configMap(ours, "child", { ...ownedBy(to(owner)), finalizers: ["example.com/f"] });
    await remove(ours, owner, "Foreground");
    expect(names(ours)).toEqual(["child"]);
    expect(at(ours, "child")?.metadata.deletionTimestamp).toBeDefined();
  });

  it("does not wait for what another owner keeps", async () => {
    const ours = await collected();
    const [owner, other] = [await configMap(ours, "owner"), await configMap(ours, "other")];
    await configMap(ours, "shared", ownedBy(blocking(owner), blocking(other)));
    await remove(ours, owner, "Foreground");
    expect(names(ours)).toEqual(["other", "shared"]);
    expect(ownersAt(ours, "shared")).toEqual(["other"]);
  });

  it("goes on when a dependent stops asking for it", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    await configMap(ours, "child", { ...ownedBy(blocking(owner)), finalizers: ["example.com/f"] });
    await remove(ours, owner, "Foreground");
    expect(at(ours, "owner")).toBeDefined();
    await own(ours, "child", to(owner));
    expect(names(ours)).toEqual(["child"]);
  });

  it("takes along a dependent that comes while the owner waits", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    await configMap(ours, "held", { ...ownedBy(blocking(owner)), finalizers: ["example.com/f"] });
    await remove(ours, owner, "Foreground");
    await configMap(ours, "late", ownedBy(blocking(owner)));
    await ours.settle();
    expect(names(ours)).toEqual(["held", "owner"]);
  });

  it("is not held up by one who names the owner in a way that does not mean it", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    await role(ours, "stray", ownedBy(blocking(owner)));
    await configMap(ours, "misled", ownedBy({ ...blocking(owner), apiVersion: "example.com/v1" }));
    await remove(ours, owner, "Foreground");
    expect(names(ours)).toEqual(["misled"]);
  });

  const rings = [
    ["of one, which owns itself", 1],
    ["of two", 2],
    ["of five", 5],
  ] as const;
  it.each(rings)("unties a ring %s", async (_, size) => {
    const ours = await collected();
    const ring = await ringOf(ours, size);
    await remove(ours, ring[0] as DynamicObject, "Foreground");
    expect(names(ours)).toEqual([]);
  });

  it.each(rings)("unties a ring %s of which all were deleted by hand", async (_, size) => {
    const ours = await collected();
    const ring = await ringOf(ours, size);
    await Promise.all(ring.map((each) => ours.writer.remove(CONFIG_MAPS, each, { propagationPolicy: "Foreground" })));
    await ours.settle();
    expect(names(ours)).toEqual([]);
  });
});

async function ringOf(ours: Bed, size: number): Promise<DynamicObject[]> {
  const ring: DynamicObject[] = [];
  for (let index = 0; index < size; index++) ring.push(await configMap(ours, `ring-${index}`));
  for (const [index, each] of ring.entries())
    await own(ours, each.metadata.name, blocking(ring[(index + 1) % size] as DynamicObject));
  return ring;
}

describe("orphaning", () => {
  it("takes the reference from all dependents, then lets the owner go", async () => {
    const ours = await collected();
    const [owner, other] = [await configMap(ours, "owner"), await configMap(ours, "other")];
    await configMap(ours, "a", ownedBy(to(owner)));
    await configMap(ours, "b", ownedBy(to(owner), to(other)));
    await remove(ours, owner, "Orphan");
    expect(names(ours)).toEqual(["a", "b", "other"]);
    expect(ownersAt(ours, "a")).toBeUndefined();
    expect(ownersAt(ours, "b")).toEqual(["other"]);
  });

  it("orphans many dependents, which no longer name the owner when it goes", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    for (let index = 0; index < 200; index++) await configMap(ours, `child-${index}`, ownedBy(to(owner)));
    await remove(ours, owner, "Orphan");
    expect(names(ours)).toHaveLength(200);
    expect(ours.list(CONFIG_MAPS).filter(({ metadata }) => metadata.ownerReferences)).toEqual([]);
  });
});

describe("owners that are not there", () => {
  const absent: [string, (owner: DynamicObject) => OwnerReference, Metadata?][] = [
    ["never were", () => nobody],
    ["are called otherwise", (owner) => to(owner, { name: "other" })],
    ["are of another kind", (owner) => to(owner, { kind: "Secret" })],
    ["had the name before", (owner) => to(owner, { uid: "u-first" })],
    ["are in another namespace", (owner) => to(owner), { namespace: "elsewhere" }],
  ];
  it.each(absent)("keep nothing when they %s", async (_, reference, more) => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    await ours.create("core/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "elsewhere" } });
    await configMap(ours, "child", { ...ownedBy(reference(owner)), ...more });
    await ours.settle();
    expect(names(ours)).toEqual(["owner"]);
  });

  const undecided: [string, OwnerReference][] = [
    ["kind", { ...nobody, apiVersion: "example.com/v1", kind: "Gadget" }],
    ["version", { ...nobody, apiVersion: "v2" }],
  ];
  it.each(undecided)("are given the benefit of the doubt when their %s is not served", async (_, reference) => {
    const ours = await collected();
    await configMap(ours, "child", ownedBy(reference, nobody));
    await ours.settle();
    expect(ownersAt(ours, "child")).toEqual([reference.name]);
  });

  it("keep what has no namespace, when they would have to have one, and somebody is told", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    await role(ours, "child", ownedBy(to(owner)));
    await ours.settle();
    expect(ours.get(ROLES, "child")?.metadata.ownerReferences).toHaveLength(1);
    expect(ours.list("core/events")).toMatchObject([
      {
        type: "Warning",
        reason: "OwnerRefInvalidNamespace",
        message: `ownerRef [v1/ConfigMap, namespace: , name: owner, uid: ${owner.metadata.uid}] does not exist in namespace ""`,
        involvedObject: { kind: "ClusterRole", name: "child" },
        source: { component: "garbage-collector-controller" },
      },
    ]);
    await remove(ours, owner, "Background");
    expect(ours.get(ROLES, "child")).toBeDefined();
  });

  it("keep what has a namespace when they have none and exist", async () => {
    const ours = await collected();
    const owner = await role(ours, "owner");
    await configMap(ours, "child", ownedBy(to(owner)));
    await ours.settle();
    expect(names(ours)).toEqual(["child"]);
    await remove(ours, owner, "Background");
    expect(names(ours)).toEqual([]);
  });
});

describe("haste", () => {
  it("does not delete what somebody gives an owner in the same moment", async () => {
    const ours = await collected();
    const [first, second] = [await configMap(ours, "first"), await configMap(ours, "second")];
    const child = await configMap(ours, "child", ownedBy(to(first)));
    await ours.settle();
    await Promise.all([
      ours.writer.remove(CONFIG_MAPS, first, { propagationPolicy: "Background" }),
      ours.change(CONFIG_MAPS, "default/child", (draft) => ({
        ...draft,
        metadata: { ...draft.metadata, ownerReferences: [to(first), to(second)] },
      })),
    ]);
    await ours.settle();
    expect(at(ours, "child")?.metadata.uid).toBe(child.metadata.uid);
    expect(ownersAt(ours, "child")).toEqual(["second"]);
  });

  it("writes nothing when nothing is wrong", async () => {
    const ours = await collected();
    const owner = await configMap(ours, "owner");
    await configMap(ours, "child", ownedBy(blocking(owner)));
    await ours.settle();
    const { revision } = ours.store;
    await ours.pass(3_600_000);
    expect(ours.store.revision).toBe(revision);
  });
});
