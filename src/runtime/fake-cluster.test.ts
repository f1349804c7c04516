/** The fake cluster is held to what controllers may rely on with a real one. */
import { describe, expect, it } from "vitest";
import { type KubeObject, keyOf, kind } from "#api/meta";
import { isAlreadyExists, isConflict, isInvalid, isNotFound } from "#kube";
import { fakeCluster, runUntilQuiet } from "../../test/support/index.ts";
import { atStart, done } from "./index.ts";

interface Widget extends KubeObject {
  spec: { size?: number };
  status?: { ready?: boolean };
}
const Widget = kind<Widget>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: false,
});
const one = () => fakeCluster([Widget, { metadata: { name: "w" }, spec: { size: 1 }, status: { ready: true } }]);

describe("the fake server", () => {
  it("fills in what a server fills in, and keeps the status of what was there", () => {
    expect(one().read(Widget, "w")).toEqual({
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: {
        name: "w",
        uid: expect.any(String),
        resourceVersion: expect.any(String),
        creationTimestamp: "2026-01-01T00:00:00Z",
        generation: 1,
      },
      spec: { size: 1 },
      status: { ready: true },
    });
  });

  it("keeps status and the rest apart", async () => {
    const { client, read } = one();
    await client.patch(Widget, "w", { spec: { size: 2 }, status: { ready: false } });
    expect(read(Widget, "w")).toMatchObject({
      spec: { size: 2 },
      status: { ready: true },
      metadata: { generation: 2 },
    });
    await client.patch(Widget, "w", { spec: { size: 3 }, status: { ready: false } }, { subresource: "status" });
    expect(read(Widget, "w")).toMatchObject({
      spec: { size: 2 },
      status: { ready: false },
      metadata: { generation: 2 },
    });
    const made = await client.create(Widget, { metadata: { generateName: "x-" }, spec: {}, status: { ready: true } });
    expect(made.status).toBeUndefined();
    expect(made.metadata.name).toMatch(/^x-.{5}$/);
  });

  it("refuses what a server refuses", async () => {
    const { client, read } = one();
    const stale = read(Widget, "w");
    if (!stale) return;
    await client.update(Widget, { ...stale, spec: { size: 2 } });
    await expect(client.update(Widget, { ...stale, spec: { size: 3 } })).rejects.toSatisfy(isConflict);
    await expect(client.create(Widget, { metadata: { name: "w" }, spec: {} })).rejects.toSatisfy(isAlreadyExists);
    await expect(client.get(Widget, "nobody")).rejects.toSatisfy(isNotFound);
    await expect(client.patch(Widget, "nobody", {})).rejects.toSatisfy(isNotFound);
    await expect(
      client.patch(Widget, "w", [{ op: "test", path: "/spec/size", value: 9 }], { type: "json" }),
    ).rejects.toSatisfy(isInvalid);
  });

  it("changes nothing when nothing changes", async () => {
    const { client, read, writes } = one();
    const before = read(Widget, "w");
    expect(await client.patch(Widget, "w", { spec: { size: 1 } })).toBe(before);
    expect(writes).toHaveLength(1);
  });

  it("keeps what is deleted until its finalizers are gone", async () => {
    const hub = one();
    await hub.client.patch(Widget, "w", { metadata: { finalizers: ["a/b"] } });
    await hub.client.delete(Widget, "w");
    expect(hub.read(Widget, "w")?.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:00Z", generation: 2 });
    await expect(hub.client.patch(Widget, "w", { metadata: { finalizers: ["a/b", "c/d"] } })).rejects.toSatisfy(
      isInvalid,
    );
    await hub.client.patch(Widget, "w", { metadata: { finalizers: null } });
    expect(hub.read(Widget, "w")).toBeUndefined();
  });

  it("creates what is applied and was not there", async () => {
    const hub = one();
    await hub.client.patch(Widget, "new", { metadata: { name: "new" }, spec: { size: 5 } }, { type: "apply" });
    expect(hub.read(Widget, "new")).toMatchObject({ apiVersion: "example.com/v1", spec: { size: 5 } });
  });

  it("hands out objects that cannot be changed in place", () => {
    const seen = one().read(Widget, "w");
    expect(() => {
      if (seen) seen.spec.size = 9;
    }).toThrow(TypeError);
  });

  it("answers as the test wishes", async () => {
    const hub = one();
    hub.beforeWrite(({ verb }) => {
      if (verb === "delete") throw new Error("the server is down");
    });
    await expect(hub.client.delete(Widget, "w")).rejects.toThrow("the server is down");
    expect(hub.read(Widget, "w")).toBeDefined();
  });
});

describe("runUntilQuiet", () => {
  it("fails with what keeps failing", async () => {
    const failing = {
      name: "c",
      triggers: [atStart("x")],
      async reconcile() {
        throw new Error("boom");
      },
    };
    await expect(runUntilQuiet(failing)).rejects.toThrow("c keeps failing for x");
    await runUntilQuiet({ mayFail: true }, failing);
  });

  it("fails with what never gets quiet", async () => {
    const hub = one();
    const widgets = hub.cache(Widget);
    const restless = {
      name: "c",
      triggers: [widgets.keyedBy(keyOf)],
      async reconcile(key: string) {
        const seen = widgets.get(key);
        if (seen) await hub.commit(Widget, seen, { ...seen, spec: { size: (seen.spec.size ?? 0) + 1 } });
        return done;
      },
    };
    await expect(runUntilQuiet(restless)).rejects.toThrow("never gets quiet");
  });
});
