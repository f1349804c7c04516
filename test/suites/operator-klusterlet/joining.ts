/** The agents as the operator deploys them: its arguments, its rights, its Secrets, and nothing else. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterClaim, ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import { Klusterlet } from "#api/operator";
import { AppliedManifestWork, ManifestWork, manifestWorkCrd } from "#api/work";
import { accept, runHub, untilWorking } from "#app";
import { kubeconfigText } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { runProgram } from "../../../src/cli/programs.ts";
import { eventually } from "../../support/eventually.ts";
import { PodFiles } from "../../support/pod-files.ts";
import { bootstrapKubeconfig, prepareHub } from "../../support/prepared.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";
import { gadgetDefinition } from "../work/stage.ts";
import { AGENTS, argsOf, isGone, OperatorStage } from "./stage.ts";

const REGISTRATION = `${AGENTS}/klusterlet-registration-agent`;
const WORK = `${AGENTS}/klusterlet-work-agent`;

export function joiningCases(start: StartServer): void {
  let stage: OperatorStage;
  let hub: TestServer;
  let far: TestServer;
  const pods: PodFiles[] = [];

  beforeAll(async () => {
    [stage, hub, far] = await Promise.all([OperatorStage.start(start, "spoke"), start("hub"), start("far")]);
    await prepareHub(hub.client);
    await hub.client.create(CustomResourceDefinition, manifestWorkCrd).catch(() => {}); // it may be there already
    stage.run((signal) => runHub({ client: hub.client, clock: systemClock, log: silentLog, signal }));
  }, 240_000);
  afterAll(async () => {
    await stage?.stop();
    await Promise.all([hub?.close(), far?.close()]);
    await Promise.all(pods.map((pod) => pod.remove()));
  }, 60_000);

  /** Runs the container of a Deployment as its account; the answer ends it with its exit code. */
  const runPod = async (key: string, mounts: Record<string, string>, ...more: string[]) => {
    const deployment = await stage.deployment(key);
    const { serviceAccountName = "" } = deployment.spec.template.spec;
    const { namespace = "" } = deployment.metadata;
    const pod = await PodFiles.start(stage.server, `${namespace}/${serviceAccountName}`);
    pods.push(pod);
    for (const [path, secret] of Object.entries(mounts)) await pod.mount(path, `${namespace}/${secret}`);
    let exitCode: number | undefined;
    const stop = stage.run(async (signal) => {
      exitCode = await runProgram(pod.context([...argsOf(deployment), ...more], signal));
    });
    return { pod, exitCode: () => exitCode, stop };
  };
  const bootstrap = async () => kubeconfigText(await bootstrapKubeconfig(hub.client, hub.authority));
  const patience = () => AbortSignal.timeout(60_000);
  let registration: Awaited<ReturnType<typeof runPod>>;

  it("joins the hub, with the name and the addresses of the Klusterlet", async () => {
    await stage.client.create(Namespace, { metadata: { name: AGENTS } });
    await stage.client.create(Secret, {
      metadata: { namespace: AGENTS, name: "bootstrap-hub-kubeconfig" },
      stringData: { kubeconfig: await bootstrap() },
    });
    await stage.create(
      "klusterlet",
      {
        clusterName: "c1",
        externalServerURLs: [{ url: stage.server.url }],
        registrationConfiguration: { clusterAnnotations: { "agent.open-cluster-management.io/zone": "a" } },
      },
      { "access.capstan.dev/cluster-role": "view" },
    );
    await stage.until("klusterlet", "HubConnectionDegraded", {
      status: "True",
      reason: "BootstrapSecretFunctional,HubKubeConfigSecretMissing",
    });
    registration = await runPod(REGISTRATION, { "/spoke/bootstrap": "bootstrap-hub-kubeconfig" });
    const before = new Date();
    await accept(hub.client, "c1", patience());
    await untilWorking(hub.client, "c1", before, patience());
    expect(registration.pod.readiness).toBe(1);
    const { spec, metadata } = await hub.client.get(ManagedCluster, "c1");
    expect(spec?.managedClusterClientConfigs?.map(({ url }) => url)).toEqual([stage.server.url]);
    expect(metadata.annotations).toMatchObject({
      "agent.open-cluster-management.io/zone": "a",
      "access.capstan.dev/cluster-role": "view",
    });
  });

  it("grants the access that it was told to", async () => {
    await eventually(async () =>
      expect((await hub.client.get(Secret, "c1/capstan-cluster-access")).data?.token).toBeDefined(),
    );
    await stage.client.get(ServiceAccount, `${AGENTS}/cluster-access`);
  });

  it("tells what the cluster claims", async () => {
    await stage.client.create(ClusterClaim, { metadata: { name: "id.k8s.io" }, spec: { value: "me" } });
    await eventually(async () =>
      expect((await hub.client.get(ManagedCluster, "c1")).status?.clusterClaims).toContainEqual({
        name: "id.k8s.io",
        value: "me",
      }),
    );
  });

  it("is said to reach the hub, and then there is a work agent", async () => {
    await stage.until("klusterlet", "HubConnectionDegraded", { status: "False", reason: "HubConnectionFunctional" });
    await stage.untilDeployed(WORK, ({ spec }) => expect(spec.replicas).toBe(1));
  });

  let work: Awaited<ReturnType<typeof runPod>>;

  it("does on the spoke what the hub wishes, and takes it away again", async () => {
    work = await runPod(WORK, { "/spoke/hub-kubeconfig": "hub-kubeconfig-secret" });
    const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name: "wished" } };
    await hub.client.create(ManifestWork, {
      metadata: { namespace: "c1", name: "w" },
      spec: { workload: { manifests: [manifest] } },
    });
    await eventually(() => stage.client.get(ConfigMap, "default/wished"));
    const { uid } = (await stage.client.get(Klusterlet, "klusterlet")).metadata;
    const [applied] = (await stage.client.list(AppliedManifestWork)).items;
    expect(applied?.spec?.agentID).toBe(uid);
    await hub.client.delete(ManifestWork, "c1/w");
    await eventually(() => isGone(stage.client.get(ConfigMap, "default/wished")));
    await eventually(() => isGone(hub.client.get(ManifestWork, "c1/w")));
  });

  it("does with kinds that a work brings what a role with the label lets it do, and nothing before", async () => {
    const group = "wished.example.com";
    const gadget = { apiVersion: `${group}/v1`, kind: "Gadget", metadata: { namespace: "default", name: "g" } };
    await hub.client.create(ManifestWork, {
      metadata: { namespace: "c1", name: "kinds" },
      spec: { workload: { manifests: [gadgetDefinition(group), gadget] } },
    });
    const saidOfKinds = async () => {
      const { status } = await hub.client.get(ManifestWork, "c1/kinds");
      return status?.resourceStatus?.manifests?.map(({ conditions }) => findCondition(conditions, "Applied")) ?? [];
    };
    await eventually(async () => {
      const [definition, object] = await saidOfKinds();
      expect([definition?.status, object?.status]).toEqual(["True", "False"]);
      expect(object?.message).toContain("is forbidden");
    });
    const metadata = { name: "gadgets", labels: { "open-cluster-management.io/aggregate-to-work": "true" } };
    const rules = [{ apiGroups: [group], resources: ["gadgets"], verbs: ["*"] }];
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata, rules };
    const manifests = [gadgetDefinition(group), gadget, role];
    await hub.client.patch(ManifestWork, "c1/kinds", { spec: { workload: { manifests } } }, { type: "merge" });
    await eventually(async () => {
      expect((await saidOfKinds()).map((condition) => condition?.status)).toEqual(["True", "True", "True"]);
    });
    expect(work.pod.readiness).toBe(1);
    await work.stop();
    expect(work.exitCode()).toBe(0);
  });

  it("withdraws the access when the annotation goes, though the agent may grant none any more", async () => {
    await registration.stop();
    expect(registration.exitCode()).toBe(0);
    const nothing = { metadata: { annotations: { "access.capstan.dev/cluster-role": null } } };
    await stage.client.patch(Klusterlet, "klusterlet", nothing, { type: "merge" });
    await stage.untilDeployed(REGISTRATION, (deployment) =>
      expect(argsOf(deployment).filter((word) => word.startsWith("--grant-access"))).toEqual([]),
    );
    registration = await runPod(REGISTRATION, { "/spoke/bootstrap": "bootstrap-hub-kubeconfig" });
    await eventually(() => isGone(stage.client.get(ServiceAccount, `${AGENTS}/cluster-access`)));
  });

  it("starts over with another bootstrap kubeconfig, and asks the hub that it leads to", async () => {
    const before = (await hub.client.list(CertificateSigningRequest)).items.length;
    await registration.pod.put("/spoke/bootstrap", { kubeconfig: "half a kubeco" });
    await eventually(() => expect(registration.pod.lines.join("\n")).toContain("of no use"));
    const { clusters, users, contexts } = await bootstrapKubeconfig(hub.client, hub.authority);
    // The same server under another name is another hub.
    const elsewhere = kubeconfigText({
      clusters: clusters.map((cluster) => ({ ...cluster, name: "another" })),
      users,
      contexts: contexts.map((context) => ({ ...context, cluster: "another" })),
      current: "hub",
    });
    await registration.pod.put("/spoke/bootstrap", { kubeconfig: elsewhere });
    await eventually(async () =>
      expect((await hub.client.list(CertificateSigningRequest)).items.length).toBeGreaterThan(before),
    );
    await registration.stop();
  });

  it("lets one of several work, and the next as soon as that ends", async () => {
    const mounts = { "/spoke/bootstrap": "bootstrap-hub-kubeconfig" };
    const one = await runPod(REGISTRATION, mounts, "--leader-elect");
    const isWorking = ({ pod }: typeof one) => pod.lines.some((line) => line.includes("asks to join the hub"));
    await stage.client.delete(Secret, `${AGENTS}/hub-kubeconfig-secret`);
    await eventually(() => expect(isWorking(one)).toBe(true));
    const other = await runPod(REGISTRATION, mounts, "--leader-elect");
    await eventually(() => expect(other.pod.readiness).toBe(1));
    expect(isWorking(other)).toBe(false);
    await one.stop();
    await eventually(() => expect(isWorking(other)).toBe(true));
    await other.stop();
    expect([one.exitCode(), other.exitCode()]).toEqual([0, 0]);
  });

  it("is both halves in one where the Klusterlet wishes that, and has a name of its own if it gives none", async () => {
    await stage.patch("klusterlet", { clusterName: null, deployOption: { mode: "Singleton" } });
    const key = `${AGENTS}/klusterlet-agent`;
    await eventually(() => stage.deployment(key));
    // The names of the agents before would be kept, and be its own.
    await stage.client.delete(Secret, `${AGENTS}/hub-kubeconfig-secret`);
    const agent = await runPod(key, { "/spoke/bootstrap": "bootstrap-hub-kubeconfig" });
    const name = await eventually(async () => {
      const { data = {} } = await stage.client.get(Secret, `${AGENTS}/hub-kubeconfig-secret`);
      const kept = Buffer.from(data["cluster-name"] ?? "", "base64").toString();
      expect(kept).toMatch(/^[0-9a-f-]{36}$/);
      return kept;
    });
    await accept(hub.client, name, patience());
    await eventually(async () => {
      const { status } = await hub.client.get(ManagedCluster, name);
      expect(findCondition(status?.conditions, "ManagedClusterConditionAvailable")?.status).toBe("True");
    });
    const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name: "wished-too" } };
    await hub.client.create(ManifestWork, {
      metadata: { namespace: name, name: "w" },
      spec: { workload: { manifests: [manifest] } },
    });
    await eventually(() => stage.client.get(ConfigMap, "default/wished-too"));
    await agent.stop();
    expect(agent.exitCode()).toBe(0);
  });

  it("joins a cluster that it does not run on, and keeps its identity where it runs", async () => {
    await stage.create("far", {
      clusterName: "far",
      namespace: "open-cluster-management-far",
      deployOption: { mode: "Hosted" },
    });
    await eventually(() =>
      stage.client.create(Secret, {
        metadata: { namespace: "far", name: "external-managed-kubeconfig" },
        stringData: { kubeconfig: kubeconfigText(far.kubeconfig) },
      }),
    );
    await stage.client.create(Secret, {
      metadata: { namespace: "far", name: "bootstrap-hub-kubeconfig" },
      stringData: { kubeconfig: await bootstrap() },
    });
    await stage.until("far", "Applied", { status: "True" });
    const registered = await runPod("far/far-registration-agent", {
      "/spoke/bootstrap": "bootstrap-hub-kubeconfig",
      "/spoke/config": "external-managed-kubeconfig-registration",
    });
    await accept(hub.client, "far", patience());
    await untilWorking(hub.client, "far", new Date(), patience());
    await stage.client.get(Secret, "far/hub-kubeconfig-secret");
    await stage.until("far", "HubConnectionDegraded", { status: "False" });

    const work = await runPod("far/far-work-agent", {
      "/spoke/hub-kubeconfig": "hub-kubeconfig-secret",
      "/spoke/config": "external-managed-kubeconfig-work",
    });
    const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name: "far-away" } };
    await hub.client.create(ManifestWork, {
      metadata: { namespace: "far", name: "w" },
      spec: { workload: { manifests: [manifest] } },
    });
    await eventually(() => far.client.get(ConfigMap, "default/far-away"));
    await isGone(stage.client.get(ConfigMap, "default/far-away"));
    await Promise.all([registered.stop(), work.stop()]);
  });
}
