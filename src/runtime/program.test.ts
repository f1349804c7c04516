import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Namespace } from "#api/core";
import { type Connection, connectionOf } from "#kube";
import { systemClock } from "#lib/clock";
import { createLogger, silentLog } from "#lib/log";
import { eventually } from "../../test/support/eventually.ts";
import { startEmbedded, type TestServer } from "../../test/support/servers.ts";
import { atStart, type Controller, createFleet, createProgram, done, staticProvider, type Trigger } from "./index.ts";

const [clock, log] = [systemClock, silentLog];

let server: TestServer;
let connection: Connection;

beforeAll(async () => {
  server = await startEmbedded("hub");
  connection = await connectionOf(server.kubeconfig);
});
afterAll(() => server.close());

function started(signal: AbortSignal, write: (line: string) => void = () => {}) {
  const said = createLogger({ level: "info", format: "human", clock, write });
  return createProgram({ name: "test", hub: connection, log: said, signal });
}

describe("a program", () => {
  it("works until it is told to stop, and leaves no connection", async () => {
    const stop = new AbortController();
    const { hub, run } = await started(stop.signal);
    const namespaces = hub.cache(Namespace);
    const seen: string[] = [];
    const controller: Controller = {
      name: "namespaces",
      triggers: [namespaces.keyedBy(({ metadata }) => metadata.name)],
      async reconcile(name) {
        seen.push(name);
        return done;
      },
    };
    const running = run({ controllers: [controller] });
    await eventually(() => expect(seen).toContain("default"));

    stop.abort();
    await running;
    await expect(hub.client.raw("/version")).rejects.toThrow();
  });

  it("keeps its clusters until its controllers have ended, because what is being done there may be finished", async () => {
    const stop = new AbortController();
    const lines: string[] = [];
    const { run } = await started(stop.signal, (line) => lines.push(line.replace(/^\S+ INFO +/, "")));
    const fleet = createFleet({ provider: staticProvider({ east: connection }), clock, log });
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const states: unknown[] = [];
    const controller: Controller = {
      name: "slow",
      triggers: [atStart("once")],
      async reconcile() {
        await fleet.reach("east", { patience: 60_000 });
        states.push(fleet.stateOf("east"));
        stop.abort();
        await finished;
        states.push(fleet.stateOf("east"));
        return done;
      },
    };
    const running = run({ controllers: [controller], fleet });
    await eventually(() => expect(states).toEqual(["Engaged"]));

    finish();
    await running;
    expect(states).toEqual(["Engaged", "Engaged"]);
    expect(fleet.members).toEqual([]);
    expect(lines).toEqual([
      `test  starts  hub=${server.url} controllers=[slow]`,
      "test  a cluster is connected  cluster=east",
      "test  has ended",
    ]);
  });

  it("says what kept it from running when all of it has ended", async () => {
    const { run, hub } = await started(new AbortController().signal);
    const fleet = createFleet({ provider: staticProvider({ east: connection }), clock, log });
    const broken: Trigger<string> = {
      subscribe() {
        throw new Error("no such thing");
      },
    };
    const controller: Controller = { name: "broken", triggers: [broken], reconcile: async () => done };

    await expect(run({ controllers: [controller], fleet })).rejects.toThrow("controller broken cannot run");
    expect(fleet.members).toEqual([]);
    await expect(hub.client.raw("/version")).rejects.toThrow();
  });
});

describe("keys of a fleet's clusters", () => {
  it("come again when the copies that are read too are filled, because before nobody can tell what is missing", async () => {
    const stop = new AbortController();
    const fleet = createFleet({ provider: staticProvider({ east: connection }), clock, log });
    const namespaces = fleet.cache(Namespace);
    const filled: boolean[] = [];
    fleet
      .keyedBy((name) => name, { after: [namespaces] })
      .subscribe((name) => filled.push(namespaces.on(name) !== undefined));
    const running = fleet.run(stop.signal);
    await eventually(() => expect(fleet.stateOf("east")).toBe("Engaged"));
    expect(filled).not.toContain(true);

    namespaces.start(stop.signal);
    await eventually(() => expect(filled.at(-1)).toBe(true));
    stop.abort();
    await running;
  });
});
