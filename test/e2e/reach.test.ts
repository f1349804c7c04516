/** The clusters of `capstan up`, reached as others reach them: through their ClusterProfiles and the provider file. */
import { execFile, execFileSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManagedClusterSetBinding } from "#api/cluster";
import { Lease } from "#api/coordination";
import { Namespace, Secret } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import {
  clusterProfilesProvider,
  createInventoryAccess,
  followProviderFile,
  type InventoryAccess,
  isAccessFailure,
} from "#features/inventory";
import {
  type Client,
  connectionOf,
  createClient,
  createExecEngine,
  kubeconfigFor,
  kubeconfigText,
  parseKubeconfig,
} from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { connectedCluster, createFleet, isUnreachable } from "#runtime";
import { eventually } from "../support/eventually.ts";
import { type RunningFleet, startFleet } from "../support/running-fleet.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const SPOKES = ["cluster1", "cluster2"];

let dir: string;
let fleet: RunningFleet;
const clients: Client[] = [];

beforeAll(async () => {
  execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
  dir = await mkdtemp(join(tmpdir(), "capstan-reach-"));
  fleet = await startFleet(dir);
}, 120_000);

afterAll(async () => {
  for (const client of clients) client.close();
  await fleet?.stop("SIGKILL");
  await rm(dir, { recursive: true, force: true });
});

const providerFile = () => join(dir, "clusterprofile-provider-file.json");

interface Plugin {
  readonly command: string;
  readonly args: string[];
  readonly env: { name: string; value: string }[];
}

function pluginOfFile(): Plugin {
  const { providers } = JSON.parse(readFileSync(providerFile(), "utf8")) as {
    providers: { name: string; execConfig: Plugin }[];
  };
  const [only, ...others] = providers;
  if (only?.name !== "token-secretreader" || others.length > 0) throw new Error("the file has one provider");
  return only.execConfig;
}

async function clientOf(cluster: string): Promise<Client> {
  const client = await fleet.client(cluster);
  clients.push(client);
  return client;
}

/** What tells one cluster from another. */
const uidOf = async (client: Client) => (await client.get(Namespace, "kube-system")).metadata.uid;

/** Does something with the way into clusters that the provider file gives, with plugins as processes. */
async function withAccess<T>(hub: Client, use: (access: InventoryAccess) => Promise<T>): Promise<T> {
  const source = await followProviderFile({ path: providerFile(), clock: systemClock, log: silentLog });
  const exec = createExecEngine({ env: process.env });
  try {
    return await use(
      createInventoryAccess({ source, exec, hub: { client: hub, namespace: "default" }, clock: systemClock }),
    );
  } finally {
    source.close();
    exec.close();
  }
}

/** The clusters of all profiles in a namespace as our own fleet sees them, by the uid that each has. */
async function fleetOf(namespace: string): Promise<(string | undefined)[]> {
  const client = await clientOf("hub");
  return withAccess(client, async (access) => {
    const hub = connectedCluster({ name: "hub", client, clock: systemClock, log: silentLog });
    const provider = clusterProfilesProvider({ hub, access, namespace, log: silentLog });
    const reaching = createFleet({ provider, clock: systemClock, log: silentLog });
    const stop = new AbortController();
    const ended = reaching.run(stop.signal);
    try {
      const uids = SPOKES.map(async (name) => {
        const cluster = await reaching.reach({ namespace, name }, { patience: 20_000 });
        if (isUnreachable(cluster)) throw new Error(`${name}: ${cluster.message}`);
        expect((await cluster.client.list(Namespace)).items.length).toBeGreaterThan(3);
        return uidOf(cluster.client);
      });
      return await Promise.all(uids);
    } finally {
      stop.abort();
      await ended;
    }
  });
}

/** By the cluster's own account. */
function requestsTo(cluster: string): string[] {
  const lines = readFileSync(join(dir, "data", cluster, "audit.log"), "utf8").split("\n");
  return lines.filter((line) => line !== "");
}

const truth = () => Promise.all(SPOKES.map(async (name) => uidOf(await clientOf(name))));

