/**
 * Answers the reviews of API servers over HTTPS. Nobody has to prove who they are, so whatever comes is
 * bounded in size, in number and in time, and nothing that is sent can do more than be answered.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { BadReview } from "./review.ts";

/** The text of a review with its answer; throws BadReview. The signal fires when nobody waits for it any more. */
export type ReviewHandler = (review: string, signal: AbortSignal) => string | Promise<string>;

/** By the path that they answer under. */
export type ReviewHandlers = Readonly<Record<string, ReviewHandler>>;

/** PEM. */
export interface ServingPair {
  readonly certificate: string;
  readonly key: string;
}

export interface WebhookServerOptions {
  /** Empty for every address of this machine; only its own unless told. */
  readonly host?: string;
  /** One of the system's choice for 0. */
  readonly port: number;
  readonly pair: ServingPair;
  readonly handlers: ReviewHandlers;
  /** Milliseconds for which questions that were asked may still be answered at the end; 5 s unless told. */
  readonly grace?: number;
}

export interface WebhookServer {
  readonly port: number;
  /** From now on new connections are shown this certificate. Throws when the pair cannot be used; the old one stays. */
  renew(pair: ServingPair): void;
  /** Answers what was asked, and nothing more. May be called again. */
  close(): Promise<void>;
}

/** Twice the largest object that API servers take, and what is around the two. */
const LARGEST_BODY = 7 * 1024 * 1024;
/** Of all that is being read at once; a hub has few webhooks, and each of them is asked about one object at a time. */
const LARGEST_TOTAL = 64 * 1024 * 1024;
const MOST_CONNECTIONS = 512;
const READ_PATIENCE_MS = 10_000;
/** Longer than API servers keep theirs, so that it is they who close it: otherwise a question could meet the end. */
const IDLE_MS = 120_000;
const GRACE_MS = 5_000;

export async function serveWebhooks(options: WebhookServerOptions): Promise<WebhookServer> {
  const { host = "127.0.0.1", port, pair, handlers, grace = GRACE_MS } = options;
  const desk = new Desk(handlers);
  const server = createServer({ ...contextOf(pair), minVersion: "TLSv1.2" }, (request, response) => {
    desk.answer(request, response).catch(() => response.destroy());
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.keepAliveTimeout = IDLE_MS;
  server.headersTimeout = READ_PATIENCE_MS;
  server.requestTimeout = READ_PATIENCE_MS;
  server.on("tlsClientError", () => {}); // whoever does not speak TLS, or does not trust us, hears it from TLS
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...(host !== "" && { host }), port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  let closed: Promise<void> | undefined;
  return {
    port: (server.address() as AddressInfo).port, // listening on a port, it has such an address
    renew: (next) => server.setSecureContext({ ...contextOf(next), minVersion: "TLSv1.2" }),
    close() {
      closed ??= closeServer(server, grace);
      return closed;
    },
  };
}

function contextOf({ certificate, key }: ServingPair): { cert: string; key: string } {
  return { cert: certificate, key };
}

function closeServer(server: Server, grace: number): Promise<void> {
  return new Promise((resolve) => {
    const hurry = setTimeout(() => server.closeAllConnections(), grace);
    server.close(() => {
      clearTimeout(hurry);
      resolve();
    });
    server.closeIdleConnections();
  });
}

/** An answer that is no review: the status, and one line. */
class HttpAnswer extends Error {
  readonly status: number;

  constructor(status: number, line: string) {
    super(line);
    this.status = status;
  }
}

class Desk {
  readonly #handlers: ReadonlyMap<string, ReviewHandler>;
  #total = 0;

  constructor(handlers: ReviewHandlers) {
    this.#handlers = new Map(Object.entries(handlers));
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const path = (request.url ?? "").split("?")[0] ?? "";
      const handler = this.#handlers.get(path);
      if (!handler) throw new HttpAnswer(404, "no webhook answers here");
      if (request.method !== "POST") throw new HttpAnswer(405, "reviews are sent with POST");
      const [type = ""] = (request.headers["content-type"] ?? "").split(";");
      if (type.trim().toLowerCase() !== "application/json") {
        throw new HttpAnswer(400, "the content type must be application/json");
      }
      const body = await this.#bodyOf(request);
      const over = new AbortController();
      response.once("close", () => over.abort());
      const answer = await handler(body, over.signal);
      response.writeHead(200, { "Content-Type": "application/json" }).end(answer);
    } catch (error) {
      if (error instanceof BadReview) sayLine(response, 400, error.message);
      else if (error instanceof HttpAnswer) sayLine(response, error.status, error.message);
      else throw error;
    }
  }

  /** The body as text, unless it is too large, or too much is read already. What is left of one is not read. */
  async #bodyOf(request: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    const flaw = (): HttpAnswer | undefined => {
      if (size > LARGEST_BODY) return new HttpAnswer(413, `the body has more than ${LARGEST_BODY} bytes`);
      return this.#total > LARGEST_TOTAL ? new HttpAnswer(503, "too much is asked at once; try again") : undefined;
    };
    if (Number(request.headers["content-length"]) > LARGEST_BODY) size = LARGEST_BODY + 1;
    const early = flaw();
    if (early) throw early;
    try {
      await new Promise<void>((resolve, reject) => {
        request.on("data", (chunk: Buffer) => {
          size += chunk.length;
          this.#total += chunk.length;
          chunks.push(chunk);
          const late = flaw();
          if (!late) return;
          request.pause();
          reject(late);
        });
        request.once("end", resolve);
        request.once("error", reject);
        request.once("close", () => reject(new Error("the connection ended before the body did")));
      });
      return Buffer.concat(chunks).toString("utf8");
    } finally {
      this.#total -= size;
    }
  }
}

function sayLine(response: ServerResponse, status: number, line: string): void {
  if (response.headersSent) return;
  // What is left of a body that was refused is not read: the connection ends with the answer.
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    Connection: "close",
  });
  response.end(`${line}\n`);
}
