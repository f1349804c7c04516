/** The manager with its optional parts: many clusters, an election, metrics, endpoints. */
import { describe, expect, it } from "vitest";
import { Lease } from "#api/coordination";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { fakeCluster } from "../../test/support/index.ts";
import { startManager as start, until } from "../../test/support/managed.ts";
import { aborted } from "./abort.ts";
import {
  again,
  atStart,
  type Controller,
  createElection,
  createManager,
  createRuntimeMetrics,
  done,
  LeadershipLost,
  Terminal,
} from "./index.ts";

describe("a deadline of a controller's own", () => {
  it("calls its reconciles off, which is told", async () => {
    const controller: Controller = {
      name: "slow",
      triggers: [atStart("x")],
      deadline: 1_000,
      async reconcile(_, { signal }) {
        await aborted(signal);
        throw signal.reason;
      },
    };
    const running = start({ controllers: [controller] });
    await until(() => running.manager.waiting.length === 0 && !running.manager.idle);
    running.clock.advance(1_000);
    await until(() => running.records.length === 1);
    expect(running.records[0]).toMatchObject({ result: "error", timedOut: true, duration: 1_000 });
    running.stop();
    await running.outcome;
  });
});

describe("the grace at the end", () => {
  const stuck: Controller = { name: "stuck", triggers: [atStart("x")], reconcile: () => new Promise(() => {}) };

  it("may be none", async () => {
    const running = start({ controllers: [stuck], grace: 0 });
    await until(() => running.manager.waiting.length === 0 && !running.manager.idle);
    running.stop();
    expect(await running.outcome).toBe("ended");
  });

  it("may be unlimited", async () => {
    let finish = () => {};
    const patient: Controller = {
      ...stuck,
      async reconcile() {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return done;
      },
    };
    const running = start({ controllers: [patient], grace: -1 });
    await until(() => running.manager.waiting.length === 0 && !running.manager.idle);
    running.stop();
    running.clock.advance(24 * 3_600_000);
    finish();
    expect(await running.outcome).toBe("ended");
    expect(running.records).toMatchObject([{ result: "success" }]);
  });
});

describe("with an election", () => {
  const LEASE = { namespace: "ns", name: "leader" };

  function led(identity: string, hub: ReturnType<typeof fakeCluster>, clock: ManualClock) {
    const seen: string[] = [];
    const controller = (name: string, isUnled: boolean): Controller => ({
      name,
      triggers: [atStart("x")],
      isUnled,
      async reconcile() {
        seen.push(name);
        return done;
      },
    });
    const election = createElection({ client: hub.client, clock, log: silentLog, lease: LEASE, identity });
    const controllers = [controller("led", false), controller("unled", true)];
    return { seen, ...start({ controllers, election, clock }) };
  }

  it("only the leader works, but for those that need none, and the next takes over when it stops", async () => {
    const clock = new ManualClock();
    const hub = fakeCluster({ clock }, [Lease]);
    const one = led("one", hub, clock);
    await until(() => one.seen.length === 2);
    const two = led("two", hub, clock);
    await until(() => two.seen.length === 1);
    expect(two.seen).toEqual(["unled"]);
    expect(two.manager.waiting).toEqual([]);
    one.stop();
    expect(await one.outcome).toBe("ended");
    await until(() => two.seen.length === 2);
    two.stop();
    expect(await two.outcome).toBe("ended");
    expect(hub.read(Lease, "ns/leader")?.spec).toMatchObject({ holderIdentity: "", leaseTransitions: 1 });
  });

  it("ends at once, with an error, when leadership is lost", async () => {
    const clock = new ManualClock();
    const hub = fakeCluster({ clock }, [Lease]);
    const signals: AbortSignal[] = [];
    const stuck: Controller = {
      name: "stuck",
      triggers: [atStart("x")],
      reconcile(_, { signal }) {
        signals.push(signal);
        return new Promise(() => {});
      },
    };
    const election = createElection({ client: hub.client, clock, log: silentLog, lease: LEASE });
    const running = start({ controllers: [stuck], election, clock });
    await until(() => signals.length === 1);
    hub.put(Lease, { metadata: { ...LEASE }, spec: { holderIdentity: "go", leaseDurationSeconds: 15 } });
    clock.advance(2_000);
    expect(await running.outcome).toBeInstanceOf(LeadershipLost);
    expect(signals[0]?.aborted).toBe(true);
  });

  it("does not go on campaigning when a controller cannot run", async () => {
    const clock = new ManualClock();
    const spec = { holderIdentity: "go", leaseDurationSeconds: 15 };
    const hub = fakeCluster({ clock }, [Lease, { metadata: { ...LEASE }, spec }]);
    const broken: Controller = {
      name: "broken",
      triggers: [],
      reads: [{ start: () => {}, whenSynced: () => Promise.reject(new Error("no such kind")) }],
      reconcile: async () => done,
    };
    const election = createElection({ client: hub.client, clock, log: silentLog, lease: LEASE });
    const running = start({ controllers: [broken], election, clock });
    expect(await running.outcome).toEqual(new Error("controller broken cannot run"));
  });
});

