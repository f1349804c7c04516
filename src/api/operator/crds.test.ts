import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition, DefinitionCondition } from "#api/apiextensions";
import { isTrue } from "#lib/conditions";
import { withoutDescriptions } from "../../../test/support/definitions.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startEmbedded, type TestServer } from "../../../test/support/servers.ts";
import { ClusterManager, clusterManagerCrd, Klusterlet, klusterletCrd } from "./index.ts";

const UPSTREAM = fileURLToPath(new URL("../../../../shared/upstream/crds/", import.meta.url));
const required = (process.env.CAPSTAN_REQUIRE ?? "").split(",").includes("shared");

describe.skipIf(!existsSync(UPSTREAM) && !required)("our CRDs, field by field against shared/upstream", () => {
  it.each([
    ["operator.open-cluster-management.io_clustermanagers.yaml", clusterManagerCrd],
    ["operator.open-cluster-management.io_klusterlets.yaml", klusterletCrd],
  ])("%s", (file, ours) => {
    const theirs = load(readFileSync(`${UPSTREAM}${file}`, "utf8")) as CustomResourceDefinition;
    expect(comparable(ours)).toEqual(comparable(theirs));
  });
});

/** Leaves out what says nothing about the wire: descriptions, an empty status, a retired default. */
function comparable({ apiVersion, kind, metadata, spec }: CustomResourceDefinition): unknown {
  const { preserveUnknownFields, ...rest } = spec as typeof spec & { preserveUnknownFields?: boolean };
  expect(preserveUnknownFields ?? false).toBe(false);
  return withoutDescriptions({ apiVersion, kind, name: metadata.name, spec: rest });
}

describe("on a server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startEmbedded("operator-kinds");
    for (const definition of [clusterManagerCrd, klusterletCrd]) {
      await server.client.create(CustomResourceDefinition, definition);
      await eventually(async () => {
        const { status } = await server.client.get(CustomResourceDefinition, definition.metadata.name);
        expect(isTrue(status?.conditions, DefinitionCondition.Established)).toBe(true);
      });
    }
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
