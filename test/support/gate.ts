/**
 * A gate before an API server. Everything passes; of what is written it can be decided, before the request goes on and
 * before its answer does, that it gets no further. So a program that only knows the gate can be made to end between any
 * two of its writes, and a server right before or after any write, without either knowing of tests.
 */
import {
  type ClientHttp2Session,
  connect,
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { createCertificateAuthority } from "#lib/pki";
import { servingPair } from "./serving-pair.ts";

/** A write on its way. */
export interface Passage {
  /** Before the server has it, or when it is done and the answer is on its way back. */
  readonly when: "before" | "after";
  readonly method: string;
  /** Without what is asked in the query. */
  readonly path: string;
  readonly body: string;
}

/** Whether it gets no further. */
export type Judge = (passage: Passage) => boolean | Promise<boolean>;

const READS = new Set(["GET", "HEAD"]);
/** A review asks, and writes nothing. */
const REVIEWS = /\/[a-z]+reviews$/;

export class Gate {
  readonly url: string;
  /** Of the gate itself: PEM. */
  readonly authority: string;
  readonly #server: Http2SecureServer;
  readonly #sessions: Set<ServerHttp2Session>;

  private constructor(server: Http2SecureServer, sessions: Set<ServerHttp2Session>, authority: string) {
    this.#server = server;
    this.#sessions = sessions;
    this.authority = authority;
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Before the server at this URL, whose authority is this. */
  static async before(target: { readonly url: string; readonly authority: string }, judge: Judge): Promise<Gate> {
    const ca = createCertificateAuthority({ commonName: "gate", now: new Date(), years: 1 });
    const pair = servingPair(ca);
    const server = createSecureServer({ cert: pair.certificate, key: pair.key });
    const sessions = new Set<ServerHttp2Session>();
    const wires = new Map<number, Socket>();
    server.on("secureConnection", (wire) => {
      const { remotePort = 0 } = wire;
      wires.set(remotePort, wire);
      wire.once("close", () => wires.delete(remotePort));
    });
    server.on("session", (near) => {
      sessions.add(near);
      near.once("close", () => sessions.delete(near));
      const { remotePort = 0 } = near.socket;
      // As the system ends the connections of a process that was killed: without a last word.
      const cut = () => wires.get(remotePort)?.destroy();
      join(near, connect(target.url, { ca: target.authority }), { judge, cut });
    });
    server.on("sessionError", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Gate(server, sessions, ca.certificate);
  }

  async close(): Promise<void> {
    for (const session of this.#sessions) session.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

interface Keeper {
  readonly judge: Judge;
  /** Ends the connection of whoever came. */
  cut(): void;
}

/** Whoever loses the one loses the other. */
function join(near: ServerHttp2Session, far: ClientHttp2Session, keeper: Keeper): void {
  for (const session of [near, far]) session.on("error", () => {});
  near.once("close", () => far.destroy());
  far.once("close", () => keeper.cut());
  near.on("stream", (stream, headers) => {
    passed(stream, headers, far, keeper).catch(() => keeper.cut());
  });
}

async function passed(
  near: ServerHttp2Stream,
  { ":authority": _, ...headers }: IncomingHttpHeaders,
  far: ClientHttp2Session,
  { judge, cut }: Keeper,
): Promise<void> {
  near.on("error", () => {});
  const method = headers[":method"] ?? "GET";
  const [path = ""] = (headers[":path"] ?? "").split("?");
  const isWrite = !READS.has(method) && !REVIEWS.test(path);
  const body = await textOf(near);
  const isLost = async (when: Passage["when"]) => isWrite && (await judge({ when, method, path, body }));
  if ((await isLost("before")) || far.destroyed) return cut();
  if (near.destroyed) return;

  const answer = far.request(headers, { endStream: body === "" });
  near.once("close", () => answer.close(constants.NGHTTP2_CANCEL));
  answer.on("error", () => {
    if (far.destroyed) cut();
    else near.close(constants.NGHTTP2_CANCEL);
  });
  answer.once("response", async ({ ":status": status = 500, ...told }) => {
    if (await isLost("after")) return cut();
    if (near.destroyed || near.closed) return;
    near.respond({ ":status": status, ...told });
    answer.pipe(near);
  });
  if (body !== "") answer.end(body);
}

function textOf(stream: ServerHttp2Stream): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    stream.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    stream.once("close", () => reject(new Error("it broke off")));
  });
}
