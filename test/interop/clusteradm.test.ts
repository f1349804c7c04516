/** Upstream's command line for administrators on a hub and a spoke of ours. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterLabel, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding } from "#api/cluster";
import { ClusterManager, Klusterlet } from "#api/operator";
import { type Client, connectionOf, createClient, loadKubeconfig } from "#kube";
import { findCondition, isTrue } from "#lib/conditions";
import { build, type Running, run, start } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { portOf } from "../support/running-fleet.ts";
import { missingOf, type Outcome, stranger } from "./strangers.ts";

const program = stranger("clusteradm");
const missing = missingOf({ paths: [program] });

describe.skipIf(missing)(`clusteradm${missing ? ` (${missing})` : ""}`, () => {
  let dir: string;
  let server: Running;
  let hub: Client;
  let spoke: Client;
  const file = () => join(dir, "kubeconfig");
  const capstan = (...words: string[]) => run(...words, "--kubeconfig", file());
  const clusteradm = (...words: string[]) =>
    new Promise<Outcome>((resolve) => {
      const env = { PATH: process.env.PATH, HOME: dir, KUBECONFIG: file() };
      execFile(program, words, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
      });
    });
  const connect = async (context: string) =>
    createClient({ connection: await connectionOf(await loadKubeconfig({ path: file() }), context) });

  beforeAll(async () => {
    build();
    dir = await mkdtemp(join(tmpdir(), "capstan-clusteradm-"));
    server = start("apiserver", "--clusters", "hub,cluster1", "--data-dir", dir, ...portOf(dir));
    await eventually(() => {
      if (!existsSync(join(dir, "ready.json"))) throw new Error(`no clusters yet: ${server.said()}`);
    });
    [hub, spoke] = await Promise.all([connect("hub"), connect("cluster1")]);
    expect(await capstan("init", "--wait", "--context", "hub")).toMatchObject({ code: 0 });
  });
  afterAll(async () => {
    hub?.close();
    spoke?.close();
    server?.child.kill("SIGTERM");
    await server?.ended;
    await rm(dir, { recursive: true, force: true });
  });

  const token = async () => {
    const { stdout } = await clusteradm("get", "token", "--context", "hub", "-o", "json");
    return JSON.parse(stdout) as { "hub-token": string; "hub-apiserver": string };
  };
  const untilWorking = () =>
    eventually(async () => {
      const { status } = await hub.get(ManagedCluster, "cluster1");
      expect(isTrue(status?.conditions, "ManagedClusterJoined")).toBe(true);
      expect(isTrue(status?.conditions, "ManagedClusterConditionAvailable")).toBe(true);
    });

  it("gets a token from our hub, with which our join works, and accepts the cluster", async () => {
    const { "hub-token": word, "hub-apiserver": url } = await token();
    expect(url).toBe(hub.server);
    const words = ["--hub-token", word, "--hub-apiserver", url, "--cluster-name", "cluster1", "--wait"];
    expect(await capstan("join", ...words, "--context", "cluster1")).toMatchObject({ code: 0 });
    const accepted = await clusteradm("accept", "--clusters", "cluster1", "--wait", "--context", "hub");
    expect(accepted.stdout).toMatch(/CSR cluster1-\S+ approved/);
    await untilWorking();
  });

  it("shows clusters and sets as they are", async () => {
    const clusters = await clusteradm("get", "clusters", "--context", "hub");
    // In any order: it is that of a map.
    expect(clusters.stdout).toMatch(/<cluster1>[\s\S]*<Accepted> true/);
    expect(clusters.stdout).toMatch(/<cluster1>[\s\S]*<Available> True/);
    const sets = await clusteradm("get", "clustersets", "--context", "hub");
    expect(sets.stdout).toMatch(/<default>[\s\S]*1 ManagedClusters selected/);
  });

  it("shows the programs of our hub, as long as it asks for those that there are", async () => {
    // Who has no add-on manager says so; for placement, which it asks for last, there is no such word.
    const featureGates = [{ feature: "AddonManagement", mode: "Disable" as const }];
    await hub.patch(ClusterManager, "cluster-manager", { spec: { addOnManagerConfiguration: { featureGates } } });
    const { stdout } = await clusteradm("get", "hub-info", "--context", "hub");
    const running = String.raw`\(1/1\) capstan:\S+\s+`;
    const crds = String.raw`CustomResourceDefinition:\s+\(installed\) clustermanagers\S+ \[\*v1\]\s+`;
    expect(stdout).toMatch(
      new RegExp(
        `Registration Operator:\\s+Controller:\\s+${running}${crds}Components:\\s+` +
          `Registration:\\s+Controller:\\s+${running}Webhook:\\s+${running}Work:\\s+Webhook:\\s+${running}`,
      ),
    );
  });

  it("makes, binds and fills a set", async () => {
    expect((await clusteradm("create", "clusterset", "blue", "--context", "hub")).stdout).toContain("is created");
    const bound = await clusteradm("clusterset", "bind", "blue", "--namespace", "default", "--context", "hub");
    expect(bound.stdout).toContain("is bound to Namespace default");
    const filled = await clusteradm("clusterset", "set", "blue", "--clusters", "cluster1", "--context", "hub");
    expect(filled.stdout).toContain("from ClusterSet default to Clusterset blue");
    await eventually(async () => {
      expect((await hub.get(ManagedCluster, "cluster1")).metadata.labels?.[ClusterLabel.set]).toBe("blue");
      const { status } = await hub.get(ManagedClusterSet, "blue");
      expect(findCondition(status?.conditions, "ClusterSetEmpty")).toMatchObject({ status: "False" });
      const binding = await hub.get(ManagedClusterSetBinding, "default/blue");
      expect(isTrue(binding.status?.conditions, "Bound")).toBe(true);
    });
  });

  it("joins a spoke whose operator is ours", async () => {
    const left = await capstan(
      "unjoin",
      "--cluster-name",
      "cluster1",
      "--purge-operator=false",
      "--context",
      "cluster1",
    );
    expect(left).toMatchObject({ code: 0 });
    await hub.delete(ManagedCluster, "cluster1");
    // It approves nothing where two agents have ever asked for one name.
    for (const { metadata } of (await hub.list(CertificateSigningRequest)).items) {
      await hub.delete(CertificateSigningRequest, metadata.name);
    }
    const { "hub-token": word, "hub-apiserver": url } = await token();
    const words = ["--hub-token", word, "--hub-apiserver", url, "--cluster-name", "cluster1", "--wait"];
    const joined = await clusteradm("join", ...words, "--context", "cluster1");
    expect(joined).toMatchObject({ code: 0 });
    const { spec } = await spoke.get(Klusterlet, "klusterlet");
    expect(spec?.registrationImagePullSpec).toContain("quay.io/open-cluster-management/registration");
    await clusteradm("accept", "--clusters", "cluster1", "--wait", "--context", "hub");
    await untilWorking();
  });
});
