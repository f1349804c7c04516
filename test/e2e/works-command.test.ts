/** The words for works: what they do, what they say, and how they end. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import { ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { ClusterRoleBinding } from "#api/rbac";
import { AppliedManifestWork } from "#api/work";
import { tokenAccessProvider } from "#features/inventory";
import { type Client, mergeKubeconfigs, writeKubeconfig } from "#kube";
import { CLUSTER, conditionOf, WorkStage } from "../suites/work/stage.ts";
import { accountToken } from "../support/account-token.ts";
import { build, run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded } from "../support/servers.ts";

let stage: WorkStage;
let folder: string;
let namespace: string;
const files = { hub: "", spoke: "", both: "", offered: "" };

beforeAll(async () => {
  build();
  stage = await WorkStage.open(startEmbedded);
  folder = await mkdtemp(join(tmpdir(), "capstan-works-"));
  namespace = await stage.namespace();
  for (const [name, server] of [
    ["hub", stage.hub],
    ["spoke", stage.spoke],
  ] as const) {
    files[name] = join(folder, `${name}.kubeconfig`);
    await writeKubeconfig(files[name], server.kubeconfig);
  }
  files.both = join(folder, "both.kubeconfig");
  await writeKubeconfig(files.both, mergeKubeconfigs([stage.hub.kubeconfig, stage.spoke.kubeconfig]));
  files.offered = join(folder, "offered.kubeconfig");
  await writeKubeconfig(files.offered, stage.hub.kubeconfig);
  const managedClusterClientConfigs = [{ url: stage.spoke.url }];
  await stage.hub.client.patch(ManagedCluster, CLUSTER, { spec: { managedClusterClientConfigs } }, { type: "merge" });
  const now = new Date().toISOString().replace(/\.\d+Z/, "Z");
  const conditions = ["ManagedClusterJoined", "ManagedClusterConditionAvailable"].map((type) => {
    return { type, status: "True", reason: "R", message: "", lastTransitionTime: now };
  });
  await stage.hub.client.patch(ManagedCluster, CLUSTER, { status: { conditions } }, { subresource: "status" });
  // As an agent leaves it: who the cluster is, and where its hub is.
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const agents = "open-cluster-management-agent";
  await stage.spoke.client.create(Namespace, { metadata: { name: agents } });
  const kubeconfig = JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "hub", cluster: { server: stage.hub.url } }],
    contexts: [{ name: "hub", context: { cluster: "hub", user: "agent" } }],
    users: [{ name: "agent", user: {} }],
    "current-context": "hub",
  });
  await stage.spoke.client.create(Secret, {
    metadata: { name: "hub-kubeconfig-secret", namespace: agents },
    data: { "cluster-name": base64(CLUSTER), kubeconfig: base64(kubeconfig) },
  });
}, 180_000);

afterAll(async () => {
  await stage?.close();
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** As clusters do that grant access: a token in a Secret on the hub, and a profile that names it. */
async function offerAccess(server = stage.spoke.url): Promise<void> {
  const { hub, spoke } = stage;
  const name = "reader";
  if (!(await isDefined(hub.client))) {
    await hub.client.create(CustomResourceDefinition, clusterProfileCrd);
    await spoke.client.create(ServiceAccount, { metadata: { name, namespace: "default" } });
    await spoke.client.create(ClusterRoleBinding, {
      metadata: { name },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
    });
    const token = Buffer.from(await accountToken(spoke, `default/${name}`)).toString("base64");
    await hub.client.create(Secret, { metadata: { name, namespace: CLUSTER }, data: { token } });
  }
  const provider = tokenAccessProvider({
    server,
    authority: spoke.authority,
    secretNamespace: CLUSTER,
    secretName: name,
    key: "token",
  });
  await eventually(() =>
    hub.client.create(ClusterProfile, {
      metadata: { name: CLUSTER, namespace: "default" },
      spec: { clusterManager: { name: "open-cluster-management" } },
    }),
  );
  const status = { accessProviders: [provider] };
  await hub.client.patch(ClusterProfile, `default/${CLUSTER}`, { status }, { subresource: "status" });
}

async function isDefined(client: Client): Promise<boolean> {
  const { items } = await client.list(CustomResourceDefinition);
  return items.some(({ metadata }) => metadata.name === clusterProfileCrd.metadata.name);
}

let count = 0;
const fresh = () => `work-${++count}`;
async function manifests(...objects: object[]): Promise<string> {
  const file = join(folder, `${++count}.json`);
  await writeFile(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  return file;
}
const map = (name: string, data: Record<string, string> = { k: "v" }) => {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
};
const secret = (name: string, value: string) => {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: { password: value } };
};
const onHub = (...words: string[]) => run(...words, "--kubeconfig", files.hub);
const onSpoke = (...words: string[]) => run(...words, "--kubeconfig", files.spoke);
const create = async (name: string, file: string, ...more: string[]) =>
  onHub("create", "work", name, "-f", file, "--clusters", CLUSTER, ...more);

