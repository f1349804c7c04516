import { describe, expect, it } from "vitest";
import { type DynamicObject, kind } from "#api/meta";
import { type Clock, ManualClock } from "#lib/clock";
import {
  type Client,
  createClient,
  isAborted,
  isAlreadyExists,
  isConflict,
  isNotFound,
  isTimeout,
  isUnknownKind,
  type WatchEvent,
} from "./index.ts";
import { failure, testBench } from "./testing/bench.ts";
import { type Script, type ScriptedRequest, scriptedRelay, scriptedServer, until } from "./testing/scripted-server.ts";

const ConfigMap = kind({ group: "", version: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const Secret = kind({ group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true });
const Widget = kind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: false });

const { serve, connect, afterwards } = testBench();

function status(code: number, reason: string, message = "no", details?: object) {
  return { apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure", code, reason, message, details };
}

const widget = (name: string): DynamicObject => ({ apiVersion: "example.com/v1", kind: "Widget", metadata: { name } });
const ok: Script = (request) => request.reply(200, widget("a"));

describe("requests", () => {
  it.each([
    ["get", (c: Client) => c.get(Widget, "a"), "GET", "/apis/example.com/v1/widgets/a", ""],
    [
      "get of a subresource",
      (c: Client) => c.get(ConfigMap, "ns/a", { subresource: "status" }),
      "GET",
      "/api/v1/namespaces/ns/configmaps/a/status",
      "",
    ],
    [
      "a name with odd characters",
      (c: Client) => c.get(Widget, "system:a b?"),
      "GET",
      "/apis/example.com/v1/widgets/system%3Aa%20b%3F",
      "",
    ],
    ["list", (c: Client) => c.list(ConfigMap), "GET", "/api/v1/configmaps", ""],
    [
      "list in a namespace",
      (c: Client) => c.list(ConfigMap, { namespace: "ns", labelSelector: "a in (b,c)", limit: 5 }),
      "GET",
      "/api/v1/namespaces/ns/configmaps",
      "labelSelector=a+in+%28b%2Cc%29&limit=5",
    ],
    [
      "create",
      (c: Client) =>
        c.create(ConfigMap, { metadata: { name: "a", namespace: "ns" } }, { fieldManager: "m", dryRun: true }),
      "POST",
      "/api/v1/namespaces/ns/configmaps",
      "fieldManager=m&dryRun=All",
    ],
    [
      "create of a subresource",
      (c: Client) => c.createSub(ConfigMap, "ns/a", "token", { metadata: {} }),
      "POST",
      "/api/v1/namespaces/ns/configmaps/a/token",
      "",
    ],
    [
      "update of the status",
      (c: Client) => c.update(Widget, widget("a"), { subresource: "status" }),
      "PUT",
      "/apis/example.com/v1/widgets/a/status",
      "",
    ],
    [
      "apply",
      (c: Client) => c.patch(Widget, "a", {}, { type: "apply", force: true, fieldManager: "m" }),
      "PATCH",
      "/apis/example.com/v1/widgets/a",
      "fieldManager=m&force=true",
    ],
    ["delete", (c: Client) => c.delete(Widget, "a"), "DELETE", "/apis/example.com/v1/widgets/a", ""],
    ["raw", (c: Client) => c.raw("/version?x=1"), "GET", "/version", "x=1"],
  ])("%s", async (_, call, method, path, query) => {
    const server = await serve(ok);
    await call(connect(server.connection));
    const [request] = server.requests;
    expect([request?.method, request?.path, request?.query.toString()]).toEqual([method, path, query]);
  });

  it("sends bodies with apiVersion and kind, and patches with their type", async () => {
    const server = await serve(ok);
    const client = connect({ ...server.connection, token: "secret-token" });
    await client.create(Widget, { metadata: { name: "a" }, big: 9007199254740993n });
    await client.patch(Widget, "a", [], { type: "json" });
    await client.delete(Widget, "a", { preconditions: { uid: "u" }, timeout: 1000 });
    expect(server.requests.map(({ headers, body }) => [headers["content-type"], body])).toEqual([
      [
        "application/json",
        '{"metadata":{"name":"a"},"big":9007199254740993,"apiVersion":"example.com/v1","kind":"Widget"}',
      ],
      ["application/json-patch+json", "[]"],
      ["application/json", '{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"}}'],
    ]);
    expect(server.requests[0]?.headers.authorization).toBe("Bearer secret-token");
  });

  it("writes in the name of somebody else where it is told to, and only there", async () => {
    const server = await serve(ok);
    const client = connect(server.connection);
    await client.create(Widget, { metadata: { name: "a" } }, { actAs: "bob" });
    await client.update(Widget, { apiVersion: "", kind: "", metadata: { name: "a" } }, { actAs: "bob" });
    await client.patch(Widget, "a", {}, { actAs: "bob" });
    await client.create(Widget, { metadata: { name: "a" } });
    expect(server.requests.map(({ headers }) => headers["impersonate-user"])).toEqual(["bob", "bob", "bob", undefined]);
  });

  it("fills in what lists of built-in kinds leave out", async () => {
    const server = await serve((request) =>
      request.reply(200, { kind: "ConfigMapList", metadata: {}, items: [{ metadata: { name: "a" } }] }),
    );
    const list = await connect(server.connection).list(ConfigMap);
    expect(list.items).toEqual([{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } }]);
  });

  it("keeps the path of a server behind a proxy", async () => {
    const server = await serve(ok);
    await connect({ ...server.connection, server: `${server.connection.server}/clusters/one/` }).get(Widget, "a");
    expect(server.requests[0]?.path).toBe("/clusters/one/apis/example.com/v1/widgets/a");
  });

  it.each([
    ["a namespaced kind without a namespace", (c: Client) => c.get(ConfigMap, "a")],
    ["a cluster-wide kind with one", (c: Client) => c.get(Widget, "ns/a")],
    ["a name that leads elsewhere", (c: Client) => c.get(Widget, "..")],
    ["a new object without a namespace", (c: Client) => c.create(ConfigMap, { metadata: { name: "a" } })],
  ])("refuses %s without asking the server", async (_, call) => {
    const error = await failure(call(connect({ server: "https://127.0.0.1:1" })));
    expect(error.kind).toBe("misuse");
  });

  it("passes on what the server remarks", async () => {
    const server = await serve((request) =>
      request.reply(200, widget("a"), { warning: '299 - "use \\"v2\\"", 299 - "soon"' }),
    );
    const warnings: string[] = [];
    const client = createClient({ connection: server.connection, onWarning: (text) => warnings.push(text) });
    await client.get(Widget, "a");
    client.close();
    expect(warnings).toEqual(['use "v2"', "soon"]);
  });
});

