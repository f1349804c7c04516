import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { connect as netConnect } from "node:net";
import { connect, type TLSSocket, connect as tlsConnect } from "node:tls";
import { afterEach, describe, expect, it } from "vitest";
import type { AdmissionReview } from "#api/admission";
import { silentLog } from "#lib/log";
import { createCertificateAuthority, parseCertificate } from "#lib/pki";
import { eventually } from "../../../test/support/eventually.ts";
import { servingPair } from "../../../test/support/serving-pair.ts";
import { type AdmissionHandler, admissionReviews } from "./admission.ts";
import { conversionReviews } from "./conversion.ts";
import { badObject, consent, forbidden } from "./ruling.ts";
import { serveWebhooks, type WebhookServer } from "./server.ts";

const ca = createCertificateAuthority({ commonName: "authority", now: new Date() });

const pair = () => servingPair(ca);

let server: WebhookServer;
afterEach(() => server?.close());

async function serve(handler: AdmissionHandler = () => consent, first = pair()): Promise<void> {
  server = await serveWebhooks({
    port: 0,
    pair: first,
    handlers: {
      ...admissionReviews({ "/ask": handler }, silentLog),
      "/convert": conversionReviews((review) => review),
    },
    grace: 1_000,
  });
}

interface Sent {
  readonly path?: string;
  readonly method?: string;
  readonly type?: string;
}

async function send(body: string | Buffer, { path = "/ask?timeout=10s", method = "POST", type }: Sent = {}) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const asked = httpsRequest(
      {
        host: "127.0.0.1",
        port: server.port,
        ca: ca.certificate,
        method,
        path,
        headers: { "Content-Type": type ?? "application/json" },
        agent: false,
      },
      resolve,
    );
    asked.on("error", reject);
    asked.end(body);
  });
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, text: Buffer.concat(chunks).toString() };
}

const request = (more: object = {}) => ({
  uid: "u1",
  kind: { group: "g", version: "v1", kind: "K" },
  operation: "CREATE",
  userInfo: { username: "alice", groups: ["a"] },
  object: { apiVersion: "v1", kind: "K", metadata: { name: "n" } },
  oldObject: null,
  ...more,
});
const review = (more: object = {}, version = "v1") =>
  JSON.stringify({ apiVersion: `admission.k8s.io/${version}`, kind: "AdmissionReview", request: request(more) });
const answer = async (text: string) => JSON.parse((await send(text)).text) as AdmissionReview;

describe("an answer", () => {
  it.each([["v1"], ["v1beta1"]])("comes in the version of the question: %s", async (version) => {
    await serve();
    expect(await answer(review({}, version))).toEqual({
      apiVersion: `admission.k8s.io/${version}`,
      kind: "AdmissionReview",
      response: { uid: "u1", allowed: true },
    });
  });

  it("carries a patch", async () => {
    await serve(() => ({ allowed: true, patch: [{ op: "add", path: "/a", value: 1 }] }));
    const { response } = await answer(review());
    expect(response).toMatchObject({ allowed: true, patchType: "JSONPatch" });
    expect(Buffer.from(response?.patch ?? "", "base64").toString()).toBe('[{"op":"add","path":"/a","value":1}]');
  });

  it("says why not, with the status that the server hands on", async () => {
    await serve(() => forbidden({ group: "g.io", resource: "things/use", name: "n" }, "no"));
    expect((await answer(review())).response?.status).toEqual({
      status: "Failure",
      code: 403,
      reason: "Forbidden",
      message: 'things/use.g.io "n" is forbidden: no',
      details: { group: "g.io", kind: "things/use", name: "n" },
    });
    await server.close();
    await serve(() => badObject("empty"));
    expect((await answer(review())).response?.status).toMatchObject({ code: 400, message: "empty" });
  });

  it("lets nothing in when it cannot be found out, and does not tell what went wrong", async () => {
    await serve(() => {
      throw new Error("the password is hunter2");
    });
    const { response } = await answer(review());
    expect(response).toMatchObject({ allowed: false, status: { code: 500, reason: "InternalError" } });
    expect(JSON.stringify(response)).not.toContain("hunter2");
  });
});

