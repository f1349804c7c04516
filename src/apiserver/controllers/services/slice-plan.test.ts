import { describe, expect, it } from "vitest";
import type { EndpointSlice, SliceEndpoint } from "#api/discovery";
import type { Stored } from "../workloads/stored.ts";
import { planSlices, type SlicePlan } from "./slice-plan.ts";

type Slice = Stored<EndpointSlice>;

const PORTS = [{ name: "", protocol: "TCP", port: 80 }];

const endpoint = (number: number, more: Partial<SliceEndpoint> = {}): SliceEndpoint => ({
  addresses: [`10.0.${Math.floor(number / 250)}.${number % 250}`],
  conditions: { ready: true },
  ...more,
});

const endpoints = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => endpoint(from + at));

function slice(name: string, content: readonly SliceEndpoint[], ports: EndpointSlice["ports"] = PORTS): Slice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name },
    addressType: "IPv4",
    endpoints: [...content],
    ports,
  };
}

const plan = (wanted: readonly SliceEndpoint[], existing: readonly Slice[], ports = PORTS) =>
  planSlices({ groups: [{ ports, endpoints: wanted }], existing, isLabelled: () => true });

/** The plan in numbers: what is made, what is changed to how many, and what goes. */
const sizes = ({ create, update, remove }: SlicePlan) => ({
  create: create.map((content) => content.endpoints.length),
  update: Object.fromEntries(update.map((change) => [change.slice.metadata.name, change.content.endpoints.length])),
  remove: remove.map(({ metadata }) => metadata.name),
});

const nothing = { create: [], update: {}, remove: [] };

describe("the spread of endpoints over slices", () => {
  const rows: [why: string, wanted: SliceEndpoint[], existing: Slice[], expected: ReturnType<typeof sizes>][] = [
    ["nothing changes when all is there", endpoints(0, 3), [slice("a", endpoints(0, 3))], nothing],
    ["a slice holds a hundred", endpoints(0, 250), [], { create: [100, 100, 50], update: {}, remove: [] }],
    [
      "a new endpoint goes where it fits, into the fullest",
      endpoints(0, 11),
      [slice("a", endpoints(0, 2)), slice("b", endpoints(2, 10))],
      { create: [], update: { b: 9 }, remove: [] },
    ],
    [
      "a slice that changes anyway is filled first",
      [...endpoints(1, 2), ...endpoints(10, 100), endpoint(200)],
      [slice("a", endpoints(0, 2)), slice("b", endpoints(10, 100))],
      { create: [], update: { a: 2 }, remove: [] },
    ],
    [
      "full slices are left alone",
      endpoints(0, 101),
      [slice("a", endpoints(0, 100))],
      { create: [1], update: {}, remove: [] },
    ],
    [
      "half-empty slices are not joined, because that would touch both",
      [...endpoints(0, 2), ...endpoints(100, 102)],
      [slice("a", endpoints(0, 2)), slice("b", endpoints(100, 102))],
      nothing,
    ],
    [
      "a slice that holds nothing goes",
      endpoints(0, 2),
      [slice("a", endpoints(0, 2)), slice("b", endpoints(5, 6))],
      { create: [], update: {}, remove: ["b"] },
    ],
    [
      "an endpoint changes in its place",
      [endpoint(0, { conditions: { ready: false } }), endpoint(1)],
      [slice("a", endpoints(0, 2))],
      { create: [], update: { a: 2 }, remove: [] },
    ],
  ];
  it.each(rows)("%s", (_, wanted, existing, expected) => {
    expect(sizes(plan(wanted, existing))).toEqual(expected);
  });

  it("keeps one empty slice where there are no endpoints, and makes it out of one that goes", () => {
    const none = (existing: Slice[]) => planSlices({ groups: [], existing, isLabelled: () => true });
    expect(sizes(none([]))).toEqual({ create: [0], update: {}, remove: [] });
    expect(sizes(none([slice("a", endpoints(0, 1)), slice("b", endpoints(1, 2))]))).toEqual({
      create: [],
      update: { a: 0 },
      remove: ["b"],
    });
    expect(sizes(none([slice("a", [], null)]))).toEqual(nothing);
  });

  it("moves to other ports by changing the slices there are", () => {
    const others = [{ name: "", protocol: "TCP", port: 81 }];
    const moved = plan(endpoints(0, 2), [slice("a", endpoints(0, 2))], others);
    expect(sizes(moved)).toEqual({ create: [], update: { a: 2 }, remove: [] });
    expect(moved.update[0]?.content.ports).toEqual(others);
  });

  it("does not mind the order of ports", () => {
    const two = [
      { name: "a", protocol: "TCP", port: 80 },
      { name: "b", protocol: "UDP", port: 81 },
    ];
    expect(sizes(plan(endpoints(0, 1), [slice("a", endpoints(0, 1), two.toReversed())], two))).toEqual(nothing);
  });

  it("changes a slice whose labels are wrong, though its endpoints are right", () => {
    const existing = [slice("a", endpoints(0, 1))];
    const groups = [{ ports: PORTS, endpoints: endpoints(0, 1) }];
    expect(sizes(planSlices({ groups, existing, isLabelled: () => false }))).toEqual({
      create: [],
      update: { a: 1 },
      remove: [],
    });
  });
});