describe("errors", () => {
  it("carry the status and say what was asked of whom", async () => {
    const server = await serve((request) =>
      request.reply(404, status(404, "NotFound", 'widgets "a" not found', { name: "a" })),
    );
    const error = await failure(connect({ ...server.connection, token: "hush" }).get(Widget, "a"));
    expect(isNotFound(error)).toBe(true);
    expect(isUnknownKind(error)).toBe(false);
    expect(error.message).toBe(
      `GET /apis/example.com/v1/widgets/a on ${server.connection.server}: widgets "a" not found (404 NotFound)`,
    );
  });

  it("tell a conflict from an object that is there already", async () => {
    const server = await serve((request) =>
      request.reply(409, status(409, request.method === "POST" ? "AlreadyExists" : "Conflict")),
    );
    const client = connect(server.connection);
    const created = await failure(client.create(Widget, widget("a")));
    const updated = await failure(client.update(Widget, widget("a")));
    expect([isAlreadyExists(created), isConflict(created)]).toEqual([true, false]);
    expect([isAlreadyExists(updated), isConflict(updated)]).toEqual([false, true]);
  });

  it("do not repeat a Secret, because a server that refuses a patch quotes the whole object", async () => {
    const server = await serve((request) => request.reply(422, status(422, "Invalid", "Invalid value: c2VjcmV0")));
    const error = await failure(connect(server.connection).patch(Secret, "ns/a", { data: {} }));
    expect(error.code).toBe(422);
    expect(`${error.message}${JSON.stringify(error.status)}`).not.toContain("c2VjcmV0");
  });

  it("understand servers and proxies that send plain text", async () => {
    const server = await serve((request) => request.reply(404, "404 page not found\n"));
    const error = await failure(connect(server.connection).list(Widget));
    expect(error.reason).toBe("NotFound");
    expect(isUnknownKind(error)).toBe(true);
    expect(error.message).toContain("404 page not found");
  });

  it("say so when the answer is not from an API server", async () => {
    const server = await serve((request) => request.reply(200, "<html>"));
    expect((await failure(connect(server.connection).get(Widget, "a"))).kind).toBe("malformed");
  });

  it("say that a server cannot be reached, and why", async () => {
    const server = await scriptedServer(ok);
    await server.stop();
    const error = await failure(connect(server.connection).get(Widget, "a"));
    expect(error.kind).toBe("unreachable");
    expect(error.message).toContain("ECONNREFUSED");
  });

  it("refuse a server whose certificate comes from elsewhere, unless told to trust any", async () => {
    const server = await serve(ok);
    const { ca: _, ...stranger } = server.connection;
    expect((await failure(connect(stranger).get(Widget, "a"))).kind).toBe("unreachable");
    await connect({ ...stranger, insecure: true }).get(Widget, "a");
  });

  it("check the certificate against tls-server-name", async () => {
    const server = await serve(ok);
    await connect({ ...server.connection, serverName: "kube.test" }).get(Widget, "a");
    expect((await failure(connect({ ...server.connection, serverName: "other" }).get(Widget, "a"))).kind).toBe(
      "unreachable",
    );
  });

  it("name a certificate that does not parse", async () => {
    const server = await serve(ok);
    const error = await failure(connect({ ...server.connection, cert: "nonsense", key: "nonsense" }).get(Widget, "a"));
    expect(error.kind).toBe("unreachable");
  });
});

