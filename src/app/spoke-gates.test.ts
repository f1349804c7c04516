import { expect, it } from "vitest";
import { KlusterletGates } from "#features/operator/kit";
import { parseSpokeGates } from "./spoke-gates.ts";

it("says how all gates stand, with those changed that were named", () => {
  const asTheyAre = {
    ClusterClaim: true,
    ClusterProperty: true,
    AddonManagement: true,
    ExecutorValidatingCaches: true,
    RawFeedbackJsonString: false,
  };
  expect(parseSpokeGates("agent")).toEqual(asTheyAre);
  expect(parseSpokeGates("registration", "ClusterClaim=false, AddonManagement=true")).toEqual({
    ...asTheyAre,
    ClusterClaim: false,
  });
  expect(parseSpokeGates("agent", "ClusterClaim=false,RawFeedbackJsonString=true")).toEqual({
    ...asTheyAre,
    ClusterClaim: false,
    RawFeedbackJsonString: true,
  });
});

it.each([
  [
    "registration",
    "Nonsense=true",
    'unknown feature gate "Nonsense"; there are ClusterClaim, ClusterProperty, AddonManagement',
  ],
  [
    "work",
    "ClusterClaim=false",
    'unknown feature gate "ClusterClaim"; there are ExecutorValidatingCaches, RawFeedbackJsonString',
  ],
  ["registration", "ClusterClaim", "ClusterClaim is true or false"],
  ["registration", "ClusterClaim=yes", "ClusterClaim is true or false"],
] as const)("refuses for %s: %s", (program, text, message) => {
  expect(() => parseSpokeGates(program, text)).toThrow(message);
});

it("knows every gate that the operator may pass on, with the same default", () => {
  expect(parseSpokeGates("agent")).toMatchObject(KlusterletGates);
});
