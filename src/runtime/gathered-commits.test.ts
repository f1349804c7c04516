import { describe, expect, it } from "vitest";
import { type Condition, type KubeObject, kind } from "#api/meta";
import { isConflict, isInvalid, KubeError } from "#kube";
import { withFinalizer, withLabels } from "#lib/meta";
import { fakeCluster } from "../../test/support/index.ts";

interface Widget extends KubeObject {
  spec: { size?: number; color?: string };
  status?: { ready?: boolean; conditions?: Pick<Condition, "type" | "status">[] };
}
const Widget = kind<Widget>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});

function given() {
  const seed = { metadata: { name: "w", namespace: "ns" }, spec: { size: 1 }, status: { ready: false } };
  const hub = fakeCluster([Widget, seed]);
  const read = () => {
    const widget = hub.read(Widget, "ns/w");
    if (!widget) throw new Error("no widget");
    return widget;
  };
  return { hub, read, widget: read() };
}
const condition = (type: string) => ({ type, status: "True" as const });

describe("changes of one state of an object", () => {
  it("are written together, and everybody hears what the server has then", async () => {
    const { hub, widget, read } = given();
    const answers = await Promise.all([
      hub.commit(Widget, widget, withFinalizer(widget, "example.com/one")),
      hub.commit(Widget, widget, withFinalizer(widget, "example.com/two")),
      hub.commit(Widget, widget, withLabels(widget, { a: "1" })),
      hub.commit(Widget, widget, { ...widget, status: { ready: false, conditions: [condition("A")] } }),
      hub.commit(Widget, widget, { ...widget, status: { ready: true, conditions: [condition("B")] } }),
      hub.commit(Widget, widget, { metadata: widget.metadata, spec: { size: 1, color: "red" } }),
    ]);
    expect(read()).toMatchObject({
      metadata: { finalizers: ["example.com/one", "example.com/two"], labels: { a: "1" } },
      spec: { size: 1, color: "red" },
      status: { ready: true, conditions: [condition("A"), condition("B")] },
    });
    expect(hub.writes.map(({ verb, subresource = "" }) => `${verb} ${subresource}`)).toEqual([
      "patch ",
      "patch status",
    ]);
    for (const answer of answers) expect(answer).toEqual(read());
  });

  it("that contradict each other are not: one comes first, and the other has to look again", async () => {
    const { hub, widget, read } = given();
    const [one, other] = await Promise.allSettled([
      hub.commit(Widget, widget, { ...widget, spec: { size: 2 } }),
      hub.commit(Widget, widget, { ...widget, spec: { size: 3 } }),
    ]);
    const failed = [one, other].filter((each) => each.status === "rejected");
    expect(failed).toHaveLength(1);
    expect(failed[0]?.reason).toSatisfy(isConflict);
    expect([2, 3]).toContain(read().spec.size);
  });

  it("harm each other no more than if they came one after the other when one of them is refused", async () => {
    const { hub, widget, read } = given();
    hub.beforeWrite(({ body }) => {
      if (JSON.stringify(body).includes("bad")) throw new KubeError("status", "no", { code: 422, reason: "Invalid" });
    });
    const [good, bad] = await Promise.allSettled([
      hub.commit(Widget, widget, withLabels(widget, { good: "1" })),
      hub.commit(Widget, widget, withLabels(widget, { bad: "1" })),
    ]);
    expect(good.status).toBe("fulfilled");
    expect(bad.status === "rejected" && isInvalid(bad.reason)).toBe(true);
    expect(read().metadata.labels).toEqual({ good: "1" });
  });

  it("that come while it is being written over are known to be too late, without asking", async () => {
    const { hub, widget } = given();
    const first = hub.commit(Widget, widget, withLabels(widget, { a: "1" }));
    while (hub.writes.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await expect(hub.commit(Widget, widget, withLabels(widget, { b: "1" }))).rejects.toSatisfy(isConflict);
    const written = await first;
    await expect(hub.commit(Widget, widget, withLabels(widget, { b: "1" }))).rejects.toThrow("Widget ns/w");
    expect(hub.writes).toHaveLength(1);
    await hub.commit(Widget, written, withLabels(written, { b: "1" }));
    expect(hub.writes).toHaveLength(2);
  });

  it("all fail when somebody else wrote", async () => {
    const { hub, widget, read } = given();
    hub.put(Widget, { ...widget, spec: { size: 9 } });
    const results = await Promise.allSettled([
      hub.commit(Widget, widget, withLabels(widget, { a: "1" })),
      hub.commit(Widget, widget, withLabels(widget, { b: "1" })),
    ]);
    for (const result of results) expect(result.status === "rejected" && isConflict(result.reason)).toBe(true);
    expect(read()).toMatchObject({ spec: { size: 9 } });
    expect(read().metadata.labels).toBeUndefined();
  });
});