describe("retries", () => {
  it("repeats when the server says when", async () => {
    let left = 2;
    const server = await serve((request) =>
      left-- > 0 ? request.reply(429, status(429, "TooManyRequests"), { "retry-after": "3" }) : ok(request),
    );
    const clock = new ManualClock();
    const answer = connect(server.connection, clock).create(Widget, widget("a"));
    for (const count of [1, 2]) {
      await until(() => server.requests.length === count);
      await advanceUntil(clock, 3_000, () => server.requests.length > count);
    }
    expect((await answer).metadata.name).toBe("a");
  });

  it("does not repeat what the server fails without asking for it", async () => {
    const server = await serve((request) => request.reply(500, status(500, "InternalError")));
    await failure(connect(server.connection).get(Widget, "a"));
    expect(server.requests).toHaveLength(1);
  });

  it("does not wait for a time after the deadline", async () => {
    const server = await serve((request) =>
      request.reply(503, status(503, "ServiceUnavailable"), { "retry-after": "60" }),
    );
    const error = await failure(connect(server.connection).get(Widget, "a", { timeout: 10_000 }));
    expect([error.code, error.retryAfter]).toEqual([503, 60]);
  });

  it("reads again when the connection broke, but never writes twice", async () => {
    let reads = 0;
    const server = await serve((request) => {
      if (request.method === "GET" && ++reads > 1) ok(request);
      else server.drop();
    });
    const client = connect(server.connection);
    await client.get(Widget, "a");
    expect(reads).toBe(2);
    const error = await failure(client.create(Widget, widget("a")));
    expect(error.kind).toBe("lost");
    expect(server.requests).toHaveLength(3);
  });
});

