import { describe, expect, it } from "vitest";
import { type Condition, type KubeObject, kind } from "#api/meta";
import { isConflict, isNotFound } from "#kube";
import { withFinalizer, withLabels, withoutFinalizer } from "#lib/meta";
import { fakeCluster } from "../../test/support/index.ts";

interface Widget extends KubeObject {
  spec: { size?: number; color?: string };
  status?: { ready?: boolean; conditions?: Condition[] };
}
const Widget = kind<Widget>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});

function given() {
  const hub = fakeCluster([Widget, { metadata: { name: "w", namespace: "ns" }, spec: { size: 1 } }]);
  const read = () => {
    const widget = hub.read(Widget, "ns/w");
    if (!widget) throw new Error("no widget");
    return widget;
  };
  return { hub, read, widget: read() };
}

describe("commit", () => {
  it("asks nothing of the server when nothing differs", async () => {
    const { hub, widget } = given();
    expect(await hub.commit(Widget, widget, { ...widget, spec: { size: 1 } })).toBe(widget);
    expect(hub.writes).toEqual([]);
  });

  it("patches only the difference, on condition that nobody else wrote", async () => {
    const { hub, widget } = given();
    await hub.commit(Widget, widget, withLabels({ ...widget, spec: { color: "red" } }, { a: "1" }));
    const { uid, resourceVersion } = widget.metadata;
    expect(hub.writes).toEqual([
      {
        verb: "patch",
        kind: "Widget",
        key: "ns/w",
        body: { spec: { color: "red", size: null }, metadata: { labels: { a: "1" }, uid, resourceVersion } },
      },
    ]);
    expect(hub.read(Widget, "ns/w")).toMatchObject({ spec: { color: "red" }, metadata: { generation: 2 } });
  });

  it("writes the status by itself, and leaves the rest of it alone", async () => {
    const { hub, widget } = given();
    const seen = await hub.commit(Widget, widget, { ...widget, status: { ready: true } });
    expect(hub.writes.map(({ subresource }) => subresource)).toEqual(["status"]);
    expect(seen).toMatchObject({ spec: { size: 1 }, status: { ready: true }, metadata: { generation: 1 } });
  });

  it("writes both with the version that the first write gave", async () => {
    const { hub, widget, read } = given();
    const seen = await hub.commit(Widget, widget, { ...widget, spec: { size: 2 }, status: { ready: true } });
    expect(hub.writes).toHaveLength(2);
    expect(seen).toEqual(read());
    expect(seen).toMatchObject({ spec: { size: 2 }, status: { ready: true } });
  });

  it("leaves the status alone when it is not mentioned", async () => {
    const { hub, widget, read } = given();
    const withStatus = await hub.commit(Widget, widget, { ...widget, status: { ready: true } });
    await hub.commit(Widget, withStatus, { metadata: withStatus.metadata, spec: { size: 3 } });
    expect(read()).toMatchObject({ spec: { size: 3 }, status: { ready: true } });
  });

  it("fails when somebody else wrote since", async () => {
    const { hub, widget, read } = given();
    await hub.commit(Widget, widget, { ...widget, spec: { size: 2 } });
    await expect(hub.commit(Widget, widget, { ...widget, spec: { size: 3 } })).rejects.toSatisfy(isConflict);
    expect(read().spec).toEqual({ size: 2 });
  });

  it("fails when the object was replaced by another of that name", async () => {
    const { hub, widget } = given();
    hub.drop(Widget, "ns/w");
    hub.put(Widget, { metadata: { name: "w", namespace: "ns" }, spec: {} });
    await expect(hub.commit(Widget, widget, { ...widget, status: { ready: true } })).rejects.toSatisfy(isConflict);
  });

  it.each([
    ["specification", { spec: { size: 3 } }],
    ["status", { status: { ready: true } }],
  ])(
    "takes it for a conflict that the object whose %s it writes is gone, because a copy may not know yet",
    async (_, change) => {
      const { hub, widget } = given();
      hub.drop(Widget, "ns/w");
      await expect(hub.commit(Widget, widget, { ...widget, ...change })).rejects.toSatisfy(isConflict);
    },
  );

  it("creates what was not there, and then its status", async () => {
    const hub = fakeCluster();
    const made = await hub.commit(Widget, undefined, {
      metadata: { name: "w", namespace: "ns" },
      spec: { size: 1 },
      status: { ready: false },
    });
    expect(hub.writes.map(({ verb, subresource }) => [verb, subresource])).toEqual([
      ["create", undefined],
      ["patch", "status"],
    ]);
    expect(made).toMatchObject({ apiVersion: "example.com/v1", kind: "Widget", status: { ready: false } });
  });

  it("creates without a second request when there is no status to write", async () => {
    const hub = fakeCluster();
    await hub.commit(Widget, undefined, { metadata: { name: "w", namespace: "ns" }, spec: {} });
    expect(hub.writes).toHaveLength(1);
  });

  it("writes no status to an object that vanishes with its last finalizer", async () => {
    const { hub, widget } = given();
    const held = await hub.commit(Widget, widget, withFinalizer(widget, "example.com/hold"));
    await hub.remove(Widget, held);
    const leaving = hub.read(Widget, "ns/w");
    expect(leaving?.metadata.deletionTimestamp).toBeDefined();
    if (!leaving) return;
    await hub.commit(Widget, leaving, {
      ...withoutFinalizer(leaving, "example.com/hold"),
      status: { ready: false },
    });
    expect(hub.read(Widget, "ns/w")).toBeUndefined();
  });

  it("refuses to turn one object into another", async () => {
    const { hub, widget } = given();
    const other = { ...widget, metadata: { ...widget.metadata, name: "other" } };
    await expect(hub.commit(Widget, widget, other)).rejects.toThrow(
      "cannot commit Widget ns/other as a change of Widget ns/w",
    );
  });
});

describe("remove", () => {
  it("deletes, and finds it fine when there is nothing to delete", async () => {
    const { hub, widget } = given();
    await hub.remove(Widget, widget);
    expect(hub.read(Widget, "ns/w")).toBeUndefined();
    await hub.remove(Widget, widget);
    await expect(hub.client.get(Widget, "ns/w")).rejects.toSatisfy(isNotFound);
  });

  it("spares another object of that name", async () => {
    const { hub, widget } = given();
    hub.drop(Widget, "ns/w");
    hub.put(Widget, { metadata: { name: "w", namespace: "ns" }, spec: { size: 9 } });
    await expect(hub.remove(Widget, widget)).rejects.toSatisfy(isConflict);
    expect(hub.read(Widget, "ns/w")?.spec.size).toBe(9);
  });

  it("does not ask twice", async () => {
    const { hub, widget } = given();
    const held = await hub.commit(Widget, widget, withFinalizer(widget, "example.com/hold"));
    await hub.remove(Widget, held);
    hub.writes.length = 0;
    const leaving = hub.read(Widget, "ns/w");
    if (leaving) await hub.remove(Widget, leaving);
    expect(hub.writes).toEqual([]);
  });
});
