/** What people do with two empty clusters, word by word: init, join, accept, work, unjoin, clean. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { CertificateSigningRequest } from "#api/certificates";
import { ManagedCluster } from "#api/cluster";
import { Namespace, Node, Pod } from "#api/core";
import { ClusterManager, Klusterlet } from "#api/operator";
import { ClusterRoleBinding } from "#api/rbac";
import { AppliedManifestWork, ManifestWork } from "#api/work";
import { type Client, connectionOf, createClient, isUnknownKind, kubeconfigText, mergeKubeconfigs } from "#kube";
import { findCondition, isTrue } from "#lib/conditions";
import { build, type Running, run, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { kubectlWith } from "../support/kubectl.ts";
import type { StartServer, TestServer } from "../support/servers.ts";
import { untilGone } from "./knative/stage.ts";

const AGENTS = "open-cluster-management-agent";
/** As the guide to registering a cluster has it. */
const WORK = `apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: mw-01
  namespace: cluster1
spec:
  workload:
    manifests:
      - apiVersion: v1
        kind: Pod
        metadata:
          name: hello
          namespace: default
        spec:
          containers:
            - name: hello
              image: busybox
              command: ["sh", "-c", 'echo "Hello, Kubernetes!" && sleep 3600']
          restartPolicy: OnFailure
`;
/** As the guide to reaching clusters with federated accounts has it. */
const RBAC = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: managed-sa-test
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: cluster-admin
subjects:
  - kind: ServiceAccount
    name: test
    namespace: open-cluster-management-managed-serviceaccount
