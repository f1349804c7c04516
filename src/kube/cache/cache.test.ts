import { afterEach, describe, expect, it } from "vitest";
import { type DynamicObject, kind } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { createClient } from "../client.ts";
import {
  type Script,
  type ScriptedRequest,
  type ScriptedServer,
  scriptedServer,
  until,
} from "../testing/scripted-server.ts";
import { createCache } from "./index.ts";

const Widget = kind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

const cleanups: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function widget(name: string, resourceVersion: string, more: object = {}): DynamicObject {
  const metadata = { name, namespace: "ns", uid: `uid-${name}`, resourceVersion };
  return { apiVersion: "example.com/v1", kind: "Widget", metadata, ...more };
}

function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`;
}

function bookmark(resourceVersion: string, annotations?: Record<string, string>): string {
  return line("BOOKMARK", {
    apiVersion: "example.com/v1",
    kind: "Widget",
    metadata: { resourceVersion, ...(annotations && { annotations }) },
  });
}

const endOfInitial = (resourceVersion: string) => bookmark(resourceVersion, { "k8s.io/initial-events-end": "true" });
const status = (code: number, reason: string) => ({
  apiVersion: "v1",
  kind: "Status",
  metadata: {},
  code,
  reason,
  message: "no",
});
const list = (items: DynamicObject[], metadata: object) => ({
  apiVersion: "example.com/v1",
  kind: "WidgetList",
  metadata,
  items,
});

/** One step per request, in order; the last one stays. */
function steps(...scripts: Script[]): Script {
  let at = 0;
  return (request) => scripts[Math.min(at++, scripts.length - 1)]?.(request);
}

const initial =
  (resourceVersion: string, ...objects: DynamicObject[]): Script =>
  (request) => {
    request.stream();
    for (const object of objects) request.write(line("ADDED", object));
    request.write(endOfInitial(resourceVersion));
  };
const openWatch: Script = (request) => request.stream();
const answer =
  (code: number, reason: string): Script =>
  (request) =>
    request.reply(code, status(code, reason));

/** Remembers the times that were asked for. */
class AskedClock extends ManualClock {
  asked: number[] = [];

  override after(ms: number, task: () => void): () => void {
    this.asked.push(ms);
    return super.after(ms, task);
  }
}

async function follow(...scripts: Script[]) {
  const server: ScriptedServer = await scriptedServer(steps(...scripts));
  const client = createClient({ connection: server.connection });
  const clock = new AskedClock();
  const stop = new AbortController();
  const log: string[] = [];
  const cache = createCache({ client, kind: Widget, clock, random: () => 0.5, log: (message) => log.push(message) });
  const changes: string[] = [];
  cache.onChange((before, after, first) => {
    const what = before ? (after ? "update" : "delete") : "add";
    changes.push(`${what} ${(after ?? before)?.metadata.name}${first ? " initially" : ""}`);
  });
  cleanups.push(
    () => server.stop(),
    () => client.close(),
    () => stop.abort(),
  );
  cache.start(stop.signal);
  const request = async (index: number): Promise<ScriptedRequest> => {
    await until(() => server.requests.length > index);
    return server.requests[index] as ScriptedRequest;
  };
  /** Lets the pause after a failure pass, once it has begun. */
  const pass = async (pause: number) => {
    await until(() => clock.asked.includes(pause));
    clock.asked = [];
    clock.advance(pause);
  };
  return { server, client, clock, stop, cache, changes, request, pass, log };
}

describe("filling", () => {
  it("takes the picture from the beginning of a watch and follows the same stream", async () => {
    const { cache, changes, request, server } = await follow(initial("10", widget("a", "1"), widget("b", "2")));
    await cache.whenSynced();
    const first = await request(0);
    expect(Object.fromEntries(first.query)).toEqual({
      watch: "true",
      allowWatchBookmarks: "true",
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      resourceVersion: "",
      timeoutSeconds: "450",
    });
    first.write(line("MODIFIED", widget("a", "11")));
    first.write(line("DELETED", widget("b", "12")));
    first.write(line("ADDED", widget("c", "13")));
    await until(() => changes.length === 5);
    expect(changes).toEqual(["add a initially", "add b initially", "update a", "delete b", "add c"]);
    expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
    expect(cache.get("ns/a")?.metadata.resourceVersion).toBe("11");
    expect([cache.synced, cache.state, server.requests.length]).toEqual([true, "following", 1]);
  });

  it("shows nothing before the picture is whole", async () => {
    const { cache, request } = await follow((r) => {
      r.stream();
      r.write(line("ADDED", widget("a", "1")));
    });
    const first = await request(0);
    expect([cache.synced, cache.size]).toEqual([false, 0]);
    first.write(endOfInitial("5"));
    await cache.whenSynced();
    expect(cache.size).toBe(1);
  });

  it("lists in pages where the server refuses initial events", async () => {
    const { cache, request } = await follow(
      answer(422, "Invalid"),
      (r) => r.reply(200, list([widget("a", "1")], { resourceVersion: "7", continue: "more" })),
      (r) => r.reply(200, list([widget("b", "2")], { resourceVersion: "7" })),
      openWatch,
    );
    await cache.whenSynced();
    expect(cache.size).toBe(2);
    expect((await request(1)).query.toString()).toBe("limit=500");
    expect((await request(2)).query.toString()).toBe("limit=500&continue=more");
    expect((await request(3)).query.get("resourceVersion")).toBe("7");
  });

  it("lists where the server never says that the initial events are over", async () => {
    const { cache, pass } = await follow(
      openWatch,
      (r) => r.reply(200, list([widget("a", "1")], { resourceVersion: "7" })),
      openWatch,
    );
    await pass(30_000);
    await cache.whenSynced();
    expect(cache.size).toBe(1);
  });

  it("starts over in one piece when pages expire", async () => {
    const { cache, request } = await follow(
      answer(400, "BadRequest"),
      (r) => r.reply(200, list([widget("gone", "1")], { resourceVersion: "7", continue: "more" })),
      answer(410, "Expired"),
      (r) => r.reply(200, list([widget("a", "8")], { resourceVersion: "9" })),
      openWatch,
    );
    await cache.whenSynced();
    expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(["a"]);
    expect((await request(3)).query.toString()).toBe("");
  });

  it("drops managedFields and keeps what it does not know", async () => {
    const object = widget("a", "1", { extra: { kept: true } });
    const { cache } = await follow(
      initial("5", { ...object, metadata: { ...object.metadata, managedFields: [{ manager: "m" }] } }),
    );
    await cache.whenSynced();
    expect(cache.get("ns/a")).toEqual(object);
  });

  it("waits for a kind that the server does not know yet, at most ten seconds between questions", async () => {
    const missing: Script = (r) => r.reply(404, "404 page not found");
    const { cache, pass } = await follow(
      missing,
      missing,
      missing,
      missing,
      missing,
      missing,
      initial("5", widget("a", "1")),
    );
    for (const pause of [1_200, 2_400, 4_800, 9_600, 10_000, 10_000]) {
      await pass(pause);
    }
    await cache.whenSynced();
    expect([cache.state, cache.lastError]).toEqual(["following", undefined]);
  });
});

describe("following", () => {
  it("goes on where it was when the server ends the watch", async () => {
    const { cache, request } = await follow(initial("10", widget("a", "1")), openWatch);
    await cache.whenSynced();
    const first = await request(0);
    first.write(line("MODIFIED", widget("a", "11")));
    first.write(bookmark("20"));
    first.end();
    const second = await request(1);
    expect(second.query.get("resourceVersion")).toBe("20");
    expect(second.query.has("sendInitialEvents")).toBe(false);
  });

  const at =
    (resourceVersion: string): Script =>
    (request) =>
      request.reply(200, list([], { resourceVersion }));

  it("goes on where it was after the connection broke, once the server says that it is not behind that", async () => {
    const { cache, server, request, pass } = await follow(initial("10", widget("a", "1")), at("10"), openWatch);
    await cache.whenSynced();
    server.drop();
    await pass(1_200);
    expect((await request(1)).query.get("limit")).toBe("1");
    expect((await request(2)).query.get("resourceVersion")).toBe("10");
  });

  it("takes a new picture after the connection broke, because a watch from the server's future would hear nothing", async () => {
    const picture = initial("4", widget("b", "2"));
    const { cache, server, pass } = await follow(initial("10", widget("a", "1")), at("4"), picture);
    await cache.whenSynced();
    server.drop();
    await pass(1_200);
    await pass(2_400);
    await until(() => cache.get("ns/b") !== undefined);
    expect(cache.get("ns/a")).toBeUndefined();
  });

  it("takes a new picture when a bookmark is behind what was heard", async () => {
    const { cache, request, pass } = await follow(initial("10", widget("a", "1")), initial("4", widget("b", "2")));
    await cache.whenSynced();
    (await request(0)).write(bookmark("3"));
    await pass(1_200);
    await until(() => cache.get("ns/b") !== undefined);
    expect(cache.get("ns/a")).toBeUndefined();
  });

  it.each([
    [
      "an error event",
      (r: ScriptedRequest) => {
        r.stream();
        r.write(line("ERROR", status(410, "Expired")));
      },
    ],
    ["an answer", answer(410, "Gone")],
  ])("takes a new picture after 410 in %s and tells only what changed", async (_, expired) => {
    const { cache, changes, request } = await follow(
      initial("10", widget("a", "1"), widget("b", "2"), widget("c", "3")),
      expired,
      initial("30", widget("a", "1"), widget("b", "25"), widget("d", "26")),
    );
    await cache.whenSynced();
    (await request(0)).end();
    await until(() => changes.length === 6);
    expect(changes.slice(3)).toEqual(["delete c", "update b", "add d"]);
    expect((await request(2)).query.get("sendInitialEvents")).toBe("true");
  });

  it("pauses longer each time when pictures keep expiring", async () => {
    const { pass } = await follow(answer(410, "Expired"));
    for (const pause of [1_200, 2_400, 4_800]) await pass(pause);
  });

  it.each([
    [429, "TooManyRequests"],
    [500, "InternalError"],
    [403, "Forbidden"],
  ])("keeps its place after %s %s", async (code, reason) => {
    const { cache, request, pass } = await follow(initial("10"), answer(code, reason), openWatch);
    await cache.whenSynced();
    (await request(0)).end();
    await request(1);
    await pass(1_200);
    expect((await request(2)).query.get("resourceVersion")).toBe("10");
  });

  it("takes a new picture when the server was put back to an older state", async () => {
    const tooLarge = { ...status(504, "Timeout"), details: { causes: [{ reason: "ResourceVersionTooLarge" }] } };
    const { cache, request, pass } = await follow(
      initial("10", widget("a", "1")),
      (r) => r.reply(504, tooLarge),
      initial("4", widget("b", "2")),
    );
    await cache.whenSynced();
    (await request(0)).end();
    await request(1);
    await pass(1_200);
    await until(() => cache.get("ns/b") !== undefined);
    expect(cache.get("ns/a")).toBeUndefined();
  });

  it("does not storm a server that ends every watch at once", async () => {
    const { cache, request, pass } = await follow(
      initial("10"),
      (r) => {
        r.stream();
        r.end();
      },
      openWatch,
    );
    await cache.whenSynced();
    (await request(0)).end();
    await pass(1_200);
    expect((await request(2)).query.get("resourceVersion")).toBe("10");
  });

  it("refuses objects of another kind", async () => {
    const { cache, request } = await follow(initial("10"));
    await cache.whenSynced();
    (await request(0)).write(line("ADDED", { apiVersion: "meta.k8s.io/v1", kind: "Table", metadata: {} }));
    await until(() => cache.state === "waiting");
    expect(cache.lastError?.message).toContain("meta.k8s.io/v1 Table");
    expect(cache.size).toBe(0);
  });

  it("shows an object that was made anew meanwhile as an update, with both identities", async () => {
    const { cache, request } = await follow(initial("10", widget("a", "1")), answer(410, "Gone"), (r) => {
      const again = widget("a", "20");
      initial("30", { ...again, metadata: { ...again.metadata, uid: "other" } })(r);
    });
    await cache.whenSynced();
    const uids: unknown[] = [];
    cache.onChange((before, after, first) => {
      if (!first) uids.push(before?.metadata.uid, after?.metadata.uid);
    });
    (await request(0)).end();
    await until(() => uids.length > 0);
    expect(uids).toEqual(["uid-a", "other"]);
  });
});

describe("readers", () => {
  it("finds objects by computed values as they change", async () => {
    const { cache, request } = await follow(initial("10", widget("a", "1", { tags: ["x", "y"] }), widget("b", "2")));
    const byTag = cache.indexBy((object) => (object.tags as string[]).map((tag) => tag)); // throws for b
    await cache.whenSynced();
    expect(byTag.at("x").map(({ metadata }) => metadata.name)).toEqual(["a"]);
    (await request(0)).write(line("MODIFIED", widget("a", "11", { tags: ["y", "z"] })));
    await until(() => byTag.at("z").length === 1);
    expect([byTag.at("x").length, byTag.at("y").length]).toEqual([0, 1]);
    expect(cache.indexBy(({ metadata }) => metadata.name).at("b")).toHaveLength(1);
  });

  it("tells a late listener of everything there is", async () => {
    const { cache } = await follow(initial("10", widget("a", "1")));
    await cache.whenSynced();
    const seen: unknown[] = [];
    const remove = cache.onChange((before, after, first) => seen.push([before, after?.metadata.name, first]));
    remove();
    expect(seen).toEqual([[undefined, "a", true]]);
  });

  it("lets no failing listener keep changes from the others", async () => {
    const { cache, changes, request, log } = await follow(initial("10"));
    cache.onChange(() => {
      throw new Error("broken listener");
    });
    const later: string[] = [];
    cache.onChange((_, after) => later.push(after?.metadata.name ?? ""));
    await cache.whenSynced();
    (await request(0)).write(line("ADDED", widget("a", "11")));
    await until(() => later.length === 1);
    expect(changes).toEqual(["add a"]);
    expect(log.join()).toContain("broken listener");
  });
});

describe("starting and stopping", () => {
  it("runs as long as anyone wants it, and goes on where it was when wanted again", async () => {
    const { cache, stop, request, server } = await follow(initial("10", widget("a", "1")), openWatch);
    const other = new AbortController();
    cache.start(other.signal);
    await cache.whenSynced();
    stop.abort();
    (await request(0)).write(line("ADDED", widget("b", "11")));
    await until(() => cache.size === 2);
    other.abort();
    await (await request(0)).closed;
    await until(() => cache.state === "stopped");
    expect(server.requests).toHaveLength(1);

    const again = new AbortController();
    cleanups.push(() => again.abort());
    cache.start(again.signal);
    expect((await request(1)).query.get("resourceVersion")).toBe("11");
  });

  it("stops during a pause", async () => {
    const { cache, stop } = await follow(answer(500, "InternalError"));
    await until(() => cache.state === "waiting");
    stop.abort();
    await until(() => cache.state === "stopped");
  });

  it("fills from a big picture without holding up others", async () => {
    const objects = Array.from({ length: 5_000 }, (_, i) => widget(`w${i}`, `${i}`, { data: "x".repeat(100) }));
    const { cache } = await follow(initial("9999", ...objects));
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await cache.whenSynced();
    clearInterval(timer);
    expect(cache.size).toBe(5_000);
    expect(turns).toBeGreaterThan(0);
  });
});
