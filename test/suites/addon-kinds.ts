/** Add-ons in both versions, converted by us, and the other kinds that agents and tools look for, on any API server. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  ClusterManagementAddOn,
  ClusterManagementAddOnV1Alpha1,
  clusterManagementAddOnCrd,
  convertedBy,
  ManagedClusterAddOn,
  ManagedClusterAddOnV1Alpha1,
  managedClusterAddOnCrd,
} from "#api/addon";
import { CustomResourceDefinition } from "#api/apiextensions";
import { convert } from "#features/addons/conversion";
import { lookedForCrds } from "#features/registration/hub";
import { isNotFound } from "#kube";
import { untilEstablished } from "../support/definitions.ts";
import { eventually } from "../support/eventually.ts";
import type { StartServer, TestServer } from "../support/servers.ts";
import { startWebhookServer, type WebhookServer } from "../support/webhook-server.ts";

const NAMESPACE = "default";
const INSTALL_NAMESPACE = "addon.open-cluster-management.io/v1alpha1-install-namespace";

export function addOnKindsSuite(start: StartServer): void {
  let server: TestServer;
  let webhook: WebhookServer;

  beforeAll(async () => {
    [server, webhook] = await Promise.all([start("addon-kinds"), startWebhookServer()]);
    webhook.answer((review) => convert({ ...review, kind: "ConversionReview" }));
    const { caBundle } = webhook;
    const definitions = [
      ...[managedClusterAddOnCrd, clusterManagementAddOnCrd].map((definition) =>
        convertedBy(definition, { url: `${webhook.url}/convert`, caBundle }),
      ),
      ...lookedForCrds,
    ];
    await Promise.all(definitions.map((each) => server.client.create(CustomResourceDefinition, each)));
    await untilEstablished(server.client, definitions);
  }, 180_000);

  afterAll(async () => {
    await webhook?.close();
    await server?.close();
  }, 60_000);

  const key = (name: string) => `${NAMESPACE}/${name}`;

  describe("a ManagedClusterAddOn", () => {
    it("that was written in v1alpha1 is read and changed in v1beta1, and nothing is lost", async () => {
      const { client } = server;
      await client.create(ManagedClusterAddOnV1Alpha1, {
        metadata: { name: "old", namespace: NAMESPACE },
        spec: { installNamespace: "mine", configs: [{ group: "g", resource: "r", name: "c" }] },
      });
      const beta = await eventually(() => client.get(ManagedClusterAddOn, key("old")));
      expect(beta.metadata.annotations?.[INSTALL_NAMESPACE]).toBe("mine");
      expect(beta.spec).toEqual({ configs: [{ group: "g", resource: "r", name: "c" }] });
      await client.update(ManagedClusterAddOn, { ...beta, spec: { configs: [] } });
      const alpha = await client.get(ManagedClusterAddOnV1Alpha1, key("old"));
      expect(alpha.spec).toEqual({ installNamespace: "mine", configs: [] });
      expect(alpha.metadata.annotations?.[INSTALL_NAMESPACE]).toBeUndefined();
    });

    it("that was written in v1beta1 has the default namespace in v1alpha1", async () => {
      const { client } = server;
      await client.create(ManagedClusterAddOn, { metadata: { name: "new", namespace: NAMESPACE }, spec: {} });
      const { spec } = await client.get(ManagedClusterAddOnV1Alpha1, key("new"));
      expect(spec).toEqual({ installNamespace: "open-cluster-management-agent-addon" });
    });

    it("reports its registration in v1beta1, and readers of v1alpha1 see it in their words", async () => {
      const { client } = server;
      await client.create(ManagedClusterAddOn, { metadata: { name: "status", namespace: NAMESPACE }, spec: {} });
      const subject = { user: "u", groups: ["g"] };
      const status = { registrations: [{ type: "kubeClient", kubeClient: { driver: "csr", subject } }] };
      await client.patch(ManagedClusterAddOn, key("status"), { status }, { type: "merge", subresource: "status" });
      const alpha = await client.get(ManagedClusterAddOnV1Alpha1, key("status"));
      expect(alpha.status).toMatchObject({
        kubeClientDriver: "csr",
        registrations: [{ signerName: "kubernetes.io/kube-apiserver-client", subject }],
      });
      const beta = await client.get(ManagedClusterAddOn, key("status"));
      expect(beta.status).toMatchObject(status);
    });

    it("is listed, and deleted, in either version", async () => {
      const { client } = server;
      await client.create(ManagedClusterAddOn, { metadata: { name: "gone", namespace: NAMESPACE }, spec: {} });
      const alphas = await client.list(ManagedClusterAddOnV1Alpha1, { namespace: NAMESPACE });
      const betas = await client.list(ManagedClusterAddOn, { namespace: NAMESPACE });
      const names = (list: { items: { metadata: { name: string } }[] }) =>
        list.items.map(({ metadata }) => metadata.name);
      expect(names(alphas)).toContain("gone");
      expect(names(betas)).toEqual(names(alphas));
      await client.delete(ManagedClusterAddOnV1Alpha1, key("gone"));
      await expect(client.get(ManagedClusterAddOn, key("gone"))).rejects.toSatisfy(isNotFound);
    });
  });

  describe("a ClusterManagementAddOn", () => {
    it("keeps, through a change in v1beta1, which configurations have no default", async () => {
      const { client } = server;
      const supportedConfigs = [
        { group: "g", resource: "without" },
        { group: "g", resource: "with", defaultConfig: { name: "n", namespace: "ns" } },
      ];
      await client.create(ClusterManagementAddOnV1Alpha1, {
        metadata: { name: "offer" },
        spec: { supportedConfigs, addOnConfiguration: { crdName: "old.example.com" } },
      });
      const beta = await client.get(ClusterManagementAddOn, "offer");
      expect(beta.spec.defaultConfigs).toEqual([
        { group: "g", resource: "without", name: "__reserved_no_default__" },
        { group: "g", resource: "with", name: "n", namespace: "ns" },
      ]);
      const addOnMeta = { displayName: "Offer" };
      await client.update(ClusterManagementAddOn, { ...beta, spec: { ...beta.spec, addOnMeta } });
      const alpha = await client.get(ClusterManagementAddOnV1Alpha1, "offer");
      expect(alpha.spec).toMatchObject({
        supportedConfigs,
        addOnMeta,
        addOnConfiguration: { crdName: "old.example.com" },
        installStrategy: { type: "Manual" },
      });
    });
  });
}
