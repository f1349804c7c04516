/** `capstan agent` as people run it: against any two API servers, with nothing on the spoke that runs Pods. */
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Secret } from "#api/core";
import { AppliedManifestWork, appliedManifestWorkCrd, ManifestWork, manifestWorkCrd } from "#api/work";
import { accept, runHub, untilWorking } from "#app";
import { isNotFound, writeKubeconfig } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { auditedSoFar } from "../support/audit.ts";
import { build, type Running, run, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { bootstrapKubeconfig, prepareHub, prepareSpoke } from "../support/prepared.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";

const AGENTS = "open-cluster-management-agent";

let dir: string;
let hub: TestServer;
let spoke: TestServer;
let spokeFile: string;
let bootstrapFile: string;
const stopHub = new AbortController();
let hubEnded: Promise<void> = Promise.resolve();
const running: Running[] = [];

beforeAll(async () => {
  build();
  dir = await mkdtemp(join(tmpdir(), "capstan-agent-"));
  [hub, spoke] = await Promise.all([startEmbedded("hub"), startEmbedded("spoke")]);
  await prepareHub(hub.client);
  await prepareSpoke(spoke.client, AGENTS);
  for (const [server, definition] of [
    [hub, manifestWorkCrd],
    [spoke, appliedManifestWorkCrd],
  ] as const) {
    await server.client.create(CustomResourceDefinition, definition).catch(() => {}); // it may be there already
  }
  spokeFile = join(dir, "spoke.kubeconfig");
  bootstrapFile = join(dir, "bootstrap.kubeconfig");
  await writeKubeconfig(spokeFile, spoke.kubeconfig);
  await writeKubeconfig(bootstrapFile, await bootstrapKubeconfig(hub.client, hub.authority));
  hubEnded = runHub({ client: hub.client, clock: systemClock, log: silentLog, signal: stopHub.signal });
}, 120_000);
afterAll(async () => {
  for (const { child, ended } of running) {
    child.kill("SIGKILL");
    await ended;
  }
  stopHub.abort();
  await hubEnded;
  await Promise.all([hub?.close(), spoke?.close()]);
  await rm(dir, { recursive: true, force: true });
}, 60_000);

function agent(...args: string[]): Running {
  const command = start("agent", ...args);
  running.push(command);
  return command;
}

async function stopped(command: Running): Promise<void> {
  command.child.kill("SIGTERM");
  expect((await command.ended).code).toBe(0);
}

const patience = () => AbortSignal.timeout(60_000);
const isGone = (look: Promise<unknown>) => expect(look).rejects.toSatisfy(isNotFound);
const wish = (name: string) =>
  hub.client.create(ManifestWork, {
    metadata: { namespace: "c1", name },
    spec: {
      workload: { manifests: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name } }] },
    },
  });

describe("both halves in one program", () => {
  it("join the hub, say how they are, and do what the hub wishes", async () => {
    const command = agent(
      ...["--spoke-kubeconfig", spokeFile, "--bootstrap-kubeconfig", bootstrapFile, "--cluster-name", "c1"],
      ...["--metrics-address", "127.0.0.1:0"],
    );
    const url = await eventually(
      () => /health and metrics at (\S+)/.exec(command.said())?.[1] ?? Promise.reject(new Error(command.said())),
    );
    await eventually(async () => expect((await fetch(`${url}/readyz`)).status).toBe(200));
    expect(await (await fetch(`${url}/metrics`)).text()).toContain("rest_client_requests_total");

    const before = new Date();
    await accept(hub.client, "c1", patience());
    await untilWorking(hub.client, "c1", before, patience());
    const { spec } = await hub.client.get(ManagedCluster, "c1");
    expect(spec?.managedClusterClientConfigs?.map((config) => config.url)).toEqual([spoke.url]);
    await spoke.client.get(Secret, `${AGENTS}/hub-kubeconfig-secret`);
    await wish("w1");
    await eventually(() => spoke.client.get(ConfigMap, "default/w1"));
    await hub.client.delete(ManifestWork, "c1/w1");
    await eventually(() => isGone(hub.client.get(ManifestWork, "c1/w1")));
    expect(command.said()).not.toContain((await readFile(bootstrapFile, "utf8")).match(/token: (\S+)/)?.[1] ?? "none");
    await stopped(command);
  });
});

