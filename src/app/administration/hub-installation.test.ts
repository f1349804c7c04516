import { describe, expect, it } from "vitest";
import { apiVersionOf } from "#api/meta";
import { ClusterManager } from "#api/operator";
import { clusterManagerWish, type HubWish } from "./hub-installation.ts";

const PLAIN: HubWish = {
  connection: { server: "https://hub" },
  image: "capstan:1",
  useBootstrapToken: false,
  createNamespace: true,
  syncLabels: false,
  force: false,
};

function existing(more: Partial<ClusterManager>): ClusterManager {
  return {
    apiVersion: apiVersionOf(ClusterManager),
    kind: "ClusterManager",
    metadata: { name: "cluster-manager", uid: "u" },
    ...more,
  };
}

describe("a new ClusterManager", () => {
  it("shows the gates that are open, and who would be let in if that one were", () => {
    const { metadata, spec } = clusterManagerWish(undefined, PLAIN);
    expect(metadata).toEqual({ name: "cluster-manager" });
    expect(spec?.registrationConfiguration?.featureGates).toContainEqual({ feature: "ClusterProfile", mode: "Enable" });
    expect(spec?.registrationConfiguration?.autoApproveUsers).toEqual([
      "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
    ]);
  });

  it("keeps the other open gates when one is named", () => {
    const { spec } = clusterManagerWish(undefined, {
      ...PLAIN,
      featureGates: [{ feature: "ClusterProfile", mode: "Disable" }],
    });
    const gates = spec?.registrationConfiguration?.featureGates ?? [];
    expect(gates.filter(({ feature }) => feature === "ClusterProfile")).toEqual([
      { feature: "ClusterProfile", mode: "Disable" },
    ]);
    expect(gates).toContainEqual({ feature: "DefaultClusterSet", mode: "Enable" });
  });

  it("says of works what is about works, as upstream's does", () => {
    const plain = clusterManagerWish(undefined, PLAIN).spec;
    const { spec } = clusterManagerWish(undefined, {
      ...PLAIN,
      featureGates: [{ feature: "CleanUpCompletedManifestWork", mode: "Enable" }],
    });
    expect(spec).toEqual({
      ...plain,
      workConfiguration: { featureGates: [{ feature: "CleanUpCompletedManifestWork", mode: "Enable" }] },
    });
  });
});

describe("a ClusterManager that is there", () => {
  it("stays as it is where the flags are silent, because others may have edited it", () => {
    const before = existing({
      metadata: { name: "cluster-manager", annotations: { mine: "1" } },
      spec: { registrationConfiguration: { featureGates: [], autoApproveUsers: ["bob"] } },
    });
    expect(clusterManagerWish(before, PLAIN)).toEqual(before);
  });

  it("gets the arguments of the hub's programs in place of the former ones", () => {
    const before = existing({
      metadata: { name: "cluster-manager", annotations: { "operator.capstan.dev/hub-arguments": "[]", mine: "1" } },
    });
    const { metadata, spec } = clusterManagerWish(before, { ...PLAIN, hubArguments: ["--controllers=*"] });
    expect(metadata.annotations).toEqual({ "operator.capstan.dev/hub-arguments": '["--controllers=*"]', mine: "1" });
    expect(spec).toEqual({});
  });
});
