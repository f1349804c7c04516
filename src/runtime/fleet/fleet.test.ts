import { afterEach, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { type Connection, registerClientMetrics } from "#kube";
import { type Clock, ManualClock, systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { type CountingClock, countingClock } from "../../../test/support/counting-clock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { type SmallServer, smallServer } from "../../../test/support/small-server.ts";
import { CERTIFICATE, PRIVATE_KEY } from "../../kube/testing/scripted-server.ts";
import type { Cluster } from "../types.ts";
import {
  createFleet,
  type Fleet,
  type FleetProvider,
  isUnreachable,
  type Offer,
  splitClusterKey,
  staticProvider,
} from "./index.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function serverOf(uid: string): Promise<SmallServer> {
  const server = await smallServer({ uid });
  ends.push(() => server.stop());
  return server;
}

/** A running fleet, which ends with the test. */
function running(provider: FleetProvider, clock: Clock = systemClock): Fleet {
  const fleet = createFleet({ provider, clock, log: silentLog, random: () => 0 });
  const stop = new AbortController();
  const ended = fleet.run(stop.signal);
  ends.push(async () => {
    stop.abort();
    await ended;
  });
  return fleet;
}

/** Follows ConfigMaps on all clusters; the answers are the keys that were asked for. */
function following(fleet: Fleet): string[] {
  const stop = new AbortController();
  const maps = fleet.cache(ConfigMap);
  const keys: string[] = [];
  maps.start(stop.signal);
  const unsubscribe = maps.keyedBy((map) => map.metadata.name).subscribe((key) => keys.push(key));
  ends.push(async () => {
    unsubscribe();
    stop.abort();
  });
  return keys;
}

const stateOf = (fleet: Fleet, name: string) => fleet.stateOf(name);
const engaged = (fleet: Fleet, name: string) => eventually(() => expect(stateOf(fleet, name)).toBe("Engaged"));

async function reached(fleet: Fleet, name: string): Promise<Cluster> {
  const cluster = await fleet.reach(name, { patience: 10_000 });
  if (isUnreachable(cluster)) throw new Error(`${cluster.reason}: ${cluster.message}`);
  return cluster;
}

/** Until nothing but the pause between two attempts is waited for. */
const paused = (clock: CountingClock) => eventually(() => expect(clock.waiting).toBe(1));

/** Nobody listens there. */
const REFUSING: Connection = { server: "https://127.0.0.1:1" };

describe("a cluster of the fleet", () => {
  it("is connected, and asks for reconciles with its name in front", async () => {
    const server = await serverOf("a");
    const fleet = running(staticProvider({ east: server.connection }));
    const keys = following(fleet);
    const cluster = await reached(fleet, "east");
    expect(cluster.name).toBe("east");
    await eventually(() => expect(keys).toEqual(["east|one"]));
    expect(splitClusterKey("east|one")).toEqual({ cluster: "east", key: "one" });
    expect(fleet.cache(ConfigMap).get("east", "default/one")?.metadata.name).toBe("one");
  });

  it("shows a new token from the next request on, and its watches are not reopened", async () => {
    const server = await serverOf("a");
    const provider = staticProvider({ east: { ...server.connection, token: "old" } });
    const fleet = running(provider);
    following(fleet);
    const before = await reached(fleet, "east");
    await eventually(() => expect(server.watches).toHaveLength(1));

    provider.set("east", { ...server.connection, token: "new" });
    await eventually(() => expect(server.tokens.at(-1)).toBe("new"));
    expect(fleet.get("east")).toBe(before);
    expect(server.watches).toHaveLength(1);
  });

  it("shows a new certificate on a new connection, and watches go on from where they were", async () => {
    const clock = new ManualClock();
    const server = await serverOf("a");
    const provider = staticProvider({ east: server.connection });
    const fleet = running(provider, clock);
    following(fleet);
    await eventually(() => expect(fleet.cache(ConfigMap).on("east")).toBeDefined());
    const before = fleet.get("east");

    provider.set("east", { ...server.connection, cert: CERTIFICATE, key: PRIVATE_KEY });
    await eventually(() => {
      clock.advance(500);
      expect(server.watches.length).toBeGreaterThan(1);
    });
    expect(new Set(server.watches.slice(1))).toEqual(new Set(["7"]));
    await eventually(() => expect(server.open()).toBe(1));
    expect(fleet.get("east")).toBe(before);
  });

  it("goes over to a new endpoint and watches from where it was, because it is the same server", async () => {
    const [first, second] = [await serverOf("same"), await serverOf("same")];
    const provider = staticProvider({ east: first.connection });
    const fleet = running(provider);
    const removed: string[] = [];
    fleet.onRemoved((name) => removed.push(name));
    following(fleet);
    const before = await reached(fleet, "east");
    await eventually(() => expect(fleet.cache(ConfigMap).on("east")).toBeDefined());

    provider.set("east", second.connection);
    await eventually(() => expect(second.watches).toEqual(["7"]));
    await eventually(() => expect(first.open()).toBe(0));
    expect(fleet.get("east")).toBe(before);
    expect(removed).toEqual([]);
  });

  it("keeps its connection while nobody answers at a new endpoint", async () => {
    const clock = new ManualClock();
    const server = await serverOf("a");
    const provider = staticProvider({ east: { ...server.connection, token: "one" } });
    const fleet = running(provider, clock);
    await engaged(fleet, "east");
    const before = fleet.get("east");
    provider.set("east", REFUSING);
    await eventually(async () => {
      clock.advance(500);
      expect(await fleet.reach("east")).toMatchObject({ reason: "ClusterUnreachable" });
    });
    expect(stateOf(fleet, "east")).toBe("Degraded");
    expect(await before?.client.raw("/readyz")).toBe("ok");

    provider.set("east", { ...server.connection, token: "two" });
    await engaged(fleet, "east");
    expect(fleet.get("east")).toBe(before);
    expect(server.tokens.at(-1)).toBe("two");
  });

  it("is read anew when another server answers for it", async () => {
    const [first, second] = [await serverOf("one"), await serverOf("two")];
    const provider = staticProvider({ east: first.connection });
    const fleet = running(provider);
    const removed: string[] = [];
    fleet.onRemoved((name) => removed.push(name));
    following(fleet);
    const before = await reached(fleet, "east");
    await eventually(() => expect(first.watches).toHaveLength(1));

    provider.set("east", second.connection);
    await eventually(() => expect(second.watches).toEqual([""]));
    expect(fleet.get("east")).not.toBe(before);
    expect(removed).toEqual(["east"]);
    await eventually(() => expect(first.open()).toBe(0));
  });

  it("leaves no connection when it is removed, whoever still follows it", async () => {
    const server = await serverOf("a");
    const provider = staticProvider({ east: server.connection });
    const fleet = running(provider);
    const removed: string[] = [];
    fleet.onRemoved((name) => removed.push(name));
    following(fleet);
    await reached(fleet, "east");
    await eventually(() => expect(server.watches).toHaveLength(1));

    provider.remove("east");
    await eventually(() => expect(server.open()).toBe(0));
    expect(removed).toEqual(["east"]);
    expect(fleet.members).toEqual([]);
    expect(await fleet.reach("east")).toEqual({ reason: "ClusterNotFound", message: "cluster east is not known" });
  });

  it("is tried again, later each time", async () => {
    const clock = new ManualClock();
    const counted = countingClock(clock);
    const server = await serverOf("a");
    server.works = false;
    const fleet = running(staticProvider({ east: server.connection }), counted);
    const attempts = (count: number) => eventually(() => expect(server.tokens).toHaveLength(count));
    await attempts(1);
    await eventually(async () => expect(await fleet.reach("east")).toMatchObject({ reason: "ClusterUnhealthy" }));
    expect(stateOf(fleet, "east")).toBe("Engaging");
    expect(fleet.get("east")).toBeUndefined();
    await paused(counted);
    clock.advance(800);
    await attempts(2);
    await paused(counted);
    clock.advance(1_599);
    expect(server.tokens).toHaveLength(2);
    clock.advance(1);
    await attempts(3);
    server.works = true;
    await paused(counted);
    clock.advance(3_200);
    await engaged(fleet, "east");
  });

  it("is tried at once when there is another way to it", async () => {
    const server = await serverOf("a");
    const provider = staticProvider({ east: REFUSING });
    const fleet = running(provider, new ManualClock());
    await eventually(async () => expect(await fleet.reach("east")).toMatchObject({ reason: "ClusterUnreachable" }));
    provider.set("east", server.connection);
    await engaged(fleet, "east");
  });

  it("gets degraded when it is not ready twice in a row, and recovers by itself", async () => {
    const clock = new ManualClock();
    const server = await serverOf("a");
    const fleet = running(staticProvider({ east: server.connection }), clock);
    await engaged(fleet, "east");
    const cluster = fleet.get("east");
    const keys: string[] = [];
    fleet.keyedBy((name) => name).subscribe((key) => keys.push(key));
    expect(keys).toEqual(["east"]);

    server.ready = false;
    await eventually(() => {
      clock.advance(1_000);
      expect(stateOf(fleet, "east")).toBe("Degraded");
    });
    expect(server.requests("/readyz")).toBeGreaterThanOrEqual(2);
    expect(await fleet.reach("east")).toMatchObject({ reason: "ClusterUnhealthy" });
    expect(fleet.get("east")).toBe(cluster);

    server.ready = true;
    await eventually(() => {
      clock.advance(1_000);
      expect(stateOf(fleet, "east")).toBe("Engaged");
    });
    expect(fleet.get("east")).toBe(cluster);
    expect(keys.length).toBeGreaterThanOrEqual(3);
  });

  it("is asked for again as a whole when it recovers, because reconciles gave up on it", async () => {
    const clock = new ManualClock();
    const server = await serverOf("a");
    const fleet = running(staticProvider({ east: server.connection }), clock);
    const keys = following(fleet);
    await eventually(() => expect(keys).toEqual(["east|one"]));
    server.works = false;
    server.drop();
    await eventually(() => {
      clock.advance(1_000);
      expect(stateOf(fleet, "east")).toBe("Degraded");
    });
    server.works = true;
    await eventually(() => {
      clock.advance(1_000);
      expect(keys.slice(0, 2)).toEqual(["east|one", "east|one"]);
    });
    expect(stateOf(fleet, "east")).toBe("Engaged");
    await eventually(() => {
      clock.advance(500);
      expect(server.watches.slice(0, 2)).toEqual(["", "7"]);
    });
  });

  it("gets degraded when a new token is refused, although its watches go on", async () => {
    const clock = new ManualClock();
    const server = await serverOf("a");
    server.refused.add("bad");
    const provider = staticProvider({ east: { ...server.connection, token: "good" } });
    const fleet = running(provider, clock);
    following(fleet);
    await eventually(() => expect(fleet.cache(ConfigMap).on("east")).toBeDefined());
    provider.set("east", { ...server.connection, token: "bad" });
    await eventually(async () => {
      clock.advance(100);
      expect(await fleet.reach("east")).toMatchObject({ reason: "ClusterUnauthorized" });
    });
    expect(stateOf(fleet, "east")).toBe("Degraded");
    provider.set("east", { ...server.connection, token: "better" });
    await engaged(fleet, "east");
    expect(server.watches).toHaveLength(1);
  });

  it("is not asked for its health while a watch proves it", async () => {
    const clock = new ManualClock();
    const server = await serverOf("a");
    const fleet = running(staticProvider({ east: server.connection }), clock);
    following(fleet);
    await eventually(() => expect(fleet.cache(ConfigMap).on("east")).toBeDefined());
    clock.advance(25_000);
    await eventually(() => expect(stateOf(fleet, "east")).toBe("Engaged"));
    expect(server.requests("/readyz")).toBe(0);
  });
});

describe("what a provider says", () => {
  const offers: Offer[] = [];
  /** Offers what lies in `offers` and then fails, as often as it is asked. */
  const failing: FleetProvider = {
    name: "failing",
    async *follow() {
      for (const offer of offers) yield { type: "offered", offer };
      yield { type: "listed" };
      throw new Error("lost");
    },
  };

  it("is why not, where it has no way in", async () => {
    const reason = { reason: "MulticlusterDisabled", message: "nobody said how" };
    offers.splice(0, offers.length, { name: "east", fingerprint: "1", connect: () => reason });
    const fleet = running(failing, new ManualClock());
    await eventually(async () => expect(await fleet.reach("east")).toEqual(reason));
    expect(stateOf(fleet, "east")).toBe("Pending");
  });

  it("holds until it says something else: a failing provider is asked again, and what it leaves out goes", async () => {
    const clock = new ManualClock();
    const reason = { reason: "No", message: "no" };
    const offer = (name: string): Offer => ({ name, fingerprint: "1", connect: () => reason });
    offers.splice(0, offers.length, offer("east"), offer("west"));
    const fleet = running(failing, clock);
    await fleet.whenListed();
    expect(fleet.members.map(({ name }) => name)).toEqual(["east", "west"]);

    offers.splice(0, offers.length, offer("west"));
    await eventually(() => {
      clock.advance(1_000);
      expect(fleet.members.map(({ name }) => name)).toEqual(["west"]);
    });
  });

  it("is called off when it takes too long", async () => {
    const clock = new ManualClock();
    offers.splice(0, offers.length, { name: "east", fingerprint: "1", connect: () => new Promise(() => {}) });
    const fleet = running(failing, clock);
    await fleet.whenListed();
    await eventually(async () => {
      clock.advance(1_000);
      expect(await fleet.reach("east")).toMatchObject({ message: "no answer within 15 s" });
    });
  });

  it("is left out when it gives a cluster a name that no key can carry", async () => {
    offers.splice(0, offers.length, { name: "a|b", fingerprint: "1", connect: () => REFUSING });
    const fleet = running(failing, new ManualClock());
    await fleet.whenListed();
    expect(fleet.members).toEqual([]);
  });
});

describe("requests to clusters", () => {
  it("are counted together, by host", async () => {
    const [east, west] = [await serverOf("a"), await serverOf("b")];
    const registry = createRegistry();
    const provider = staticProvider({ east: east.connection, west: west.connection });
    const metrics = registerClientMetrics(registry);
    const fleet = createFleet({ provider, clock: new ManualClock(), log: silentLog, metrics });
    const stop = new AbortController();
    const ended = fleet.run(stop.signal);
    await engaged(fleet, "east");
    await engaged(fleet, "west");
    for (const { port } of [east, west]) {
      expect(registry.text()).toContain(
        `rest_client_requests_total{code="200",method="GET",host="127.0.0.1:${port}"} 1`,
      );
    }
    stop.abort();
    await ended;
  });
});

describe("why a cluster left", () => {
  it("is told with it: another server under its name, no cluster of that name, or the end of the fleet", async () => {
    const [first, second] = [await serverOf("one"), await serverOf("two")];
    const provider = staticProvider({ east: first.connection, west: first.connection });
    const fleet = createFleet({ provider, clock: new ManualClock(), log: silentLog });
    const left: string[] = [];
    fleet.onRemoved((name, why) => left.push(`${name} ${why}`));
    const stop = new AbortController();
    const ended = fleet.run(stop.signal);
    await engaged(fleet, "east");
    await engaged(fleet, "west");
    provider.set("east", second.connection);
    await eventually(() => expect(left).toEqual(["east released"]));
    provider.remove("west");
    await eventually(() => expect(left).toEqual(["east released", "west removed"]));
    await engaged(fleet, "east");
    stop.abort();
    await ended;
    expect(left).toEqual(["east released", "west removed", "east stopped"]);
  });
});

describe("kinds on all clusters", () => {
  it("ask for reconciles of a cluster only after the other kinds that are read there are filled", async () => {
    const server = await serverOf("a");
    const fleet = running(staticProvider({ east: server.connection }));
    const stop = new AbortController();
    const maps = fleet.cache(ConfigMap);
    const others = fleet.cache(ConfigMap, { labelSelector: "never=started" });
    maps.start(stop.signal);
    const keys: string[] = [];
    maps.keyedBy((map) => map.metadata.name).subscribe((key) => keys.push(key));
    maps.keyedBy((map) => `late-${map.metadata.name}`, { after: [others] }).subscribe((key) => keys.push(key));
    await eventually(() => expect(keys).toEqual(["east|one"]));
    others.start(stop.signal);
    await eventually(() => expect(keys).toEqual(["east|one", "east|late-one"]));
    stop.abort();
  });

  it("are told to each who wants to hear of clusters, until they no longer do", async () => {
    const [east, west] = [await serverOf("a"), await serverOf("b")];
    const provider = staticProvider({ east: east.connection });
    const fleet = running(provider);
    const seen: string[] = [];
    const stop = fleet.forEach((cluster, signal) => {
      seen.push(`+${cluster.name}`);
      signal.addEventListener("abort", () => seen.push(`-${cluster.name}`));
    });
    await engaged(fleet, "east");
    provider.set("west", west.connection);
    await engaged(fleet, "west");
    provider.remove("east");
    await eventually(() => expect(seen).toEqual(["+east", "+west", "-east"]));
    stop();
    expect(seen).toEqual(["+east", "+west", "-east", "-west"]);
  });
});