describe("create work", () => {
  it("gives manifests to a cluster, which applies them", async () => {
    const name = fresh();
    const made = await create(name, await manifests(map("given")));
    expect([made.code, made.stdout], made.stderr).toEqual([0, ""]);
    expect(made.stderr).toContain(`Work ${name} is given to cluster ${CLUSTER}`);
    await stage.untilReported(name, { applied: "True" });
    expect(await stage.dataOf(`${namespace}/given`)).toEqual({ k: "v" });
    const again = await create(name, await manifests(map("given")));
    expect(again.stderr).toContain(`is already with cluster ${CLUSTER}`);
  });

  it("replaces what a work says only with --overwrite", async () => {
    const name = fresh();
    await create(name, await manifests(map("replaced")));
    const other = await manifests(map("replaced", { k: "other" }));
    const refused = await create(name, other);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain("--overwrite replaces what it says");
    const replaced = await create(name, other, "--overwrite");
    expect([replaced.code, replaced.stderr.includes("is changed for cluster")]).toEqual([0, true]);
    await eventually(async () => expect(await stage.dataOf(`${namespace}/replaced`)).toEqual({ k: "other" }));
  });

  it("shows with --plan what would change on which cluster, field by field, with Secrets masked, and changes nothing", async () => {
    const name = fresh();
    await create(
      name,
      await manifests(map("kept"), map("edited", { k: "old" }), map("leaving"), secret("s", "canary-1")),
    );
    await stage.untilReported(name, { applied: "True" });
    const wish = await manifests(map("kept"), map("edited", { k: "new" }), map("coming"), secret("s", "canary-2"));
    // By another context of the same kubeconfig, by what the inventory offers, and without any way to the cluster.
    for (const [file, isSeen] of [
      [files.both, true],
      [files.offered, true],
      [files.hub, false],
    ] as const) {
      const words = ["create", "work", name, "-f", wish, "--clusters", CLUSTER, "--plan", "--kubeconfig", file];
      if (file === files.offered) await offerAccess();
      const plan = await run(...words, "--context", "hub");
      expect(plan.code, plan.stderr).toBe(0);
      expect(plan.stdout).toMatch(new RegExp(`${CLUSTER} +leave +ConfigMap +${namespace}/kept`));
      expect(plan.stdout).toMatch(/\.data\.k: "old" → "new"/);
      expect(plan.stdout).toMatch(
        isSeen ? /\.data\.password: \(masked, changed\)/ : /\.stringData\.password: \(masked/,
      );
      expect(plan.stdout).toMatch(new RegExp(`create +ConfigMap +${namespace}/coming`));
      expect(plan.stdout).toMatch(new RegExp(`delete +ConfigMap +${namespace}/leaving`));
      expect(plan.stderr).toContain(
        "Plan for one cluster: 1 to create, 2 to change, 1 to delete, 1 left alone. Nothing was changed.",
      );
      const unseen = `${CLUSTER} was not looked at, only its works were compared: `;
      expect(plan.stderr.includes(unseen)).toBe(!isSeen);
      const asData = await run(...words, "--context", "hub", "-o", "json");
      expect(JSON.parse(asData.stdout).clusters[0]).toMatchObject({
        cluster: CLUSTER,
        compared: isSeen ? "objects" : "works",
      });
      expect(plan.stdout + plan.stderr + asData.stdout + asData.stderr).not.toContain("canary");
      if (file === files.offered) await stage.hub.client.delete(ClusterProfile, `default/${CLUSTER}`);
    }
    expect(await stage.dataOf(`${namespace}/edited`)).toEqual({ k: "old" });
    expect((await stage.get(name)).metadata.generation).toBe(1);
  });

  it.each<[why: string, words: () => Promise<string[]>, code: number, line: RegExp]>([
    [
      "no cluster is named",
      async () => ["create", "work", "w", "-f", await manifests(map("a"))],
      2,
      /required option '--clusters <names>' not specified/,
    ],
    [
      "there is no such cluster",
      async () => ["create", "work", "w", "-f", await manifests(map("a")), "--clusters", `${CLUSTER},nowhere`],
      1,
      /there is no ManagedCluster nowhere .*nothing was changed/,
    ],
    [
      "an object is there twice in other words",
      async () => [
        "create",
        "work",
        "w",
        "-f",
        await manifests(map("a"), map("a", { k: "other" })),
        "--clusters",
        CLUSTER,
      ],
      1,
      /is different from .*nothing was changed/,
    ],
    [
      "there is no such file",
      async () => ["create", "work", "w", "-f", "/nowhere.yaml", "--clusters", CLUSTER],
      1,
      /nowhere\.yaml.*nothing was changed/,
    ],
    [
      "the name is no name",
      async () => ["create", "work", "W!", "-f", "x", "--clusters", CLUSTER],
      2,
      /no name of a work/,
    ],
  ])("says in one line that %s", async (_, words, code, line) => {
    const ended = await onHub(...(await words()));
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
    expect(ended.stderr).toMatch(line);
    expect(ended.stderr).not.toContain("    at ");
  });
});

describe("get works", () => {
  it("shows the works of a cluster and how they fare", async () => {
    const name = fresh();
    await create(name, await manifests(map("shown"), map("shown-too")));
    await stage.untilReported(name, { applied: "True", available: "True" });
    const shown = await onHub("get", "works", "-c", CLUSTER);
    expect(shown.stdout).toMatch(new RegExp(`${name} +${CLUSTER} +2 +True +True`));
    const data = await onHub("get", "works", "-o", "json");
    expect(JSON.parse(data.stdout).items.map(({ kind }: { kind: string }) => kind)).toContain("ManifestWork");
  });

  it("says that there is no such cluster, and which may be meant", async () => {
    const ended = await onHub("get", "works", "-c", "clustr1");
    expect([ended.code, ended.stdout]).toEqual([1, ""]);
    expect(ended.stderr).toMatch(
      /there is no ManagedCluster clustr1 on .* \(there is cluster1; did you mean cluster1\?\)/,
    );
  });

  it("says that a cluster is no hub", async () => {
    const ended = await onSpoke("get", "works");
    expect([ended.code, ended.stdout]).toEqual([1, ""]);
    expect(ended.stderr).toMatch(/is no hub: it does not know ManifestWorks/);
  });
});

describe("delete work", () => {
  it("waits until the cluster has cleaned up", async () => {
    const name = fresh();
    await create(name, await manifests(map("deleted")));
    await stage.untilReported(name, { applied: "True" });
    const ended = await onHub("delete", "work", name, "--clusters", CLUSTER);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toContain(`Work ${name} is taken back from cluster ${CLUSTER}`);
    expect(await stage.exists(ConfigMap, `${namespace}/deleted`)).toBe(false);
  });

  it("says what it waits for and exits 3 when that takes too long; by force it waits for nobody", async () => {
    const name = fresh();
    await create(name, await manifests(map("stuck")));
    await stage.untilReported(name, { applied: "True" });
    const finalizers = ["example.com/wait"];
    await stage.spoke.client.patch(ConfigMap, `${namespace}/stuck`, { metadata: { finalizers } });
    const late = await onHub("delete", "work", name, "-c", CLUSTER, "--timeout", "3s");
    expect(late.code).toBe(3);
    expect(late.stderr).toContain(`ManifestWork ${CLUSTER}/${name} to go`);
    await eventually(async () => expect(conditionOf(await stage.get(name), "Deleting")?.message).toContain("stuck"));
    const why = await onHub("why", "work", name, "-c", CLUSTER);
    expect(why.stdout).toContain(`on the cluster configmaps ${namespace}/stuck must go first`);
    expect(why.stderr).toContain(`kubectl get configmaps stuck -n ${namespace} -o jsonpath={.metadata.finalizers}`);
    const asked = await run("why", "work", name, "-c", CLUSTER, "--kubeconfig", files.both, "--context", "hub");
    expect(asked.stderr).toContain(`finalizers hold configmaps ${namespace}/stuck by example.com/wait`);
    const forced = await onHub("delete", "work", name, "-c", CLUSTER, "--force");
    expect(forced.code, forced.stderr).toBe(0);
    await stage.untilGone(name);
    await stage.spoke.client.patch(ConfigMap, `${namespace}/stuck`, { metadata: { finalizers: null } });
  });

  it("says that there is no such work, and which there are", async () => {
    const ended = await onHub("delete", "work", "nothing", "--clusters", CLUSTER);
    expect(ended.code).toBe(1);
    expect(ended.stderr).toMatch(/there is no ManifestWork cluster1\/nothing on .* \(there is .+\)/);
  });
});

describe("delete work --plan", () => {
  it("shows what would go, by whichever way leads to the cluster, and takes nothing", async () => {
    const name = fresh();
    await create(name, await manifests(map("going")));
    await stage.untilReported(name, { applied: "True" });
    await offerAccess("https://127.0.0.1:1");
    const words = ["delete", "work", name, "-c", CLUSTER, "--plan", "--kubeconfig", files.both, "--context", "hub"];
    const plan = await run(...words);
    await stage.hub.client.delete(ClusterProfile, `default/${CLUSTER}`);
    expect(plan.code, plan.stderr).toBe(0);
    expect(plan.stderr).not.toContain("was not looked at");
    expect(plan.stdout).toMatch(new RegExp(`${CLUSTER} +delete +ConfigMap +${namespace}/going`));
    const forced = await run(...words, "--force");
    expect(forced.stdout).toMatch(/leave +ConfigMap .*by force nobody cleans up/);
    expect((await stage.get(name)).metadata.deletionTimestamp).toBeUndefined();
  });
});

describe("why work", () => {
  it("says which manifest waits for what", async () => {
    const name = fresh();
    await create(
      name,
      await manifests(map("fine"), { ...map("waits"), metadata: { name: "waits", namespace: "absent" } }),
    );
    await stage.untilReported(name, { applied: "False" });
    const ended = await onHub("why", "work", name, "-c", CLUSTER);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stdout).toContain(`Work ${name} of cluster ${CLUSTER}: 1 of its 2 manifests are not in place.`);
    expect(ended.stdout).toContain(`✓ ConfigMap ${namespace}/fine: in place`);
    expect(ended.stdout).toMatch(
      /✗ ConfigMap absent\/waits: its namespace does not exist\n +→ .*kubectl create namespace absent/,
    );
  });

  it("says of a work that the hub lost what its cluster holds, and what lets it go", async () => {
    const name = fresh();
    await create(name, await manifests(map("held")));
    await stage.untilReported(name, { applied: "True" });
    const { metadata } = await stage.applied(name);
    await stage.stopAgent();
    await stage.forget(name);
    const confirm = `kubectl annotate appliedmanifestwork ${metadata.name} work.capstan.dev/removal=confirmed`;
    const held = `Nothing is removed, because of a test. If it is to go nevertheless: ${confirm}`;
    const annotations = { "work.capstan.dev/removal-held": held };
    await stage.spoke.client.patch(AppliedManifestWork, metadata.name, { metadata: { annotations } });
    const words = ["why", "work", name, "-c", CLUSTER, "--context", "hub"];
    const seen = await run(...words, "--kubeconfig", files.both);
    expect(seen.stdout).toContain(
      `The hub has no such work, but ${CLUSTER} has what it brought. Nothing is removed, because of a test.`,
    );
    expect(seen.stderr).toContain(`${confirm} --context ${CLUSTER}`);
    const unseen = await run(...words, "--kubeconfig", files.hub);
    expect([unseen.code, unseen.stderr.includes(`there is no ManifestWork ${CLUSTER}/${name}`)]).toEqual([1, true]);
    await stage.startAgent();
  });
});