describe("an agent whose cluster is deleted on the hub", () => {
  it("says of everything that is refused to it so once, and lives on", async () => {
    const command = agent(
      ...["--spoke-kubeconfig", spokeFile, "--bootstrap-kubeconfig", bootstrapFile, "--cluster-name", "deleted"],
      ...["--namespace", "agent-of-deleted"],
    );
    const before = new Date();
    await accept(hub.client, "deleted", patience());
    await hub.client.patch(ManagedCluster, "deleted", { spec: { leaseDurationSeconds: 1 } });
    await untilWorking(hub.client, "deleted", before, patience());
    const begin = command.said().length;
    await hub.client.delete(ManagedCluster, "deleted");
    await eventually(() => expect(command.said()).toContain("the hub does not let this cluster in"));
    // Both halves go on asking: a while later nothing has been said twice.
    const user = (await auditedSoFar(hub)).findLast(({ user: who }) => who?.username?.includes(":deleted:"))?.user
      ?.username;
    const asked = async () => (await auditedSoFar(hub)).filter(({ user: who }) => who?.username === user).length;
    const last = await asked();
    await eventually(async () => expect(await asked()).toBeGreaterThan(last + 2));
    const grave = command
      .said()
      .slice(begin)
      .split("\n")
      .filter((line) => /\s(WARN|ERROR)\s/.test(line))
      .map((line) => line.replace(/^\S+\s+/, "").replace(/reconcileID=\S+|retryIn=\S+/g, ""));
    expect([...new Set(grave)]).toEqual(grave);
    await stopped(command);
  });
});

describe("the halves as programs of their own", () => {
  it("meet in the identity, which the work agent waits for", async () => {
    const identity = join(dir, "identity", "kubeconfig");
    const work = agent("work", "--spoke-kubeconfig", spokeFile, "--hub-kubeconfig", identity);
    await eventually(() => expect(work.said()).toContain("waiting for the way to the hub"));
    const registration = agent(
      "registration",
      ...["--spoke-kubeconfig", spokeFile, "--bootstrap-kubeconfig", bootstrapFile, "--cluster-name", "c1"],
    );
    await untilWorking(hub.client, "c1", new Date(), patience());
    const { data = {} } = await spoke.client.get(Secret, `${AGENTS}/hub-kubeconfig-secret`);
    await mkdir(join(dir, "identity"));
    for (const [name, value] of Object.entries(data)) {
      await writeFile(join(dir, "identity", name), Buffer.from(value, "base64"), { mode: 0o600 });
    }
    await wish("w2");
    await eventually(() => spoke.client.get(ConfigMap, "default/w2"));
    expect(work.said()).toMatch(/takes its work from the hub.*c1/);
    await hub.client.delete(ManifestWork, "c1/w2");
    await eventually(() => isGone(hub.client.get(ManifestWork, "c1/w2")));
    await Promise.all([stopped(work), stopped(registration)]);
  });
});