describe("the clusters of a fleet", () => {
  it("have a provider file, for their owner only, that works from everywhere", () => {
    expect(statSync(providerFile()).mode & 0o777).toBe(0o600);
    const { command, args, env } = pluginOfFile();
    expect(isAbsolute(command) && isAbsolute(args[0] ?? "")).toBe(true);
    expect(env).toEqual([{ name: "KUBECONFIG", value: join(dir, "hub.kubeconfig") }]);
  });

  it("are reached by our own fleet", async () => {
    expect(await fleetOf("fleet-system")).toEqual(await truth());
  });

  it("are reached from every other namespace that is bound to their set", async () => {
    const hub = await clientOf("hub");
    await hub.create(Namespace, { metadata: { name: "team-a" } });
    await hub.create(ManagedClusterSetBinding, {
      metadata: { name: "default", namespace: "team-a" },
      spec: { clusterSet: "default" },
    });
    expect(await fleetOf("team-a")).toEqual(await truth());
  });

  it.each(SPOKES)("let any client in that runs the plugin: %s", async (name) => {
    const profile = await (await clientOf("hub")).get(ClusterProfile, `fleet-system/${name}`);
    const [entry] = profile.status?.accessProviders ?? [];
    if (!entry?.cluster) throw new Error("the profile has no way in");
    const { server, extensions, "certificate-authority-data": authority = "" } = entry.cluster;
    const { command, args, env } = pluginOfFile();
    const info = {
      apiVersion: "client.authentication.k8s.io/v1",
      kind: "ExecCredential",
      spec: { interactive: false, cluster: { server, config: extensions?.[0]?.extension } },
    };
    const variables = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
    const { stdout } = await run(command, args, {
      env: { ...variables, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      cwd: "/",
    });
    const { token } = (JSON.parse(stdout) as { status: { token: string } }).status;
    const ca = Buffer.from(authority, "base64").toString();
    const client = createClient({ connection: await connectionOf(kubeconfigFor({ name, server, ca, token })) });
    clients.push(client);
    expect(await uidOf(client)).toBe(await uidOf(await clientOf(name)));
  });

  it("let a client in whose kubeconfig names the plugin", async () => {
    const hub = await clientOf("hub");
    const profile = await hub.get(ClusterProfile, "fleet-system/cluster1");
    const way = await withAccess(hub, async (access) => access.accessTo(profile));
    if (isAccessFailure(way) || !("exec" in way.credentials)) throw new Error("there is no way in");
    const { exec, cluster } = way.credentials;
    const text = kubeconfigText({
      clusters: [{ name: "c", server: way.server, ca: { pem: way.ca ?? "" }, forExec: cluster.config }],
      users: [{ name: "u", exec: { ...exec } }],
      contexts: [{ name: "x", cluster: "c", user: "u" }],
      current: "x",
    });
    const engine = createExecEngine({ env: process.env });
    const connection = await connectionOf(parseKubeconfig(text, "a kubeconfig"), undefined, { exec: engine });
    const client = createClient({ connection });
    clients.push(client);
    expect(await uidOf(client)).toBe(await uidOf(await clientOf("cluster1")));
    engine.close();
  });

  it("make no requests but heartbeats while nothing happens", async () => {
    const hub = await clientOf("hub");
    const renewed = async () => (await hub.get(Lease, "cluster1/managed-cluster-lease")).spec?.renewTime;
    const requests = () => ["hub", ...SPOKES].flatMap(requestsTo).filter((line) => !line.includes("/leases"));
    const beat = async () => {
      const last = await renewed();
      await eventually(async () => expect(await renewed()).not.toBe(last));
    };
    await eventually(async () => {
      const before = requests().length;
      await beat();
      await beat();
      expect(requests().slice(before)).toEqual([]);
    }, 60_000);
  }, 90_000);

  it("are reached as before after kill -9, by the same file and with the same tokens", async () => {
    const hub = await clientOf("hub");
    const tokens = (from: Client) =>
      Promise.all(
        SPOKES.map(async (name) => (await from.get(Secret, `${name}/capstan-cluster-access`)).data?.token ?? ""),
      );
    const [file, before, uids] = [readFileSync(providerFile(), "utf8"), await tokens(hub), await truth()];
    await fleet.stop("SIGKILL");
    fleet = await startFleet(dir);
    expect(readFileSync(providerFile(), "utf8")).toBe(file);
    expect(await tokens(await clientOf("hub"))).toEqual(before);
    expect(await fleetOf("fleet-system")).toEqual(uids);
    const asked = SPOKES.map((name) => requestsTo(name).filter((line) => line.includes("cluster-access/token")));
    expect(asked.map((lines) => lines.length)).toEqual([1, 1]);
  }, 90_000);
});
