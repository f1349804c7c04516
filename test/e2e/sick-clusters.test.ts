/** Fifty clusters that are well, beside clusters that are ill in every way we know: the ill ones must not matter. */
import { afterEach, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import {
  type ClusterKey,
  type Controller,
  createFleet,
  createManager,
  done,
  type Fleet,
  splitClusterKey,
  staticProvider,
} from "#runtime";
import { eventually } from "../support/eventually.ts";
import { SICKNESSES, type SickServer, sickServers } from "../support/sick-servers.ts";
import { type SmallServer, smallServer } from "../support/small-server.ts";

const HEALTHY = 50;
/** More than there are workers, so that a worker that waits for one of them would be missed. */
const STALLING = 10;
const WORKERS = 8;
/** These let nobody in; all others are connected first and fall ill then. */
const SHUT = ["hanging", "refusing", "resetting", "untrusted", "mute", "halting", "busy", "broken", "garbled"];

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** What a controller did that asks the cluster itself about every object it is told of. */
interface Work {
  /** The newest resourceVersion that the cluster gave for an object. */
  readonly seen: Map<ClusterKey, string>;
  /** Reconciles under way, by cluster. */
  readonly underWay: Map<string, number>;
  readonly controller: Controller<ClusterKey>;
}

function asking(fleet: Fleet): Work {
  const seen = new Map<ClusterKey, string>();
  const underWay = new Map<string, number>();
  const count = (cluster: string, by: number) => underWay.set(cluster, (underWay.get(cluster) ?? 0) + by);
  const controller: Controller<ClusterKey> = {
    name: "asking",
    triggers: [fleet.cache(ConfigMap).keyedBy((map) => map.metadata.name)],
    concurrency: WORKERS,
    async reconcile(key, { signal }) {
      const { cluster, key: name } = splitClusterKey(key);
      count(cluster, 1);
      try {
        const map = await fleet.get(cluster)?.client.get(ConfigMap, `default/${name}`, { signal });
        if (map) seen.set(key, map.metadata.resourceVersion ?? "");
        return done;
      } finally {
        count(cluster, -1);
      }
    },
  };
  return { seen, underWay, controller };
}

async function healthyServers(): Promise<Map<string, SmallServer>> {
  const names = Array.from({ length: HEALTHY }, (_, n) => `well-${n}`);
  const servers = await Promise.all(names.map((uid) => smallServer({ uid })));
  return new Map(names.map((name, at) => [name, servers[at] as SmallServer]));
}

async function sickOnes(): Promise<Map<string, SickServer>> {
  const servers = await sickServers([...SICKNESSES, ...Array.from({ length: STALLING }, () => "stalling" as const)]);
  return new Map(servers.map((server, at) => [`${server.sickness}-${at}`, server]));
}

/** A cluster that is known and forgotten, again and again, for as long as the test runs. Answers how often so far. */
function comingAndGoing(fleet: Fleet, provider: ReturnType<typeof staticProvider>, server: SmallServer): () => number {
  let rounds = 0;
  const stops = [
    fleet.onChange(({ name, state }) => {
      if (name === "guest" && state === "Engaged") setImmediate(() => provider.remove("guest"));
    }),
    fleet.onRemoved((name, why) => {
      if (name !== "guest" || why !== "removed") return;
      rounds++;
      setImmediate(() => provider.set("guest", server.connection));
    }),
  ];
  ends.push(async () => {
    for (const stop of stops) stop();
  });
  provider.set("guest", server.connection);
  return () => rounds;
}

describe("a fleet in which clusters are ill in every way we know", () => {
  it("engages every healthy one without waiting, and works on all that changes there, while the others stay ill", async () => {
    const [healthy, sick, guest] = [await healthyServers(), await sickOnes(), await smallServer({ uid: "guest" })];
    ends.push(() => Promise.all([...healthy.values(), ...sick.values(), guest].map((server) => server.stop())));
    // The sick ones come first, so that whoever took them one after the other would never come to the healthy ones.
    const clusters = [...sick, ...healthy].map(([name, { connection }]) => [name, connection] as const);
    const provider = staticProvider(Object.fromEntries(clusters));
    // Time stands still until we move it: whatever healthy clusters need happens without it.
    const clock = new ManualClock();
    const fleet = createFleet({ provider, clock, log: silentLog });
    const { seen, underWay, controller } = asking(fleet);
    const manager = createManager({ controllers: [controller], fleet, clock, log: silentLog, grace: 0 });
    const stop = new AbortController();
    const ended = Promise.all([fleet.run(stop.signal), manager.run(stop.signal)]);
    ends.push(async () => {
      stop.abort();
      await ended;
    });
    const visits = comingAndGoing(fleet, provider, guest);

    const stateOf = (name: string) => fleet.stateOf(name);
    await eventually(() => expect([...healthy.keys()].filter((name) => stateOf(name) !== "Engaged")).toEqual([]));
    // Nobody has waited: the very first attempt to reach those that do not answer is still under way.
    const unanswered = [...sick.entries()].filter(([, { sickness }]) => sickness === "hanging" || sickness === "mute");
    expect(unanswered.map(([name, server]) => [stateOf(name), server.open()])).toEqual([
      ["Engaging", 1],
      ["Engaging", 1],
    ]);

    // Every stalling cluster has a reconcile that waits for it, and there are more of them than workers.
    const stalling = [...sick.values()].filter(({ sickness }) => sickness === "stalling").length;
    const stalled = () => [...underWay].filter(([name, count]) => name.startsWith("stalling") && count > 0).length;
    await eventually(() => {
      if (stalled() < stalling) clock.advance(500);
      expect(stalled()).toBe(stalling);
    });
    expect(stalling).toBeGreaterThan(WORKERS);
    await eventually(() => expect([...healthy.keys()].filter((name) => seen.get(`${name}|one`) !== "5")).toEqual([]));

    for (const round of ["first", "second", "third"]) {
      const before = visits();
      clock.advance(1_000);
      const written = [...healthy].map(
        ([name, server]) => [`${name}|${round}` as ClusterKey, server.put(round)] as const,
      );
      await eventually(() => expect(written.filter(([key, version]) => seen.get(key) !== version)).toEqual([]));
      await eventually(() => expect(visits()).toBeGreaterThan(before));
    }
    expect(stalled(), "they have waited all the time, and nobody has missed the workers").toBe(stalling);

    const shut = [...sick].filter(([, { sickness }]) => SHUT.includes(sickness));
    expect(shut.filter(([name]) => stateOf(name) !== "Engaging").map(([name]) => name)).toEqual([]);
    const mark = (kind: string) => [...sick.keys()].find((name) => name.startsWith(kind)) ?? "";
    await eventually(() => {
      clock.advance(1_000);
      expect(stateOf(mark("impostor"))).toBe("Degraded");
    });
    expect(fleet.members.filter(({ name, state }) => name.startsWith("well") && state !== "Engaged")).toEqual([]);
    // They are asked nothing more than the one watch that they always had.
    expect([...healthy.values()].map(({ watches }) => watches.length)).toEqual(Array(HEALTHY).fill(1));
  }, 120_000);
});