describe.each(["h2", "http/1.1"] as const)("over %s", (protocol) => {
  it("uses one connection for requests one after the other", async () => {
    const server = await serve(ok, { protocol });
    const client = connect(server.connection);
    for (let i = 0; i < 5; i++) await client.get(Widget, "a");
    expect(server.connections()).toBe(1);
    expect(server.requests[0]?.httpVersion).toBe(protocol === "h2" ? "2.0" : "1.1");
  });

  it("connects again after the server was replaced", async () => {
    const first = await scriptedServer(ok, { protocol });
    const client = connect(first.connection);
    await client.get(Widget, "a");
    await first.stop();
    expect((await failure(client.get(Widget, "a"))).kind).toBe("unreachable");
    await serve(ok, { protocol, port: first.port });
    expect((await client.get(Widget, "a")).metadata.name).toBe("a");
  });

  it("fails with a timeout when no answer comes, and tells the server", async () => {
    const server = await serve(() => {}, { protocol });
    const clock = new ManualClock();
    const answer = failure(connect(server.connection, clock).get(Widget, "a", { timeout: 5_000 }));
    await until(() => server.requests.length === 1);
    clock.advance(5_000);
    expect(isTimeout(await answer)).toBe(true);
    await server.requests[0]?.closed;
  });

  it("bounds the whole answer, not only its beginning", async () => {
    const server = await serve(
      (request) => {
        request.stream();
        request.write("{");
      },
      { protocol },
    );
    const clock = new ManualClock();
    const answer = failure(connect(server.connection, clock).get(Widget, "a"));
    await until(() => server.requests.length === 1);
    clock.advance(30_000);
    expect(isTimeout(await answer)).toBe(true);
  });

  it("can be called off", async () => {
    const server = await serve(() => {}, { protocol });
    const controller = new AbortController();
    const answer = failure(connect(server.connection).get(Widget, "a", { signal: controller.signal }));
    await until(() => server.requests.length === 1);
    controller.abort();
    expect(isAborted(await answer)).toBe(true);
    await server.requests[0]?.closed;
  });

  it("fails pending and later calls when the client is closed", async () => {
    const server = await serve(() => {}, { protocol });
    const client = connect(server.connection);
    const pending = failure(client.get(Widget, "a"));
    await until(() => server.requests.length === 1);
    client.close();
    expect(isAborted(await pending)).toBe(true);
    expect(isAborted(await failure(client.get(Widget, "a")))).toBe(true);
  });

  describe("a watch", () => {
    const watching: Script = (request) => request.stream();

    async function open(script: Script = watching) {
      const server = await serve(script, { protocol });
      const client = connect(server.connection);
      const controller = new AbortController();
      const events = await client.watch(Widget, { resourceVersion: "1", signal: controller.signal });
      const iterator = events[Symbol.asyncIterator]();
      const [request] = server.requests;
      if (!request) throw new Error("no request");
      return { server, client, controller, iterator, request };
    }

    it("puts events together from any pieces", async () => {
      const { request, iterator } = await open();
      const big = "ü".repeat(300_000);
      const bytes = Buffer.from(
        ["a", "b", big].map((name) => `${JSON.stringify({ type: "ADDED", object: widget(name) })}\n`).join(""),
      );
      const middle = bytes.indexOf(Buffer.from("ü")) + 1; // between the two bytes of a character
      for (const part of [bytes.subarray(0, 5), bytes.subarray(5, middle), bytes.subarray(middle)]) request.write(part);
      request.end();
      const names: string[] = [];
      for (;;) {
        const { done, value } = await iterator.next();
        if (done) break;
        names.push(value.object.metadata.name);
      }
      expect(names).toEqual(["a", "b", big]);
    });

    it("yields errors as events", async () => {
      const { request, iterator } = await open();
      request.write(`${JSON.stringify({ type: "ERROR", object: status(410, "Expired") })}\n`);
      expect((await iterator.next()).value).toMatchObject({ type: "ERROR", object: { code: 410 } });
    });

    it("throws when the connection breaks, because that is no end", async () => {
      const { server, iterator } = await open();
      const next = failure(iterator.next());
      server.drop();
      expect((await next).kind).toBe("lost");
    });

    it("ends quietly when it is called off", async () => {
      const { controller, iterator, request } = await open();
      const next = iterator.next();
      controller.abort();
      expect((await next).done).toBe(true);
      await request.closed;
    });

    it("tells the server when its reader leaves, even while it waits for an event", async () => {
      const { iterator, request } = await open();
      const next = iterator.next();
      await iterator.return?.();
      expect((await next).done).toBe(true);
      await request.closed;
    });

    it("throws if it is not opened in time", async () => {
      const server = await serve(() => {}, { protocol });
      const clock = new ManualClock();
      const opening = failure(connect(server.connection, clock).watch(Widget));
      await until(() => server.requests.length === 1);
      clock.advance(30_000);
      expect(isTimeout(await opening)).toBe(true);
    });

    it("has no deadline once it is open", async () => {
      const server = await serve(watching, { protocol });
      const clock = new ManualClock();
      const iterator = (await connect(server.connection, clock).watch(Widget))[Symbol.asyncIterator]();
      clock.advance(29_000);
      server.requests[0]?.write(`${JSON.stringify({ type: "ADDED", object: widget("a") })}\n`);
      expect(((await iterator.next()).value as WatchEvent<DynamicObject>).type).toBe("ADDED");
      await iterator.return?.();
    });

    it("throws when the server refuses it", async () => {
      const server = await serve((request) => request.reply(403, status(403, "Forbidden")), { protocol });
      expect((await failure(connect(server.connection).watch(Widget))).code).toBe(403);
    });
  });
});

