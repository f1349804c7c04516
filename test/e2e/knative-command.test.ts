/** Knative as people meet it: `up --with knative`, `get knative`, and `knative install`, `plan`, `remove` and `pull`. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Namespace } from "#api/core";
import { KnativeEventing, KnativeServing } from "#api/knative";
import { demonstrationSource } from "#features/knative/demonstration";
import { type Client, connectionOf, createClient, isNotFound, loadKubeconfig } from "#kube";
import { findCondition } from "#lib/conditions";
import { deploymentsIn } from "../suites/knative/stage.ts";
import { build, type Ended, run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { portOf } from "../support/running-fleet.ts";

const DEMONSTRATION = "Knative Serving 1.23.0 (a demonstration that looks like it; no release of Knative)";
let folder: string;
let dir: string;
let server: Server;
let mirror: string;
/** What is in place of one file of the official releases. */
let altered: string | undefined;

const up = (...flags: string[]): Promise<Ended> => run("up", "--dir", dir, "--detach", ...portOf(dir), ...flags);
const knative = (...words: string[]): Promise<Ended> => run("knative", ...words, "--dir", dir);

async function clientOf(cluster: string): Promise<Client> {
  const kubeconfig = await loadKubeconfig({ path: join(dir, `${cluster}.kubeconfig`) });
  return createClient({ connection: await connectionOf(kubeconfig) });
}

async function on<T>(cluster: string, ask: (client: Client) => Promise<T>): Promise<T> {
  const client = await clientOf(cluster);
  try {
    return await ask(client);
  } finally {
    client.close();
  }
}

/** The demonstration in the files of the official releases. */
async function officialText(url: string): Promise<string | undefined> {
  const source = demonstrationSource();
  const [serving, kourier] = await Promise.all([
    source.texts("knative-serving/1.23.0"),
    source.texts("ingress/1.23/kourier"),
  ]);
  const files: Record<string, string | undefined> = {
    "/knative/serving/releases/download/knative-v1.23.0/serving-crds.yaml": serving[0]?.text,
    "/knative/serving/releases/download/knative-v1.23.0/serving-core.yaml": serving[1]?.text,
    "/knative/serving/releases/download/knative-v1.23.0/serving-hpa.yaml": altered ?? "# nothing\n",
    "/knative/serving/releases/download/knative-v1.23.0/serving-post-install-jobs.yaml": serving[2]?.text,
    "/knative-extensions/net-kourier/releases/download/knative-v1.23.0/kourier.yaml": kourier[0]?.text,
  };
  return files[url];
}

