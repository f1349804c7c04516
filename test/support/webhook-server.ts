/** A webhook for tests: HTTPS on loopback. It answers as it is told to, and remembers what it was asked. */
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { AdmissionRequest, AdmissionResponse, AdmissionReview } from "#api/admission";
import type { ConversionReview } from "#api/apiextensions";
import type { DynamicObject, Status } from "#api/meta";
import { createCertificateAuthority, generateKeyPair, issueCertificate } from "#lib/pki";

/** What a webhook is sent; which of the two it is, whoever answers knows. */
export interface Review {
  readonly apiVersion: string;
  readonly kind: "AdmissionReview" | "ConversionReview";
  readonly request: AdmissionRequest & NonNullable<ConversionReview["request"]>;
}

export interface Call {
  /** Without the query. */
  readonly path: string;
  readonly query: string;
  readonly review: Review;
}

/** Gives the body of the answer: text as it is, all else as JSON. Undefined leaves the answer to `response`. */
export type Answerer = (review: Review, call: Call, response: ServerResponse) => unknown;

export interface WebhookServer {
  readonly url: string;
  readonly port: number;
  /** PEM in base64, as configurations have it. */
  readonly caBundle: string;
  readonly calls: readonly Call[];
  /** From now on it answers so, and remembers from the start. */
  answer(how: Answerer): void;
  close(): Promise<void>;
}

export interface WebhookServerOptions {
  /** Names in the certificate beside `localhost`. */
  readonly dnsNames?: readonly string[];
}

export async function startWebhookServer({ dnsNames = [] }: WebhookServerOptions = {}): Promise<WebhookServer> {
  const now = Date.now();
  const ca = createCertificateAuthority({ commonName: "webhooks", now: new Date(now), years: 1 });
  const { publicKey, privateKey } = generateKeyPair();
  const cert = issueCertificate({
    ca,
    subject: { commonName: "webhook" },
    publicKey,
    usages: ["digital signature", "server auth"],
    notBefore: new Date(now - 300_000),
    notAfter: new Date(now + 86_400_000),
    dnsNames: ["localhost", ...dnsNames],
    ipAddresses: ["127.0.0.1"],
  });

  let answerer: Answerer = (review) => allowed(review);
  let calls: Call[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ cert, key: privateKey }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const call: Call = { path, query, review: JSON.parse(Buffer.concat(chunks).toString("utf8")) };
    calls.push(call);
    const given = await answerer(call.review, call, response);
    if (given === undefined) return;
    response.setHeader("Content-Type", "application/json");
    response.end(typeof given === "string" ? given : JSON.stringify(given));
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}`,
    port,
    caBundle: Buffer.from(ca.certificate).toString("base64"),
    get calls() {
      return calls;
    },
    answer(how) {
      answerer = how;
      calls = [];
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export function allowed({ apiVersion, request }: Review, more: Partial<AdmissionResponse> = {}): AdmissionReview {
  return { apiVersion, kind: "AdmissionReview", response: { uid: request.uid, allowed: true, ...more } };
}

export function denied(review: Review, status?: Partial<Status>): AdmissionReview {
  return allowed(review, { allowed: false, ...(status && { status }) });
}

/** A JSON patch as an answer carries it. */
export function patching(...operations: readonly object[]): Pick<AdmissionResponse, "patch" | "patchType"> {
  return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") };
}

/** Converts every object with `convert`, which is given the version to convert to. */
export function converted(
  { apiVersion, request }: Review,
  convert: (object: DynamicObject, apiVersion: string) => DynamicObject,
): ConversionReview {
  const { uid, objects, desiredAPIVersion } = request;
  const convertedObjects = objects.map((object) => convert(object, desiredAPIVersion));
  return { apiVersion, kind: "ConversionReview", response: { uid, convertedObjects, result: { status: "Success" } } };
}
