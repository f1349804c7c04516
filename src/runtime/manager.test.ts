import { describe, expect, it } from "vitest";
import { type KubeObject, keyOf, kind } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { createLogger, silentLog } from "#lib/log";
import { fakeCluster, runUntilQuiet, startControllers } from "../../test/support/index.ts";
import {
  again,
  atStart,
  type Controller,
  connectedCluster,
  createManager,
  done,
  every,
  forEach,
  type Outcome,
  type ReconcileContext,
  runControllers,
  Terminal,
  type Trigger,
} from "./index.ts";

interface Widget extends KubeObject {
  spec: { size?: number; owner?: string };
  status?: { size?: number };
}
const Widget = kind<Widget>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});

function widget(name: string, spec: Widget["spec"] = {}) {
  return { metadata: { name, namespace: "ns" }, spec };
}

/** A reconcile that counts. */
function counter(outcome: Outcome = done) {
  const keys: string[] = [];
  const reconcile = async (key: string) => {
    keys.push(key);
    return outcome;
  };
  return { keys, reconcile };
}

/** Turns of the event loop, until something is so. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

describe("what a reconcile says at its end", () => {
  it("done: it comes again only when something changes", async () => {
    const hub = fakeCluster([Widget, widget("a")]);
    const { keys: seen, reconcile } = counter();
    const running = startControllers([{ name: "c", triggers: [hub.cache(Widget).keyedBy(keyOf)], reconcile }]);
    await running.quiet();
    expect(seen).toEqual(["ns/a"]);
    hub.put(Widget, widget("b"));
    await running.quiet();
    hub.drop(Widget, "ns/b");
    await running.quiet();
    expect(seen).toEqual(["ns/a", "ns/b", "ns/b"]);
    await running.stop();
  });

  it("again: it comes after its time", async () => {
    const clock = new ManualClock();
    const { keys, reconcile } = counter(again(1000));
    const running = startControllers([{ name: "c", triggers: [atStart("x")], reconcile }], { clock });
    await running.quiet();
    clock.advance(999);
    await running.quiet();
    expect(keys).toHaveLength(1);
    clock.advance(1);
    await running.quiet();
    expect(keys).toHaveLength(2);
    await running.stop();
  });

  it("an error: it comes again, later and later, and starts afresh after success", async () => {
    let fails = 3;
    const running = startControllers([
      {
        name: "c",
        triggers: [atStart("x")],
        async reconcile() {
          if (fails-- > 0) throw new Error("not yet");
          return done;
        },
      },
    ]);
    await running.quiet();
    expect(running.records.map(({ result, retryIn }) => [result, retryIn])).toEqual([
      ["error", 5],
      ["error", 10],
      ["error", 20],
      ["success", undefined],
    ]);
    await running.stop();
  });

  it("an error thrown before the first await, or something that is no error, is an error too", async () => {
    const running = startControllers(
      [
        {
          name: "sync",
          triggers: [atStart("x")],
          reconcile() {
            throw new Error("at once");
          },
        },
        { name: "odd", triggers: [atStart("x")], reconcile: () => Promise.reject("a word") },
        { name: "never", triggers: [atStart("x")], reconcile: async () => again(Number.NaN) },
        { name: "fine", triggers: [atStart("x")], reconcile: async () => done },
      ],
      { mayFail: true },
    );
    await running.quiet();
    const results = new Map(running.records.map(({ controller, result }) => [controller, result]));
    expect(Object.fromEntries(results)).toEqual({ sync: "error", odd: "error", never: "error", fine: "success" });
    await running.stop();
  });

  it("Terminal: it is told once and not retried, even from inside other errors", async () => {
    const lines: string[] = [];
    const clock = new ManualClock();
    const log = createLogger({ level: "info", format: "human", clock, write: (line) => lines.push(line) });
    let count = 0;
    await runUntilQuiet(
      { clock, log },
      {
        name: "c",
        triggers: [atStart("x")],
        async reconcile() {
          count++;
          await forEach([1], () => {
            throw new Error("render", { cause: new Terminal("spec.size is no number") });
          });
          return done;
        },
      },
    );
    expect(count).toBe(1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("1 of 1 failed: render: spec.size is no number");
  });

  it("a conflict: it comes again without a word", async () => {
    const lines: string[] = [];
    const clock = new ManualClock();
    const log = createLogger({ level: "info", format: "human", clock, write: (line) => lines.push(line) });
    const hub = fakeCluster([Widget, widget("a", { size: 1 })]);
    const widgets = hub.cache(Widget);
    let disturb = true;
    await runUntilQuiet(
      { clock, log },
      {
        name: "c",
        triggers: [widgets.keyedBy(keyOf)],
        async reconcile(key) {
          const seen = widgets.get(key);
          if (!seen) return done;
          if (disturb) hub.put(Widget, widget("a", { size: 2 }));
          disturb = false;
          const { size } = seen.spec;
          await hub.commit(Widget, seen, { ...seen, status: size === undefined ? {} : { size } });
          return done;
        },
      },
    );
    expect(hub.read(Widget, "ns/a")?.status).toEqual({ size: 2 });
    expect(lines).toEqual([]);
  });
});

describe("order", () => {
  it("lets changes overtake what was there at the start", async () => {
    const hub = fakeCluster([Widget, widget("a"), widget("b"), widget("c")]);
    const seen: string[] = [];
    const widgets = hub.cache(Widget);
    await runUntilQuiet({
      name: "c",
      triggers: [widgets.keyedBy(keyOf)],
      async reconcile(key) {
        seen.push(key);
        if (seen.length === 1) hub.put(Widget, widget("c", { size: 1 }));
        await Promise.resolve();
        return done;
      },
    });
    expect(seen).toEqual(["ns/a", "ns/c", "ns/b"]);
  });

  it("works on several keys at once, never on one key twice at once", async () => {
    const hub = fakeCluster([Widget, widget("a"), widget("b"), widget("c")]);
    const widgets = hub.cache(Widget);
    const now = new Set<string>();
    let most = 0;
    await runUntilQuiet({
      name: "c",
      concurrency: 2,
      triggers: [widgets.keyedBy(keyOf)],
      async reconcile(key) {
        expect(now.has(key)).toBe(false);
        now.add(key);
        most = Math.max(most, now.size);
        const seen = widgets.get(key);
        if (seen && seen.spec.size === undefined) hub.put(Widget, widget(seen.metadata.name, { size: 1 }));
        await new Promise((resolve) => setImmediate(resolve));
        now.delete(key);
        return done;
      },
    });
    expect(most).toBe(2);
  });
});

describe("triggers", () => {
  it("ask for the keys of an object before and after it changed, because it may have moved", async () => {
    const hub = fakeCluster([Widget, widget("a", { owner: "ann" })]);
    const widgets = hub.cache(Widget);
    const owners = widgets.indexBy((w) => w.spec.owner);
    const seen: string[] = [];
    const running = startControllers([
      {
        name: "c",
        triggers: [widgets.keyedBy((w) => w.spec.owner)],
        async reconcile(owner) {
          seen.push(`${owner}: ${owners.at(owner).length}`);
          return done;
        },
      },
    ]);
    await running.quiet();
    hub.put(Widget, widget("a", { owner: "bob" }));
    await running.quiet();
    expect(seen).toEqual(["ann: 1", "ann: 0", "bob: 1"]);
    await running.stop();
  });

  it("may be timers", async () => {
    const clock = new ManualClock();
    const { keys, reconcile } = counter();
    const running = startControllers([{ name: "c", triggers: [every(clock, 1000, "x")], reconcile }], { clock });
    await running.quiet();
    for (let second = 0; second < 3; second++) {
      clock.advance(1000);
      await running.quiet();
    }
    expect(keys).toHaveLength(4);
    await running.stop();
    clock.advance(5000);
    expect(keys).toHaveLength(4);
  });
});

describe("caches", () => {
  it("are filled before the first reconcile, those that are only read too", async () => {
    const hub = fakeCluster([Widget, widget("a"), widget("b")]);
    const widgets = hub.cache(Widget);
    let count = 0;
    await runUntilQuiet({
      name: "c",
      triggers: [atStart("x")],
      reads: [widgets],
      async reconcile() {
        count = widgets.list().length;
        return done;
      },
    });
    expect(count).toBe(2);
  });

  it("are shared by those who ask for the same", () => {
    const hub = fakeCluster();
    expect(hub.cache(Widget)).toBe(hub.cache(Widget));
    expect(hub.cache(Widget, { namespace: "a" })).not.toBe(hub.cache(Widget));
  });

  it("cannot be read unless declared, because they would look empty", async () => {
    const hub = fakeCluster([Widget, widget("a")]);
    expect(() => hub.cache(Widget).list()).toThrow("name it in the triggers or reads");
    expect(() => hub.cache(Widget).indexBy(keyOf).at("a")).toThrow("name it in the triggers or reads");
  });

  it("show only what lies in their scope", async () => {
    const labelled = { ...widget("b"), metadata: { name: "b", namespace: "other", labels: { on: "yes" } } };
    const hub = fakeCluster([Widget, widget("a"), labelled]);
    const stop = new AbortController();
    const scopes = [{ namespace: "ns" }, { labelSelector: "on=yes" }, { fieldSelector: "metadata.name=a" }];
    const names: string[][] = [];
    for (const scope of scopes) {
      const cache = hub.cache(Widget, scope);
      cache.start(stop.signal);
      await cache.whenSynced();
      names.push(cache.list().map(({ metadata }) => metadata.name));
    }
    expect(names).toEqual([["a"], ["b"], ["a"]]);
    stop.abort();
  });

  it("work over a client too", async () => {
    const clock = new ManualClock();
    const fake = fakeCluster([Widget, widget("a", { size: 1 })]);
    const hub = connectedCluster({ name: "hub", client: fake.client, clock, log: silentLog });
    const widgets = hub.cache(Widget);
    const running = startControllers([
      {
        name: "c",
        triggers: [widgets.keyedBy(keyOf)],
        async reconcile(key) {
          const seen = widgets.get(key);
          const size = seen?.spec.size;
          if (seen && size !== undefined) await hub.commit(Widget, seen, { ...seen, status: { size } });
          return done;
        },
      },
    ]);
    await until(() => fake.read(Widget, "ns/a")?.status?.size === 1);
    fake.put(Widget, widget("b", { size: 2 }));
    await until(() => fake.read(Widget, "ns/b")?.status?.size === 2);
    await running.stop();
  });
});

describe("the manager", () => {
  const never: Trigger<string> = {
    cache: { start() {}, whenSynced: () => new Promise(() => {}) },
    subscribe: () => () => {},
  };

  it("lets no controller wait for the caches of another", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    const { keys, reconcile } = counter();
    const manager = createManager({
      clock,
      log: silentLog,
      controllers: [
        { name: "stuck", triggers: [never], reconcile: async () => done },
        { name: "fine", triggers: [atStart("x")], reconcile },
      ],
    });
    const ended = manager.run(stop.signal);
    await until(() => keys.length === 1);
    expect(manager.waiting).toEqual(["stuck"]);
    expect(manager.idle).toBe(false);
    stop.abort();
    await ended;
  });

  it("says once that it is ready, when the caches of all are filled", async () => {
    let fill = () => {};
    const filled = new Promise<void>((resolve) => {
      fill = resolve;
    });
    const late: Trigger<string> = { cache: { start() {}, whenSynced: () => filled }, subscribe: () => () => {} };
    const stop = new AbortController();
    const { keys, reconcile } = counter();
    let said = 0;
    const ended = runControllers({
      clock: new ManualClock(),
      log: silentLog,
      controllers: [
        { name: "late", triggers: [late], reconcile: async () => done },
        { name: "early", triggers: [atStart("x")], reconcile },
      ],
      onReady: () => said++,
      signal: stop.signal,
    });
    await until(() => keys.length === 1);
    expect(said).toBe(0);
    fill();
    await until(() => said > 0);
    stop.abort();
    await ended;
    expect(said).toBe(1);
  });

  it("tells when caches do not fill", async () => {
    const lines: string[] = [];
    const clock = new ManualClock();
    const stop = new AbortController();
    const log = createLogger({ level: "warn", format: "human", clock, write: (line) => lines.push(line) });
    const controllers: Controller[] = [{ name: "stuck", triggers: [never], reconcile: async () => done }];
    const ended = runControllers({ controllers, clock, log, signal: stop.signal });
    clock.advance(60_000);
    stop.abort();
    await ended;
    expect(lines.map((line) => line.replace(/^\S+ /, ""))).toEqual([
      "WARN  controller=stuck still waiting for caches to fill",
      "WARN  controller=stuck still waiting for caches to fill",
    ]);
  });

  it("lets what is running end, and starts nothing more", async () => {
    const stop = new AbortController();
    const seen: string[] = [];
    let finish = () => {};
    const running = runControllers({
      clock: new ManualClock(),
      log: silentLog,
      signal: stop.signal,
      controllers: [
        {
          name: "c",
          triggers: [atStart("a"), atStart("b")],
          async reconcile(key, { signal }) {
            seen.push(`${key} begins`);
            await new Promise<void>((resolve) => {
              finish = resolve;
            });
            seen.push(`${key} ends ${signal.aborted}`);
            return done;
          },
        },
      ],
    });
    await until(() => seen.length === 1);
    stop.abort();
    finish();
    await running;
    expect(seen).toEqual(["a begins", "a ends false"]);
  });

  it("gives up on what does not end within 30 s", async () => {
    const clock = new ManualClock();
    const stop = new AbortController();
    let context: ReconcileContext | undefined;
    const running = runControllers({
      clock,
      log: silentLog,
      signal: stop.signal,
      controllers: [
        {
          name: "c",
          triggers: [atStart("a")],
          reconcile(_, given) {
            context = given;
            return new Promise(() => {});
          },
        },
      ],
    });
    await until(() => context !== undefined);
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(context?.signal.aborted).toBe(false);
    clock.advance(30_000);
    await running;
    expect(context?.signal.aborted).toBe(true);
  });

  it("calls off a reconcile after five minutes and tries again", async () => {
    const clock = new ManualClock();
    let count = 0;
    const running = startControllers(
      [
        {
          name: "c",
          triggers: [atStart("a")],
          reconcile: (_, { signal }) =>
            new Promise((resolve, reject) => {
              if (++count > 1) resolve(done);
              else signal.addEventListener("abort", () => reject(signal.reason));
            }),
        },
      ],
      { clock },
    );
    await until(() => count === 1);
    clock.advance(5 * 60_000);
    await running.quiet();
    expect(running.records.map(({ result, error }) => [result, (error as Error | undefined)?.message])).toEqual([
      ["error", "the reconcile took longer than 300 s"],
      ["success", undefined],
    ]);
    await running.stop();
  });

  it("ends with the reason when a controller cannot start", async () => {
    const broken: Trigger<string> = {
      subscribe() {
        throw new Error("no such thing");
      },
    };
    const options = { clock: new ManualClock(), log: silentLog, signal: new AbortController().signal };
    const controllers: Controller[] = [
      { name: "broken", triggers: [broken], reconcile: async () => done },
      { name: "fine", triggers: [], reconcile: async () => done },
    ];
    await expect(runControllers({ ...options, controllers })).rejects.toThrow("controller broken cannot run");
  });

  it("runs many controllers without a warning of leaks", async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    const hub = fakeCluster();
    const scopes = Array.from({ length: 15 }, (_, index) => hub.cache(Widget, { namespace: `ns-${index}` }));
    await runUntilQuiet(
      ...Array.from({ length: 15 }, (_, index) => ({
        name: `c${index}`,
        triggers: scopes.map((cache) => cache.keyedBy(keyOf)),
        reconcile: async () => done,
      })),
    );
    process.off("warning", onWarning);
    expect(warnings).toEqual([]);
  });

  it("refuses two controllers of one name", () => {
    const one: Controller = { name: "c", triggers: [], reconcile: async () => done };
    expect(() => createManager({ controllers: [one, one], clock: new ManualClock(), log: silentLog })).toThrow(
      "two controllers are named c",
    );
  });
});

describe("forEach", () => {
  it("lets every item finish and then throws what failed together", async () => {
    const finished: number[] = [];
    const work = forEach([1, 2, 3], async (n) => {
      if (n === 1) throw new Error("one");
      await Promise.resolve();
      finished.push(n);
      if (n === 3) throw new Error("three");
    });
    const error = await work.catch((e: unknown) => e);
    expect(finished).toEqual([2, 3]);
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).message).toBe("2 of 3 failed");
    expect((error as AggregateError).errors.map((e: Error) => e.message)).toEqual(["one", "three"]);
  });

  it("is content with nothing to do, and with many", async () => {
    await forEach([], () => {});
    let sum = 0;
    await forEach(
      Array.from({ length: 100 }, (_, n) => n),
      async (n) => {
        await Promise.resolve();
        sum += n;
      },
    );
    expect(sum).toBe(4950);
  });
});