describe("who", () => {
  it("leads from an object on a spoke, and from what belongs to it, to the work that placed it", async () => {
    const name = fresh();
    await create(name, await manifests(map("placed")));
    await stage.untilReported(name, { applied: "True" });
    const { metadata } = await stage.spoke.client.get(ConfigMap, `${namespace}/placed`);
    await stage.spoke.client.create(ConfigMap, {
      metadata: {
        name: "child",
        namespace,
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "placed", uid: metadata.uid ?? "" }],
      },
    });
    const direct = await onSpoke("who", "configmap/placed", "-n", namespace);
    expect(direct.code, direct.stderr).toBe(0);
    expect(direct.stdout).toContain(
      `ConfigMap ${namespace}/placed was placed by ManifestWork ${CLUSTER}/${name} on the hub ${stage.hub.url};`,
    );
    const child = await onSpoke("who", "cm/child", "-n", namespace);
    expect(child.stdout).toContain(`ManifestWork ${CLUSTER}/${name}`);
    expect(child.stdout).toContain(`(by way of ConfigMap ${namespace}/placed)`);
  });

  it("says when nobody's work placed it, when it is not there, and when there is no such kind", async () => {
    const nobody = await onSpoke("who", "namespace/default");
    expect([nobody.code, nobody.stdout.trim()]).toEqual([0, "Namespace default was not placed by a work."]);
    const absent = await onSpoke("who", "configmaps/absent", "-n", namespace);
    expect(absent.code).toBe(1);
    expect(absent.stderr).toContain(`there is no ConfigMap absent`);
    const unknown = await onSpoke("who", "gizmo/x");
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain("has no kind gizmo");
    const misspelt = await onSpoke("who", "configmp/x");
    expect(misspelt.stderr).toContain("has no kind configmp (did you mean configmap?)");
  });
});
