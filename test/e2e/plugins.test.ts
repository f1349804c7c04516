/** Credential plugins as programs: ours under other people's clients, other people's under ours. */
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Namespace, Secret } from "#api/core";
import type { ClusterProfile } from "#api/inventory";
import {
  accessFailureOf,
  createInventoryAccess,
  followProviderFile,
  type InventoryAccess,
  type InventoryAccessOptions,
  isAccessFailure,
  ownProvider,
  type ProviderSource,
  tokenAccessProvider,
  writeProviderFile,
} from "#features/inventory";
import { createClient, createExecEngine, EXEC_EXTENSION, EXEC_V1, type ExecEngine, kubeconfigText } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../support/eventually.ts";
import { type InventoryStage, inventoryStage, SECRETS, SPOKE } from "../support/inventory.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "dist/cli/main.js");
const CAPSTAN: [string, ...string[]] = [process.execPath, main];

let stage: InventoryStage;

beforeAll(async () => {
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
  stage = await inventoryStage();
}, 120_000);
afterAll(() => stage?.close());

/** A kubeconfig of the spoke whose user gets credentials from a program. */
function execKubeconfig(exec: Record<string, unknown>): string {
  const [cluster] = stage.spoke.kubeconfig.clusters;
  if (!cluster) throw new Error("a kubeconfig has a cluster");
  return kubeconfigText({
    clusters: [{ ...cluster, forExec: { clusterName: SPOKE } }],
    users: [{ name: "plugin", exec }],
    contexts: [{ name: "spoke", cluster: cluster.name, user: "plugin" }],
    current: "spoke",
  });
}

const ownExec = (plugin: "secretreader" | "token-secretreader") => {
  const { exec } = ownProvider({ plugin, capstan: CAPSTAN, kubeconfig: stage.hubKubeconfig });
  return { ...exec };
};

const kubectl = (process.env.PATH ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "kubectl"))
  .find((path) => existsSync(path));

describe("capstan plugin", () => {
  it.skipIf(!kubectl)("lets kubectl in (skipped without kubectl on the PATH)", async () => {
    const kubeconfig = await stage.file("kubectl.kubeconfig", execKubeconfig(ownExec("secretreader")));
    const { code, stdout, stderr } = await stage.run(kubectl ?? "", [
      "--kubeconfig",
      kubeconfig,
      "get",
      "namespaces",
      "-o",
      "name",
    ]);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("namespace/kube-system");
  });

  it.each([
    [
      "secretreader",
      "[secretreader] failed to read KUBERNETES_EXEC_INFO: KUBERNETES_EXEC_INFO env var is unset or empty\n",
    ],
    ["cp-creds", "Error: --managed-serviceaccount flag is required\n"],
  ])("%s says what is wrong in upstream's words", async (plugin, message) => {
    const outcome = await stage.run(process.execPath, [main, "plugin", plugin]);
    expect(outcome).toEqual({ code: 1, stdout: "", stderr: message });
  });

  it("prints one line of JSON", async () => {
    const info = {
      apiVersion: EXEC_V1,
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server: "https://s", config: { clusterName: SPOKE } } },
    };
    const env = { KUBECONFIG: stage.hubKubeconfig, NAMESPACE: SECRETS, KUBERNETES_EXEC_INFO: JSON.stringify(info) };
    const token = await stage.rotateToken();
    await stage.hub.client.create(Secret, {
      metadata: { name: `${SPOKE}-msa`, namespace: SECRETS },
      stringData: { token: "msa" },
    });
    const expected = (value: string) =>
      `{"kind":"ExecCredential","apiVersion":"${EXEC_V1}","spec":{"interactive":false},"status":{"token":"${value}"}}\n`;
    const answers = await Promise.all(
      [["secretreader"], ["cp-creds", "--managed-serviceaccount=msa"]].map((args) =>
        stage.run(process.execPath, [main, "plugin", ...args], env),
      ),
    );
    expect(answers.map(({ stdout }) => stdout)).toEqual([expected(token), expected("msa")]);
  });
});