beforeAll(async () => {
  build();
  folder = await mkdtemp(join(tmpdir(), "capstan-knative-"));
  dir = join(folder, "fleet");
  server = createServer(async (request, response) => {
    const text = await officialText(request.url ?? "");
    if (text === undefined) response.writeHead(404).end();
    else response.end(text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  mirror = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 120_000);
afterAll(async () => {
  await run("down", "--dir", dir);
  server?.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(folder, { recursive: true, force: true });
}, 120_000);

describe("capstan up --with knative", { timeout: 300_000 }, () => {
  it("puts the demonstration on cluster1, says so plainly, and leaves it alone the next time", async () => {
    const first = await up("--with", "knative");
    expect(first).toMatchObject({ code: 0 });
    expect(first.stderr).toContain(`✓ ${DEMONSTRATION} is Ready on cluster1\n`);
    expect(first.stdout).toContain(`capstan get knative --dir ${dir}`);
    const serving = () => on("hub", (hub) => hub.get(KnativeServing, "knative-serving/cluster1"));
    const before = await serving();
    expect(before.spec).toMatchObject({
      clusterProfileRef: { namespace: "fleet-system", name: "cluster1" },
      ingress: { kourier: { enabled: true } },
    });

    expect((await run("down", "--dir", dir)).code).toBe(0);
    const second = await up("--with", "knative");
    expect(second.stderr).toContain(`✓ ${DEMONSTRATION} is Ready on cluster1\n`);
    const after = await serving();
    expect([after.metadata.uid, after.metadata.generation]).toEqual([before.metadata.uid, before.metadata.generation]);
  });

  it("shows it at a glance, and as data", async () => {
    const { code, stdout, stderr } = await run("get", "knative", "--dir", dir);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n").map((line) => line.split(/ {3,}/))).toEqual([
      ["NAMESPACE/NAME", "KIND", "CLUSTER", "VERSION", "READY", "REASON"],
      ["knative-serving/cluster1", "KnativeServing", "fleet-system/cluster1", "1.23.0", "True"],
      [""],
    ]);
    const { items } = JSON.parse((await run("get", "knative", "--dir", dir, "-o", "json")).stdout);
    expect(items).toMatchObject([{ kind: "KnativeServing", metadata: { name: "cluster1" } }]);
    expect((await run("get", "knative", "--dir", dir, "-o", "yaml")).stdout).toMatch(/^apiVersion: v1\nkind: List/m);
    expect(await run("get", "knative", "--dir", dir, "-n", "elsewhere")).toMatchObject({ code: 0, stdout: "" });
  });
});

interface PlanValue {
  readonly cluster: string;
  readonly version: string;
  readonly summary: Record<string, number>;
  readonly objects: readonly {
    kind: string;
    name: string;
    namespace?: string;
    action: string;
    changes: { path: string }[];
  }[];
}

const planValue = ({ stdout }: Ended): PlanValue => JSON.parse(stdout);

describe("capstan knative", { timeout: 300_000 }, () => {
  it("plans what it then does, on the cluster that is meant, and nothing is left to do", async () => {
    const planned = await knative("plan", "--cluster", "cluster2", "--version", "1.22", "-o", "json");
    expect(planned.code).toBe(0);
    const plan = planValue(planned);
    expect(plan).toMatchObject({ cluster: "fleet-system/cluster2", version: "1.22.0" });
    expect(new Set(plan.objects.map(({ action }) => action))).toEqual(new Set(["created"]));
    expect(plan.objects[0]).toMatchObject({ kind: "Namespace", name: "knative-serving" });
    // A plan leaves no trace.
    const space = await on("cluster2", (client) => client.get(Namespace, "knative-serving").catch(isNotFound));
    expect(space).toBe(true);

    const flags = ["--cluster", "fleet-system/cluster2", "--version", "1.22", "--wait"];
    const installed = await knative("install", "serving", ...flags);
    expect(installed).toMatchObject({ code: 0, stdout: "KnativeServing knative-serving/cluster2 created\n" });
    expect(installed.stderr).toContain(
      "KnativeServing knative-serving/cluster2 is Ready on fleet-system/cluster2, version 1.22.0.",
    );
    const foretold = plan.objects.filter(({ kind }) => kind === "Deployment").map(({ name }) => name);
    expect(await on("cluster2", (client) => deploymentsIn(client, "knative-serving"))).toEqual(foretold.sort());
    const { summary, objects } = planValue(await knative("plan", "--cluster", "cluster2", "-o", "json"));
    expect(Object.keys(summary)).toEqual(["unchanged", "skipped"]);
    expect(objects.every(({ changes }) => changes.length === 0)).toBe(true);
  });

  it("plans an upgrade field by field, with what goes, and carries it out", async () => {
    const { code, stdout, stderr } = await knative("install", "--cluster", "cluster2", "--version", "1.23", "--plan");
    expect(code).toBe(0);
    expect(stdout).toMatch(/containers\[name=activator\]\.image: "\S+:1\.22\.0" → "\S+:1\.23\.0"/);
    expect(stdout).toMatch(/^remove\s+ConfigMap\s+knative-serving\/config-tracing/m);
    expect(stderr).toMatch(
      /^KnativeServing knative-serving\/cluster2, version 1\.23\.0, on fleet-system\/cluster2\. Plan/,
    );
    expect(stderr).toContain("Nothing was changed.");

    const changed = await knative("install", "--cluster", "cluster2", "--version", "1.23", "--wait");
    expect(changed).toMatchObject({ code: 0, stdout: "KnativeServing knative-serving/cluster2 changed\n" });
    expect(changed.stderr).toContain("version 1.23.0.");
    expect(await knative("install", "--cluster", "cluster2")).toMatchObject({
      code: 0,
      stdout: "KnativeServing knative-serving/cluster2 unchanged\n",
    });
    const far = await knative("plan", "--cluster", "cluster2", "--version", "1.20");
    expect(far).toMatchObject({ code: 1, stdout: "" });
    expect(far.stderr).toContain("across multiple MINOR versions");
    expect(far.stderr).toContain("go to 1.22.0 first");
  });

  it("removes it, and says when nothing is left", async () => {
    const removed = await knative("remove", "serving", "--cluster", "cluster2", "--wait");
    expect(removed).toMatchObject({ code: 0, stdout: "KnativeServing knative-serving/cluster2 removed\n" });
    await eventually(async () =>
      expect(await on("cluster2", (client) => deploymentsIn(client, "knative-serving"))).toEqual([]),
    );
    const again = await knative("remove", "--cluster", "cluster2");
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toBe(
      "capstan: there is no KnativeServing on fleet-system/cluster2; there is knative-serving/cluster1 on fleet-system/cluster1\n",
    );
  });

  it("installs on the hub itself where no cluster is named", async () => {
    const installed = await knative("install", "--wait", "-o", "json");
    expect(installed.code).toBe(0);
    expect(JSON.parse(installed.stdout)).toMatchObject({ metadata: { name: "knative-serving" } });
    expect(installed.stderr).toContain("is Ready on the hub itself");
    expect((await knative("remove", "--wait")).code).toBe(0);
  });

  it("ends with 3 when waiting runs out, and says what is in the way", async () => {
    const asked = await knative("install", "eventing", "--cluster", "cluster2");
    expect(asked.stderr).toBe(`See how it fares: capstan get knative --dir ${dir}\n`);
    await eventually(async () => {
      const { status } = await on("hub", (hub) => hub.get(KnativeEventing, "knative-eventing/cluster2"));
      expect(findCondition(status?.conditions, "Ready")?.status).toBe("False");
    });
    const late = await knative("install", "eventing", "--cluster", "cluster2", "--wait", "--timeout", "2s");
    expect(late.code).toBe(3);
    expect(late.stderr).toContain("capstan: KnativeEventing knative-eventing/cluster2 is not ready after 2s: ");
    expect(late.stderr).toContain("there are no releases of KnativeEventing in demonstration");
    expect((await knative("remove", "eventing", "--cluster", "cluster2", "--wait")).code).toBe(0);
  });

  it.each<[words: string[], code: number, problem: string]>([
    [["install", "servign"], 2, "It must be one of serving, eventing (did you mean serving?)"],
    [["instal"], 2, "unknown command 'instal' (did you mean install?)"],
    [["install", "--ingress", "kourer"], 2, "(did you mean kourier?)"],
    [["install", "eventing", "--ingress", "kourier"], 2, "Eventing has no ingress"],
    [["install", "--cluster", "a/b/c"], 2, "it has more than one slash"],
    [["install", "--cluster", "Cluster1"], 2, "--cluster"],
    [["install", "--cluster", "clutser1"], 1, "(did you mean fleet-system/cluster1?)"],
    [["plan", "--cluster", "nowhere/c9"], 1, "there is no ClusterProfile nowhere/c9 on the hub"],
    [
      ["install", "--cluster", "cluster1", "--name", "other"],
      1,
      "knative-serving/cluster1 is on fleet-system/cluster1 al",
    ],
    [["install", "--name", "cluster1"], 1, "is on fleet-system/cluster1, and stays there"],
    [["plan", "--cluster", "cluster1", "--ingress", "istio"], 1, "there is no ingress/1.23/istio in the releases"],
    [["remove", "eventing", "--cluster", "cluster1"], 1, "there is none at all"],
  ])("%j ends with %d and says in one line what is wrong", async (words, code, problem) => {
    const ended = await knative(...words);
    expect(ended.stderr).toContain(problem);
    expect(ended.stderr.trim().split("\n")).toHaveLength(1);
    expect([ended.code, ended.stdout]).toEqual([code, ""]);
  });

  it("needs to know how a hub that is no fleet's gets into its clusters, to plan there", async () => {
    const kubeconfig = join(dir, "hub.kubeconfig");
    const blind = await run("knative", "plan", "--kubeconfig", kubeconfig, "--cluster", "cluster1");
    expect(blind).toMatchObject({ code: 2, stderr: expect.stringContaining("--clusterprofile-provider-file") });
  });
});

describe("capstan knative pull", { timeout: 300_000 }, () => {
  const pull = (...flags: string[]): Promise<Ended> =>
    run(
      ...["knative", "pull", "1.23", "--kind", "serving", "--ingress", "kourier"],
      ...["--knative-cache", join(folder, "cache"), "--knative-mirror", mirror, ...flags],
    );
  const allowed = () => ["--manifest-allow-hosts", new URL(mirror).host];

  it("does not ask this machine unless it is allowed to", async () => {
    const { code, stderr } = await pull();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^capstan: cannot pull: http:\S+serving-\S+\.yaml: .*allow the host/);
  });

  it("fills a folder that a hub without a network can use", async () => {
    const pulled = await pull(...allowed());
    expect(pulled.code).toBe(0);
    expect(pulled.stdout).toMatch(/^knative-serving\/1\.23\.0\/1-serving-crds\.yaml\s+[0-9a-f]{12}\s+pulled$/m);
    expect(await readFile(join(folder, "cache/ingress/1.23/kourier/kourier.yaml"), "utf8")).toContain("kourier");
    const { files } = JSON.parse((await pull(...allowed(), "-o", "json")).stdout);
    expect(files.map(({ isNew }: { isNew: boolean }) => isNew)).toEqual([false, false, false, false, false]);

    const manifests = ["--knative-manifests", join(folder, "cache")];
    const plan = await knative("plan", "--cluster", "cluster2", ...manifests, "-o", "json");
    expect(plan.stderr).toContain("version 1.23.0, on fleet-system/cluster2");
    expect(planValue(plan).objects.map(({ name }) => name)).toContain("3scale-kourier-gateway");

    // Whoever names the hub by its kubeconfig gets in by the plugins of the provider file, as any other consumer does.
    const providers = ["--clusterprofile-provider-file", join(dir, "clusterprofile-provider-file.json")];
    const hub = ["--kubeconfig", join(dir, "hub.kubeconfig"), ...providers];
    const outside = await run("knative", "plan", "--cluster", "cluster2", ...hub, ...manifests, "-o", "json");
    expect(planValue(outside)).toEqual(planValue(plan));
  });

  it("does not take something else for the same release, unless that is meant", async () => {
    await pull(...allowed());
    const hpa = join(folder, "cache/knative-serving/1.23.0/3-serving-hpa.yaml");
    altered = "# something else\n";
    expect((await pull(...allowed())).code).toBe(0);
    expect(await readFile(hpa, "utf8")).toBe("# nothing\n");
    expect((await pull(...allowed(), "--refresh")).code).toBe(0);
    expect(await readFile(hpa, "utf8")).toBe("# something else\n");
  });

  it.each([
    ["1.99", "there is no known release 1.99 of KnativeServing"],
    ["9.9.9", "answers 404"],
  ])("says what is wrong with %s", async (version, problem) => {
    const flags = ["--knative-cache", join(folder, "cache"), "--knative-mirror", mirror, ...allowed()];
    const { code, stderr } = await run("knative", "pull", version, "--kind", "serving", ...flags);
    expect(stderr).toContain(problem);
    expect([code, stderr.trim().split("\n").length]).toEqual([1, 1]);
  });
});

it("prints the kinds for hubs that lack them", async () => {
  const { code, stdout } = await run("knative", "definitions");
  expect(code).toBe(0);
  expect(stdout.match(/^kind: CustomResourceDefinition$/gm)).toHaveLength(2);
});
