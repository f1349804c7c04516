/**
 * A gate before an API server. Everything passes; of what is written it can be decided, before the request goes on and
 * before its answer does, that it gets no further. So a program that only knows the gate can be made to end between any
 * two of its writes, and a server right before or after any write, without either knowing of tests.
 *
 * Writes pass one after the other, and each that a server did is heard of, also when nobody waits for its answer any
 * more: who dies of one takes no other along.
 */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
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

/** Whose turn it is to write, where several gates are those of one program. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take(task: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(task);
    this.#last = turn.catch(() => {});
    return turn;
  }
}

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
  static async before(
    target: { readonly url: string; readonly authority: string },
    judge: Judge,
    turns = new Turns(),
  ): Promise<Gate> {
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
      join(near, connect(target.url, { ca: target.authority }), { judge, turns, cut });
    });
    server.on("sessionError", () => {});
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Gate(server, sessions, ca.certificate);
  }

  /** Forgets whoever came: nothing of what they sent and what has not gone on yet goes on any more. */
  drop(): void {
    for (const session of this.#sessions) session.destroy();
  }

  async close(): Promise<void> {
    this.drop();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

interface Keeper {
  readonly judge: Judge;
  readonly turns: Turns;
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
  { judge, turns, cut }: Keeper,
): Promise<void> {
  near.on("error", () => {});
  const method = headers[":method"] ?? "GET";
  const [path = ""] = (headers[":path"] ?? "").split("?");
  const body = await textOf(near);
  const send = () => {
    const answer = far.request(headers, { endStream: body === "" });
    answer.on("error", () => {
      if (far.destroyed) cut();
      else near.close(constants.NGHTTP2_CANCEL);
    });
    if (body !== "") answer.end(body);
    return answer;
  };
  const reply = (answer: ClientHttp2Stream, { ":status": status = 500, ...head }: Head) => {
    if (near.destroyed || near.closed) return;
    near.respond({ ":status": status, ...head });
    answer.pipe(near);
  };

  if (READS.has(method) || REVIEWS.test(path)) {
    const answer = send();
    near.once("close", () => answer.close(constants.NGHTTP2_CANCEL));
    const head = await headOf(answer);
    return head && reply(answer, head);
  }
  await turns.take(async () => {
    // Whoever sent it may have died while it waited.
    if (near.destroyed) return;
    if ((await judge({ when: "before", method, path, body })) || far.destroyed) return cut();
    if (near.destroyed) return;
    const answer = send();
    const head = await headOf(answer);
    if (!head) return;
    if (await judge({ when: "after", method, path, body })) return cut();
    reply(answer, head);
  });
}

type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** Nothing where the server ended before it had an answer. */
function headOf(answer: ClientHttp2Stream): Promise<Head | undefined> {
  return new Promise((resolve) => {
    answer.once("response", resolve);
    answer.once("close", () => resolve(undefined));
  });
}

function textOf(stream: ServerHttp2Stream): Promise<string> {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    stream.once("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    stream.once("close", () => reject(new Error("it broke off")));
  });
}
