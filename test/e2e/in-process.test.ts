/** An embedded cluster asked by a program in the same process: the same answers, without a connection. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap, Namespace } from "#api/core";
import { type EmbeddedCluster, openCluster } from "#apiserver";
import { type Client, createCache, createClient, isAlreadyExists, isForbidden, isNotFound, KubeError } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../support/eventually.ts";

let dir: string;
let cluster: EmbeddedCluster;
const clients: Client[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "capstan-in-process-"));
  cluster = await openCluster({
    name: "inside",
    dir,
    durability: "memory",
    ports: [0],
    signingDurationMs: 3_600_000,
    version: "0.0.0-test",
    clock: systemClock,
    log: silentLog,
  });
});
afterAll(async () => {
  for (const client of clients) client.close();
  await cluster.close();
  await rm(dir, { recursive: true, force: true });
});

function clientOf(commonName: string, ...organizations: string[]): Client {
  const { certificate } = cluster.identify({ commonName, organizations });
  const client = createClient({ connection: { server: cluster.url }, direct: cluster.connect(certificate) });
  clients.push(client);
  return client;
}

describe("a client in the same process", () => {
  it("writes, reads and is refused like every other", async () => {
    const admin = clientOf("inside-admin", "system:masters");
    const draft = { metadata: { name: "a", namespace: "default" }, data: { k: "v" } };
    expect((await admin.create(ConfigMap, draft)).metadata.resourceVersion).toBeDefined();
    expect((await admin.get(ConfigMap, "default/a")).data).toEqual({ k: "v" });
    expect((await admin.list(Namespace)).items.length).toBeGreaterThan(3);
    expect(isAlreadyExists(await admin.create(ConfigMap, draft).catch((error: unknown) => error))).toBe(true);
    await admin.patch(ConfigMap, "default/a", { data: { k: "w" } });
    await admin.delete(ConfigMap, "default/a");
    expect(isNotFound(await admin.get(ConfigMap, "default/a").catch((error: unknown) => error))).toBe(true);
    expect(await admin.raw("/readyz")).toBe("ok");
  });

  it("is who its certificate says, to the rules and to the audit log", async () => {
    const alice = clientOf("alice", "devs");
    expect(isForbidden(await alice.list(Namespace).catch((error: unknown) => error))).toBe(true);
    await eventually(() =>
      expect(cluster.auditTrail().findLast(({ user }) => user?.username === "alice")).toMatchObject({
        verb: "list",
        responseStatus: { code: 403 },
      }),
    );
  });

  it("follows what changes, until it has enough", async () => {
    const admin = clientOf("follower", "system:masters");
    const cache = createCache({ client: admin, kind: ConfigMap, scope: { namespace: "default" } });
    const stop = new AbortController();
    cache.start(stop.signal);
    await cache.whenSynced();
    await admin.create(ConfigMap, { metadata: { name: "followed", namespace: "default" } });
    await eventually(() => expect(cache.get("default/followed")).toBeDefined());
    await admin.delete(ConfigMap, "default/followed");
    await eventually(() => expect(cache.get("default/followed")).toBeUndefined());
    stop.abort();
    await eventually(() => expect(cache.state).toBe("stopped"));
  });

  it("carries answers that are larger than what may wait", async () => {
    const admin = clientOf("reader", "system:masters");
    const data = { text: "x".repeat(200_000) };
    const names = Array.from({ length: 10 }, (_, index) => `large-${index}`);
    for (const name of names) await admin.create(ConfigMap, { metadata: { name, namespace: "default" }, data });
    const { items } = await admin.list(ConfigMap, { namespace: "default" });
    expect(items.filter(({ data: { text } = {} }) => text?.length === 200_000)).toHaveLength(names.length);
  });

  it("fails when it is closed, and when the cluster is", async () => {
    const admin = clientOf("late", "system:masters");
    admin.close();
    expect(await admin.raw("/readyz").catch((error: unknown) => error)).toBeInstanceOf(KubeError);
    const other = await openCluster({
      name: "other",
      dir: join(dir, "other"),
      durability: "memory",
      ports: [0],
      signingDurationMs: 3_600_000,
      version: "0.0.0-test",
      clock: systemClock,
      log: silentLog,
    });
    const direct = other.connect(other.administrator.certificate);
    const client = createClient({ connection: { server: other.url }, direct });
    expect(await client.raw("/readyz")).toBe("ok");
    await other.close();
    await expect(client.raw("/readyz")).rejects.toThrow("cluster other is closed");
    client.close();
  });
});
