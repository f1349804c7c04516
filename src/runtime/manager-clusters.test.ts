/** The manager and many clusters: whose turn it is, and what becomes of keys whose cluster does not answer or leaves. */
import { describe, expect, it } from "vitest";
import { KubeError } from "#kube";
import { ManualClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { startControllers } from "../../test/support/index.ts";
import { handle, standInFleet, startManager as start, until } from "../../test/support/managed.ts";
import { aborted } from "./abort.ts";
import { again, atStart, type Controller, clusterKey, createRuntimeMetrics, done, Terminal } from "./index.ts";

describe("keys of many clusters", () => {
  const hot = (n: number) => clusterKey("hot", `k${n}`);

  it("take turns by cluster, and no cluster takes more than a quarter of the workers", async () => {
    const trigger = handle();
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const controller: Controller = {
      name: "fair",
      triggers: [trigger],
      concurrency: 8,
      async reconcile(key) {
        begun.push(key);
        await new Promise<void>((resolve) => ends.push(resolve));
        return done;
      },
    };
    const running = start({ controllers: [controller] });
    await until(() => running.manager.idle);
    trigger.pull(hot(0), hot(1), hot(2), hot(3), clusterKey("calm", "x"), "without-a-cluster");
    await until(() => begun.length === 4);
    expect(begun).toEqual([hot(0), hot(1), clusterKey("calm", "x"), "without-a-cluster"]);
    for (const end of ends.splice(0)) end();
    await until(() => begun.length === 6);
    for (const end of ends.splice(0)) end();
    await until(() => running.manager.idle);
    expect(running.records.map(({ cluster }) => cluster)).toEqual(["hot", "hot", "calm", undefined, "hot", "hot"]);
    running.stop();
    expect(await running.outcome).toBe("ended");
  });

  it("go when their cluster goes: those that wait are dropped, those at work are called off and not retried", async () => {
    const trigger = handle();
    const fleet = standInFleet("hot", "calm");
    const begun: string[] = [];
    const controller: Controller = {
      name: "leaving",
      triggers: [trigger],
      concurrency: 4,
      async reconcile(key, { signal }) {
        begun.push(key);
        if (key !== hot(0)) return again(60_000);
        await aborted(signal);
        throw signal.reason;
      },
    };
    const running = start({ controllers: [controller], fleet });
    await until(() => running.manager.idle);
    trigger.pull(hot(0), hot(1), clusterKey("calm", "x"));
    await until(() => begun.includes(clusterKey("calm", "x")));
    fleet.leave("hot", "removed");
    await until(() => running.manager.idle);
    running.clock.advance(3_600_000);
    await until(() => running.manager.idle && begun.length === 3);
    expect(begun).toEqual([hot(0), clusterKey("calm", "x"), clusterKey("calm", "x")]);
    const left = running.records.find(({ key }) => key === hot(0));
    expect(left).toMatchObject({ result: "error", cluster: "hot" });
    expect(left?.retryIn).toBeUndefined();
    running.stop();
    await running.outcome;
  });

  it("are named in every line with their cluster and controller", async () => {
    const clock = new ManualClock();
    const lines: Record<string, unknown>[] = [];
    const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
    const log = createLogger({ level: "info", format: "json", clock, write });
    const controller: Controller = {
      name: "talking",
      triggers: [atStart(clusterKey("spoke", "ns/a"))],
      async reconcile(_, context) {
        context.log.info("looking");
        throw new Terminal("hopeless");
      },
    };
    const running = startControllers([controller], { clock, log });
    await running.quiet();
    await running.stop();
    const said = {
      controller: "talking",
      cluster: "spoke",
      namespace: "ns",
      name: "a",
      reconcileID: lines[0]?.reconcileID,
    };
    expect(lines).toMatchObject([
      { message: "looking", ...said },
      { message: "cannot be done until somebody changes something", error: "hopeless", ...said },
    ]);
    expect(said.reconcileID).toMatch(/^[0-9a-f]{8}-/);
  });

  it("that take long on one cluster give their place away, so that clusters without an answer hold up nobody", async () => {
    const trigger = handle();
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const controller: Controller = {
      name: "patient",
      triggers: [trigger],
      concurrency: 2,
      async reconcile(key) {
        begun.push(key);
        if (!key.startsWith("well")) await new Promise<void>((resolve) => ends.set(key, resolve));
        return done;
      },
    };
    const running = start({ controllers: [controller] });
    await until(() => running.manager.idle);
    const stuck = ["a", "b", "c"].map((cluster) => clusterKey(cluster, "x"));
    trigger.pull(...stuck, clusterKey("a", "y"), clusterKey("well", "x"));
    await until(() => begun.length === 2);
    running.clock.advance(1_000);
    // Two places have become free. The cluster `a` has its limit of one at work; `c` gets stuck as the others are.
    await until(() => begun.length === 4);
    expect(begun).toEqual([...stuck, clusterKey("well", "x")]);
    trigger.pull(clusterKey("well", "y"), clusterKey("well", "z"));
    await until(() => running.records.length === 3);
    for (const end of ends.values()) end();
    // Those who came back late are not needed any more: two keys at once, and no more, as before.
    await until(() => begun.includes(clusterKey("a", "y")) && running.records.length === 6);
    ends.get(clusterKey("a", "y"))?.();
    await until(() => running.manager.idle);
    trigger.pull("p", "q", "r");
    await until(() => begun.includes("q"));
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).not.toContain("r");
    for (const end of ends.values()) end();
    await until(() => begun.includes("r"));
    ends.get("r")?.();
    running.stop();
    await running.outcome;
  });
});

