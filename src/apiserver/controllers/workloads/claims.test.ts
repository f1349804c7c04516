import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { labelSelector } from "#lib/selectors";
import { type Bed, bed as makeBed } from "../testing/bed.ts";
import { claim } from "./claims.ts";
import { PODS } from "./pods.ts";
import { REPLICA_SETS } from "./replicas/replicas.controller.ts";
import { labels, template } from "./testing/pods.ts";

const selector = labelSelector({ matchLabels: labels });

async function owner(bed: Bed, metadata: object = {}): Promise<DynamicObject> {
  return bed.create(REPLICA_SETS, {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web", namespace: "default", ...metadata },
    spec: { selector: { matchLabels: labels }, template: template() },
  });
}

async function pod(bed: Bed, name: string, metadata: object = {}): Promise<DynamicObject> {
  return bed.create(PODS, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", labels, ...metadata },
    spec: template().spec,
  });
}

const claimed = async (bed: Bed, whose: DynamicObject, more: object = {}) =>
  (await claim({ owner: whose, selector, storage: PODS, ownership: bed.ownership, writer: bed.writer, ...more })).map(
    ({ metadata }) => metadata.name,
  );
const ownersOf = (bed: Bed, name: string) =>
  (bed.get(PODS, `default/${name}`)?.metadata.ownerReferences ?? []).map((reference) => reference.name);
const controller = { apiVersion: "apps/v1", kind: "ReplicaSet", controller: true };

describe("a claim", () => {
  it("adopts what fits and nobody controls, beside other owners", async () => {
    const bed = await makeBed(() => []);
    const set = await owner(bed);
    const friend = { apiVersion: "v1", kind: "ConfigMap", name: "friend", uid: "f" };
    await pod(bed, "free");
    await pod(bed, "shared", { ownerReferences: [friend] });
    await pod(bed, "other", { labels: { app: "db" } });
    await pod(bed, "taken", { ownerReferences: [{ ...controller, name: "twin", uid: "t" }] });
    expect(await claimed(bed, set)).toEqual(["free", "shared"]);
    expect(ownersOf(bed, "shared")).toEqual(["friend", "web"]);
    expect(ownersOf(bed, "taken")).toEqual(["twin"]);
  });

  it("writes nothing the second time", async () => {
    const bed = await makeBed(() => []);
    const set = await owner(bed);
    await pod(bed, "free");
    await claimed(bed, set);
    const { revision } = bed.store;
    await claimed(bed, set);
    expect(bed.store.revision).toBe(revision);
  });

  it("adopts nothing that is on its way out or that the workload does not want", async () => {
    const bed = await makeBed(() => []);
    const set = await owner(bed);
    const held = await pod(bed, "held", { finalizers: ["example.com/held"] });
    await bed.writer.remove(PODS, held);
    await pod(bed, "unwanted");
    expect(
      await claimed(bed, set, { mayAdopt: ({ metadata }: DynamicObject) => metadata.name !== "unwanted" }),
    ).toEqual([]);
  });

  it("lets go of what no longer fits, and of nothing once the workload is on its way out", async () => {
    const bed = await makeBed(() => []);
    const set = await owner(bed, { finalizers: ["example.com/held"] });
    for (const name of ["a", "b"]) await pod(bed, name);
    await claimed(bed, set);
    const relabel = (name: string) =>
      bed.change(PODS, `default/${name}`, (draft) => ({
        ...draft,
        metadata: { ...draft.metadata, labels: { app: "odd" } },
      }));
    await relabel("a");
    expect(await claimed(bed, set)).toEqual(["b"]);
    expect(ownersOf(bed, "a")).toEqual([]);

    await bed.writer.remove(REPLICA_SETS, set);
    await relabel("b");
    await pod(bed, "late");
    const leaving = bed.get(REPLICA_SETS, "default/web") as DynamicObject;
    expect(await claimed(bed, leaving)).toEqual([]);
    expect([ownersOf(bed, "b"), ownersOf(bed, "late")]).toEqual([["web"], []]);
  });

  it("adopts nothing for a workload that is gone, because the garbage collector would take it for a leftover", async () => {
    const bed = await makeBed(() => []);
    const set = await owner(bed);
    await pod(bed, "free");
    await bed.writer.remove(REPLICA_SETS, set);
    expect(await claimed(bed, set)).toEqual([]);
    expect(ownersOf(bed, "free")).toEqual([]);
  });

  it("marks with a finalizer what it adopts, and takes the mark away again", async () => {
    const bed = await makeBed(() => []);
    const set = await owner(bed);
    await pod(bed, "free");
    await claimed(bed, set, { finalizer: "example.com/counted" });
    const finalizers = () => bed.get(PODS, "default/free")?.metadata.finalizers;
    expect(finalizers()).toEqual(["example.com/counted"]);
    await bed.change(PODS, "default/free", (draft) => ({
      ...draft,
      metadata: { ...draft.metadata, labels: { app: "odd" } },
    }));
    await claimed(bed, set, { finalizer: "example.com/counted" });
    expect(finalizers()).toBeUndefined();
  });
});
