import { describe, expect, it } from "vitest";
import { imageOf, joinCommand, parseAnnotations, parseGates, parseQuantities, resourceRequirement } from "./wishes.ts";

describe("amounts of resources", () => {
  it("are pairs of names and quantities", () => {
    expect(parseQuantities("--resource-limits", "cpu=1000m,memory=1Gi")).toEqual({ cpu: "1000m", memory: "1Gi" });
    expect(parseQuantities("--resource-limits", "cpu=.5, memory=1e3")).toEqual({ cpu: ".5", memory: "1e3" });
  });

  it.each([
    ["cpu", 'has "cpu"; say it like'],
    ["cpu=1,,memory=2", 'has "";'],
    ["cpu=1=2", "say it like"],
    ["cpu=much", "cpu=much, which is no quantity"],
    ["memory=1gb", "which is no quantity"],
  ])("%j is refused", (text, problem) => {
    expect(() => parseQuantities("--resource-limits", text)).toThrow(problem);
  });

  it("need the class that uses them, and the class needs them", () => {
    expect(() => resourceRequirement({ resourceLimits: "cpu=1" })).toThrow("need --resource-qos-class");
    expect(() => resourceRequirement({ resourceQosClass: "BestEffort", resourceRequests: "cpu=1" })).toThrow("need");
    expect(() => resourceRequirement({ resourceQosClass: "ResourceRequirement" })).toThrow("needs --resource-requests");
  });

  it("become what the operators read", () => {
    const flags = { resourceQosClass: "ResourceRequirement", resourceLimits: "cpu=1", resourceRequests: "cpu=500m" };
    expect(resourceRequirement({ ...flags, resourceQosClass: "ResourceRequirement" })).toEqual({
      type: "ResourceRequirement",
      resourceRequirements: { limits: { cpu: "1" }, requests: { cpu: "500m" } },
    });
    expect(resourceRequirement({ resourceQosClass: "BestEffort" })).toEqual({ type: "BestEffort" });
    expect(resourceRequirement({})).toBeUndefined();
  });
});

describe("feature gates", () => {
  const known = { ClusterProfile: true, DefaultClusterSet: true };

  it("are those that there are, each once", () => {
    expect(parseGates("ClusterProfile=false,DefaultClusterSet=true,ClusterProfile=true", known)).toEqual([
      { feature: "ClusterProfile", mode: "Enable" },
      { feature: "DefaultClusterSet", mode: "Enable" },
    ]);
  });

  it.each([
    ["Nothing=true", 'unknown feature gate "Nothing"; there are ClusterProfile, DefaultClusterSet'],
    ["ClusterProfile", "is true or false"],
    ["ClusterProfile=yes", "is true or false"],
    ["toString=true", 'unknown feature gate "toString"'],
  ])("%j is refused", (text, problem) => {
    expect(() => parseGates(text, known)).toThrow(problem);
  });
});

it("gives annotations the prefix by which they reach the hub", () => {
  expect(parseAnnotations(["zone=a=b", "agent.open-cluster-management.io/x=1"])).toEqual({
    "agent.open-cluster-management.io/zone": "a=b",
    "agent.open-cluster-management.io/x": "1",
  });
  expect(() => parseAnnotations(["zone"])).toThrow("say it like key=value");
});

describe("the image", () => {
  it.each([
    [{}, "capstan:1.2.3"],
    [{ bundleVersion: "latest" }, "capstan:1.2.3"],
    [{ bundleVersion: "1.2.3" }, "capstan:1.2.3"],
    [{ imageRegistry: "registry.example/fleet/" }, "registry.example/fleet/capstan:1.2.3"],
    [{ image: "mine:1" }, "mine:1"],
  ])("%j is %s", (flags, image) => {
    expect(imageOf(flags, "1.2.3")).toBe(image);
  });

  it("is not one of another system's releases, which this one does not install", () => {
    expect(() => imageOf({ bundleVersion: "0.16.0" }, "1.2.3")).toThrow("name another image with --image");
    expect(() => imageOf({ image: "mine:1", imageRegistry: "r" }, "1.2.3")).toThrow("leave --image-registry out");
  });
});

it("prints the words that clusters join by", () => {
  expect(joinCommand("t0ken", "https://hub:6443", false)).toBe(
    "capstan join --hub-token t0ken --hub-apiserver https://hub:6443 --cluster-name <cluster_name>",
  );
  expect(joinCommand("t0ken", "https://hub:6443", true)).toContain(" --wait --cluster-name");
});
