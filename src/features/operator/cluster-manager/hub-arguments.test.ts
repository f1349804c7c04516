import { describe, expect, it } from "vitest";
import type { ClusterManager } from "#api/operator";
import { knativeControllers } from "#features/knative";
import { ManualClock } from "#lib/clock";
import type { Fleet } from "#runtime";
import { fakeCluster } from "../../../../test/support/index.ts";
import { HubArgumentsError, hubArgumentsOf, shared } from "./hub-arguments.ts";
import { KnativeController } from "./names.ts";

const manager = (text?: string): ClusterManager => ({
  apiVersion: "operator.open-cluster-management.io/v1",
  kind: "ClusterManager",
  metadata: { name: "x", ...(text !== undefined && { annotations: { "operator.capstan.dev/hub-arguments": text } }) },
});

describe("further arguments of a hub", () => {
  it("are none unless told", () => {
    expect(hubArgumentsOf(manager())).toEqual({ registration: [], knative: [], controllers: ["*"] });
  });

  it("go to the program that they concern, and the choice of controllers to both", () => {
    const text = JSON.stringify(["--knative-mirror=https://m/?a=b", "--metrics-address=9", "--controllers=*,-lease"]);
    expect(hubArgumentsOf(manager(text))).toEqual({
      registration: ["--metrics-address=9"],
      knative: ["--knative-mirror=https://m/?a=b"],
      controllers: ["*", "-lease"],
    });
  });

  it.each([
    ["{", "JSON list"],
    ['"--controllers=a"', "JSON list"],
    ["[1]", "JSON list"],
    ['["--knative-cache"]', "--knative-cache=VALUE"],
    ['["--feature-gates=A=true"]', "--feature-gates cannot be given there"],
    ['["hub=1"]', "hub cannot be given there"],
  ])("%s is refused, and the sentence says: %s", (text, words) => {
    expect(() => hubArgumentsOf(manager(text))).toThrow(HubArgumentsError);
    expect(() => hubArgumentsOf(manager(text))).toThrow(words);
  });

  it.each([
    [
      ["*"],
      "*,-knative-serving,-knative-eventing,-knative-leftovers",
      "knative-serving,knative-eventing,knative-leftovers",
    ],
    [
      ["*", "-lease"],
      "*,-lease,-knative-serving,-knative-eventing,-knative-leftovers",
      "knative-serving,knative-eventing,knative-leftovers",
    ],
    [
      ["*", "-knative-eventing"],
      "*,-knative-serving,-knative-eventing,-knative-leftovers",
      "knative-serving,knative-leftovers",
    ],
    [["lease", "knative-serving"], "lease", "knative-serving"],
    [["lease"], "lease", undefined],
    [["knative-serving"], undefined, "knative-serving"],
  ])("%j is divided among the two programs", (words, registration, knative) => {
    const flag = (names: string | undefined) => names && `--controllers=${names}`;
    expect(shared(words)).toEqual({ registration: flag(registration), knative: flag(knative) });
  });

  it("name the controllers that Knative has", () => {
    const fleet = { keyedBy: () => ({ subscribe: () => () => {} }) } as unknown as Fleet;
    const controllers = knativeControllers({
      hub: fakeCluster(),
      fleet,
      ways: { hindranceTo: () => undefined, onChange: () => () => {} },
      releases: {} as never,
      clock: new ManualClock(),
      closing: new AbortController().signal,
    });
    expect(controllers.map(({ name }) => name)).toEqual([...KnativeController.controllers]);
  });
});