describe("an HTTP/2 session", () => {
  it("is shared by requests at the same time, even while it connects", async () => {
    const waiting: ScriptedRequest[] = [];
    const server = await serve((request) => waiting.push(request));
    const client = connect(server.connection);
    const answers = Array.from({ length: 20 }, () => client.get(Widget, "a"));
    await until(() => waiting.length === 20);
    for (const request of waiting) ok(request);
    await Promise.all(answers);
    expect(server.connections()).toBe(1);
  });

  it("gets a second one beside it when the server allows no more streams", async () => {
    const waiting: ScriptedRequest[] = [];
    const server = await serve((request) => waiting.push(request), { maxConcurrentStreams: 2 });
    const client = connect(server.connection);
    const answers = Array.from({ length: 5 }, () => client.get(Widget, "a"));
    await until(() => waiting.length === 5);
    for (const request of waiting) ok(request);
    await Promise.all(answers);
    expect(server.connections()).toBe(3);
  });

  it("drains after GOAWAY while new requests go to a new one", async () => {
    const server = await serve((request) => (request.query.has("watch") ? request.stream() : ok(request)));
    const client = connect(server.connection);
    const events = (await client.watch(Widget))[Symbol.asyncIterator]();
    const [session] = server.sessions;
    session?.goaway();
    session?.ping(() => {});
    await untilReads(client, () => server.connections() === 2);
    server.requests[0]?.write(`${JSON.stringify({ type: "ADDED", object: widget("late") })}\n`);
    expect((await events.next()).value).toMatchObject({ object: { metadata: { name: "late" } } });
    server.requests[0]?.end();
    expect((await events.next()).done).toBe(true);
  });

  it("is dead when a quiet server does not answer a ping, so that watches notice", async () => {
    const server = await serve((request) => request.stream());
    const relay = await scriptedRelay(server.port);
    afterwards(() => relay.stop());
    const clock = new ManualClock();
    const client = connect({ ...server.connection, server: `https://127.0.0.1:${relay.port}` }, clock);
    const events = (await client.watch(Widget))[Symbol.asyncIterator]();
    const next = failure(events.next());
    relay.freeze();
    clock.advance(30_000);
    clock.advance(15_000);
    expect((await next).kind).toBe("lost");
  });

  it("is given time again when this process had none itself", async () => {
    const server = await serve((request) => request.stream());
    const relay = await scriptedRelay(server.port);
    afterwards(() => relay.stop());
    const clock = new ManualClock();
    let heldUp = 0;
    const late: Clock = {
      now: () => new Date(clock.now().getTime() + heldUp),
      after: (ms, run) => clock.after(ms, run),
    };
    const keepAlive = { every: 3_000, patience: 2_000 };
    const connection = { ...server.connection, server: `https://127.0.0.1:${relay.port}` };
    const client = createClient({ connection, clock: late, keepAlive });
    afterwards(() => client.close());
    const events = (await client.watch(Widget))[Symbol.asyncIterator]();
    let isLost = false;
    const next = failure(events.next()).then(({ kind }) => {
      isLost = true;
      return kind;
    });
    relay.freeze();
    clock.advance(3_000);
    heldUp = 1_000;
    clock.advance(2_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isLost).toBe(false);
    clock.advance(2_000);
    expect(await next).toBe("lost");
  });

  it("lives on when the server answers the ping", async () => {
    const server = await serve((request) => (request.query.has("watch") ? request.stream() : ok(request)));
    const clock = new ManualClock();
    const client = connect(server.connection, clock);
    const events = (await client.watch(Widget))[Symbol.asyncIterator]();
    let pings = 0;
    for (const session of server.sessions) session.on("ping", () => pings++);
    for (const count of [1, 2]) {
      clock.advance(30_000);
      await until(() => pings === count);
      await client.get(Widget, "a"); // its answer comes after that of the ping
    }
    clock.advance(15_000);
    server.requests[0]?.write(`${JSON.stringify({ type: "ADDED", object: widget("alive") })}\n`);
    expect((await events.next()).value).toMatchObject({ object: { metadata: { name: "alive" } } });
  });

  it("is asked for a sign of life at once after a long rest, because the server may be gone without a word", async () => {
    const server = await serve(ok);
    const relay = await scriptedRelay(server.port);
    afterwards(() => relay.stop());
    const clock = new ManualClock();
    const client = connect({ ...server.connection, server: `https://127.0.0.1:${relay.port}` }, clock);
    await client.get(Widget, "a");
    relay.freeze();
    clock.advance(3_600_000);
    const read = client.get(Widget, "a");
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(15_000);
    expect((await read).metadata.name).toBe("a"); // read again, over a new connection
    expect(server.connections()).toBe(2);
  });
});

/** Moves the clock on, again and again, until something has happened. */
async function advanceUntil(clock: ManualClock, step: number, happened: () => boolean): Promise<void> {
  for (let tries = 0; tries < 8 && !happened(); tries++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    clock.advance(step);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function untilReads(client: Client, condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 200 && !condition(); tries++) await client.get(Widget, "a");
  expect(condition()).toBe(true);
}
