/** Clusters that come, are worked on and go, a thousand times: whatever they brought along must go with them. */
import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { type CountingClock, countingClock } from "../../../test/support/counting-clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { type SmallServer, smallServer } from "../../../test/support/small-server.ts";
import { createManager } from "../manager.ts";
import { createRuntimeMetrics } from "../metrics.ts";
import { type Cluster, type Controller, done } from "../types.ts";
import {
  type ClusterKey,
  createFleet,
  type Fleet,
  type StaticProvider,
  splitClusterKey,
  staticProvider,
} from "./index.ts";

const SIDE_BY_SIDE = 10;
const ROUNDS = 1_000;
/** The rounds after which everything that is made once has been made. */
const WARM = 200;
/** A cluster that stays behind weighs tens of kilobytes, so eight hundred of them weigh many times as much. */
const HEAP_SLACK = 4 * 1024 * 1024;

let server: SmallServer;
beforeAll(async () => {
  server = await smallServer({ uid: "visited" });
});
afterAll(() => server.stop());

/** Timers that keep the process alive; those that do not, the clock counts. */
function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

/** Bytes on the heap once nothing more can be collected. */
function heap(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** What is left of the rounds, with nobody in the fleet. */
function remains(clock: CountingClock, signals: readonly AbortSignal[]) {
  return {
    sockets: server.open(),
    clock: clock.waiting,
    listeners: signals.map((signal) => getEventListeners(signal, "abort").length),
  };
}

interface Visited {
  readonly fleet: Fleet;
  readonly provider: StaticProvider;
  /** By cluster: called when something there has been reconciled. */
  readonly worked: Map<string, () => void>;
}

/** One cluster after the other of this name: each is connected, reconciled once, and removed. */
async function visit({ fleet, provider, worked }: Visited, name: string, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const isWorked = new Promise<void>((resolve) => worked.set(name, resolve));
    provider.set(name, server.connection);
    await isWorked;
    const isGone = new Promise<void>((resolve) => {
      const stop = fleet.onRemoved((left) => {
        if (left !== name) return;
        stop();
        resolve();
      });
    });
    provider.remove(name);
    await isGone;
    server.forget();
  }
}

describe("coming and going", () => {
  it(`leaves no socket, timer, listener or memory behind after ${ROUNDS} rounds`, async () => {
    const clock = countingClock(systemClock);
    const provider = staticProvider();
    const fleet = createFleet({ provider, clock, log: silentLog });
    const worked = new Map<string, () => void>();
    const maps = fleet.cache(ConfigMap);
    const controller: Controller<ClusterKey> = {
      name: "visited",
      triggers: [maps.keyedBy((map) => map.metadata.name)],
      concurrency: SIDE_BY_SIDE,
      async reconcile(key) {
        worked.get(splitClusterKey(key).cluster)?.();
        return done;
      },
    };
    const registry = createRegistry();
    const metrics = createRuntimeMetrics(registry, { clusterLabel: true });
    const manager = createManager({ controllers: [controller], fleet, metrics, clock, log: silentLog });
    const stop = new AbortController();
    const ended = Promise.all([fleet.run(stop.signal), manager.run(stop.signal)]);
    await eventually(() => expect(manager.idle).toBe(true));

    const joined: WeakRef<Cluster>[] = [];
    fleet.forEach((cluster) => {
      joined.push(new WeakRef(cluster));
    });
    const names = Array.from({ length: SIDE_BY_SIDE }, (_, n) => `guest-${n}`);
    const rounds = (count: number) =>
      Promise.all(names.map((name) => visit({ fleet, provider, worked }, name, count / SIDE_BY_SIDE)));

    const before = { ...remains(clock, [stop.signal]), timers: timers() };
    const isAsBefore = () => {
      const { timers: most, ...left } = before;
      expect(remains(clock, [stop.signal])).toEqual(left);
      expect(timers()).toBeLessThanOrEqual(most);
    };
    await rounds(WARM);
    await eventually(isAsBefore);
    const warm = heap();
    await rounds(ROUNDS - WARM);
    expect(joined).toHaveLength(ROUNDS);
    await eventually(isAsBefore);
    await eventually(() => {
      collectGarbage();
      expect(joined.filter((cluster) => cluster.deref()).length).toBe(0);
    });
    expect(heap() - warm).toBeLessThan(HEAP_SLACK);
    expect(fleet.members).toEqual([]);
    expect(registry.text()).not.toContain("guest-");
    stop.abort();
    await ended;
    expect(clock.waiting).toBe(0);
  }, 120_000);
});
