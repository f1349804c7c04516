import { describe, expect, it, onTestFinished } from "vitest";
import type { DynamicObject, OwnerReference } from "#api/meta";
import { openStore } from "../store/index.ts";
import { followOwnership, isMeant, type Ownership } from "./ownership.ts";

const CONFIG_MAPS = "core/configmaps";
const PODS = "core/pods";

function object(name: string, more: Partial<DynamicObject["metadata"]> = {}): DynamicObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "ns", uid: `u-${name}`, ...more } };
}

function reference(name: string, more: Partial<OwnerReference> = {}): OwnerReference {
  return { apiVersion: "v1", kind: "ConfigMap", name, uid: `u-${name}`, ...more };
}

const ownedBy = (...ownerReferences: OwnerReference[]) => ({ ownerReferences });

/** A store with these ConfigMaps, followed from now on. */
async function given(...objects: DynamicObject[]) {
  const store = await openStore({ durability: "memory" });
  const put = (next: DynamicObject, storage = CONFIG_MAPS) => store.write(storage, keyOf(next), () => next);
  const drop = (name: string) => store.write(CONFIG_MAPS, `ns/${name}`, () => undefined);
  for (const each of objects) await put(each);
  const ownership = followOwnership(store);
  onTestFinished(async () => {
    ownership.close();
    await store.close();
  });
  return { store, put, drop, ownership };
}

const keyOf = ({ metadata: { namespace, name } }: DynamicObject) => (namespace ? `${namespace}/${name}` : name);
const keys = (places: ReturnType<Ownership["dependentsOf"]>) => places.map(({ key }) => key).sort();

describe("dependents", () => {
  it("are known from before and from what happens", async () => {
    const { put, drop, ownership } = await given(object("owner"), object("a", ownedBy(reference("owner"))));
    await put(object("b", ownedBy(reference("owner"), reference("other"))));
    expect(keys(ownership.dependentsOf("u-owner"))).toEqual(["ns/a", "ns/b"]);
    expect(keys(ownership.dependentsOf("u-other"))).toEqual(["ns/b"]);

    await put(object("b", ownedBy(reference("other"))));
    await drop("a");
    expect(ownership.hasDependents("u-owner")).toBe(false);
    expect(keys(ownership.dependentsOf("u-other"))).toEqual(["ns/b"]);
  });

  it("leave Events out, because nothing owns them in earnest", async () => {
    const { put, ownership } = await given(object("owner"));
    await put(object("e", ownedBy(reference("owner", { blockOwnerDeletion: true }))), "core/events");
    expect(ownership.hasDependents("u-owner")).toBe(false);
    expect(ownership.isBlocked(object("owner"))).toBe(false);
    expect(ownership.placeOf("u-e")).toBeUndefined();
  });
});

describe("places", () => {
  it("follow an object that is deleted and made again under its name", async () => {
    const { put, drop, ownership } = await given(object("a"));
    expect(ownership.placeOf("u-a")).toEqual({ storage: CONFIG_MAPS, key: "ns/a" });
    await drop("a");
    await put(object("a", { uid: "u-second" }));
    expect(ownership.placeOf("u-a")).toBeUndefined();
    expect(ownership.placeOf("u-second")).toEqual({ storage: CONFIG_MAPS, key: "ns/a" });
  });
});

describe("the departed", () => {
  it("are remembered as long as somebody names them as owner", async () => {
    const { put, drop, ownership } = await given(object("owner"), object("a", ownedBy(reference("owner"))));
    await drop("owner");
    expect(ownership.departed("u-owner")?.metadata.name).toBe("owner");
    await put(object("a"));
    expect(ownership.departed("u-owner")).toBeUndefined();
  });

  it("are forgotten at once when nobody does", async () => {
    const { drop, ownership } = await given(object("owner"), object("self", ownedBy(reference("self"))));
    await drop("owner");
    await drop("self");
    expect(ownership.departed("u-owner")).toBeUndefined();
    expect(ownership.departed("u-self")).toBeUndefined();
  });
});

describe("a blocked owner", () => {
  const blocking = reference("owner", { blockOwnerDeletion: true });

  it("is free when the last dependent is gone, or no longer wants to go first", async () => {
    const { put, drop, ownership } = await given(object("owner"), object("a", ownedBy(blocking)));
    await put(object("b", ownedBy(blocking)));
    await put(object("c", ownedBy(reference("owner"))));
    expect(ownership.isBlocked(object("owner"))).toBe(true);
    await drop("a");
    expect(ownership.isBlocked(object("owner"))).toBe(true);
    await put(object("b", ownedBy({ ...blocking, blockOwnerDeletion: false })));
    expect(ownership.isBlocked(object("owner"))).toBe(false);
  });

  it.each([
    ["from another namespace, which no owner reaches", { ...ownedBy(blocking), namespace: "elsewhere" }],
    ["by another name", ownedBy({ ...blocking, name: "other" })],
    ["as another kind", ownedBy({ ...blocking, kind: "Secret" })],
    ["in another group", ownedBy({ ...blocking, apiVersion: "example.com/v1" })],
  ])("is not held up by one who names it %s", async (_, metadata) => {
    const { ownership } = await given(object("owner"), object("a", metadata));
    expect(ownership.isBlocked(object("owner"))).toBe(false);
  });
});

describe("who is meant", () => {
  const owner = object("owner");
  const { namespace: _, ...everywhere } = owner.metadata;
  it.each<[string, DynamicObject, OwnerReference, string | undefined, boolean]>([
    ["the one in the same namespace", owner, reference("owner"), "ns", true],
    [
      "in whichever version",
      { ...owner, apiVersion: "apps/v1" },
      reference("owner", { apiVersion: "apps/v2" }),
      "ns",
      true,
    ],
    ["not one in another namespace", owner, reference("owner"), "elsewhere", false],
    ["not one in a namespace, from outside of all", owner, reference("owner"), undefined, false],
    ["one without a namespace, from anywhere", { ...owner, metadata: everywhere }, reference("owner"), "ns", true],
    ["not a successor of the same name", owner, reference("owner", { uid: "u-first" }), "ns", false],
  ])("%s", (_, candidate, named, namespace, expected) => {
    expect(isMeant(candidate, named, namespace)).toBe(expected);
  });
});

describe("control", () => {
  const pod = (name: string, more: Partial<DynamicObject["metadata"]> = {}) => ({ ...object(name, more), kind: "Pod" });

  it("is told of one resource, in order of key", async () => {
    const controlled = ownedBy(reference("owner", { controller: true }));
    const { put, ownership } = await given(object("owner"));
    await put(pod("b", controlled), PODS);
    await put(pod("a", controlled), PODS);
    await put(pod("c", ownedBy(reference("owner"))), PODS);
    await put(object("d", controlled));
    expect(ownership.controlledBy(PODS, "u-owner").map(({ metadata }) => metadata.name)).toEqual(["a", "b"]);
  });

  it("knows Pods that nobody controls, by namespace", async () => {
    const { put, ownership } = await given();
    await put(pod("free"), PODS);
    await put(pod("taken", ownedBy(reference("owner", { controller: true }))), PODS);
    await put(pod("far", { namespace: "elsewhere" }), PODS);
    const free = () => ownership.uncontrolled(PODS, "ns").map(({ metadata }) => metadata.name);
    expect(free()).toEqual(["free"]);
    await put(pod("taken"), PODS);
    expect(free()).toEqual(["free", "taken"]);
  });
});