describe("capstan with a kubeconfig that names a program", () => {
  const command = (name: string) => ({ apiVersion: EXEC_V1, command: `./${name}`, interactiveMode: "IfAvailable" });
  /** Another process writes it: what one of our children may still hold open for writing cannot be run. */
  const script = (name: string, lines: string) => {
    const input = `#!/bin/sh\n${lines}\n`;
    execFileSync("sh", ["-c", 'cat > "$0" && chmod 755 "$0"', join(stage.dir, name)], { input });
  };

  it("runs it from the folder of the kubeconfig", async () => {
    const token = await stage.rotateToken();
    script("good", `echo '${JSON.stringify({ apiVersion: EXEC_V1, kind: "ExecCredential", status: { token } })}'`);
    const kubeconfig = await stage.file("good.kubeconfig", execKubeconfig(command("good")));
    const { code, stderr } = await stage.run(process.execPath, [main, "get", "clusters", "--kubeconfig", kubeconfig]);
    expect(code).toBe(1);
    expect(stderr).toContain("is no hub: it does not know ManagedClusters"); // so it was let in
  });

  it("takes it along when somebody presses Ctrl-C", async () => {
    script("stuck", "echo $$ > pid.new && mv pid.new pid\nexec sleep 3600");
    const kubeconfig = await stage.file("stuck.kubeconfig", execKubeconfig(command("stuck")));
    const child = spawn(process.execPath, [main, "get", "clusters", "--kubeconfig", kubeconfig], {
      cwd: stage.dir,
      stdio: "ignore",
    });
    const ended = new Promise((resolve) => child.once("exit", (_, signal) => resolve(signal)));
    const pid = Number(await eventually(() => readFile(join(stage.dir, "pid"), "utf8")));
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    child.kill("SIGINT");
    expect(await ended).toBe("SIGINT");
    await eventually(() => expect(existsSync(`/proc/${pid}`)).toBe(false));
  });
});

describe("access through the inventory", () => {
  let source: ProviderSource;
  let engine: ExecEngine;
  let profile: ClusterProfile;
  const providers = () => join(stage.dir, "clusterprofile-provider-file.json");

  beforeEach(async () => {
    const capstan = { capstan: CAPSTAN, kubeconfig: stage.hubKubeconfig };
    await writeProviderFile(providers(), [ownProvider({ plugin: "token-secretreader", ...capstan })]);
    source = await followProviderFile({ path: providers(), clock: systemClock, log: silentLog });
    engine = createExecEngine({ env: process.env });
    const { url: server, authority } = stage.spoke;
    const token = { server, authority, secretName: SPOKE, secretNamespace: SECRETS, key: "token" };
    profile = await stage.offer(tokenAccessProvider(token), {
      name: "broken",
      cluster: { server, extensions: [{ name: EXEC_EXTENSION, extension: {} }] },
    });
    return () => {
      source.close();
      engine.close();
    };
  });

  const accessWith = (more: Partial<InventoryAccessOptions> = {}): InventoryAccess =>
    createInventoryAccess({
      source,
      exec: engine,
      hub: { client: stage.hub.client, namespace: SECRETS },
      clock: systemClock,
      ...more,
    });

  function clientOf(inventory: InventoryAccess) {
    const access = inventory.accessTo(profile);
    if (isAccessFailure(access)) throw new Error(access.message);
    return createClient({ connection: inventory.connectionTo(access) });
  }

  it("leads to the spoke by our plugin as a process", async () => {
    const client = clientOf(accessWith());
    expect((await client.get(Namespace, "kube-system")).metadata.name).toBe("kube-system");
    client.close();
  });

  it("leads there without a process, and a rotated token is in use at once", async () => {
    const own = { commands: [CAPSTAN], kubeconfigs: [stage.hubKubeconfig] };
    const none = createExecEngine({ env: {}, policy: { type: "DenyAll" } });
    const inventory = accessWith({ own, exec: none });
    const access = inventory.accessTo(profile);
    if (isAccessFailure(access)) throw new Error(access.message);
    const { credentials } = inventory.connectionTo(access);
    const heard: unknown[] = [];
    const stop = credentials?.onChange(({ token }) => heard.push(token));
    const client = clientOf(inventory);
    await client.get(Namespace, "kube-system");
    await credentials?.current();
    const token = await stage.rotateToken();
    await eventually(() => expect(heard).toEqual([token]));
    await client.get(Namespace, "kube-system");
    stop?.();
    client.close();
  });

  it("changes when the provider file does", async () => {
    const inventory = accessWith();
    await writeProviderFile(providers(), []);
    await eventually(() => expect(inventory.accessTo(profile)).toMatchObject({ reason: "MulticlusterDisabled" }));
  });

  it("says why a plugin gives no credential", async () => {
    const capstan = { capstan: CAPSTAN, kubeconfig: stage.hubKubeconfig };
    const { name: _, ...own } = ownProvider({ plugin: "token-secretreader", ...capstan });
    await writeProviderFile(providers(), [{ name: "broken", ...own }]);
    const inventory = accessWith();
    await eventually(() => expect(inventory.accessTo(profile)).toMatchObject({ provider: "broken" }));
    const client = clientOf(inventory);
    const failure = await client.get(Namespace, "kube-system").catch(accessFailureOf);
    expect(failure).toEqual({
      reason: "AccessProviderFailed",
      message: expect.stringMatching(
        /failed with exit code 1: \[token-secretreader\] extensions must include secretName, secretNamespace and key$/,
      ),
    });
    client.close();
  });
});