describe("a work agent", () => {
  it("names its records after the hub's address as its kubeconfig has it, letter by letter", async () => {
    const written = `${hub.url}/`;
    const hubFile = join(dir, "hub-with-slash.kubeconfig");
    const { clusters, ...rest } = hub.kubeconfig;
    await writeKubeconfig(hubFile, { ...rest, clusters: clusters.map((each) => ({ ...each, server: written })) });
    const ways = ["--spoke-kubeconfig", spokeFile, "--hub-kubeconfig", hubFile, "--cluster-name", "c1"];
    const work = agent("work", ...ways);
    await wish("w3");
    const hash = createHash("sha256").update(written).digest("hex");
    await eventually(() => spoke.client.get(AppliedManifestWork, `${hash}-w3`));
    await hub.client.delete(ManifestWork, "c1/w3");
    await eventually(() => isGone(hub.client.get(ManifestWork, "c1/w3")));
    await stopped(work);
  });

  it("reports structures where its gate says so, and refuses gates that are another's", async () => {
    const hubFile = join(dir, "hub.kubeconfig");
    await writeKubeconfig(hubFile, hub.kubeconfig);
    const ways = ["--spoke-kubeconfig", spokeFile, "--hub-kubeconfig", hubFile, "--cluster-name", "c1"];
    const refused = await run("agent", "work", ...ways, "--feature-gates", "ClusterClaim=false");
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("there are ExecutorValidatingCaches")]);
    const work = agent("work", ...ways, "--feature-gates", "RawFeedbackJsonString=true");
    const { metadata, spec } = await wish("w4");
    const rule = { type: "JSONPaths" as const, jsonPaths: [{ name: "labels", path: ".metadata.labels" }] };
    const [manifest] = spec?.workload?.manifests ?? [];
    const labelled = { ...manifest, metadata: { ...manifest?.metadata, labels: { a: "1" } } };
    const manifestConfigs = [
      { resourceIdentifier: { resource: "configmaps", namespace: "default", name: "w4" }, feedbackRules: [rule] },
    ];
    await hub.client.patch(ManifestWork, `c1/${metadata.name}`, {
      spec: { workload: { manifests: [labelled] }, manifestConfigs },
    });
    await eventually(async () => {
      const { status } = await hub.client.get(ManifestWork, "c1/w4");
      expect(status?.resourceStatus?.manifests?.[0]?.statusFeedback?.values).toEqual([
        { name: "labels", fieldValue: { type: "JsonRaw", jsonRaw: '{"a":"1"}' } },
      ]);
    });
    await hub.client.delete(ManifestWork, "c1/w4");
    await eventually(() => isGone(hub.client.get(ManifestWork, "c1/w4")));
    await stopped(work);
  });
});

describe("told nonsense", () => {
  const given = () => ["--spoke-kubeconfig", spokeFile, "--bootstrap-kubeconfig", bootstrapFile];

  it.each([
    [["--cluster-name", "Upper"], "is no cluster name"],
    [["--client-cert-expiration-seconds", "60"], "at least 3600"],
    [["--spoke-external-server-urls", "http://plain"], "https://"],
    [["--cluster-annotations", "=x"], "key=value"],
    [["--feature-gates", "Nonsense=true"], "unknown feature gate"],
    [["--metrics-address", "nowhere"], "HOST:PORT"],
  ])("%j ends with usage: %s", async (words, said) => {
    const { code, stderr } = await run("agent", "registration", ...given(), ...words);
    expect({ code, isSaid: stderr.includes(said) }).toEqual({ code: 2, isSaid: true });
  });

  it("asks for what it cannot do without", async () => {
    for (const words of [["agent"], ["agent", "registration"]]) {
      const { code, stderr } = await run(...words);
      expect([code, stderr]).toEqual([2, expect.stringContaining("--bootstrap-kubeconfig")]);
    }
    expect((await run("agent", "work")).stderr).toContain("--hub-kubeconfig");
  });

  it("says that it is no Pod, where nobody names a cluster", async () => {
    const { code, stderr } = await run("agent", "--bootstrap-kubeconfig", bootstrapFile);
    expect([code, stderr]).toEqual([2, expect.stringContaining("this is no Pod")]);
    const hosted = await run("agent", ...given(), "--hosted");
    expect([hosted.code, hosted.stderr]).toEqual([1, expect.stringContaining("leave it away")]);
  });

  it("says which server does not answer", async () => {
    const file = join(dir, "nobody.kubeconfig");
    await writeKubeconfig(file, {
      ...spoke.kubeconfig,
      clusters: spoke.kubeconfig.clusters.map((cluster) => ({ ...cluster, server: "https://127.0.0.1:1" })),
    });
    const { code, stderr } = await run("agent", "--spoke-kubeconfig", file, "--bootstrap-kubeconfig", bootstrapFile);
    expect([code, stderr]).toEqual([1, expect.stringContaining("https://127.0.0.1:1")]);
  });
});
