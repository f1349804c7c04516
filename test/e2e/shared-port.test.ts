/** Many clusters behind one port: each with its own people and objects, and the folder that remembers it. */
import { execFile, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { ClusterRole } from "#api/rbac";
import { addCluster, FleetDirectory, removeCluster, startApiServer } from "#app";
import { type Client, type Connection, connectionOf, createClient, loadKubeconfig } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../support/eventually.ts";

type Server = Awaited<ReturnType<typeof startApiServer>>;

let dir: string;
let directory: FleetDirectory;
let firstPort: number;
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "capstan-shared-"));
  directory = new FleetDirectory(dir);
  await directory.create();
  // A stretch of its own, so that nobody takes a port while its server is stopped.
  firstPort = 20_000 + randomInt(1_200) * 10;
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await rm(dir, { recursive: true, force: true });
});

const settings = () => ({
  directory,
  firstPort,
  portIsWish: false,
  durability: "os" as const,
  signingDurationMs: 3_600_000,
  version: "0.0.0-test",
  clock: systemClock,
  log: silentLog,
});

async function serve(clusters: string[], more: { sharedPort?: boolean } = {}): Promise<Server> {
  const server = await startApiServer({ ...settings(), clusters, nodes: 0, ...more });
  closing.push(() => server.close());
  return server;
}

async function connectionTo(cluster: string): Promise<Connection> {
  return connectionOf(await loadKubeconfig({ path: directory.kubeconfigOf(cluster) }));
}

function client(connection: Connection): Client {
  const made = createClient({ connection });
  closing.push(() => made.close());
  return made;
}

const configMap = (name: string) => ({ metadata: { namespace: "default", name }, data: { name } });

async function namesIn(cluster: Client): Promise<string[]> {
  const { items } = await cluster.list(ConfigMap, { namespace: "default" });
  return items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");
}

describe("clusters that share a port", () => {
  it("have objects and watches of their own", async () => {
    const server = await serve(["a", "b"], { sharedPort: true });
    const [port] = server.clusters.map(({ port }) => port);
    expect(server.clusters.map(({ url }) => url)).toEqual(
      ["a", "b"].map((name) => `https://127.0.0.1:${port}/clusters/${name}`),
    );
    const [a, b] = [client(await connectionTo("a")), client(await connectionTo("b"))];
    const seen: string[] = [];
    const watching = (async () => {
      for await (const { object } of await b.watch(ConfigMap, { namespace: "default" }))
        seen.push(object.metadata.name);
    })().catch(() => {}); // ends with the server
    closing.unshift(() => watching);
    await a.create(ConfigMap, configMap("of-a"));
    await b.create(ConfigMap, configMap("of-b"));
    expect([await namesIn(a), await namesIn(b)]).toEqual([["of-a"], ["of-b"]]);
    await eventually(() => expect(seen).toContain("of-b"));
    expect(seen).not.toContain("of-a");
  });

  it("know their own clients only", async () => {
    await serve(["a", "b"], { sharedPort: true });
    const [a, b] = [await connectionTo("a"), await connectionTo("b")];
    expect(a.ca).toEqual(b.ca);
    const stranger = client({ ...a, server: b.server });
    await expect(stranger.list(ConfigMap, { namespace: "default" })).rejects.toMatchObject({ code: 401 });
    await expect(client(a).list(ConfigMap, { namespace: "default" })).resolves.toBeDefined();
  });

  it("begin with the same rights, and yet share no object", async () => {
    await serve(["a", "b"], { sharedPort: true });
    const rolesOf = async (name: string) => (await client(await connectionTo(name)).list(ClusterRole)).items;
    const [ofA, ofB] = [await rolesOf("a"), await rolesOf("b")];
    const bare = (list: typeof ofA) => list.map(({ metadata: { name, labels }, rules }) => ({ name, labels, rules }));
    expect(bare(ofA)).toEqual(bare(ofB));
    const uids = [...ofA, ...ofB].map(({ metadata }) => metadata.uid);
    expect(new Set(uids).size).toBe(uids.length);
  });

  it("give what is inside of them the authority of the port to trust", async () => {
    await serve(["a"], { sharedPort: true });
    const connection = await connectionTo("a");
    const a = client(connection);
    const rootCa = await eventually(() => a.get(ConfigMap, "default/kube-root-ca.crt"));
    expect(rootCa.data?.["ca.crt"]?.trim()).toBe(String(connection.ca).trim());
  });

  it("are found under their names, and nothing else is", async () => {
    const { clusters } = await serve(["a"], { sharedPort: true });
    const { ca, cert, key } = await connectionTo("a");
    const ask = (path: string) => raw(`https://127.0.0.1:${clusters[0]?.port}${path}`, { ca, cert, key });
    expect(await ask("/clusters/a/version")).toMatchObject({ code: 200 });
    expect(await ask("/clusters/a/openapi/v3/api/v1?hash=OLD")).toMatchObject({
      code: 301,
      location: expect.stringMatching(/^\/clusters\/a\/openapi\/v3\/api\/v1\?hash=/),
    });
    expect(await ask("/readyz")).toMatchObject({ code: 200, body: "ok" });
    expect(await ask("/clusters/nobody/version")).toMatchObject({
      code: 404,
      body: "there is no cluster nobody here\n",
    });
    expect(await ask("/version")).toMatchObject({ code: 404, body: expect.stringContaining("/clusters/NAME") });
  });
});

