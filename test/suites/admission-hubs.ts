/** The two ways in which a hub has webhooks, made ready for whoever asks something of them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManagedClusterAddOn } from "#api/addon";
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster, ManagedClusterSet } from "#api/cluster";
import type { DynamicObject } from "#api/meta";
import { ClusterManager, clusterManagerCrd, HubWebhooks, OPERATOR_NAMESPACE } from "#api/operator";
import { ManifestWork, manifestWorkCrd } from "#api/work";
import { runHub } from "#app";
import { clusterManagerControllers, clusterManagerInstallation } from "#features/operator/cluster-manager";
import { bootstrapObjects, hubCrds } from "#features/registration/hub";
import { type Client, connectionOf, createApplyEngine, createClient, isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";
import { accountToken } from "../support/account-token.ts";
import { untilEstablished } from "../support/definitions.ts";
import { eventually } from "../support/eventually.ts";
import type { StartServer, TestServer } from "../support/servers.ts";
import { runningWebhooks } from "../support/webhook-programs.ts";
import { refusalOf, registrationAdmissionCases, somebody, workAdmissionCases } from "./admission.ts";

const IMAGE = "registry.example/capstan:1.2.3";

const configured = async (client: Client) => {
  const kinds = [ValidatingWebhookConfiguration, MutatingWebhookConfiguration];
  const lists = await Promise.all(kinds.map((kind) => client.list(kind)));
  const names = lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  return HubWebhooks.map(({ name }) => name).filter((name) => names.includes(name));
};
/** The server has read the configurations when it asks. */
const untilAsked = (client: Client) =>
  eventually(async () => {
    expect(await configured(client)).toHaveLength(HubWebhooks.length);
    const probe = client.create(ManagedCluster, { metadata: { name: "has.a.dot" } }, { dryRun: true });
    expect(await refusalOf(probe)).toMatchObject({ code: 400 });
    const work = { metadata: { name: "probe", namespace: "default" }, spec: { workload: { manifests: [] } } };
    expect(await refusalOf(client.create(ManifestWork, work, { dryRun: true }))).toMatchObject({ code: 400 });
  });

/** `capstan hub` without an operator: it serves them itself. */
export function bareHubSuite(start: StartServer): void {
  let server: TestServer;
  let stopping: AbortController;
  let ended: Promise<void>;
  const run = () => {
    stopping = new AbortController();
    const { client } = server;
    ended = runHub({ client, webhooks: {}, clock: systemClock, log: silentLog, signal: stopping.signal });
  };
  const stop = () => {
    stopping.abort();
    return ended;
  };

  beforeAll(async () => {
    server = await start("admission");
    const definitions = [...new Map([...hubCrds, manifestWorkCrd].map((each) => [each.metadata.name, each])).values()];
    for (const each of definitions) await server.client.create(CustomResourceDefinition, each);
    await untilEstablished(server.client, definitions);
    run();
    await untilAsked(server.client);
  }, 180_000);
  afterAll(async () => {
    await stop();
    await server?.close();
  }, 60_000);

  describe("registration", () => registrationAdmissionCases(() => server));
  describe("works", () => workAdmissionCases(() => server, { asksAtEveryChange: true }));

  it("puts its configurations back, and lets the server forget them when it ends", async () => {
    const { client } = server;
    const name = HubWebhooks[0]?.name ?? "";
    const { metadata } = await client.get(ValidatingWebhookConfiguration, name);
    await client.delete(ValidatingWebhookConfiguration, name);
    await eventually(async () => {
      const again = await client.get(ValidatingWebhookConfiguration, name);
      expect(again.metadata.uid).not.toBe(metadata.uid);
    });
    const wrong = { webhooks: [] };
    await client.patch(ValidatingWebhookConfiguration, name, wrong, { type: "merge" });
    await eventually(async () =>
      expect((await client.get(ValidatingWebhookConfiguration, name)).webhooks).toHaveLength(1),
    );
    await stop();
    expect(await configured(client)).toEqual([]);
    await eventually(() => client.create(ManagedCluster, { metadata: { name: "has.another.dot" } }));
    await client.delete(ManagedCluster, "has.another.dot");
    run();
    await untilAsked(client);
  });

  it("heals configurations that lead to a hub that was killed", async () => {
    const { client } = server;
    await stop();
    const dead = "https://127.0.0.1:1";
    for (const { name, type, path, rule } of HubWebhooks) {
      const kind = type === "Mutating" ? MutatingWebhookConfiguration : ValidatingWebhookConfiguration;
      const webhook = {
        name,
        clientConfig: { url: `${dead}${path}` },
        rules: [rule],
        sideEffects: "None" as const,
        admissionReviewVersions: ["v1"],
        timeoutSeconds: 1,
      };
      await client.create(kind, { metadata: { name }, webhooks: [webhook] });
    }
    await eventually(async () =>
      expect(await refusalOf(client.create(ManagedCluster, { metadata: { name: "refused" } }))).toMatchObject({
        code: 500,
        message: expect.stringContaining("failed calling webhook"),
      }),
    );
    run();
    await untilAsked(client);
    await client.create(ManagedCluster, { metadata: { name: "let-in" } });
    // The hub itself went on as soon as it was: nobody had to help.
    await eventually(() => client.get(ManagedClusterSet, "default"));
  });

  it("leaves the configurations of an operator alone", async () => {
    const { client } = server;
    await stop();
    const name = HubWebhooks[0]?.name ?? "";
    const labels = { "open-cluster-management.io/created-by-clustermanager": "cluster-manager" };
    await client.create(ValidatingWebhookConfiguration, { metadata: { name, labels }, webhooks: [] });
    run();
    await eventually(async () => expect(await configured(client)).toHaveLength(HubWebhooks.length));
    expect((await client.get(ValidatingWebhookConfiguration, name)).webhooks ?? []).toEqual([]);
    await stop();
    expect(await configured(client)).toEqual([name]);
    await client.delete(ValidatingWebhookConfiguration, name);
  });
}

