import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { ManualClock, systemClock } from "#lib/clock";
import { type Answerer, startWebhookServer, type WebhookServer } from "../../../test/support/webhook-server.ts";
import { CallFailure, createWebhookClient, type Destination } from "./client.ts";

const LIMITS = { timeoutMs: 5_000, largest: 100_000 };

describe("calling a webhook", () => {
  const client = createWebhookClient({ clock: systemClock });
  let server: WebhookServer;
  beforeAll(async () => {
    server = await startWebhookServer({ dnsNames: ["hook.space.svc"] });
  });
  afterAll(async () => {
    client.close();
    await server.close();
  });
  beforeEach(() => server.answer(() => ({ fine: true })));

  const authority = () => Buffer.from(server.caBundle, "base64").toString("utf8");
  const here = (more: Partial<Destination> = {}): Destination => ({
    url: `${server.url}/path`,
    authority: authority(),
    ...more,
  });
  const failure = async (destination: Destination, limits = LIMITS): Promise<string> => {
    const error = await client.call(destination, {}, limits).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(CallFailure);
    return (error as CallFailure).message.replaceAll(String(server.port), "PORT");
  };

  it("posts JSON with how long it will wait, and reads JSON", async () => {
    expect(await client.call(here(), { kind: "AdmissionReview", large: 9007199254740993n }, LIMITS)).toEqual({
      fine: true,
    });
    expect(server.calls).toMatchObject([{ path: "/path", query: "timeout=5s", review: { kind: "AdmissionReview" } }]);
  });

  it("connects elsewhere than the name says, and still asks for a certificate of that name", async () => {
    const endpoint = { host: "127.0.0.1", port: server.port };
    expect(await client.call(here({ url: "https://hook.space.svc:443/p", endpoint }), {}, LIMITS)).toEqual({
      fine: true,
    });
    expect(await failure(here({ url: "https://other.space.svc:443/p", endpoint }))).toBe(
      'Post "https://other.space.svc:443/p?timeout=5s": tls: failed to verify certificate: x509: certificate is valid for localhost, hook.space.svc, not other.space.svc',
    );
  });

  it("goes on when the other end has closed a connection that was kept", async () => {
    await client.call(here(), {}, LIMITS);
    let count = 0;
    server.answer((_review, _call, response) => {
      if (++count > 1) return { again: true };
      response.socket?.destroy();
      return undefined;
    });
    expect(await client.call(here(), {}, LIMITS)).toEqual({ again: true });
  });

  it("believes nobody whom it was not told to believe", async () => {
    expect(await failure({ url: `${server.url}/path` })).toBe(
      'Post "https://127.0.0.1:PORT/path?timeout=5s": tls: failed to verify certificate: x509: certificate signed by unknown authority',
    );
  });

  it("tells that nobody is there", async () => {
    expect(await failure(here({ url: "https://127.0.0.1:1/p" }))).toBe(
      'Post "https://127.0.0.1:1/p?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused',
    );
  });

  it("tells that the other end does not speak TLS", async () => {
    const plain = createServer((_, response) => response.end("{}"));
    await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const { port } = plain.address() as AddressInfo;
    expect(await failure(here({ url: `https://127.0.0.1:${port}/p` }))).toContain(
      "http: server gave HTTP response to HTTPS client",
    );
    await new Promise((resolve) => plain.close(resolve));
  });

  const answering =
    (code: number, text: string, type?: string): Answerer =>
    (_review, _call, response) => {
      response.statusCode = code;
      if (type) response.setHeader("Content-Type", type);
      response.end(text);
      return undefined;
    };
  it.each<[string, Answerer, string]>([
    ["nothing", answering(200, ""), "0-length response with status code: 200 and content type: application/json"],
    ["no JSON", answering(200, "nonsense"), "couldn't get version/kind; json parse error: no JSON"],
    ["a page", answering(200, "<html>", "text/html"), "couldn't get version/kind; json parse error: no JSON"],
    ["not found", answering(404, "where?"), "the server could not find the requested resource"],
    ["forbidden", answering(403, "stay out"), "stay out"],
    ["broken", answering(500, "boom"), 'an error on the server ("boom") has prevented the request from succeeding'],
    [
      "broken, in JSON that says nothing",
      answering(500, "{}", "application/json"),
      'an error on the server ("unknown") has prevented the request from succeeding',
    ],
    ["a Status", answering(500, '{"kind":"Status","apiVersion":"v1","message":"inner"}', "application/json"), "inner"],
    ["unavailable", answering(503, "later"), "the server is currently unable to handle the request"],
    [
      "elsewhere, because a redirect could lead anywhere",
      answering(307, ""),
      "the server responded with the status code 307 but did not return more information",
    ],
    ["too much", answering(200, " ".repeat(200_000)), "the response has more than the 100000 bytes that are read"],
  ])("gives up on an answer that is %s", async (_, how, message) => {
    server.answer(how);
    expect(await failure(here())).toBe(message);
  });

  it("gives up on an endless answer as soon as it is too long", async () => {
    server.answer((_review, _call, response) => {
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
      return undefined;
    });
    expect(await failure(here())).toBe("the response has more than the 100000 bytes that are read");
  });

  it("gives up on an answer that breaks off", async () => {
    server.answer((_review, _call, response) => {
      response.setHeader("Content-Length", "1000");
      response.write("{", () => response.socket?.destroy());
      return undefined;
    });
    expect(await failure(here())).toBe(
      "unexpected error when reading response body. Please retry. Original error: unexpected EOF",
    );
  });

  it("waits no longer than it may for an answer to begin", async () => {
    const clock = new ManualClock();
    const patient = createWebhookClient({ clock });
    server.answer(() => {
      clock.advance(LIMITS.timeoutMs);
      return undefined;
    });
    await expect(patient.call(here(), {}, LIMITS)).rejects.toThrow(
      `Post "${server.url}/path?timeout=5s": context deadline exceeded`,
    );
    patient.close();
  });

  it("waits no longer than it may for an answer to end", async () => {
    server.answer((_review, _call, response) => {
      response.write("{");
      return undefined;
    });
    expect(await failure(here(), { ...LIMITS, timeoutMs: 1_000 })).toBe(
      "unexpected error when reading response body. Please retry. Original error: context deadline exceeded",
    );
  });

  it("ends all calls when it is closed", async () => {
    const own = createWebhookClient({ clock: systemClock });
    server.answer(() => {
      own.close();
      return undefined;
    });
    await expect(own.call(here(), {}, LIMITS)).rejects.toBeInstanceOf(CallFailure);
  });
});
