import { expect, it } from "vitest";
import { SpokeGates } from "#features/operator/kit";
import { parseSpokeGates } from "./spoke-gates.ts";

it("says how all gates stand, with those changed that were named", () => {
  expect(parseSpokeGates("")).toEqual({ ClusterClaim: true, ClusterProperty: true, AddonManagement: true });
  expect(parseSpokeGates("ClusterClaim=false, AddonManagement=true")).toMatchObject({
    ClusterClaim: false,
    ClusterProperty: true,
  });
});

it.each([
  ["Nonsense=true", 'unknown feature gate "Nonsense"; there are ClusterClaim, ClusterProperty, AddonManagement'],
  ["ClusterClaim", "ClusterClaim is true or false"],
  ["ClusterClaim=yes", "ClusterClaim is true or false"],
])("refuses %s", (text, message) => {
  expect(() => parseSpokeGates(text)).toThrow(message);
});

it("knows every gate that the operator may pass on, with the same default", () => {
  expect(parseSpokeGates("")).toMatchObject(SpokeGates);
});
