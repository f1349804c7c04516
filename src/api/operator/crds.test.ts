import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { comparedWithUpstream, untilEstablished } from "../../../test/support/definitions.ts";
import { startEmbedded, type TestServer } from "../../../test/support/servers.ts";
import { ClusterManager, clusterManagerCrd, Klusterlet, klusterletCrd } from "./index.ts";

comparedWithUpstream([
  ["operator.open-cluster-management.io_clustermanagers.yaml", clusterManagerCrd],
  ["operator.open-cluster-management.io_klusterlets.yaml", klusterletCrd],
]);

describe("on a server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startEmbedded("operator-kinds");
    const definitions = [clusterManagerCrd, klusterletCrd];
    for (const definition of definitions) await server.client.create(CustomResourceDefinition, definition);
    await untilEstablished(server.client, definitions);
  });
  afterAll(() => server.close());

  let count = 0;
  const manager = (spec?: unknown) =>
    server.client.create(ClusterManager, {
      apiVersion: "operator.open-cluster-management.io/v1",
      kind: "ClusterManager",
      metadata: { name: `m${++count}` },
      ...(spec !== undefined && { spec: spec as NonNullable<ClusterManager["spec"]> }),
    });
  const klusterlet = (spec: unknown) =>
    server.client.create(Klusterlet, {
      apiVersion: "operator.open-cluster-management.io/v1",
      kind: "Klusterlet",
      metadata: { name: `k${++count}` },
      spec: spec as NonNullable<Klusterlet["spec"]>,
    });

  it("an empty ClusterManager gets upstream's images and the default mode", async () => {
    expect((await manager()).spec).toEqual({
      registrationImagePullSpec: "quay.io/open-cluster-management/registration",
      workImagePullSpec: "quay.io/open-cluster-management/work",
      placementImagePullSpec: "quay.io/open-cluster-management/placement",
      addOnManagerImagePullSpec: "quay.io/open-cluster-management/addon-manager",
      deployOption: { mode: "Default" },
      workConfiguration: { workDriver: "kube" },
    });
  });

  it("a gate without a mode is disabled", async () => {
    const { spec } = await manager({ registrationConfiguration: { featureGates: [{ feature: "ClusterProfile" }] } });
    expect(spec?.registrationConfiguration?.featureGates).toEqual([{ feature: "ClusterProfile", mode: "Disable" }]);
  });

  it.each([
    [{ deployOption: { mode: "Elsewhere" } }, "spec.deployOption.mode"],
    [{ registrationConfiguration: { registrationDrivers: [{ authType: "none" }] } }, "authType"],
    [{ registrationConfiguration: { featureGates: [{ mode: "Enable" }] } }, "featureGates[0].feature"],
    [{ resourceRequirement: { type: "Much" } }, "spec.resourceRequirement.type"],
    [{ workConfiguration: { workDriver: "pigeon" } }, "spec.workConfiguration.workDriver"],
  ])("refuses the ClusterManager %j, because of %s", async (spec, field) => {
    await expect(manager(spec)).rejects.toThrow(field);
  });

  it.each([
    [{ namespace: "kube-system" }, "spec.namespace"],
    [{ clusterName: "Upper" }, "spec.clusterName"],
    [{ hubApiServerHostAlias: { ip: "300.1.1.1", hostname: "hub" } }, "spec.hubApiServerHostAlias.ip"],
    [{ externalServerURLs: [{}] }, "spec.externalServerURLs[0].url"],
    [{ workConfiguration: { statusSyncInterval: "soon" } }, "spec.workConfiguration.statusSyncInterval"],
  ])("refuses the Klusterlet %j, because of %s", async (spec, field) => {
    await expect(klusterlet(spec)).rejects.toThrow(field);
  });
});
