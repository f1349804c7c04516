import { afterEach, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { isNotFound, isTimeout, KubeError } from "#kube";
import { ManualClock } from "#lib/clock";
import { createLogger } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { eventually } from "../../../test/support/eventually.ts";
import { type SmallServer, smallServer } from "../../../test/support/small-server.ts";
import { createManager } from "../manager.ts";
import { type Cluster, type Controller, done } from "../types.ts";
import { Circuit } from "./circuit.ts";
import { createFleet, type Fleet, registerFleetMetrics, staticProvider } from "./index.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Stage {
  readonly fleet: Fleet;
  readonly clock: ManualClock;
  readonly server: SmallServer;
  readonly lines: string[];
  /** Paths that are not answered any more. */
  readonly stalled: Set<string>;
}

const MAP = "/api/v1/namespaces/default/configmaps/one";
const READY = "/readyz";

/** A fleet of one cluster on a clock that the test holds. */
async function stage(): Promise<Stage> {
  const stalled = new Set<string>();
  const lines: string[] = [];
  const server = await smallServer({ uid: "a", intercept: ({ path }) => stalled.has(path) });
  const clock = new ManualClock();
  const log = createLogger({ level: "info", format: "human", clock, write: (line) => lines.push(line) });
  const fleet = createFleet({ provider: staticProvider({ east: server.connection }), clock, log, random: () => 0 });
  const stop = new AbortController();
  const ended = fleet.run(stop.signal);
  ends.push(
    () => server.stop(),
    async () => {
      stop.abort();
      await ended;
    },
  );
  await eventually(() => expect(fleet.stateOf("east")).toBe("Engaged"));
  return { fleet, clock, server, lines, stalled };
}

const statusOf = ({ fleet }: Stage) => fleet.members[0];

function clusterOf({ fleet }: Stage): Cluster {
  const cluster = fleet.get("east");
  if (!cluster) throw new Error("east is not connected");
  return cluster;
}

const read = (cluster: Cluster) => cluster.client.get(ConfigMap, "default/one");

/** A call that is not answered, up to its end. */
async function timedOut({ clock, server }: Stage, cluster: Cluster): Promise<void> {
  const before = server.requests(MAP);
  const call = read(cluster).then(
    () => undefined,
    (error: unknown) => error,
  );
  await eventually(() => expect(server.requests(MAP)).toBe(before + 1));
  clock.advance(30_000);
  expect(isTimeout(await call)).toBe(true);
}

describe("a circuit", () => {
  const lost = () => new KubeError("lost", "connection lost");

  it("opens after three calls in a row that did not come through", () => {
    const opened: number[] = [];
    const circuit = new Circuit({ onOpen: (_, relapses) => opened.push(relapses) });
    circuit.failed(lost());
    circuit.failed(new KubeError("timeout", "no answer"));
    expect(circuit.isOpen).toBe(false);
    circuit.failed(new KubeError("unreachable", "nobody"));
    expect(circuit.isOpen).toBe(true);
    expect(circuit.refusal("https://east")?.message).toMatch(/^calls to https:\/\/east are not tried .*: nobody$/);
    expect(opened).toEqual([0]);
  });

  it.each([
    ["an answer", (circuit: Circuit) => circuit.answered()],
    ["a refusal", (circuit: Circuit) => circuit.failed(new KubeError("status", "no", { code: 403 }))],
    ["nonsense", (circuit: Circuit) => circuit.failed(new KubeError("malformed", "what?"))],
  ])("begins to count anew after %s, because the server is there", (_, answer) => {
    const circuit = new Circuit({ onOpen: () => {} });
    for (let round = 0; round < 5; round++) {
      circuit.failed(lost());
      circuit.failed(lost());
      answer(circuit);
    }
    expect(circuit.isOpen).toBe(false);
  });

  it.each(["aborted", "credentials", "misuse"] as const)("does not count what is %s, which says nothing", (kind) => {
    const circuit = new Circuit({ onOpen: () => {} });
    for (let round = 0; round < 5; round++) circuit.failed(new KubeError(kind, "not sent"));
    expect(circuit.isOpen).toBe(false);
    circuit.failed(lost());
    circuit.failed(lost());
    circuit.failed(new KubeError(kind, "not sent"));
    circuit.failed(lost());
    expect(circuit.isOpen).toBe(true);
  });

  it("counts how often it opens without a call that came through in between", () => {
    const opened: number[] = [];
    const circuit = new Circuit({ onOpen: (_, relapses) => opened.push(relapses) });
    const open = () => {
      for (let n = 0; n < 3; n++) circuit.failed(lost());
      circuit.close();
    };
    open();
    open();
    open();
    circuit.answered();
    open();
    expect(opened).toEqual([0, 1, 2, 0]);
  });
});

