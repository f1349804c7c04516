/** Several processes for one Lease, of which the holder is killed: another takes over, and no two ever write at once. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Lease } from "#api/coordination";
import { ConfigMap } from "#api/core";
import { type Client, kubeconfigText } from "#kube";
import { eventually } from "../../support/eventually.ts";
import type { StartServer, TestServer } from "../../support/servers.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const program = fileURLToPath(new URL("candidate.mjs", import.meta.url));
const LEASE = { namespace: "kube-system", name: "candidates" };
const LEDGER = { namespace: "default", name: "ledger" };
const TIMING = { duration: 3_000, renewDeadline: 2_000, retry: 500 };
const KILLS = 2;

interface Page {
  readonly writer: string;
  readonly count: number;
}

export function electionSuite(startServer: StartServer): void {
  let server: TestServer;
  let dir: string;
  const candidates = new Map<string, ChildProcess>();
  beforeAll(async () => {
    execFileSync(process.execPath, [join(root, "tools/build.mjs")], { stdio: "inherit" });
    server = await startServer("candidates");
    dir = await mkdtemp(join(tmpdir(), "capstan-candidates-"));
    await writeFile(join(dir, "kubeconfig"), kubeconfigText(server.kubeconfig));
  }, 120_000);
  afterAll(async () => {
    for (const name of [...candidates.keys()]) await kill(name);
    await server?.close();
    await rm(dir, { recursive: true, force: true });
  });

  function start(identity: string): void {
    const orders = { kubeconfig: join(dir, "kubeconfig"), identity, lease: LEASE, ledger: LEDGER, timing: TIMING };
    candidates.set(identity, spawn(process.execPath, [program, JSON.stringify(orders)], { stdio: "inherit" }));
  }

  async function kill(identity: string): Promise<void> {
    const child = candidates.get(identity);
    candidates.delete(identity);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  const lease = async () => (await server.client.get(Lease, `${LEASE.namespace}/${LEASE.name}`)).spec ?? {};
  const ledger = () => server.client.get(ConfigMap, `${LEDGER.namespace}/${LEDGER.name}`);
  const writerOf = async () => (await ledger()).data?.writer;

  it("is led by one process at a time: after kill -9 another takes over when the Lease has run out, not before", async () => {
    await server.client.create(ConfigMap, { metadata: LEDGER, data: {} });
    const pages: Page[] = [];
    const stopReading = await readLedger(server.client, pages);
    for (const name of ["one", "two", "three"]) start(name);

    for (let killed = 0; killed < KILLS; killed++) {
      const leader = await eventually(async () => {
        const writer = await writerOf();
        expect([...candidates.keys()]).toContain(writer);
        return writer ?? "";
      });
      await kill(leader);
      // Nobody renews it any more, so this is the last word of the one who died.
      const last = await lease();
      expect(last.holderIdentity).toBe(leader);
      const next = await eventually(async () => {
        const spec = await lease();
        expect(spec.holderIdentity).not.toBe(leader);
        return spec;
      });
      const idle = Date.parse(next.acquireTime ?? "") - Date.parse(last.renewTime ?? "");
      expect(idle, "milliseconds between the last renewal and the next leader").toBeGreaterThanOrEqual(TIMING.duration);
      expect(next.leaseTransitions).toBe((last.leaseTransitions ?? 0) + 1);
      await eventually(async () => expect(await writerOf()).toBe(next.holderIdentity));
    }

    const final = await ledger();
    const managers = (final.metadata.managedFields ?? []).filter(({ fieldsV1 }) =>
      JSON.stringify(fieldsV1).includes("f:writer"),
    );
    expect(managers.map(({ manager }) => manager)).toEqual([final.data?.writer]);
    stopReading();
    // Two that wrote at once would give the same number twice, or take turns.
    expect(pages.length).toBeGreaterThan(KILLS);
    expect(pages.map(({ count }) => count)).toEqual(pages.map((_, at) => at + 1));
    const terms = pages.filter(({ writer }, at) => writer !== pages[at - 1]?.writer).map(({ writer }) => writer);
    expect(terms).toHaveLength(KILLS + 1);
    expect(new Set(terms).size).toBe(KILLS + 1);
  }, 120_000);
}

/** Everything that is written into the ledger, in the order in which it was. The answer ends it. */
async function readLedger(client: Client, pages: Page[]): Promise<() => void> {
  const stop = new AbortController();
  const { resourceVersion } = (await client.get(ConfigMap, `${LEDGER.namespace}/${LEDGER.name}`)).metadata;
  const events = await client.watch(ConfigMap, {
    namespace: LEDGER.namespace,
    fieldSelector: `metadata.name=${LEDGER.name}`,
    ...(resourceVersion !== undefined && { resourceVersion }),
    signal: stop.signal,
  });
  void (async () => {
    for await (const { type, object } of events) {
      const { writer = "", count = "" } = object.data ?? {};
      if (type === "MODIFIED") pages.push({ writer, count: Number(count) });
    }
  })().catch(() => {});
  return () => stop.abort();
}