describe("metrics", () => {
  it("are all there from the beginning", () => {
    const registry = createRegistry();
    createManager({
      controllers: [{ name: "c", triggers: [], concurrency: 3, reconcile: async () => done }],
      clock: new ManualClock(),
      log: silentLog,
      metrics: createRuntimeMetrics(registry),
    });
    const series = registry
      .text()
      .split("\n")
      .filter((line) => !line.startsWith("#") && !line.includes("_bucket"));
    const queue = 'name="c",controller="c"';
    expect(series.filter(Boolean)).toEqual([
      'capstan_parked_keys{controller="c"} 0',
      'controller_runtime_active_workers{controller="c"} 0',
      'controller_runtime_max_concurrent_reconciles{controller="c"} 3',
      'controller_runtime_reconcile_errors_total{controller="c"} 0',
      'controller_runtime_reconcile_panics_total{controller="c"} 0',
      'controller_runtime_reconcile_time_seconds_sum{controller="c"} 0',
      'controller_runtime_reconcile_time_seconds_count{controller="c"} 0',
      'controller_runtime_reconcile_timeouts_total{controller="c"} 0',
      'controller_runtime_reconcile_total{controller="c",result="error"} 0',
      'controller_runtime_reconcile_total{controller="c",result="requeue"} 0',
      'controller_runtime_reconcile_total{controller="c",result="requeue_after"} 0',
      'controller_runtime_reconcile_total{controller="c",result="success"} 0',
      'controller_runtime_terminal_reconcile_errors_total{controller="c"} 0',
      `workqueue_adds_total{${queue}} 0`,
      `workqueue_depth{${queue},priority="-100"} 0`,
      `workqueue_depth{${queue},priority="0"} 0`,
      `workqueue_longest_running_processor_seconds{${queue}} 0`,
      `workqueue_queue_duration_seconds_sum{${queue}} 0`,
      `workqueue_queue_duration_seconds_count{${queue}} 0`,
      `workqueue_retries_total{${queue}} 0`,
      `workqueue_unfinished_work_seconds{${queue}} 0`,
      `workqueue_work_duration_seconds_sum{${queue}} 0`,
      `workqueue_work_duration_seconds_count{${queue}} 0`,
    ]);
  });

  it("count how reconciles end", async () => {
    const registry = createRegistry();
    const ends: Record<string, () => Promise<ReturnType<typeof again>>> = {
      fine: async () => done,
      later: async () => again(60_000),
      hopeless: () => Promise.reject(new Terminal("no")),
      wrong: async () => (undefined as unknown as { f(): ReturnType<typeof again> }).f(),
    };
    const controller: Controller = {
      name: "c",
      triggers: Object.keys(ends).map((key) => atStart(key)),
      reconcile: (key) => (ends[key] ?? (async () => done))(),
    };
    const running = start({ controllers: [controller], metrics: createRuntimeMetrics(registry) });
    await until(() => running.records.length === 4);
    const text = registry.text();
    const value = (series: string) =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${series} `))
          ?.split(" ")[1],
      );
    const result = (name: string) => value(`controller_runtime_reconcile_total{controller="c",result="${name}"}`);
    expect(["success", "requeue_after", "error", "requeue"].map(result)).toEqual([1, 1, 2, 0]);
    expect(value('controller_runtime_reconcile_errors_total{controller="c"}')).toBe(2);
    expect(value('controller_runtime_terminal_reconcile_errors_total{controller="c"}')).toBe(1);
    expect(value('controller_runtime_reconcile_panics_total{controller="c"}')).toBe(1);
    expect(value('workqueue_adds_total{name="c",controller="c"}')).toBe(6);
    expect(value('workqueue_retries_total{name="c",controller="c"}')).toBe(2);
    running.stop();
    await running.outcome;
  });
});

describe("endpoints", () => {
  it("tell that a program is not ready while caches fill, and go when it ends", async () => {
    let fill = () => {};
    const filled = new Promise<void>((resolve) => {
      fill = resolve;
    });
    const controller: Controller = {
      name: "c",
      triggers: [],
      reads: [{ start: () => {}, whenSynced: () => filled }],
      reconcile: async () => done,
    };
    const running = start({ controllers: [controller], endpoints: { port: 0, readyz: { mine: () => {} } } });
    await until(() => running.manager.port !== undefined);
    const url = `http://127.0.0.1:${running.manager.port}`;
    const ask = async (path: string) => (await fetch(`${url}${path}`)).text();
    expect(await ask("/healthz")).toBe("ok");
    expect(await ask("/readyz")).toBe("[-]caches failed: reason withheld\n[+]mine ok\nhealthz check failed\n");
    fill();
    await until(() => running.manager.waiting.length === 0);
    expect(await ask("/readyz")).toBe("ok");
    running.stop();
    expect(await running.outcome).toBe("ended");
    await expect(ask("/healthz")).rejects.toThrow();
  });
});