/** A hub that an operator keeps: Pods answer. */
export function operatedHubSuite(start: StartServer): void {
  let server: TestServer;
  let operator: Client;
  const stopping = new AbortController();
  let ended: Promise<void> = Promise.resolve();

  beforeAll(async () => {
    server = await start("admission", { nodes: { count: 1, own: { image: IMAGE, run: runningWebhooks() } } });
    const { client } = server;
    const wishes = [
      clusterManagerCrd as unknown as DynamicObject,
      ...clusterManagerInstallation({ image: IMAGE, replicas: 0 }),
      ...(bootstrapObjects() as DynamicObject[]),
    ].map((object) => ({ object }));
    await createApplyEngine({ client, fieldManager: "administrator" }).apply({ wishes }, { patience: 30_000 });
    const { cert: _, key: __, ...connection } = await connectionOf(server.kubeconfig);
    const token = await accountToken(server, `${OPERATOR_NAMESPACE}/cluster-manager`);
    operator = createClient({ connection: { ...connection, token } });
    const cluster = connectedCluster({ name: "hub", client: operator, clock: systemClock, log: silentLog });
    ended = runControllers({
      controllers: clusterManagerControllers({ cluster, image: IMAGE, clock: systemClock }),
      clock: systemClock,
      log: silentLog,
      signal: stopping.signal,
    });
    await client.create(ClusterManager, { metadata: { name: "cluster-manager" } });
    await untilAsked(client);
  }, 180_000);
  afterAll(async () => {
    stopping.abort();
    await ended;
    operator?.close();
    await server?.close();
  }, 60_000);

  describe("registration", () => registrationAdmissionCases(() => server));
  describe("works", () => workAdmissionCases(() => server, { asksAtEveryChange: true }));

  it("converts add-ons between their versions", async () => {
    const { client } = server;
    const metadata = { name: "hello", namespace: "default" };
    await eventually(() => client.create(ManagedClusterAddOn, { metadata, spec: {} }));
    const read = await client.raw(
      "/apis/addon.open-cluster-management.io/v1alpha1/namespaces/default/managedclusteraddons/hello",
    );
    expect(JSON.parse(read)).toMatchObject({
      apiVersion: "addon.open-cluster-management.io/v1alpha1",
      metadata: { name: "hello" },
    });
  });

  it("asks who writes a work that names no executor for a right, with the gate", async () => {
    const { client } = server;
    const featureGates = [{ feature: "NilExecutorValidating", mode: "Enable" }];
    await client.patch(ClusterManager, "cluster-manager", { spec: { workConfiguration: { featureGates } } });
    const works = { apiGroups: ["work.open-cluster-management.io"], resources: ["manifestworks"] };
    const { client: writer } = await somebody(server, [{ ...works, verbs: ["create"] }]);
    const manifests = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } }];
    const metadata = { generateName: "nil-", namespace: "default" };
    const create = (by: Client) =>
      by.create(ManifestWork, { metadata, spec: { workload: { manifests } } }, { dryRun: true });
    await eventually(async () =>
      expect(await refusalOf(create(writer))).toMatchObject({
        code: 400,
        message: expect.stringContaining("with executor /klusterlet-work-sa in namespace default"),
      }),
    );
    const resourceNames = ["system:serviceaccount::klusterlet-work-sa"];
    const { client: trusted } = await somebody(server, [
      { ...works, verbs: ["create"] },
      { ...works, resourceNames, verbs: ["execute-as"] },
    ]);
    await create(trusted);
    writer.close();
    trusted.close();
    const manager = await client.get(ClusterManager, "cluster-manager");
    expect(isTrue(manager.status?.conditions, "ValidFeatureGates")).toBe(true);
  });

  it("goes without being held up by its own webhooks", async () => {
    const { client } = server;
    await client.delete(ClusterManager, "cluster-manager");
    // Works and clusters are still there, and nobody is there to remove what holds them.
    await eventually(() => expect(client.get(ClusterManager, "cluster-manager")).rejects.toSatisfy(isNotFound));
    expect(await configured(client)).toEqual([]);
  });
}