`;
/** What every cluster has. */
const OF_KUBERNETES = ["default", "kube-node-lease", "kube-public", "kube-system"];

export function wholeWaySuite(startServer: StartServer): void {
  describe("from two empty clusters to a fleet, and back", () => {
    let hub: TestServer;
    let spoke: TestServer;
    let dir: string;
    let nodes: Running[];
    const capstan = (...words: string[]) => run(...words, "--kubeconfig", join(dir, "config"));
    const kubectl = kubectlWith(() => join(dir, "config"));

    beforeAll(async () => {
      build();
      [hub, spoke] = await Promise.all([startServer("hub"), startServer("cluster1")]);
      dir = await mkdtemp(join(tmpdir(), "capstan-way-"));
      const merged = mergeKubeconfigs([hub.kubeconfig, spoke.kubeconfig]);
      await writeFile(join(dir, "config"), kubeconfigText(merged), { mode: 0o600 });
      nodes = ["hub", "cluster1"].map((name) =>
        start("node", "--kubeconfig", join(dir, "config"), "--context", name, "--name", `${name}-node`),
      );
      for (const { client } of [hub, spoke]) {
        await eventually(async () => {
          const { items } = await client.list(Node);
          expect(items.map(({ status }) => isTrue(status?.conditions, "Ready"))).toEqual([true]);
        });
      }
    });
    afterAll(async () => {
      for (const node of nodes ?? []) {
        node.child.kill("SIGTERM");
        await node.ended;
      }
      await Promise.all([hub?.close(), spoke?.close()]);
      await rm(dir, { recursive: true, force: true });
    });

    const cluster = () => hub.client.get(ManagedCluster, "cluster1");
    let token: { "hub-token": string; "hub-apiserver": string };

    it("init makes a hub, and says how to join it", async () => {
      const ended = await capstan("init", "--context", "hub", "--wait", "-o", "json");
      expect(ended).toMatchObject({ code: 0 });
      token = JSON.parse(ended.stdout);
      expect(token["hub-apiserver"]).toBe(hub.url);
      const manager = await hub.client.get(ClusterManager, "cluster-manager");
      expect(findCondition(manager.status?.conditions, "Applied")).toMatchObject({ status: "True" });
      expect(findCondition(manager.status?.conditions, "HubRegistrationDegraded")).toMatchObject({ status: "False" });
    });

    it("join lets a cluster ask, and its request waits", async () => {
      const words = ["--hub-token", token["hub-token"], "--hub-apiserver", token["hub-apiserver"]];
      const ended = await capstan("join", ...words, "--wait", "--cluster-name", "cluster1", "--context", "cluster1");
      expect(ended).toMatchObject({ code: 0 });
      expect(`${ended.stdout}${ended.stderr}`).toContain("accept --clusters cluster1");
      expect(`${ended.stdout}${ended.stderr}`).not.toContain(token["hub-token"]);
      await eventually(async () => {
        const { items } = await hub.client.list(CertificateSigningRequest);
        const asked = items.filter(({ metadata }) => metadata.name.startsWith("cluster1-"));
        expect(asked).toHaveLength(1);
        expect(asked[0]?.spec.username).toBe(
          "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
        );
        expect(asked[0]?.status?.conditions ?? []).toEqual([]);
      });
      expect((await cluster()).spec?.hubAcceptsClient ?? false).toBe(false);
    });

    it("accept lets it in, and its agents work", async () => {
      expect(await capstan("accept", "--clusters", "cluster1", "--context", "hub")).toMatchObject({ code: 0 });
      await eventually(async () => {
        const { spec, status } = await cluster();
        expect(spec?.hubAcceptsClient).toBe(true);
        expect(isTrue(status?.conditions, "ManagedClusterJoined")).toBe(true);
        expect(isTrue(status?.conditions, "ManagedClusterConditionAvailable")).toBe(true);
      });
      await eventually(async () => {
        const { items } = await spoke.client.list(Pod, { namespace: AGENTS });
        const shown = items.map(({ metadata, status }) => [
          metadata.name.replace(/-[^-]+-[^-]+$/, ""),
          status?.phase,
          isTrue(status?.conditions, "Ready"),
        ]);
        expect(shown.sort()).toEqual([
          ["klusterlet-registration-agent", "Running", true],
          ["klusterlet-work-agent", "Running", true],
        ]);
      });
      expect(await logOf(spoke.client, AGENTS, "klusterlet-registration-agent")).toContain("asks to join the hub");
    });

    it("a ManifestWork that is applied on the hub is a Pod that runs on the spoke, and says so", async () => {
      await writeFile(join(dir, "manifest-work.yaml"), WORK);
      const apply = ["apply", "-f", join(dir, "manifest-work.yaml"), "--context", "hub"];
      if (kubectl) await kubectl(...apply);
      else expect(await capstan(...apply)).toMatchObject({ code: 0 });
      const { status } = await eventually(async () => {
        const work = await hub.client.get(ManifestWork, "cluster1/mw-01");
        expect(isTrue(work.status?.conditions, "Available")).toBe(true);
        expect((await spoke.client.get(Pod, "default/hello")).status?.phase).toBe("Running");
        return work;
      });
      expect(status?.conditions).toMatchObject([
        { type: "Applied", status: "True", reason: "AppliedManifestWorkComplete" },
        { type: "Available", status: "True", reason: "ResourcesAvailable" },
      ]);
      expect(status?.resourceStatus?.manifests).toMatchObject([
        {
          resourceMeta: {
            ordinal: 0,
            version: "v1",
            kind: "Pod",
            resource: "pods",
            name: "hello",
            namespace: "default",
          },
          conditions: [
            { type: "Applied", status: "True", reason: "AppliedManifestComplete" },
            { type: "Available", status: "True", reason: "ResourceAvailable" },
            { type: "StatusFeedbackSynced", status: "True", reason: "NoStatusFeedbackSynced" },
          ],
        },
      ]);
      if (kubectl) {
        await eventually(async () =>
          expect(await kubectl("-n", "default", "get", "pod", "--context", "cluster1")).toMatch(
            /hello +1\/1 +Running +0/,
          ),
        );
      }
      await hub.client.delete(ManifestWork, "cluster1/mw-01");
      await untilGone(() => spoke.client.get(Pod, "default/hello"));
      await eventually(async () => expect((await spoke.client.list(AppliedManifestWork)).items).toEqual([]));
    });

    it("create work gives rights to a spoke, whose objects know where they come from, and delete work takes them back", async () => {
      const file = join(dir, "clusterrolebinding-managed-sa-test.yaml");
      await writeFile(file, RBAC);
      const onHub = ["--clusters", "cluster1", "--context", "hub"];
      const name = "managed-sa-test-rbac";
      const plan = await capstan("create", "work", name, "-f", file, ...onHub, "--plan");
      expect(plan.stdout).toMatch(/cluster1 +create +ClusterRoleBinding +managed-sa-test/);
      expect(plan.stderr, "the spoke itself was asked").not.toContain("was not looked at");
      expect(await capstan("create", "work", name, "-f", file, ...onHub)).toMatchObject({ code: 0 });
      const wait = ["wait", "--for=condition=Applied", `manifestwork/${name}`, "-n", "cluster1", "--timeout=60s"];
      await kubectl?.(...wait, "--context", "hub");
      await eventually(async () => {
        const { roleRef, subjects } = await spoke.client.get(ClusterRoleBinding, "managed-sa-test");
        expect([roleRef.name, subjects?.[0]?.name]).toEqual(["cluster-admin", "test"]);
      });
      const who = await capstan("who", "clusterrolebinding/managed-sa-test", "--context", "cluster1");
      expect(who.stdout).toContain(`was placed by ManifestWork cluster1/${name} on the hub ${hub.url}`);
      await eventually(async () => {
        const why = await capstan("why", "work", name, "-c", "cluster1", "--context", "hub");
        expect(why.stdout).toContain("Its one manifest is in place.");
      });
      expect(await capstan("delete", "work", name, ...onHub)).toMatchObject({ code: 0 });
      await untilGone(() => spoke.client.get(ClusterRoleBinding, "managed-sa-test"));
    });

    it("doctor finds nothing broken on either side", async () => {
      for (const context of ["hub", "cluster1"]) {
        expect(await capstan("doctor", "--context", context)).toMatchObject({ code: 0 });
      }
    });

    it("unjoin leaves three definitions on the spoke, and no Klusterlet", async () => {
      expect(await capstan("unjoin", "--cluster-name", "cluster1", "--context", "cluster1")).toMatchObject({ code: 0 });
      expect(await isUnknown(spoke, Klusterlet)).toBe(true);
      expect(await definitionsOn(spoke)).toEqual([
        "appliedmanifestworks.work.open-cluster-management.io",
        "clusterclaims.cluster.open-cluster-management.io",
        "clusterproperties.about.k8s.io",
      ]);
      await eventually(async () => expect(await namespacesOn(spoke)).toEqual(OF_KUBERNETES));
    });

    it("clean leaves the inventory's definitions on the hub, and no ClusterManager", async () => {
      await hub.client.delete(ManagedCluster, "cluster1");
      await untilGone(cluster);
      expect(await capstan("clean", "--context", "hub")).toMatchObject({ code: 0 });
      expect(await isUnknown(hub, ClusterManager)).toBe(true);
      expect(await definitionsOn(hub)).toEqual([
        "clusterprofiles.multicluster.x-k8s.io",
        "placementdecisions.multicluster.x-k8s.io",
      ]);
      await eventually(async () => expect(await namespacesOn(hub)).toEqual(OF_KUBERNETES));
    });
  });
}

/** As a client sees it that has not asked before. */
async function isUnknown(server: TestServer, kind: typeof Klusterlet | typeof ClusterManager): Promise<boolean> {
  const client = createClient({ connection: await connectionOf(server.kubeconfig) });
  try {
    await client.list(kind as typeof Klusterlet);
    return false;
  } catch (error) {
    return isUnknownKind(error);
  } finally {
    client.close();
  }
}

async function definitionsOn({ client }: TestServer): Promise<string[]> {
  return (await client.list(CustomResourceDefinition)).items.map(({ metadata }) => metadata.name).sort();
}

async function namespacesOn({ client }: TestServer): Promise<string[]> {
  return (await client.list(Namespace)).items.map(({ metadata }) => metadata.name).sort();
}

async function logOf(client: Client, namespace: string, deployment: string): Promise<string> {
  const { items } = await client.list(Pod, { namespace });
  const pod = items.find(({ metadata }) => metadata.name.startsWith(deployment));
  return client.raw(`/api/v1/namespaces/${namespace}/pods/${pod?.metadata.name}/log`);
}
