import { describe, expect, it } from "vitest";
import type { Node, NodeSelectorTerm, PodSpec, Taint, Toleration } from "#api/core";
import { matchesNode, toleratedFor, tolerates, untoleratedTaints } from "./index.ts";

const taint = (key: string, effect: Taint["effect"] = "NoSchedule", value?: string): Taint => ({
  key,
  effect,
  ...(value !== undefined && { value }),
});

describe("tolerates", () => {
  it.each<[why: string, Toleration, Taint, boolean]>([
    ["the same key and value", { key: "a", value: "1" }, taint("a", "NoSchedule", "1"), true],
    ["another value", { key: "a", value: "2" }, taint("a", "NoSchedule", "1"), false],
    ["no value on either side", { key: "a" }, taint("a"), true],
    ["any value", { key: "a", operator: "Exists" }, taint("a", "NoExecute", "1"), true],
    ["every taint", { operator: "Exists" }, taint("b", "NoExecute"), true],
    ["another effect", { key: "a", operator: "Exists", effect: "NoSchedule" }, taint("a", "NoExecute"), false],
    ["another key", { key: "a", operator: "Exists" }, taint("b"), false],
    ["a number below", { key: "a", operator: "Lt", value: "10" }, taint("a", "NoSchedule", "9"), true],
    ["a number not below", { key: "a", operator: "Lt", value: "10" }, taint("a", "NoSchedule", "10"), false],
    ["a number above", { key: "a", operator: "Gt", value: "10" }, taint("a", "NoSchedule", "11"), true],
    ["what is no number", { key: "a", operator: "Gt", value: "10" }, taint("a", "NoSchedule", "x"), false],
  ])("%s", (_, toleration, given, expected) => {
    expect(tolerates(toleration, given)).toBe(expected);
  });

  it("is asked of every taint", () => {
    const taints = [taint("a"), taint("b", "NoExecute")];
    expect(untoleratedTaints(taints, [{ key: "a", operator: "Exists" }])).toEqual([taints[1]]);
    expect(untoleratedTaints(taints)).toEqual(taints);
    expect(untoleratedTaints()).toEqual([]);
  });
});

describe("the time for which taints are tolerated", () => {
  const taints = [taint("a", "NoExecute"), taint("b", "NoExecute")];
  const seconds = (key: string, tolerationSeconds?: number): Toleration => ({
    key,
    operator: "Exists",
    ...(tolerationSeconds !== undefined && { tolerationSeconds }),
  });

  it.each<[why: string, Toleration[], number]>([
    ["one taint is not tolerated", [seconds("a")], 0],
    ["no toleration has an end", [seconds("a"), seconds("b")], Number.POSITIVE_INFINITY],
    ["the shortest counts", [seconds("a", 300), seconds("b", 20)], 20],
    ["one that is for another taint does not count", [seconds("a"), seconds("b"), seconds("c", 1)], Infinity],
    ["less than nothing is nothing", [seconds("a", -5), seconds("b")], 0],
  ])("%s", (_, tolerations, expected) => {
    expect(toleratedFor(taints, tolerations)).toBe(expected);
  });
});

describe("matchesNode", () => {
  const node: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n1", labels: { zone: "east", cores: "8" } },
  };
  const required = (...nodeSelectorTerms: NodeSelectorTerm[]): Pick<PodSpec, "affinity"> => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
  });
  const term = (
    key: string,
    operator: "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt",
    ...values: string[]
  ) => ({
    matchExpressions: [{ key, operator, values }],
  });
  const named = (name: string): NodeSelectorTerm => ({
    matchFields: [{ key: "metadata.name", operator: "In", values: [name] }],
  });

  it.each<[why: string, Pick<PodSpec, "nodeSelector" | "affinity">, boolean]>([
    ["nothing asked", {}, true],
    ["a label that it has", { nodeSelector: { zone: "east" } }, true],
    ["a label that it has otherwise", { nodeSelector: { zone: "west" } }, false],
    ["one of several terms", required(term("zone", "In", "west"), term("zone", "In", "east")), true],
    ["every requirement of a term", required({ ...term("zone", "In", "east"), ...named("n2") }), false],
    ["not in, where the label is missing", required(term("disk", "NotIn", "hdd")), true],
    ["exists", required(term("cores", "Exists")), true],
    ["does not exist", required(term("cores", "DoesNotExist")), false],
    ["more than", required(term("cores", "Gt", "4")), true],
    ["less than", required(term("cores", "Lt", "4")), false],
    ["less than, of what is no number", required(term("zone", "Lt", "4")), false],
    ["its name, as daemons do", required(named("n1")), true],
    ["another name", required(named("n2")), false],
    ["an empty term, which matches nothing", required({}), false],
    ["no terms at all", required(), false],
  ])("%s", (_, spec, expected) => {
    expect(matchesNode(spec, node)).toBe(expected);
  });
});
