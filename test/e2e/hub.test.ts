/** The hub as a program runs it: several for one Lease, with health, readiness and metrics to look at. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Lease } from "#api/coordination";
import { Event } from "#api/events";
import { createProgramMetrics, runHub } from "#app";
import { connectionOf, createClient } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../support/eventually.ts";
import { prepareHub } from "../support/prepared.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";

const LEASE = { namespace: "kube-system", name: "capstan-hub" };

let server: TestServer;
const stops: (() => Promise<void>)[] = [];
beforeEach(async () => {
  server = await startEmbedded("hub");
  await prepareHub(server.client);
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await server.close();
});

interface RunningHub {
  ask(path: string): Promise<{ status: number; text: string }>;
  stop(): Promise<void>;
}

async function startHub(identity: string): Promise<RunningHub> {
  const metrics = createProgramMetrics({ clock: systemClock });
  const client = createClient({ connection: await connectionOf(server.kubeconfig), metrics: metrics.client });
  const stopping = new AbortController();
  let port = 0;
  const ended = runHub({
    client,
    clock: systemClock,
    log: silentLog,
    signal: stopping.signal,
    lease: { ...LEASE, identity },
    endpoints: {
      port: 0,
      onListening: (bound) => {
        port = bound;
      },
    },
    metrics,
  });
  const stop = async () => {
    stopping.abort();
    await ended;
    client.close();
  };
  stops.push(stop);
  await eventually(() => expect(port).toBeGreaterThan(0));
  return {
    stop,
    async ask(path) {
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: response.status, text: await response.text() };
    },
  };
}

const leads = async (hub: RunningHub): Promise<string | undefined> =>
  /^leader_election_master_status\{name="capstan-hub"\} (.)$/m.exec((await hub.ask("/metrics")).text)?.[1];

/** What dashboards of Kubernetes controllers look for. */
const EXPECTED = [
  ...["reconcile_total", "reconcile_errors_total", "terminal_reconcile_errors_total", "reconcile_panics_total"].map(
    (name) => `controller_runtime_${name}`,
  ),
  ...["reconcile_timeouts_total", "reconcile_time_seconds", "max_concurrent_reconciles", "active_workers"].map(
    (name) => `controller_runtime_${name}`,
  ),
  ...["depth", "adds_total", "queue_duration_seconds", "work_duration_seconds", "unfinished_work_seconds"].map(
    (name) => `workqueue_${name}`,
  ),
  ...["longest_running_processor_seconds", "retries_total"].map((name) => `workqueue_${name}`),
  "rest_client_requests_total",
  "rest_client_exec_plugin_ttl_seconds",
  "leader_election_master_status",
  ...["process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"],
];

describe("hubs that share a Lease", () => {
  it("work one at a time, and each shows how it fares", async () => {
    const first = await startHub("first");
    await eventually(async () => expect(await leads(first)).toBe("1"));
    const second = await startHub("second");
    await eventually(async () => expect((await second.ask("/readyz")).text).toBe("ok"));
    expect(await leads(second)).toBe("0");
    expect(await first.ask("/healthz")).toEqual({ status: 200, text: "ok" });
    expect((await first.ask("/readyz?verbose")).text).toBe("[+]caches ok\nhealthz check passed\n");
    expect((await server.client.get(Lease, "kube-system/capstan-hub")).spec?.holderIdentity).toBe("first");

    const { text } = await first.ask("/metrics");
    const names = [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name);
    expect(names).toEqual(expect.arrayContaining(EXPECTED));
    expect(text).toMatch(/^rest_client_requests_total\{code="200",method="GET",host="127\.0\.0\.1:\d+"\} [1-9]/m);
    expect(text).toMatch(/^controller_runtime_reconcile_total\{controller="\S+",result="success"\} [1-9]/m);
    const idle = (await second.ask("/metrics")).text;
    expect(idle).not.toMatch(/^controller_runtime_reconcile_total\{.*\} [1-9]/m);

    await first.stop();
    await eventually(async () => expect(await leads(second)).toBe("1"));
    await eventually(async () => {
      const told = (await server.client.list(Event)).items.map(({ note }) => note);
      expect(told.sort()).toEqual(["first became leader", "second became leader"]);
    });
  });
});
