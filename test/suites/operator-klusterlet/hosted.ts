/** Agents that run on one cluster and manage another. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace, Node, Secret, ServiceAccount } from "#api/core";
import { Klusterlet } from "#api/operator";
import { ClusterRole, ClusterRoleBinding } from "#api/rbac";
import { AppliedManifestWork } from "#api/work";
import {
  type Client,
  connectionOf,
  createClient,
  isForbidden,
  type Kubeconfig,
  kubeconfigText,
  parseKubeconfig,
} from "#kube";
import { eventually } from "../../support/eventually.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { argsOf, holdRemoval, isGone, OperatorStage } from "./stage.ts";

const NAME = "hosted-1";
const MANAGED = "open-cluster-management-hosted-1";
const WAY = "external-managed-kubeconfig";

export function hostedCases(start: StartServer): void {
  let stage: OperatorStage;
  let managed: TestServer;
  let lost: TestServer | undefined;

  beforeAll(async () => {
    [stage, managed, lost] = await Promise.all([
      OperatorStage.start(start, "hosting", 8_000),
      start("managed"),
      start("lost"),
    ]);
  }, 240_000);
  afterAll(async () => {
    await Promise.all([stage?.stop(), managed?.close(), lost?.close()]);
  }, 60_000);

  const hosted = (name: string, namespace: string) =>
    stage.create(name, { clusterName: name, namespace, deployOption: { mode: "Hosted" } });
  const giveWay = (name: string, kubeconfig: Kubeconfig) =>
    stage.client.create(Secret, {
      metadata: { namespace: name, name: WAY },
      stringData: { kubeconfig: kubeconfigText(kubeconfig) },
    });
  /** The managed cluster as an agent gets to it by what lies in its Secret. */
  const asAgent = async (secret: string): Promise<{ client: Client; data: Record<string, string> }> => {
    const { data = {} } = await stage.client.get(Secret, `${NAME}/${secret}`);
    const text = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
    );
    const read = async (path: string) => text[path.replace(/^.*\//, "")] ?? "";
    const config = parseKubeconfig(text.kubeconfig ?? "", "/secret/kubeconfig");
    return { client: createClient({ connection: await connectionOf(config, undefined, { read }) }), data: text };
  };

  it("says what it needs before it can begin, and where to put it", async () => {
    await hosted(NAME, MANAGED);
    await stage.until(NAME, "ReadyToApply", {
      status: "False",
      reason: "KlusterletPrepareFailed",
      message: expect.stringContaining(`Secret ${NAME}/${WAY} is not there`),
    });
    await stage.client.get(Namespace, NAME);
  });

  it("puts rights and kinds on the managed cluster, and the agents on its own", async () => {
    await eventually(() => managed.client.get(ServiceAccount, "default/default"));
    await giveWay(NAME, managed.kubeconfig);
    await stage.until(NAME, "ReadyToApply", { status: "True", reason: "KlusterletPrepared" });
    await stage.until(NAME, "Applied", { status: "True", reason: "KlusterletApplied" });
    await managed.client.get(Namespace, MANAGED);
    await managed.client.get(Namespace, "open-cluster-management-agent-addon");
    await managed.client.get(ServiceAccount, `${MANAGED}/${NAME}-registration-sa`);
    await managed.client.get(ClusterRole, `open-cluster-management:${NAME}-registration:agent`);
    await managed.client.get(CustomResourceDefinition, "clusterclaims.cluster.open-cluster-management.io");
    await isGone(stage.client.get(Namespace, MANAGED));
    await isGone(stage.client.get(ClusterRole, `open-cluster-management:${NAME}-registration:agent`));

    const registration = await stage.deployment(`${NAME}/${NAME}-registration-agent`);
    expect(argsOf(registration)).toEqual(
      expect.arrayContaining([
        "--spoke-kubeconfig=/spoke/config/kubeconfig",
        "--hosted",
        `--namespace=${NAME}`,
        `--spoke-namespace=${MANAGED}`,
      ]),
    );
    expect(registration.spec.template.spec.volumes).toContainEqual(
      expect.objectContaining({ secret: expect.objectContaining({ secretName: `${WAY}-registration` }) }),
    );
    expect((await stage.client.get(Klusterlet, NAME)).metadata.finalizers?.sort()).toEqual([
      "operator.open-cluster-management.io/klusterlet-cleanup",
      "operator.open-cluster-management.io/klusterlet-hosted-cleanup",
    ]);
  });

  it("makes the agents who they are on the managed cluster, and nobody more", async () => {
    const { client, data } = await asAgent(`${WAY}-registration`);
    expect(Object.keys(data).sort()).toEqual([
      "expiration",
      "kubeconfig",
      "serviceaccount_name",
      "serviceaccount_namespace",
      "serviceaccount_uid",
      "token",
    ]);
    expect(data.serviceaccount_name).toBe(`${NAME}-registration-sa`);
    await client.list(Node);
    await expect(client.list(Secret)).rejects.toSatisfy(isForbidden);
    client.close();
    const work = await asAgent(`${WAY}-work`);
    await work.client.list(Secret);
    work.client.close();
  });

  it("makes them anew when somebody deletes who they are", async () => {
    const before = (await asAgent(`${WAY}-registration`)).data.serviceaccount_uid;
    await managed.client.delete(ServiceAccount, `${MANAGED}/${NAME}-registration-sa`);
    await eventually(async () => {
      const { client, data } = await asAgent(`${WAY}-registration`);
      expect(data.serviceaccount_uid).not.toBe(before);
      await client.list(Node).finally(() => client.close());
    });
  });

  it("mends what is changed on the managed cluster", async () => {
    const binding = `open-cluster-management:${NAME}-work:agent`;
    await managed.client.delete(ClusterRoleBinding, binding);
    await eventually(() => managed.client.get(ClusterRoleBinding, binding));
  });

  it("says what its agent does not remove on the managed cluster before somebody confirms it", async () => {
    const held = await holdRemoval(managed.client, await stage.client.get(Klusterlet, NAME), "one");
    await stage.until(NAME, "WorkRemovalHeld", {
      status: "True",
      reason: "RemovalHeld",
      message: expect.stringContaining("ManifestWork one brought"),
    });
    await managed.client.delete(AppliedManifestWork, held);
    await stage.until(NAME, "WorkRemovalHeld", { status: "False", reason: "NoRemovalHeld" });
  });

  it("clears both clusters when it goes", async () => {
    await stage.client.delete(Klusterlet, NAME);
    await stage.untilGone(NAME);
    await eventually(() => isGone(managed.client.get(Namespace, MANAGED)));
    await eventually(() => isGone(stage.client.get(Namespace, NAME)));
    await isGone(managed.client.get(ClusterRole, `open-cluster-management:${NAME}-work:execution`));
    await managed.client.get(CustomResourceDefinition, "clusterclaims.cluster.open-cluster-management.io");
  });

  it("manages the cluster that it runs on too, if that is where the kubeconfig leads", async () => {
    await hosted("hosted-self", "open-cluster-management-self");
    await eventually(() => giveWay("hosted-self", stage.server.kubeconfig));
    await stage.until("hosted-self", "Applied", { status: "True" });
    await eventually(() => stage.deployment("hosted-self/hosted-self-registration-agent"));
    await eventually(() => stage.client.get(Secret, `hosted-self/${WAY}-work`));
    await stage.client.get(ServiceAccount, "open-cluster-management-self/hosted-self-work-sa");
    await stage.client.delete(Klusterlet, "hosted-self");
    await stage.untilGone("hosted-self");
    await eventually(() => isGone(stage.client.get(Namespace, "open-cluster-management-self")));
    await eventually(() => isGone(stage.client.get(Namespace, "hosted-self")));
  });

  it("goes without clearing a cluster that is lost, after a while, and says meanwhile what it waits for", async () => {
    if (!lost) throw new Error("there is no cluster to lose");
    await hosted("hosted-lost", "open-cluster-management-lost");
    await eventually(() => giveWay("hosted-lost", (lost as TestServer).kubeconfig));
    await stage.until("hosted-lost", "Applied", { status: "True" });
    await lost.close();
    lost = undefined;
    await stage.until("hosted-lost", "ReadyToApply", { status: "False" });
    await stage.deployment("hosted-lost/hosted-lost-registration-agent");
    await stage.client.delete(Klusterlet, "hosted-lost");
    await eventually(async () => {
      const { metadata } = await stage.client.get(Klusterlet, "hosted-lost");
      expect(metadata.annotations).toHaveProperty(
        "operator.open-cluster-management.io/managed-resources-eviction-timestamp",
      );
    });
    await stage.until("hosted-lost", "Applied", {
      status: "False",
      reason: "Removing",
      message: expect.stringContaining("cannot be reached"),
    });
    await stage.untilGone("hosted-lost");
    await eventually(() => isGone(stage.client.get(Namespace, "hosted-lost")));
  });
}
