import { describe, expect, it } from "vitest";
import { type Controller, done } from "#runtime";
import { chosenControllers, DEFAULT_GATES, type HubChoice, parseFeatureGates } from "./hub-choice.ts";
import { UsageError } from "./user-error.ts";

const all = ["cluster-lease", "cluster-default-sets", "cluster-profile-status", "knative-serving"].map(
  (name): Controller => ({ name, triggers: [], reconcile: async () => done }),
);
const names = (choice: HubChoice): string[] => chosenControllers(all, choice).map(({ name }) => name);

describe("controllers", () => {
  it.each<[words: string[] | undefined, chosen: string[]]>([
    [undefined, ["cluster-lease", "cluster-default-sets", "cluster-profile-status", "knative-serving"]],
    [["*"], ["cluster-lease", "cluster-default-sets", "cluster-profile-status", "knative-serving"]],
    [
      ["knative-serving", "cluster-lease"],
      ["cluster-lease", "knative-serving"],
    ],
    [
      ["*", "-cluster-lease"],
      ["cluster-default-sets", "cluster-profile-status", "knative-serving"],
    ],
    [["knative-serving", "-cluster-lease"], ["knative-serving"]],
  ])("%j are %j", (controllers, chosen) => {
    expect(names(controllers ? { controllers } : {})).toEqual(chosen);
  });

  it("that there are not are refused, with those that there are", () => {
    const choose = () => names({ controllers: ["knative"] });
    expect(choose).toThrow(UsageError);
    expect(choose).toThrow(
      'unknown controller "knative"; there are cluster-default-sets, cluster-lease, cluster-profile-status, knative-serving',
    );
    expect(() => names({ controllers: ["*", "-nobody"] })).toThrow('unknown controller "-nobody"');
  });

  it("must not all be left out, because whoever writes only -a means all others", () => {
    expect(() => names({ controllers: ["-cluster-lease"] })).toThrow("begin with * to mean all others");
  });

  it("whose gate is closed do not run, not even by name", () => {
    const gates = parseFeatureGates("ClusterProfile=false,DefaultClusterSet=false");
    expect(names({ gates })).toEqual(["cluster-lease", "knative-serving"]);
    expect(names({ gates, controllers: ["cluster-lease", "cluster-profile-status"] })).toEqual(["cluster-lease"]);
  });
});

describe("feature gates", () => {
  it("stand as they do unless told", () => {
    expect(parseFeatureGates("ManagedClusterAutoApproval=true")).toEqual({
      ...DEFAULT_GATES,
      ManagedClusterAutoApproval: true,
    });
  });

  it.each([
    [
      "Nonsense=true",
      "there are CleanUpCompletedManifestWork, ClusterProfile, DefaultClusterSet, ManagedClusterAutoApproval, NilExecutorValidating, ResourceCleanup",
    ],
    ["toString=true", "unknown feature gate"],
    ["ClusterProfile", "is true or false"],
    ["ClusterProfile=yes", "is true or false"],
    ["ClusterProfile=true=false", "is true or false"],
    ["", "unknown feature gate"],
  ])("%j is refused", (text, problem) => {
    expect(() => parseFeatureGates(text)).toThrow(UsageError);
    expect(() => parseFeatureGates(text)).toThrow(problem);
  });
});
