/** From two empty clusters to a joined fleet and back, with the commands that an administrator types. */
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace, Secret } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import { ClusterManager, Klusterlet } from "#api/operator";
import { ClusterRole, ClusterRoleBinding } from "#api/rbac";
import {
  type Client,
  connectionOf,
  createClient,
  isNotFound,
  isUnknownKind,
  loadKubeconfig,
  parseKubeconfig,
} from "#kube";
import { isTrue } from "#lib/conditions";
import { build, type Ended, type Running, run, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { portOf } from "../support/running-fleet.ts";

let dir: string;
let servers: Running;
let hub: Client;
let spoke: Client;
let url: string;

beforeAll(async () => {
  build();
  dir = await mkdtemp(join(tmpdir(), "capstan-administration-"));
  servers = start(
    "apiserver",
    "--clusters",
    "hub,cluster1,cluster2",
    "--data-dir",
    dir,
    "--durability",
    "os",
    ...portOf(dir),
  );
  await eventually(() => stat(join(dir, "ready.json")));
  [hub, spoke] = (await Promise.all(["hub", "cluster1"].map(clientOf))) as [Client, Client];
  url = hub.server;
}, 120_000);

afterAll(async () => {
  hub?.close();
  spoke?.close();
  servers?.child.kill("SIGTERM");
  await servers?.ended;
  await rm(dir, { recursive: true, force: true });
});

async function clientOf(name: string): Promise<Client> {
  const config = await loadKubeconfig({ path: join(dir, `${name}.kubeconfig`) });
  return createClient({ connection: await connectionOf(config) });
}

const on = (context: string, ...words: string[]): Promise<Ended> => run(...words, "--dir", dir, "--context", context);
const ended = async (command: Promise<Ended>): Promise<Ended> => {
  const end = await command;
  expect(end.code, end.stderr).toBe(0);
  return end;
};

async function isThere<T extends KubeObject>(client: Client, kind: Kind<T>, key: string): Promise<boolean> {
  try {
    await client.get(kind, key);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Objects of the whole cluster that were not there before anybody did anything. */
async function footprint(client: Client): Promise<string[]> {
  const kinds = [Namespace, CustomResourceDefinition, ClusterRole, ClusterRoleBinding] as readonly Kind<KubeObject>[];
  const lists = await Promise.all(kinds.map((kind) => client.list(kind)));
  return lists
    .flatMap(({ items }, index) => items.map(({ metadata }) => `${kinds[index]?.kind} ${metadata.name}`))
    .sort();
}

async function token(): Promise<string> {
  const { stdout } = await ended(on("hub", "get", "token", "-o", "json"));
  const said = JSON.parse(stdout);
  expect(Object.keys(said)).toEqual(["hub-token", "hub-apiserver"]);
  expect(said["hub-apiserver"]).toBe(url);
  return said["hub-token"];
}

describe("an administrator", { timeout: 120_000 }, () => {
  let before: { hub: string[]; spoke: string[] };
  let hubToken: string;

  it("is told what init would do, and nothing is done", async () => {
    before = { hub: await footprint(hub), spoke: await footprint(spoke) };
    const { stdout, stderr } = await ended(on("hub", "init", "--dry-run"));
    expect(stdout).toMatch(/^ACTION\s+KIND\s+NAME\s+NOTE\ncreate\s+CustomResourceDefinition\s+clustermanagers\./);
    expect(stdout).toMatch(/create\s+ClusterManager\s+cluster-manager\n/);
    expect(stderr).toMatch(/Dry run: \d+ to create. Nothing was changed.\n$/);
    expect(await footprint(hub)).toEqual(before.hub);
  });

  it("makes a cluster a hub, and gets the words by which others join", async () => {
    const file = join(dir, "join-command");
    const flags = ["--wait", "--output-join-command-file", file, "--knative-removal-patience", "2m"];
    const { stdout, stderr } = await ended(on("hub", "init", ...flags));
    const words = /^ {4}(capstan join --hub-token (\S+) --hub-apiserver (\S+) --wait --cluster-name <cluster_name>)\n$/;
    const [, command, , server] = words.exec(stdout) ?? [];
    expect(server).toBe(url);
    expect(await readFile(file, "utf8")).toBe(`${command}\n`);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(stderr).toContain("✓ the hub works");
    const { metadata, spec } = await hub.get(ClusterManager, "cluster-manager");
    expect(metadata.annotations).toEqual({
      "operator.capstan.dev/hub-arguments": '["--knative-removal-patience=2m"]',
    });
    expect(spec?.registrationConfiguration?.featureGates).toContainEqual({ feature: "ClusterProfile", mode: "Enable" });
  });

  it("changes nothing by saying it again, not even what others have said", async () => {
    const gates = [{ feature: "DefaultClusterSet", mode: "Enable" }];
    await hub.patch(ClusterManager, "cluster-manager", {
      spec: { registrationConfiguration: { featureGates: gates } },
    });
    const { stderr } = await ended(on("hub", "init"));
    expect(stderr).toMatch(/has what makes it a hub \(\d+ unchanged\)\n/);
    const { spec } = await hub.get(ClusterManager, "cluster-manager");
    expect(spec?.registrationConfiguration?.featureGates).toEqual(gates);
  });

  it("tells strangers how the hub is reached", async () => {
    const { data, immutable } = await hub.get(ConfigMap, "kube-public/cluster-info");
    expect(immutable).toBe(true);
    expect(data?.kubeconfig).toContain(`server: ${url}`);
  });

  it("is told what join would do, and nothing is done", async () => {
    hubToken = await token();
    const { stdout, stderr } = await ended(on("cluster1", ...joinWords(), "--dry-run"));
    expect(stdout).toMatch(/create\s+Secret\s+open-cluster-management-agent\/bootstrap-hub-kubeconfig\n/);
    expect(stdout + stderr).not.toContain(hubToken);
    expect(await footprint(spoke)).toEqual(before.spoke);
  });

  const joinWords = (name = "cluster1") => [
    "join",
    "--hub-token",
    hubToken,
    "--hub-apiserver",
    url,
    "--cluster-name",
    name,
  ];

  it("lets a cluster ask, with the hub's authority and its fingerprint", async () => {
    const { stdout, stderr } = await ended(
      on("cluster1", ...joinWords(), "--wait", "--grant-access=view", "--klusterlet-annotation", "zone=a"),
    );
    expect(stdout).toBe("");
    expect(stderr).toMatch(/trusted by the authority in its cluster-info, SHA-256 ([0-9A-F]{2}:){31}[0-9A-F]{2}\n/);
    expect(stderr).toContain("    capstan accept --clusters cluster1\n");
    expect(stderr).not.toContain(hubToken);
    const { metadata, spec } = await spoke.get(Klusterlet, "klusterlet");
    expect(metadata.annotations).toEqual({ "access.capstan.dev/cluster-role": "view" });
    expect(spec).toMatchObject({
      clusterName: "cluster1",
      deployOption: { mode: "Default" },
      externalServerURLs: [{ url: spoke.server }],
      registrationConfiguration: {
        clientCertExpirationSeconds: 31_536_000,
        clusterAnnotations: { "agent.open-cluster-management.io/zone": "a" },
      },
    });
    const { data } = await spoke.get(Secret, "open-cluster-management-agent/bootstrap-hub-kubeconfig");
    const config = parseKubeconfig(Buffer.from(data?.kubeconfig ?? "", "base64").toString("utf8"), "bootstrap");
    expect(config).toMatchObject({
      clusters: [{ name: "hub", server: url }],
      users: [{ name: "bootstrap", token: hubToken }],
      contexts: [{ name: "bootstrap", cluster: "hub", user: "bootstrap" }],
    });
  });

  it("finds a request that waits, which is no reason to call anything broken", async () => {
    const requests = await eventually(async () => {
      const { items } = await hub.list(CertificateSigningRequest);
      expect(items).toHaveLength(1);
      return items;
    });
    expect(requests[0]?.status?.conditions).toBeUndefined();
    const { stdout } = await ended(on("hub", "doctor"));
    expect(stdout).toContain(
      "! ManagedCluster cluster1: it waits to be let in\n    → capstan accept --clusters cluster1",
    );
    const { findings, isSpoke } = JSON.parse((await ended(on("cluster1", "doctor", "-o", "json"))).stdout);
    expect(isSpoke).toBe(true);
    expect(findings).toContainEqual(
      expect.objectContaining({ level: "warning", message: "it has not let cluster1 in yet" }),
    );
  });

  it("refuses to be somebody else", async () => {
    const { code, stderr } = await on("cluster1", ...joinWords("cluster9"));
    expect(code).toBe(1);
    expect(stderr).toContain("has joined as cluster1 already; take it out first with `capstan unjoin");
  });

  it("lets it in, and it comes", async () => {
    const dry = await ended(on("hub", "accept", "--clusters", "cluster1", "--dry-run"));
    expect(dry.stderr).toBe("Dry run: 2 to change. Nothing was changed.\n");
    expect((await hub.get(ManagedCluster, "cluster1")).spec?.hubAcceptsClient ?? false).toBe(false);
    const { stderr } = await ended(on("hub", "accept", "--clusters", "cluster1"));
    expect(stderr).toContain("ManagedCluster cluster1: hubAcceptsClient is true now");
    await eventually(async () => {
      const { status } = await hub.get(ManagedCluster, "cluster1");
      expect(isTrue(status?.conditions, ClusterCondition.Joined)).toBe(true);
      expect(isTrue(status?.conditions, ClusterCondition.Available)).toBe(true);
    });
    await ended(on("hub", "accept", "--clusters", "cluster1", "--wait"));
    for (const context of ["hub", "cluster1"]) {
      await eventually(async () => {
        const { stderr } = await ended(on(context, "doctor"));
        expect(stderr).toMatch(/: nothing is broken.\n$/);
      });
    }
  });

  it("restores the identity of a cluster that lost it, as the same agent", async () => {
    const hubSecret = "open-cluster-management-agent/hub-kubeconfig-secret";
    const bootstrapSecret = "open-cluster-management-agent/bootstrap-hub-kubeconfig";
    const stored = async (secret: string, key: string) =>
      Buffer.from((await spoke.get(Secret, secret)).data?.[key] ?? "", "base64").toString("utf8");
    const agent = await stored(hubSecret, "agent-name");
    // Another name for the hub makes the agent ask anew, and the token is worth nothing.
    const lost = (await stored(bootstrapSecret, "kubeconfig"))
      .replaceAll("name: hub", "name: renewed")
      .replaceAll("cluster: hub", "cluster: renewed")
      .replace(hubToken, "a-token-that-has-ended");
    await hub.patch(ManagedCluster, "cluster1", { spec: { leaseDurationSeconds: 1 } });
    await spoke.patch(Secret, bootstrapSecret, { data: { kubeconfig: Buffer.from(lost).toString("base64") } });
    await eventually(async () => {
      const { status } = await hub.get(ManagedCluster, "cluster1");
      expect(isTrue(status?.conditions, ClusterCondition.Available)).toBe(false);
    });

    const dry = await ended(on("cluster1", "rejoin", "--hub-context", "hub", "--dry-run"));
    expect(dry.stdout).toMatch(/change\s+Secret\s+open-cluster-management-agent\/bootstrap-hub-kubeconfig/);
    expect(dry.stdout).toContain(`of agent ${agent}, approved when it asks with the new token`);
    expect(await stored(bootstrapSecret, "kubeconfig")).toBe(lost);

    const { stdout, stderr } = await ended(
      on("cluster1", "rejoin", "--cluster-name", "cluster1", "--hub-context", "hub"),
    );
    expect(stderr).toContain("✓ cluster1 is back and available");
    expect(stderr).toMatch(/CertificateSigningRequest cluster1-\w+: approved/);
    const [, token = ""] = /token: (\S+)/.exec(await stored(bootstrapSecret, "kubeconfig")) ?? [];
    expect(token).not.toBe("");
    expect(stdout + stderr + dry.stdout + dry.stderr).not.toContain(token);
    expect(await stored(hubSecret, "agent-name")).toBe(agent);
    expect(await stored(hubSecret, "kubeconfig")).toContain("name: renewed");
    await hub.patch(ManagedCluster, "cluster1", { spec: { leaseDurationSeconds: 60 } });
  });

  it("is told what cannot be restored, and nothing is changed", async () => {
    const other = await on("cluster1", "rejoin", "--cluster-name", "cluster7", "--hub-context", "hub");
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(other.stderr).toContain("has not joined as cluster7, but as cluster1; correct --cluster-name or --context");
    const nowhere = await on("cluster1", "rejoin", "--hub-context", "cluster2");
    expect(nowhere).toMatchObject({ code: 1, stdout: "" });
    expect(nowhere.stderr).toMatch(/has no ManagedCluster cluster1|is no hub/);
  });

  it("sees what is installed", async () => {
    const info = await ended(on("hub", "get", "hub-info"));
    expect(info.stdout).toMatch(/Operator: {2}open-cluster-management\/cluster-manager {2}1\/1 ready {2}capstan:/);
    expect(info.stdout).toContain("Deployment open-cluster-management-hub/cluster-manager-registration-controller");
    const spokeInfo = JSON.parse((await ended(on("cluster1", "get", "klusterlet-info", "-o", "json"))).stdout);
    expect(spokeInfo.objects[0]).toMatchObject({ kind: "Klusterlet", clusterName: "cluster1", mode: "Default" });
    const versions = JSON.parse((await ended(on("hub", "version", "-o", "json"))).stdout);
    expect(versions).toMatchObject({
      clientVersion: expect.any(String),
      serverVersion: expect.stringMatching(/^v1\./),
    });
  });

  it("groups clusters, and lends the group", async () => {
    const say = async (...words: string[]) => (await ended(on("hub", ...words))).stderr;
    expect(await say("create", "clusterset", "blue")).toBe("✓ Clusterset blue is created\n");
    expect(await say("create", "clusterset", "blue")).toBe("✓ Clusterset blue is already created\n");
    expect(await say("clusterset", "set", "blue", "--clusters", "cluster1")).toBe(
      "✓ Cluster cluster1 is set, from ClusterSet default to Clusterset blue\n",
    );
    expect(await say("clusterset", "bind", "blue")).toBe("✓ Clusterset blue is bound to Namespace default\n");
    await eventually(async () => {
      const { stdout } = await ended(on("hub", "get", "clustersets"));
      expect(stdout).toMatch(/\nblue\s+default\s+1 ManagedClusters selected/);
    });
    const used = await on("hub", "delete", "clusterset", "blue");
    expect(used).toMatchObject({ code: 1, stdout: "" });
    expect(used.stderr).toContain("capstan clusterset unbind blue --namespace default");
    expect(await say("clusterset", "unbind", "blue")).toBe("✓ Clusterset blue is unbound from Namespace default\n");
    await say("clusterset", "set", "default", "--clusters", "cluster1");
    expect(await say("delete", "clusterset", "blue")).toBe("✓ Clusterset blue is deleted\n");
  });

  it("hosts the agents of another cluster, and lets them go again", async () => {
    const hosted = ["--mode", "hosted", "--managed-cluster-kubeconfig", join(dir, "cluster2.kubeconfig")];
    await ended(on("hub", ...joinWords("cluster2"), ...hosted, "--wait"));
    await ended(on("hub", "accept", "--clusters", "cluster2", "--wait"));
    await eventually(async () => {
      const { status } = await hub.get(ManagedCluster, "cluster2");
      expect(isTrue(status?.conditions, ClusterCondition.Available)).toBe(true);
    });
    expect((await ended(on("cluster2", "doctor"))).stdout).toContain("whose agents run on another cluster");
    await ended(on("hub", "unjoin", "--cluster-name", "cluster2", "--timeout", "60"));
    const namespaces = (await hub.list(Namespace)).items.map(({ metadata }) => metadata.name);
    expect(namespaces.filter((name) => name.startsWith("klusterlet-"))).toEqual([]);
    expect(namespaces).toContain("open-cluster-management");
  });

  it("does not take the hub from under a cluster that works", async () => {
    const { code, stderr } = await on("hub", "clean");
    expect(code).toBe(1);
    expect(stderr).toContain("cluster1 is still joined to");
    expect(await isThere(hub, ClusterManager, "cluster-manager")).toBe(true);
  });

  it("takes a cluster out, and nothing is left but what must be", async () => {
    const dry = await ended(on("cluster1", "unjoin", "--cluster-name", "cluster1", "--dry-run"));
    expect(dry.stdout).toMatch(/delete\s+Klusterlet\s+klusterlet\n/);
    expect(await isThere(spoke, Klusterlet, "klusterlet")).toBe(true);
    await ended(on("cluster1", "unjoin", "--cluster-name", "cluster1"));
    const error = await spoke.list(Klusterlet).catch((failure: unknown) => failure);
    expect(isUnknownKind(error)).toBe(true);
    const left = (await footprint(spoke)).filter((name) => !before.spoke.includes(name));
    expect(left).toEqual([
      "CustomResourceDefinition appliedmanifestworks.work.open-cluster-management.io",
      "CustomResourceDefinition clusterclaims.cluster.open-cluster-management.io",
      "CustomResourceDefinition clusterproperties.about.k8s.io",
    ]);
    const { status } = await hub.get(ManagedCluster, "cluster1");
    expect(isTrue(status?.conditions, ClusterCondition.Available)).toBe(false);
  });

  it("takes the hub away, and nothing is left but what must be", async () => {
    await ended(on("hub", "clean"));
    const error = await hub.list(ClusterManager).catch((failure: unknown) => failure);
    expect(isUnknownKind(error)).toBe(true);
    const left = (await footprint(hub)).filter((name) => !before.hub.includes(name));
    expect(left).toEqual([
      "CustomResourceDefinition clusterprofiles.multicluster.x-k8s.io",
      "CustomResourceDefinition placementdecisions.multicluster.x-k8s.io",
    ]);
    expect(await isThere(hub, ConfigMap, "kube-public/cluster-info")).toBe(false);
    expect((await hub.list(CertificateSigningRequest)).items).toEqual([]);
  });
});