describe("what is no question", () => {
  const of = (value: unknown) => JSON.stringify(value);
  const whole = { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", request: request() };
  it.each([
    ["nothing", ""],
    ["no JSON", "{"],
    ["binary", Buffer.from([0xff, 0xfe, 0x00])],
    ["a list", "[]"],
    ["null", "null"],
    ["text", '"x"'],
    ["very deep", "[".repeat(200_000)],
    ["another kind", of({ ...whole, kind: "Pod" })],
    ["another version", of({ ...whole, apiVersion: "admission.k8s.io/v2" })],
    ["a version that is none", of({ ...whole, apiVersion: { a: 1 } })],
    ["no request", of({ ...whole, request: undefined })],
    ["no uid", of({ ...whole, request: request({ uid: "" }) })],
    ["no operation", of({ ...whole, request: request({ operation: "PATCH" }) })],
    ["nobody", of({ ...whole, request: request({ userInfo: {} }) })],
    ["groups that are none", of({ ...whole, request: request({ userInfo: { username: "a", groups: "b" } }) })],
    ["an object that is none", of({ ...whole, request: request({ object: 1 }) })],
    ["an object without metadata", of({ ...whole, request: request({ object: {} }) })],
    ["an old object that is none", of({ ...whole, request: request({ oldObject: [] }) })],
    ["a name that is none", of({ ...whole, request: request({ name: {} }) })],
    ["__proto__", '{"__proto__":{"kind":"AdmissionReview"}}'],
  ])("is answered with 400 and one line: %s", async (_, body) => {
    let asked = 0;
    await serve(() => {
      asked++;
      return consent;
    });
    const { status, text } = await send(body);
    expect(status).toBe(400);
    expect(text.trim().split("\n")).toHaveLength(1);
    expect(text.trim().length).toBeGreaterThan(10);
    expect(asked).toBe(0);
    expect(await answer(review()), "and the next is answered").toMatchObject({ response: { allowed: true } });
  });

  it.each([
    ["elsewhere", { path: "/elsewhere" }, 404],
    ["a path that every object has", { path: "/constructor" }, 404],
    ["another method", { method: "PUT" }, 405],
    ["another content type", { type: "text/plain" }, 400],
  ])("%s is told so", async (_, sent, status) => {
    await serve();
    expect((await send(review(), sent)).status).toBe(status);
  });

  it.each([
    ["says so", true],
    ["does not say so", false],
  ])("is cut off when it is too large and %s", async (_, isTold) => {
    await serve();
    const socket = tlsConnect({ host: "127.0.0.1", port: server.port, ca: ca.certificate });
    socket.on("error", () => {}); // what is still being written meets a closed connection
    let said = "";
    socket.on("data", (chunk: Buffer) => {
      said += chunk;
    });
    const length = isTold ? `Content-Length: ${8 * 1024 * 1024}` : "Transfer-Encoding: chunked";
    socket.write(`POST /ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${length}\r\n\r\n`);
    const chunk = Buffer.alloc(1024 * 1024, "a");
    for (let sent = 0; !isTold && sent < 8; sent++) {
      socket.write(`${chunk.length.toString(16)}\r\n`);
      socket.write(chunk);
      socket.write("\r\n");
    }
    await eventually(() => expect(said).toMatch(/^HTTP\/1\.1 413 [\s\S]*the body has more than 7340032 bytes/));
    socket.destroy();
    expect(await answer(review())).toMatchObject({ response: { allowed: true } });
  });

  it.each([
    ["no ConversionReview", { kind: "AdmissionReview" }],
    ["another version", { apiVersion: "apiextensions.k8s.io/v2" }],
    ["no request", { request: undefined }],
    ["objects that are none", { request: { uid: "1", desiredAPIVersion: "v1", objects: [1] } }],
    ["an object without a kind", { request: { uid: "1", desiredAPIVersion: "v1", objects: [{ metadata: {} }] } }],
  ])("of conversions either: %s", async (_, more) => {
    await serve();
    const good = { apiVersion: "apiextensions.k8s.io/v1", kind: "ConversionReview" };
    const asked = { ...good, request: { uid: "1", desiredAPIVersion: "v1", objects: [] } };
    expect((await send(of(asked), { path: "/convert" })).status).toBe(200);
    expect((await send(of({ ...asked, ...more }), { path: "/convert" })).status).toBe(400);
  });

  it("does no harm to others when it is no TLS, or half a request", async () => {
    await serve();
    const plain = netConnect(server.port, "127.0.0.1");
    plain.on("error", () => {});
    plain.write("GET / HTTP/1.1\r\n\r\n");
    const half = tlsConnect({ host: "127.0.0.1", port: server.port, ca: ca.certificate });
    half.on("error", () => {});
    half.write("POST /ask HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
    expect(await answer(review())).toMatchObject({ response: { allowed: true } });
    plain.destroy();
    half.destroy();
  });
});

/** The serial number of the certificate that a new connection is shown. */
function shown(): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ host: "127.0.0.1", port: server.port, ca: ca.certificate }, () => {
      resolve(parseCertificate(socket.getPeerCertificate().raw).serial);
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

describe("the certificate", () => {
  it("is replaced without a restart, and one that cannot be used changes nothing", async () => {
    const [first, second] = [pair(), pair()];
    await serve(undefined, first);
    expect(await shown()).toBe(parseCertificate(first.certificate).serial);
    server.renew(second);
    expect(await shown()).toBe(parseCertificate(second.certificate).serial);
    expect(() => server.renew({ certificate: first.certificate, key: second.key })).toThrow();
    expect(() => server.renew({ certificate: "x", key: "y" })).toThrow();
    expect(await shown()).toBe(parseCertificate(second.certificate).serial);
  });
});

describe("the end", () => {
  it("comes when what was asked is answered, and twice is as good as once", async () => {
    let decide = () => {};
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    await serve(
      () =>
        new Promise((resolve) => {
          decide = () => resolve(consent);
          isAsked();
        }),
    );
    const answered = answer(review());
    await asked;
    const closed = Promise.all([server.close(), server.close()]);
    decide();
    expect(await answered).toMatchObject({ response: { allowed: true } });
    await closed;
    await expect(send(review())).rejects.toThrow("ECONNREFUSED");
  });

  it("does not wait for ever for an answer that does not come, and whoever decides hears of it", async () => {
    let isGivenUp = false;
    let isAsked = () => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    await serve(
      (_, signal) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            isGivenUp = true;
            resolve(consent);
          });
          isAsked();
        }),
    );
    const answered = answer(review()).catch((error: Error) => error);
    await asked;
    await server.close();
    expect(await answered).toBeInstanceOf(Error);
    await eventually(() => expect(isGivenUp).toBe(true));
  });
});
