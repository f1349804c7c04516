import { describe, expect, it } from "vitest";
import { kind } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { createCertificateAuthority } from "#lib/pki";
import { type Credential, heldCredentials } from "./index.ts";
import { failure, testBench } from "./testing/bench.ts";
import { type Script, until } from "./testing/scripted-server.ts";

const Widget = kind({ group: "example.com", version: "v1", kind: "Widget", plural: "widgets", namespaced: false });
const widget = { apiVersion: "example.com/v1", kind: "Widget", metadata: { name: "a" } };

const { serve, connect } = testBench();

/** Accepts only the token `new`. */
const choosy: Script = (request) =>
  request.headers.authorization === "Bearer new"
    ? request.reply(200, widget)
    : request.reply(401, { kind: "Status", code: 401, reason: "Unauthorized", message: "no" });

const ok: Script = (request) => (request.query.has("watch") ? request.stream() : request.reply(200, widget));

function certificate(commonName: string): Credential {
  const { certificate: cert, key } = createCertificateAuthority({ commonName, now: new Date() });
  return { cert, key };
}

describe("a refused credential", () => {
  it("is renewed, and what was only read is read again", async () => {
    const server = await serve(choosy);
    const credentials = { ...heldCredentials({ token: "old" }), refresh: async () => ({ token: "new" }) };
    await connect({ ...server.connection, credentials }).get(Widget, "a");
    expect(server.requests).toHaveLength(2);
  });

  it("is renewed after a write too, but the write is not repeated", async () => {
    const server = await serve(choosy);
    const held = heldCredentials({ token: "old" });
    const refresh = async () => {
      held.set({ token: "new" });
      return { token: "new" };
    };
    const client = connect({ ...server.connection, credentials: { ...held, refresh } });
    expect((await failure(client.create(Widget, widget))).code).toBe(401);
    await client.create(Widget, widget);
    expect(server.requests).toHaveLength(2);
  });

  it("is not shown again when there is no other", async () => {
    const server = await serve(choosy);
    const client = connect({ ...server.connection, credentials: heldCredentials({ token: "old" }) });
    expect((await failure(client.get(Widget, "a"))).code).toBe(401);
    expect(server.requests).toHaveLength(1);
  });

  it("is named as the cause when the way to another one is broken", async () => {
    const server = await serve(choosy);
    const refresh = async () => Promise.reject(new Error("the plugin failed"));
    const credentials = { ...heldCredentials({ token: "old" }), refresh };
    const error = await failure(connect({ ...server.connection, credentials }).get(Widget, "a"));
    expect([error.kind, error.code]).toEqual(["credentials", 401]);
    expect(error.message).toContain(
      "refused the credentials (401 Unauthorized), refreshing credentials: the plugin failed",
    );
  });
});

describe("a credential that is not there yet", () => {
  it("is waited for no longer than the call may take", async () => {
    const server = await serve(ok);
    const clock = new ManualClock();
    const credentials = { ...heldCredentials({}), current: () => new Promise<Credential>(() => {}) };
    const client = connect({ ...server.connection, credentials }, clock);
    const read = failure(client.get(Widget, "a", { timeout: 5_000 }));
    clock.advance(5_000);
    expect((await read).kind).toBe("timeout");
  });

  it("fails the call with what is wrong", async () => {
    const server = await serve(ok);
    const current = async () => Promise.reject(new Error("no such file"));
    const error = await failure(
      connect({ ...server.connection, credentials: { ...heldCredentials({}), current } }).get(Widget, "a"),
    );
    expect([error.kind, error.code]).toEqual(["credentials", 0]);
    expect(error.message).toMatch(/getting credentials: no such file$/);
  });
});

describe("a changed token", () => {
  it("is used for the next request on the same connection, and watches go on", async () => {
    const server = await serve(ok);
    const credentials = heldCredentials({ token: "one" });
    const client = connect({ ...server.connection, credentials });
    await client.watch(Widget);
    credentials.set({ token: "two" });
    await client.get(Widget, "a");
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(["Bearer one", "Bearer two"]);
    expect(server.connections()).toBe(1);
  });
});

describe.each(["h2", "http/1.1"] as const)("a changed certificate over %s", (protocol) => {
  it("makes a new connection; what is under way goes on for half a minute", async () => {
    const server = await serve(ok, { protocol });
    const clock = new ManualClock();
    const credentials = heldCredentials(certificate("one"));
    const client = connect({ ...server.connection, credentials }, clock);
    const events = (await client.watch(Widget))[Symbol.asyncIterator]();

    credentials.set(certificate("two"));
    await client.get(Widget, "a");
    expect(server.requests.map(({ peer }) => peer)).toEqual(["one", "two"]);
    server.requests[0]?.write(`${JSON.stringify({ type: "ADDED", object: widget })}\n`);
    expect((await events.next()).value).toMatchObject({ type: "ADDED" });

    const next = failure(events.next());
    clock.advance(30_000);
    expect((await next).kind).toBe("lost");
    await client.get(Widget, "a");
    expect(server.connections()).toBe(2);
  });

  it("leaves nothing behind when nothing is under way", async () => {
    const server = await serve(ok, { protocol });
    const credentials = heldCredentials(certificate("one"));
    const client = connect({ ...server.connection, credentials });
    await client.get(Widget, "a");
    credentials.set(certificate("two"));
    await until(() => server.open() === 0);
    await client.get(Widget, "a");
    expect(server.requests.at(-1)?.peer).toBe("two");
  });
});

it("held credentials tell of changes only, and only those who still listen", async () => {
  const credentials = heldCredentials({ token: "one" });
  const heard: (string | undefined)[] = [];
  const stop = credentials.onChange(({ token }) => heard.push(token));
  credentials.set({ token: "one" });
  credentials.set({ token: "two" });
  stop();
  credentials.set({ token: "three" });
  expect(heard).toEqual(["two"]);
  expect(await credentials.current()).toEqual({ token: "three" });
});