describe("a cluster to which no call comes through", () => {
  const lost = () => new KubeError("timeout", "GET / on https://hot: no answer within 30 s");

  /** A controller that cannot reach `hot` until it is told that it can. */
  function reaching() {
    const trigger = handle();
    const begun: string[] = [];
    const state = { answers: false };
    const controller: Controller = {
      name: "reaching",
      triggers: [trigger],
      async reconcile(key) {
        begun.push(key);
        if (key.startsWith("hot") && !state.answers) throw new Error("apply", { cause: lost() });
        return done;
      },
    };
    return { trigger, begun, state, controller };
  }

  it("has its keys parked, which are not lost, hold up nobody, and run at once when it answers", async () => {
    const { trigger, begun, state, controller } = reaching();
    const fleet = standInFleet("hot", "calm");
    const registry = createRegistry();
    const running = start({ controllers: [controller], fleet, metrics: createRuntimeMetrics(registry) });
    await until(() => running.manager.idle);
    fleet.stand("hot", "Degraded", "open");
    trigger.pull(clusterKey("hot", "x"), clusterKey("hot", "y"), clusterKey("calm", "x"));
    await until(() => running.manager.idle);
    expect(begun).toEqual([clusterKey("hot", "x"), clusterKey("calm", "x")]);
    expect(running.records[0]).toMatchObject({ result: "error", parked: true });
    expect(running.records[0]?.retryIn).toBeUndefined();
    expect(registry.text()).toContain('capstan_parked_keys{controller="reaching"} 2');

    running.clock.advance(3_600_000);
    trigger.pull(clusterKey("hot", "z"));
    await until(() => running.manager.idle);
    expect(begun).toHaveLength(2);

    state.answers = true;
    fleet.stand("hot", "Engaged");
    await until(() => running.manager.idle && begun.length === 5);
    expect(begun.slice(2).sort()).toEqual(["x", "y", "z"].map((name) => clusterKey("hot", name)));
    expect(registry.text()).toContain('capstan_parked_keys{controller="reaching"} 0');
    running.stop();
    await running.outcome;
  });

  it("parks only what ran into it: who takes its absence for an answer goes on", async () => {
    const { trigger, begun, state, controller } = reaching();
    state.answers = true;
    const fleet = standInFleet("hot");
    const running = start({ controllers: [controller], fleet });
    await until(() => running.manager.idle);
    fleet.stand("hot", "Degraded", "open");
    trigger.pull(clusterKey("hot", "x"), clusterKey("hot", "y"));
    await until(() => begun.length === 2 && running.manager.idle);
    running.stop();
    await running.outcome;
  });

  it("is retried as usual while its circuit is closed, and keys that waited longer and longer run at once after it", async () => {
    const { trigger, begun, state, controller } = reaching();
    const fleet = standInFleet("hot");
    const running = start({ controllers: [controller], fleet, backoff: { base: 60_000, cap: 60_000 } });
    await until(() => running.manager.idle);
    trigger.pull(clusterKey("hot", "early"));
    await until(() => running.records.length === 1);
    expect(running.records[0]).toMatchObject({ retryIn: 60_000 });
    fleet.stand("hot", "Degraded", "open");
    trigger.pull(clusterKey("hot", "late"));
    await until(() => running.records.length === 2);
    state.answers = true;
    fleet.stand("hot", "Engaged");
    await until(() => running.records.length === 4);
    expect(begun.slice(2).sort()).toEqual([clusterKey("hot", "early"), clusterKey("hot", "late")]);
    running.stop();
    await running.outcome;
  });

  it("takes its parked keys along when it leaves", async () => {
    const { trigger, begun, state, controller } = reaching();
    const fleet = standInFleet("hot");
    const running = start({ controllers: [controller], fleet });
    await until(() => running.manager.idle);
    fleet.stand("hot", "Degraded", "open");
    trigger.pull(clusterKey("hot", "x"), clusterKey("hot", "y"));
    await until(() => running.manager.idle);
    fleet.leave("hot", "removed");
    state.answers = true;
    fleet.stand("hot", "Engaged");
    trigger.pull(clusterKey("hot", "new"));
    await until(() => begun.length === 2 && running.manager.idle);
    expect(begun).toEqual([clusterKey("hot", "x"), clusterKey("hot", "new")]);
    running.stop();
    await running.outcome;
  });
});

