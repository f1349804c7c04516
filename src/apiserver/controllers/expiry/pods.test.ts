import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { type Bed, bed } from "../testing/bed.ts";
import { PODS } from "./forced-end.ts";
import { orphanedPodController } from "./orphaned-pod.controller.ts";
import { unscheduledPodController } from "./unscheduled-pod.controller.ts";

const NODES = "core/nodes";
const HOLD = "example.com/f";

const swept = () => bed((parts) => [orphanedPodController(parts), unscheduledPodController(parts)]);

function pod({ create }: Bed, name: string, { node = "", ...more }: { node?: string; finalizers?: string[] } = {}) {
  return create(PODS, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default", ...more },
    spec: { containers: [{ name: "main", image: "registry.example/app:1" }], ...(node && { nodeName: node }) },
  });
}

const node = ({ create }: Bed, name: string) => create(NODES, { apiVersion: "v1", kind: "Node", metadata: { name } });
const names = ({ list }: Bed) => list(PODS).map(({ metadata }) => metadata.name);

describe("Pods of a node that is gone", () => {
  it("are ended after forty seconds, and those of other nodes stay", async () => {
    const ours = await swept();
    const gone = await node(ours, "gone");
    await node(ours, "here");
    await pod(ours, "lost", { node: "gone" });
    await pod(ours, "found", { node: "here" });
    await pod(ours, "free");
    await ours.pass(60_000);
    expect(names(ours)).toEqual(["found", "free", "lost"]);

    await ours.writer.remove(NODES, gone);
    await ours.settle();
    await ours.pass(39_999);
    expect(names(ours)).toEqual(["found", "free", "lost"]);
    await ours.pass(1);
    expect(names(ours)).toEqual(["found", "free"]);
  });

  it("say why they failed", async () => {
    const ours = await swept();
    await pod(ours, "lost", { node: "never", finalizers: [HOLD] });
    await ours.settle();
    await ours.pass(40_000);
    const lost = ours.get(PODS, "default/lost") as DynamicObject;
    expect(lost.metadata).toMatchObject({ deletionTimestamp: "2026-01-01T00:00:40Z", deletionGracePeriodSeconds: 0 });
    expect(lost.status).toMatchObject({
      phase: "Failed",
      observedGeneration: 1,
      conditions: [
        {
          type: "DisruptionTarget",
          status: "True",
          reason: "DeletionByPodGC",
          message: "PodGC: node no longer exists",
          observedGeneration: 1,
          lastProbeTime: null,
        },
      ],
    });
    const { revision } = ours.store;
    await ours.pass(120_000);
    expect(ours.store.revision).toBe(revision);
  });

  it("are kept when the node comes back in time", async () => {
    const ours = await swept();
    await pod(ours, "early", { node: "late" });
    await ours.settle();
    await ours.pass(39_000);
    await node(ours, "late");
    await ours.pass(60_000);
    expect(names(ours)).toEqual(["early"]);
  });
});

describe("deleted Pods without a node", () => {
  it("fail at once, so that those who hold them know that they have ended", async () => {
    const ours = await swept();
    const held = await pod(ours, "held", { finalizers: [HOLD] });
    await ours.writer.remove(PODS, held);
    await ours.settle();
    expect(ours.get(PODS, "default/held")?.status).toMatchObject({ phase: "Failed", observedGeneration: 2 });
    const { revision } = ours.store;
    await ours.pass(120_000);
    expect(ours.store.revision).toBe(revision);
  });

  it("are none of those on a node, which get the time that they were granted", async () => {
    const ours = await swept();
    await node(ours, "here");
    const placed = await pod(ours, "placed", { node: "here" });
    await ours.writer.remove(PODS, placed);
    await ours.pass(120_000);
    expect(ours.get(PODS, "default/placed")?.status).toMatchObject({ phase: "Pending" });
  });
});
