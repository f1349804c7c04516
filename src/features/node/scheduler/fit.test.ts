import { describe, expect, it } from "vitest";
import type { Node, Pod, PodSpec } from "#api/core";
import { choice, isCapstans, Misfit, misfit, unschedulableMessage } from "./fit.ts";

interface NodeDraft {
  name?: string;
  ready?: "True" | "False" | "Unknown";
  spec?: Node["spec"];
  labels?: Record<string, string>;
  pods?: string;
}

function node({ name = "n1", ready = "True", spec = {}, labels = {}, pods = "10" }: NodeDraft = {}): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels },
    spec,
    status: {
      allocatable: { pods },
      conditions: [{ type: "Ready", status: ready }],
      nodeInfo: { containerRuntimeVersion: "capstan://0.1.0" },
    },
  };
}

function pod(spec: Partial<PodSpec> = {}, uid = "uid-1"): Pod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", uid },
    spec: { containers: [], ...spec },
  };
}

describe("what keeps a node from taking a Pod", () => {
  const repelling = { key: "a", effect: "NoSchedule" } as const;
  const cordon = { key: "node.kubernetes.io/unschedulable", operator: "Exists" } as const;

  it.each<[why: string, Node, Partial<PodSpec>, podCount: number, expected: string | undefined]>([
    ["nothing", node(), {}, 9, undefined],
    ["it is not ready", node({ ready: "False" }), {}, 0, Misfit.notReady],
    ["nobody has heard of it", node({ ready: "Unknown" }), {}, 0, Misfit.notReady],
    ["it is cordoned", node({ spec: { unschedulable: true } }), {}, 0, Misfit.unschedulable],
    [
      "it is cordoned, which daemons tolerate",
      node({ spec: { unschedulable: true } }),
      { tolerations: [cordon] },
      0,
      undefined,
    ],
    ["a taint", node({ spec: { taints: [repelling] } }), {}, 0, Misfit.tainted],
    [
      "a taint that is tolerated",
      node({ spec: { taints: [repelling] } }),
      { tolerations: [{ key: "a" }] },
      0,
      undefined,
    ],
    [
      "a taint that only warns",
      node({ spec: { taints: [{ key: "a", effect: "PreferNoSchedule" }] } }),
      {},
      0,
      undefined,
    ],
    ["a label that it has not", node(), { nodeSelector: { disk: "ssd" } }, 0, Misfit.affinity],
    ["a label that it has", node({ labels: { disk: "ssd" } }), { nodeSelector: { disk: "ssd" } }, 0, undefined],
    ["as many Pods as it takes", node({ pods: "10" }), {}, 10, Misfit.full],
    ["that it does not say how many it takes", node({ pods: "many" }), {}, 0, Misfit.full],
  ])("%s", (_, machine, spec, podCount, expected) => {
    expect(misfit(pod(spec), machine, podCount)).toBe(expected);
  });
});

describe("the choice", () => {
  it("falls on the node with the fewest Pods", () => {
    const candidates = [
      { node: node({ name: "n1" }), podCount: 2 },
      { node: node({ name: "n2" }), podCount: 1 },
    ];
    expect(choice(pod(), candidates)?.metadata.name).toBe("n2");
  });

  it("is the same for everybody, in whatever order nodes are known, and differs between Pods", () => {
    const names = ["n1", "n2", "n3"];
    const candidates = names.map((name) => ({ node: node({ name }), podCount: 0 }));
    const chosen = Array.from({ length: 30 }, (_, index) => choice(pod({}, `uid-${index}`), candidates)?.metadata.name);
    const reversed = Array.from(
      { length: 30 },
      (_, index) => choice(pod({}, `uid-${index}`), candidates.toReversed())?.metadata.name,
    );
    expect(reversed).toEqual(chosen);
    expect(new Set(chosen)).toEqual(new Set(names));
  });

  it("is none without candidates", () => {
    expect(choice(pod(), [])).toBeUndefined();
  });
});

describe("nodes", () => {
  it("are Capstan's when they say so", () => {
    expect(isCapstans(node())).toBe(true);
    expect(isCapstans({ ...node(), status: { nodeInfo: { containerRuntimeVersion: "containerd://2.0" } } })).toBe(
      false,
    );
    expect(isCapstans({ ...node(), status: {} })).toBe(false);
  });

  it("that cannot take a Pod are counted in a sentence that stays the same", () => {
    const misfits = [Misfit.unschedulable, Misfit.full, Misfit.unschedulable];
    const message = "0/3 nodes are available: 1 Too many pods, 2 node(s) were unschedulable.";
    expect(unschedulableMessage(misfits)).toBe(message);
    expect(unschedulableMessage(misfits.toReversed())).toBe(message);
    expect(unschedulableMessage([])).toBe("no nodes available to schedule pods");
  });
});
