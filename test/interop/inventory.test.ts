/** The Cluster Inventory API's own programs: its plugins under our access, its controller with our plugin. */
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Namespace, Pod, Secret } from "#api/core";
import type { AccessProvider } from "#api/inventory";
import { accessTo, isAccessFailure, ownProvider, parseProviderFile, providerFileText } from "#features/inventory";
import { createClient, createExecEngine, EXEC_EXTENSION, EXEC_V1, kubeconfigText, type PluginName } from "#kube";
import { eventually } from "../support/eventually.ts";
import { FLEET, type InventoryStage, inventoryStage, SECRETS, SPOKE } from "../support/inventory.ts";
import { type RunningFleet, startFleet } from "../support/running-fleet.ts";
import { missingOf, stranger } from "./strangers.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const CAPSTAN: [string, ...string[]] = [process.execPath, join(root, "dist/cli/main.js")];

const theirs = {
  secretreader: stranger("secretreader"),
  "kubeconfig-secretreader": stranger("kubeconfig-secretreader"),
};
const example = stranger("controller-example");
const missing = missingOf({ paths: [...Object.values(theirs), example] });

describe.skipIf(missing)(`the inventory's own programs${missing ? ` (${missing})` : ""}`, () => {
  let stage: InventoryStage;

  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
    stage = await inventoryStage();
    const kubeconfig = kubeconfigText(stage.spoke.kubeconfig);
    await stage.hub.client.create(Secret, {
      metadata: { name: "with-kubeconfig", namespace: SECRETS },
      stringData: { kubeconfig, broken: "{", token: "" },
    });
  }, 120_000);
  afterAll(() => stage?.close());

  const offer = (name: string, extension: Record<string, unknown>): AccessProvider => ({
    name,
    cluster: {
      server: stage.spoke.url,
      "certificate-authority-data": Buffer.from(stage.spoke.authority).toString("base64"),
      extensions: [{ name: EXEC_EXTENSION, extension }],
    },
  });

  it.each([
    ["secretreader", { clusterName: SPOKE }],
    ["kubeconfig-secretreader", { name: "with-kubeconfig", key: "kubeconfig" }],
  ] as const)("%s of upstream lets our access code in", async (name, extension) => {
    const profile = await stage.offer(offer(name, extension));
    const env = [{ name: "KUBECONFIG", value: stage.hubKubeconfig }];
    const execConfig = { apiVersion: EXEC_V1, command: theirs[name], env, provideClusterInfo: true };
    const text = JSON.stringify({ providers: [{ name, execConfig }] });
    const access = accessTo(profile, parseProviderFile(text, { file: "f.json", cwd: stage.dir }).providers);
    if (isAccessFailure(access) || !("exec" in access.credentials)) throw new Error("there is no way in");

    const engine = createExecEngine({ env: { PATH: process.env.PATH, HOME: stage.dir } });
    const { server, ca = "", credentials } = access;
    const client = createClient({
      connection: { server, ca, credentials: engine.credentials(credentials.exec, credentials.cluster) },
    });
    expect((await client.list(Namespace)).items.map(({ metadata }) => metadata.name)).toContain("kube-system");
    client.close();
  });

  it.each<[PluginName, Record<string, unknown>]>([
    ["secretreader", { clusterName: SPOKE }],
    ["token-secretreader", { secretName: SPOKE, secretNamespace: SECRETS, key: "token" }],
    ["kubeconfig-secretreader", { name: "with-kubeconfig", key: "kubeconfig" }],
  ])("upstream's controller reaches a spoke through our %s", async (plugin, extension) => {
    await stage.offer(offer(plugin, extension));
    const providers = [ownProvider({ plugin, capstan: CAPSTAN, kubeconfig: stage.hubKubeconfig })];
    const file = await stage.file(`${plugin}.json`, providerFileText(providers));
    const args = ["-clusterprofile", SPOKE, "-namespace", FLEET, "-clusterprofile-provider-file", file];
    const { code, stderr } = await stage.run(example, args, { KUBECONFIG: stage.hubKubeconfig });
    expect([code, stderr]).toEqual([0, expect.stringContaining("[client-go] Listed 0 pods on spoke cluster")]);
    expect(stderr).toContain("[controller-runtime] Listed 0 pods on spoke cluster");
  });

  describe("upstream's controller and a fleet of capstan up", () => {
    let dir: string;
    let fleet: RunningFleet;
    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), "capstan-strangers-"));
      fleet = await startFleet(dir);
    }, 120_000);
    afterAll(async () => {
      await fleet?.stop("SIGINT");
      await rm(dir, { recursive: true, force: true });
    });

    it.each(["cluster1", "cluster2"])("meet in %s, by the provider file that is there", async (cluster) => {
      const client = await fleet.client(cluster);
      // The last of them starts when the cluster has joined.
      const pods = await eventually(async () => {
        const { items } = await client.list(Pod);
        expect(items.some(({ metadata }) => metadata.name.startsWith("klusterlet-work-agent"))).toBe(true);
        return items.length;
      });
      client.close();
      const file = join(dir, "clusterprofile-provider-file.json");
      const args = ["-clusterprofile", cluster, "-namespace", "fleet-system", "-clusterprofile-provider-file", file];
      const { code, stderr } = await stage.run(example, args, { KUBECONFIG: join(dir, "hub.kubeconfig") });
      expect([code, stderr]).toEqual([0, expect.stringContaining(`[client-go] Listed ${pods} pods on spoke cluster`)]);
      expect(stderr).toContain(`[controller-runtime] Listed ${pods} pods on spoke cluster`);
    });
  });

  describe.each(["secretreader", "kubeconfig-secretreader"] as const)("%s of upstream and ours", (plugin) => {
    const info = (config?: object) =>
      JSON.stringify({
        apiVersion: EXEC_V1,
        kind: "ExecCredential",
        spec: { interactive: false, cluster: { server: "https://s", ...(config && { config }) } },
      });

    const CASES: Record<typeof plugin, [string, string][]> = {
      secretreader: [
        ["no information", ""],
        ["nothing about the cluster", info()],
        ["no cluster name", info({ other: 1 })],
        ["a Secret that is not there", info({ clusterName: "nobody" })],
        ["a Secret without a token", info({ clusterName: "with-kubeconfig" })],
        ["a token", info({ clusterName: SPOKE })],
      ],
      "kubeconfig-secretreader": [
        ["no name", info({ key: "k" })],
        ["no key", info({ name: "k" })],
        ["a Secret that is not there", info({ name: "nobody", key: "k", namespace: "default" })],
        ["a key that is not there", info({ name: "with-kubeconfig", key: "k" })],
        ["another context", info({ name: "with-kubeconfig", key: "kubeconfig", context: "z" })],
        ["a certificate", info({ name: "with-kubeconfig", key: "kubeconfig" })],
      ],
    };

    it.each(CASES[plugin])("answer alike when told %s", async (_, text) => {
      const env = { KUBECONFIG: stage.hubKubeconfig, KUBERNETES_EXEC_INFO: text };
      const [command, ...args] = [...CAPSTAN, "plugin", plugin];
      const [upstream, ours] = await Promise.all([
        stage.run(theirs[plugin], [], env),
        stage.run(command ?? "", args, env),
      ]);
      expect(ours).toEqual(upstream);
    });
  });
});
