/**
 * Requests of programs in the same process. They are authenticated, authorized, counted and served like all others,
 * only that no socket, no TLS and no HTTP lies between: for a thousand clusters and their nodes that is the larger
 * part of what a request costs.
 */
import { EventEmitter } from "node:events";
import type { IncomingHttpHeaders } from "node:http";
import type { Handle, Peer, Request, Response } from "./messages.ts";

export interface LocalRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface LocalAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as they come; throws when the server breaks off. Iterate once. */
  readonly body: AsyncIterable<Buffer>;
  /** Gives the rest of the answer up. */
  cancel(): void;
}

/** Resolves when the server begins to answer. When the signal fires, now or later, the server takes it for a client that left. */
export function askInProcess(
  handle: Handle,
  caller: Peer,
  request: LocalRequest,
  signal: AbortSignal,
): Promise<LocalAnswer> {
  return new Promise((resolve, reject) => {
    const response = new InProcessResponse(resolve);
    const leave = () => response.destroy();
    signal.addEventListener("abort", leave, { once: true });
    response.once("close", () => {
      signal.removeEventListener("abort", leave);
      if (!response.headersSent) reject(new Error("the server broke off before it answered"));
    });
    handle(new InProcessRequest(request, caller), response);
    if (signal.aborted) leave();
  });
}

class InProcessRequest extends EventEmitter implements Request {
  readonly method: string;
  url: string;
  readonly headers: IncomingHttpHeaders;
  readonly socket: Peer;
  /** All of it is there from the start. */
  readonly complete = true;
  readonly #body: Buffer | undefined;

  constructor({ method, path, headers, body }: LocalRequest, caller: Peer) {
    super();
    this.method = method;
    this.url = path;
    this.headers = headers;
    this.socket = caller;
    this.#body = body;
  }

  override on(event: string, listener: (...args: never[]) => void): this {
    super.on(event, listener as () => void);
    if (event === "data") queueMicrotask(() => this.#deliver());
    return this;
  }

  resume(): void {}

  #deliver(): void {
    if (this.#body) this.emit("data", this.#body);
    this.emit("end");
    this.emit("close");
  }
}

/** So much may wait for the reader before the writer is asked to pause. */
const ROOM_BYTES = 64 * 1024;

class InProcessResponse extends EventEmitter implements Response {
  statusCode = 200;
  headersSent = false;
  destroyed = false;
  readonly #headers: IncomingHttpHeaders = {};
  readonly #begin: (answer: LocalAnswer) => void;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isEnded = false;
  #wake = () => {};

  constructor(begin: (answer: LocalAnswer) => void) {
    super();
    this.#begin = begin;
  }

  setHeader(name: string, value: string | string[]): void {
    this.#headers[name.toLowerCase()] = value;
  }

  flushHeaders(): void {
    if (this.headersSent || this.destroyed) return;
    this.headersSent = true;
    this.#begin({
      status: this.statusCode,
      headers: this.#headers,
      body: this.#body(),
      cancel: () => this.destroy(),
    });
  }

  write(chunk: string | Uint8Array): boolean {
    this.flushHeaders();
    if (this.destroyed || this.#isEnded) return false;
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : asBuffer(chunk);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#wake();
    return this.#waitingBytes < ROOM_BYTES;
  }

  end(body?: string | Uint8Array): void {
    if (body !== undefined && body.length > 0) this.write(body);
    this.flushHeaders();
    if (this.destroyed || this.#isEnded) return;
    this.#isEnded = true;
    this.#wake();
    queueMicrotask(() => {
      this.emit("finish");
      this.emit("close");
    });
  }

  cork(): void {}

  uncork(): void {}

  destroy(): void {
    if (this.destroyed || this.#isEnded) return;
    this.destroyed = true;
    this.#wake();
    this.emit("close");
  }

  async *#body(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        const chunks = this.#waiting;
        this.#waiting = [];
        this.#waitingBytes = 0;
        yield* chunks;
        if (this.#waiting.length > 0) continue;
        if (this.#isEnded) return;
        if (this.destroyed) throw new Error("the server broke off its answer");
        if (chunks.length > 0) this.emit("drain");
        if (this.#waiting.length === 0) await this.#news();
      }
    } finally {
      this.destroy();
    }
  }

  #news(): Promise<void> {
    if (this.#isEnded || this.destroyed) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
