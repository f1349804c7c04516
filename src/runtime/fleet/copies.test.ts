/** What is known of the objects of a cluster, kind by kind. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition, crd } from "#api/apiextensions";
import { ConfigMap } from "#api/core";
import { type KubeObject, kind } from "#api/meta";
import { connectionOf } from "#kube";
import { ManualClock, systemClock } from "#lib/clock";
import { createLogger, silentLog } from "#lib/log";
import { createRegistry } from "#lib/metrics";
import { eventually } from "../../../test/support/eventually.ts";
import { startEmbedded, type TestServer } from "../../../test/support/servers.ts";
import { type SmallServerOptions, smallServer } from "../../../test/support/small-server.ts";
import { predicates } from "../index.ts";
import { createFleet, type Fleet, registerFleetMetrics, staticProvider } from "./index.ts";

const Widget = kind<KubeObject>({
  group: "example.com",
  version: "v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
});
const WIDGETS = crd({
  group: "example.com",
  names: { kind: "Widget", plural: "widgets" },
  scope: "Namespaced",
  versions: [
    {
      name: "v1",
      served: true,
      storage: true,
      schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  ],
});

async function withFleet(fleet: Fleet, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const ended = fleet.run(stop.signal);
  try {
    await work(stop.signal);
  } finally {
    stop.abort();
    await ended;
  }
}

describe("a kind that one cluster does not have", () => {
  let east: TestServer;
  let west: TestServer;
  beforeAll(async () => {
    [east, west] = await Promise.all([startEmbedded("east"), startEmbedded("west")]);
  });
  afterAll(() => Promise.all([east.close(), west.close()]));

  it("is missing there only, which is told, until it is installed", async () => {
    await west.client.create(CustomResourceDefinition, WIDGETS);
    const connections = { east: await connectionOf(east.kubeconfig), west: await connectionOf(west.kubeconfig) };
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const log = createLogger({ level: "info", format: "human", clock: systemClock, write });
    const fleet = createFleet({ provider: staticProvider(connections), clock: systemClock, log });
    const registry = createRegistry();
    registerFleetMetrics(registry, fleet);
    await withFleet(fleet, async (signal) => {
      const [maps, widgets] = [fleet.cache(ConfigMap), fleet.cache(Widget)];
      const keys: string[] = [];
      for (const cache of [maps, widgets]) cache.start(signal);
      widgets.keyedBy((widget) => widget.metadata.name).subscribe((key) => keys.push(key));
      await eventually(() => expect(widgets.on("west")).toBeDefined());
      await eventually(() => expect(maps.on("east")).toBeDefined());
      const unfilled = { kind: "widgets.example.com", reason: "KindMissing" };
      await eventually(() => expect(fleet.members).toMatchObject([{ unfilled: [unfilled] }, { unfilled: [] }]));
      expect(fleet.members.map(({ state }) => state)).toEqual(["Engaged", "Engaged"]);
      expect(widgets.on("east")).toBeUndefined();
      expect(registry.text()).toContain('capstan_fleet_unfilled_copies{reason="KindMissing"} 1');

      await east.client.create(CustomResourceDefinition, WIDGETS);
      const widget = { metadata: { name: "first", namespace: "default" } };
      await eventually(() => east.client.create(Widget, widget));
      await eventually(() => expect(keys).toEqual(["east|first"]));
      expect(fleet.members.flatMap((member) => member.unfilled)).toEqual([]);
    });
  });
});

describe("a copy that does not fill", () => {
  it("is told after half a minute, in the status and in the log, and once more when it has filled", async () => {
    const clock = new ManualClock();
    let isMute = true;
    const intercept = ({ path }: { path: string }) => isMute && path === "/api/v1/configmaps";
    const server = await smallServer({ uid: "a", intercept });
    const lines: string[] = [];
    const log = createLogger({ level: "info", format: "human", clock, write: (line) => lines.push(line) });
    const fleet = createFleet({ provider: staticProvider({ east: server.connection }), clock, log, random: () => 0 });
    await withFleet(fleet, async (signal) => {
      fleet.cache(ConfigMap).start(signal);
      await eventually(() => expect(server.open()).toBe(1));
      await eventually(() => expect(fleet.stateOf("east")).toBe("Engaged"));
      expect(fleet.members[0]?.unfilled).toEqual([]);
      const told = () => lines.filter((line) => line.includes("a kind cannot be read on this cluster")).length;
      await eventually(() => {
        if (told() === 0) clock.advance(1_000);
        expect(told()).toBe(1);
      });
      expect(lines.join("\n")).toMatch(/kind=configmaps reason=CopyUnfilled/);
      isMute = false;
      await eventually(() => {
        clock.advance(1_000);
        expect(fleet.cache(ConfigMap).on("east")).toBeDefined();
        expect(lines.join("\n")).toContain("a kind can be read on this cluster now");
      });
      expect(fleet.members[0]?.unfilled).toEqual([]);
      expect(told()).toBe(1);
    });
    await server.stop();
  });
});

describe("a copy that waits after many failures", () => {
  it("is followed again as soon as its cluster recovers", async () => {
    const clock = new ManualClock();
    let isDown = false;
    const intercept: SmallServerOptions["intercept"] = (request) => {
      if (isDown) request.reply(503, "down");
      return isDown;
    };
    const server = await smallServer({ uid: "a", intercept });
    const provider = staticProvider({ east: server.connection });
    const fleet = createFleet({ provider, clock, log: silentLog, random: () => 0 });
    await withFleet(fleet, async (signal) => {
      const maps = fleet.cache(ConfigMap);
      maps.start(signal);
      await eventually(() => expect(maps.on("east")).toBeDefined());
      isDown = true;
      server.drop();
      const watches = () => server.requests("/api/v1/configmaps");
      await eventually(() => {
        clock.advance(1_000);
        expect(watches()).toBeGreaterThan(5); // by now it waits for half a minute each time
      });
      expect(fleet.stateOf("east")).toBe("Degraded");
      isDown = false;
      server.put("new");
      await eventually(() => {
        if (fleet.stateOf("east") === "Degraded") clock.advance(100);
        expect(fleet.stateOf("east")).toBe("Engaged");
      });
      // Time stands still from here on.
      await eventually(() => expect(server.watches.length).toBeGreaterThan(1));
      expect(server.watches.at(-1)).toBe("7");
    });
    await server.stop();
  });
});

describe("what is worth a reconcile", () => {
  it("is decided by `when`, for changes and for what is asked for again after a recovery", async () => {
    const clock = new ManualClock();
    const server = await smallServer({ uid: "a" });
    const provider = staticProvider({ east: server.connection });
    const fleet = createFleet({ provider, clock, log: silentLog, random: () => 0 });
    await withFleet(fleet, async (signal) => {
      const maps = fleet.cache(ConfigMap);
      maps.start(signal);
      const [all, some]: [string[], string[]] = [[], []];
      const isWanted = predicates.changed<ConfigMap>(({ metadata }) => metadata.name);
      const notOne: typeof isWanted = (before, after) => isWanted(before, after) && after?.metadata.name !== "one";
      maps.keyedBy((map) => map.metadata.name).subscribe((key) => all.push(key));
      maps.keyedBy((map) => map.metadata.name, { when: notOne }).subscribe((key) => some.push(key));
      await eventually(() => expect(all).toEqual(["east|one"]));
      server.put("two");
      server.put("two");
      await eventually(() => expect(all).toEqual(["east|one", "east|two", "east|two"]));
      expect(some).toEqual(["east|two"]);

      server.works = false;
      server.drop();
      await eventually(() => {
        clock.advance(1_000);
        expect(fleet.stateOf("east")).toBe("Degraded");
      });
      server.works = true;
      await eventually(() => {
        clock.advance(1_000);
        expect(all.slice(3)).toEqual(["east|one", "east|two"]);
      });
      expect(some).toEqual(["east|two", "east|two"]);
    });
    await server.stop();
  });
});