describe("a cluster that leaves for good", () => {
  it("is told to those who want to clean up after it, again until that succeeds", async () => {
    const told: string[] = [];
    const controller: Controller = {
      name: "tidy",
      triggers: [],
      reconcile: async () => done,
      async clusterRemoved(cluster) {
        told.push(cluster);
        if (told.length === 1) throw new Error("not yet");
        return done;
      },
    };
    const fleet = standInFleet("east", "west");
    const running = start({ controllers: [controller], fleet });
    await until(() => running.manager.idle);
    fleet.leave("west", "released");
    fleet.leave("east", "removed");
    await until(() => running.records.length === 1);
    running.clock.advance(5);
    await until(() => running.records.length === 2 && running.manager.idle);
    expect(told).toEqual(["east", "east"]);
    running.stop();
    await running.outcome;
    fleet.leave("west", "stopped");
    expect(told).toHaveLength(2);
  });

  it("is not told if it has come back meanwhile, because what is kept for it is needed again", async () => {
    const told: string[] = [];
    const controller: Controller = {
      name: "tidy",
      triggers: [],
      reconcile: async () => done,
      async clusterRemoved(cluster) {
        told.push(cluster);
        throw new Error("not yet");
      },
    };
    const fleet = standInFleet("east");
    const running = start({ controllers: [controller], fleet });
    await until(() => running.manager.idle);
    fleet.leave("east", "removed");
    await until(() => running.records.length === 1);
    fleet.stand("east", "Engaging");
    running.clock.advance(5);
    await until(() => running.records.length === 2);
    expect(told).toEqual(["east"]);
    running.stop();
    await running.outcome;
  });
});

describe("metrics by cluster", () => {
  it("exist when asked for, and go with their cluster", async () => {
    const registry = createRegistry();
    const trigger = handle();
    const controller: Controller = {
      name: "c",
      triggers: [trigger],
      async reconcile(key) {
        if (key.endsWith("bad")) throw new Terminal("no");
        return done;
      },
    };
    const fleet = standInFleet("east", "west");
    const metrics = createRuntimeMetrics(registry, { clusterLabel: true });
    const running = start({ controllers: [controller], fleet, metrics });
    await until(() => running.manager.idle);
    trigger.pull(clusterKey("east", "a"), clusterKey("east", "bad"), clusterKey("west", "a"), "alone");
    await until(() => running.records.length === 4);
    const count = (cluster: string, result: string) =>
      registry
        .text()
        .match(new RegExp(`reconcile_total{controller="c",cluster="${cluster}",result="${result}"} (.+)`))?.[1];
    expect([count("east", "success"), count("east", "error"), count("west", "success"), count("", "success")]).toEqual([
      "1",
      "1",
      "1",
      "1",
    ]);
    fleet.leave("east", "removed");
    expect(registry.text()).not.toContain('cluster="east"');
    expect(count("west", "success")).toBe("1");
    running.stop();
    await running.outcome;
  });
});

describe("endpoints", () => {
  it("tell how many clusters stand how, to whoever asks for details", async () => {
    const fleet = standInFleet("a", "b", "c");
    fleet.stand("b", "Degraded", "open");
    let list = () => {};
    const listed = new Promise<void>((resolve) => {
      list = resolve;
    });
    const idle: Controller = { name: "idle", triggers: [], reconcile: async () => done };
    const running = start({
      controllers: [idle],
      fleet: { ...fleet, whenListed: () => listed },
      endpoints: { port: 0 },
    });
    await until(() => running.manager.port !== undefined);
    const ask = async (path: string) => (await fetch(`http://127.0.0.1:${running.manager.port}${path}`)).text();
    expect(await ask("/readyz")).toBe("[+]caches ok\n[-]fleet failed: reason withheld\nhealthz check failed\n");
    list();
    await listed;
    expect(await ask("/readyz")).toBe("ok");
    const detail = "[+]caches ok\n[+]fleet ok: 1 Degraded, 2 Engaged\nhealthz check passed\n";
    expect(await ask("/readyz?verbose")).toBe(detail);
    running.stop();
    expect(await running.outcome).toBe("ended");
  });
});
