import { describe, expect, it } from "vitest";
import { definitionsFor } from "./definitions.ts";

describe("the definitions of a hub", () => {
  it("have that of ClusterProfiles while the gate is open", () => {
    const names = (gate: boolean) => definitionsFor({ ClusterProfile: gate }).map(({ spec }) => spec.names.kind);
    expect(names(true)).toContain("ClusterProfile");
    expect(names(false)).not.toContain("ClusterProfile");
    expect(names(false)).toEqual(
      expect.arrayContaining(["ManagedCluster", "ManagedClusterSet", "ManagedClusterSetBinding", "ManifestWork"]),
    );
  });
});