describe("a cluster that does not answer calls", () => {
  it("is Degraded with an open circuit, tries no call until it is ready again, and then all at once", async () => {
    const on = await stage();
    const cluster = clusterOf(on);
    on.stalled.add(MAP).add(READY);
    // The fleet's own questions count too, so it may not take three calls.
    while (statusOf(on)?.circuit === "closed") await timedOut(on, cluster);
    expect(statusOf(on)).toMatchObject({
      state: "Degraded",
      circuit: "open",
      problem: { reason: "ClusterUnreachable" },
    });

    const before = on.server.requests(MAP);
    await expect(read(cluster)).rejects.toThrow(/are not tried until it answers again/);
    expect(on.server.requests(MAP)).toBe(before);
    expect(on.lines.join("\n")).toContain("cluster cannot be used");

    const registry = createRegistry();
    registerFleetMetrics(registry, on.fleet, { clusterLabel: true });
    expect(registry.text()).toContain('capstan_fleet_clusters{state="Degraded"} 1');
    expect(registry.text()).toContain('capstan_fleet_clusters{state="Engaged"} 0');
    expect(registry.text()).toContain("capstan_fleet_open_circuits 1");
    expect(registry.text()).toContain('capstan_fleet_cluster_state{cluster="east",state="Degraded"} 1');

    on.stalled.clear();
    await eventually(() => {
      on.clock.advance(1_000);
      expect(statusOf(on)).toMatchObject({ state: "Engaged", circuit: "closed" });
    });
    expect((await read(cluster)).metadata.name).toBe("one");
    expect(registry.text()).toContain("capstan_fleet_open_circuits 0");
  });

  it("is believed later each time, if it says that it is ready and lets no call through", async () => {
    const on = await stage();
    const cluster = clusterOf(on);
    on.stalled.add(MAP);
    let openSince: number | undefined;
    const open: number[] = [];
    on.fleet.onChange(({ circuit }) => {
      const now = on.clock.now().getTime();
      if (circuit === "open") openSince ??= now;
      else if (openSince !== undefined) {
        open.push(now - openSince);
        openSince = undefined;
      }
    });
    let isOver = false;
    const calling = (async () => {
      while (!isOver) {
        await read(cluster).catch(() => {});
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    // Answers take a while of the machine's time, in which this clock goes on: only much longer is longer.
    await eventually(() => {
      on.clock.advance(openSince === undefined ? 10_000 : 1_000);
      expect(open.slice(1).some((ms) => ms >= (open[0] ?? 0) + 4_000)).toBe(true);
    });
    isOver = true;
    on.clock.advance(30_000);
    await calling;
  });

  it("is fine as long as it answers something: refusals open nothing", async () => {
    const on = await stage();
    const cluster = clusterOf(on);
    for (let call = 0; call < 5; call++) {
      await expect(cluster.client.get(ConfigMap, "default/none")).rejects.toSatisfy(isNotFound);
    }
    expect(statusOf(on)).toMatchObject({ state: "Engaged", circuit: "closed" });
  });

  it("has the keys parked that a controller could not work on, and they are worked on when it answers", async () => {
    const on = await stage();
    on.stalled.add(MAP).add(READY);
    const maps = on.fleet.cache(ConfigMap);
    let parked = 0;
    let worked = 0;
    const controller: Controller<`${string}|${string}`> = {
      name: "reading",
      triggers: [maps.keyedBy((map) => map.metadata.name)],
      async reconcile() {
        await read(clusterOf(on));
        worked++;
        return done;
      },
    };
    const { clock, fleet } = on;
    const log = createLogger({ level: "error", format: "human", clock, write: () => {} });
    const observe = ({ parked: isParked }: { parked?: boolean }) => {
      if (isParked) parked++;
    };
    const manager = createManager({ controllers: [controller], fleet, clock, log, observe });
    const stop = new AbortController();
    const ended = manager.run(stop.signal);
    ends.push(async () => {
      stop.abort();
      await ended;
    });
    await eventually(() => {
      clock.advance(5_000);
      expect(parked).toBe(1);
    });
    expect(worked).toBe(0);
    on.stalled.clear();
    await eventually(() => {
      clock.advance(1_000);
      expect(worked).toBeGreaterThan(0);
    });
  });
});