describe("a folder whose clusters share a port", () => {
  it("keeps port, certificate and kubeconfigs, and needs not be told again", async () => {
    const first = await serve(["a", "b"], { sharedPort: true });
    await client(await connectionTo("b")).create(ConfigMap, configMap("kept"));
    const bytes = () =>
      ["kubeconfig", "a.kubeconfig", "b.kubeconfig"].map((file) => readFileSync(join(dir, file), "utf8"));
    const before = bytes();
    await first.close();

    await serve(["a"]);
    expect(bytes()).toEqual(before);
    expect(await namesIn(client(await connectionTo("b")))).toEqual(["kept"]);
  });

  it("takes in and lets go of clusters, while it serves and while it does not", async () => {
    const server = await serve(["a"], { sharedPort: true });
    const port = server.clusters[0]?.port;
    await server.add("b");
    await server.close();
    expect(await addCluster("c", settings())).toBe(false);
    await removeCluster("a", dir);

    const again = await serve([]);
    expect(again.clusters.map(({ name, url }) => [name, url])).toEqual(
      ["b", "c"].map((name) => [name, `https://127.0.0.1:${port}/clusters/${name}`]),
    );
    const c = client(await connectionTo("c"));
    expect(await namesIn(c)).toEqual([]);
    await again.remove("c");
    await expect(namesIn(c)).rejects.toMatchObject({ code: 404 });
  });

  it("is not made of one whose clusters have ports of their own", async () => {
    await (await serve(["a"])).close();
    await expect(serve(["b"], { sharedPort: true })).rejects.toThrow(
      `the clusters in ${dir} (a) have ports of their own; leave --shared-port out, or use another folder`,
    );
    const again = await serve([]);
    expect(again.clusters.map(({ url }) => new URL(url).pathname)).toEqual(["/"]);
  });
});

describe("ports of clusters", () => {
  it("follow the order of their names, though they open side by side", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `c${index}`);
    const { clusters } = await serve(names);
    expect(clusters.map(({ name }) => name)).toEqual(names);
    const ports = clusters.map(({ port }) => port);
    expect(ports).toEqual(ports.toSorted((a, b) => a - b));
  });

  it("can be asked for when a cluster is added", async () => {
    const server = await serve(["a"]);
    await server.add("b", firstPort + 5);
    expect(server.cluster("b").port).toBe(firstPort + 5);
    await server.close();
    await addCluster("c", settings(), firstPort + 7);
    expect(new URL((await connectionTo("c")).server).port).toBe(String(firstPort + 7));
  });
});

describe("capstan apiserver", () => {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const main = join(root, "dist/cli/main.js");
  const run = promisify(execFile);
  beforeAll(() => run(process.execPath, [join(root, "tools/build.mjs")]), 60_000);

  async function started(...flags: string[]): Promise<() => Promise<void>> {
    const args = ["apiserver", "--data-dir", dir, "--durability", "os", "--no-node", "--port", String(firstPort)];
    const child = spawn(process.execPath, [main, ...args, ...flags], { stdio: ["ignore", "pipe", "inherit"] });
    const gone = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const end = () => {
      child.kill("SIGTERM");
      return gone;
    };
    closing.push(end);
    await eventually(async () => expect(await directory.readReady()).toBeDefined());
    return end;
  }

  it("shares a port when it is asked to", async () => {
    await started("--clusters", "a", "--shared-port");
    await run(process.execPath, [main, "apiserver", "add", "b", "--data-dir", dir]);
    expect((await directory.readReady())?.clusters.map(({ url }) => new URL(url).pathname)).toEqual([
      "/clusters/a",
      "/clusters/b",
    ]);
    expect(await namesIn(client(await connectionTo("b")))).toEqual([]);
  });

  it("takes the port of a new cluster along, and tells whoever mixes what to do", async () => {
    const end = await started("--clusters", "a");
    await run(process.execPath, [main, "apiserver", "add", "b", "--data-dir", dir, "--port", String(firstPort + 6)]);
    expect(new URL((await connectionTo("b")).server).port).toBe(String(firstPort + 6));
    await end();
    const mixing = run(process.execPath, [main, "apiserver", "--clusters", "c", "--data-dir", dir, "--shared-port"]);
    await expect(mixing).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("(a, b) have ports of their own; leave --shared-port out"),
    });
  });
});

async function raw(url: string, tls: object): Promise<{ code: number; location: string | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    get(url, { ...tls, agent: false }, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ code: response.statusCode ?? 0, location: response.headers.location, body }));
    }).on("error", reject);
  });
}
