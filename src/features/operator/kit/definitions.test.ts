import { describe, expect, it } from "vitest";
import { OperatorAnnotation } from "#api/operator";
import { compareVersions, definitionVersion, isNewer } from "./definitions.ts";

describe("definitions", () => {
  it.each([
    ["1.3.1", "1.3.1", 0],
    ["v1.4.0", "1.3.9", 1],
    ["1.3.1+capstan.0.2.0", "1.3.1", 1],
    ["1.3.1+capstan.0.2.0", "1.3.1+capstan.0.10.0", -1],
    ["1.3.1+capstan.1.0.0-rc.1", "1.3.1+capstan.1.0.0", 0],
    ["unknown", "1.0.0", -1],
  ])("of version %s compared with %s", (a, b, expected) => {
    expect(compareVersions(a, b)).toBe(expected);
  });

  it.each([
    ["capstan:0.4.0", "1.3.1+capstan.0.4.0"],
    ["registry:5000/capstan", "1.3.1"],
    ["registry:5000/capstan:1.0.0@sha256:abc", "1.3.1+capstan.1.0.0"],
  ])("are noted by the tag of image %s", (image, version) => {
    expect(definitionVersion(image)).toBe(version);
  });

  it("are newer only if somebody has noted a higher version", () => {
    const live = (version?: string) => ({
      apiVersion: "v1",
      kind: "x",
      metadata: { name: "x", ...(version && { annotations: { [OperatorAnnotation.version]: version } }) },
    });
    expect(isNewer(undefined, "1.0.0")).toBe(false);
    expect(isNewer(live(), "1.0.0")).toBe(false);
    expect(isNewer(live("1.0.0"), "1.0.0")).toBe(false);
    expect(isNewer(live("1.0.1"), "1.0.0")).toBe(true);
  });
});
