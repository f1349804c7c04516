/** An HTTP/2 session: all requests of a client share it. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import type { Socket } from "node:net";
import type { Clock } from "#lib/clock";
import { DIAL_TIMEOUT } from "./dial.ts";
import { asLost, describe, type Link, LinkError, type TransportRequest, type TransportResponse } from "./link.ts";

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

/** A server may send this much without hearing from us; the protocol's 64 KiB make big lists slow. */
const STREAM_WINDOW = 4 * 1024 * 1024;
const SESSION_WINDOW = 16 * 1024 * 1024;
/** Megabytes that a session may hold; beyond it Node refuses streams. The default of 10 is less than the window. */
const SESSION_MEMORY = 64;

/** How a watch notices a server that has vanished without a word. */
export interface KeepAlive {
  /** So often, in milliseconds, a session with open streams is asked for a sign of life… */
  readonly every: number;
  /** …and it is dead if none comes within this time. */
  readonly patience: number;
}

const KEEP_ALIVE: KeepAlive = { every: 30_000, patience: 15_000 };
/** A timer that is later than this shows that this process had no time for anything else either. */
const HELD_UP = 500;

export interface SessionOptions {
  readonly clock: Clock;
  readonly keepAlive?: KeepAlive;
  onGone(link: Link): void;
}

/** Starts a session on a connected socket; throws a LinkError unless the server's settings come in time. */
export function openHttp2(socket: Socket, server: string, options: SessionOptions): Promise<Http2Link> {
  const { clock } = options;
  return new Promise((resolve, reject) => {
    const session = connect(new URL(server).origin, {
      createConnection: () => socket,
      settings: { initialWindowSize: STREAM_WINDOW, enablePush: false },
      maxSessionMemory: SESSION_MEMORY,
    });
    session.unref();
    const fail = (error?: Error) => {
      cancel();
      session.destroy();
      const why = error ? describe(error) : "the server closed the connection";
      reject(new LinkError("unreachable", `cannot connect: ${why}`, error));
    };
    const cancel = clock.after(DIAL_TIMEOUT, () =>
      fail(new Error(`no HTTP/2 settings within ${DIAL_TIMEOUT / 1000} s`)),
    );
    const onClose = () => fail();
    session.once("error", fail);
    session.once("close", onClose);
    session.once("remoteSettings", () => {
      cancel();
      session.off("error", fail);
      session.off("close", onClose);
      session.setLocalWindowSize(SESSION_WINDOW);
      resolve(new Http2Link(session, socket, options));
    });
  });
}

export class Http2Link implements Link {
  readonly #session: ClientHttp2Session;
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #keepAlive: KeepAlive;
  #failure: LinkError | undefined;
  #streams = 0;
  #quietSince: number;
  /** When the server last said something that was read. */
  #heardAt = 0;
  #cancelHealthCheck: (() => void) | undefined;

  constructor(session: ClientHttp2Session, socket: Socket, { clock, keepAlive = KEEP_ALIVE, onGone }: SessionOptions) {
    this.#session = session;
    this.#socket = socket;
    this.#clock = clock;
    this.#keepAlive = keepAlive;
    this.#quietSince = clock.now().getTime();
    session.on("error", (error) => {
      this.#failure ??= asLost(error);
    });
    session.once("close", () => {
      this.#cancelHealthCheck?.();
      onGone(this);
    });
  }

  /** After GOAWAY the session counts as closed: its open streams may end in peace, new ones need another. */
  hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#session;
    return !closed && !destroyed && this.#streams < (remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY);
  }

  send(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      let stream: ClientHttp2Stream;
      try {
        stream = this.#session.request(
          { ":method": request.method, ":path": request.path, ...request.headers },
          { endStream: request.body === undefined },
        );
      } catch (error) {
        return reject(new LinkError("refused", `connection lost: ${describe(error)}`, error));
      }
      if (request.body !== undefined) stream.end(request.body);
      this.#opened();

      const exchange: Exchange = { stream, failure: undefined, isClosed: false };
      let isAnswered = false;
      const abort = () => {
        exchange.failure ??= signal.reason;
        cancel(stream);
        reject(signal.reason);
      };
      signal.addEventListener("abort", abort, { once: true });
      stream.on("error", (error) => {
        exchange.failure ??= this.#failure ?? failureOf(stream, error);
      });
      stream.once("close", () => {
        exchange.isClosed = true;
        signal.removeEventListener("abort", abort);
        this.#closed();
        if (stream.rstCode !== NGHTTP2_NO_ERROR) exchange.failure ??= this.#failure ?? failureOf(stream);
        // Almost always there is an answer; errors are too dear to be made for nobody.
        if (!isAnswered) reject(exchange.failure ?? failureOf(stream));
      });
      stream.once("response", (headers) => {
        isAnswered = true;
        this.#heard();
        const status = Number(headers[":status"]);
        const whole = () => wholeOf(exchange);
        resolve({
          status,
          headers,
          body: new Pieces(exchange, () => this.#heard()),
          whole,
          cancel: () => cancel(stream),
        });
      });
    });
  }

  retire(): void {
    this.#session.close();
  }

  destroy(failure: LinkError): void {
    this.#failure ??= failure;
    this.#session.destroy(this.#failure);
  }

  #heard(): void {
    this.#heardAt = this.#clock.now().getTime();
  }

  #opened(): void {
    if (this.#streams++ > 0) return;
    // After a long rest the server may be gone without a word: ask at once, while the request is on its way.
    const quiet = this.#clock.now().getTime() - this.#quietSince;
    if (quiet >= this.#keepAlive.every) this.#ping();
    else this.#checkLater();
  }

  #closed(): void {
    if (--this.#streams > 0) return;
    this.#quietSince = this.#clock.now().getTime();
    this.#cancelHealthCheck?.();
    this.#cancelHealthCheck = undefined;
  }

  /** Whoever has said something meanwhile need not be asked. */
  #checkLater(after = this.#keepAlive.every): void {
    this.#cancelHealthCheck = this.#clock.after(after, () => {
      const left = this.#heardAt + this.#keepAlive.every - this.#clock.now().getTime();
      if (left > 0) this.#checkLater(left);
      else this.#ping();
    });
  }

  #ping(): void {
    if (this.#session.destroyed) return;
    const { patience } = this.#keepAlive;
    const before = this.#socket.bytesRead;
    const asked = this.#clock.now().getTime();
    const cancel = this.#clock.after(patience, () => {
      // Anything that arrives proves life; the answer itself may stand behind much data. And if we were held up
      // ourselves, it may have arrived and not been read.
      const isLate = this.#clock.now().getTime() - asked > patience + HELD_UP;
      if (isLate || this.#socket.bytesRead !== before) return this.#ping();
      this.#failure ??= new LinkError("lost", `connection lost: no sign of life for ${patience / 1000} s`);
      this.#session.destroy(this.#failure);
    });
    this.#cancelHealthCheck = cancel;
    this.#session.ping((error) => {
      if (error || this.#cancelHealthCheck !== cancel) return;
      cancel();
      this.#checkLater();
    });
  }
}

/** One request and its answer. */
interface Exchange {
  readonly stream: ClientHttp2Stream;
  /** Is there as soon as it is known that the answer will not be whole. */
  failure: unknown;
  /** All is known by then. */
  isClosed: boolean;
}

function failureOf(stream: ClientHttp2Stream, error?: Error): LinkError {
  if (stream.rstCode === NGHTTP2_REFUSED_STREAM)
    return new LinkError("refused", "the server refused the stream", error);
  return asLost(error ?? new Error("the server ended the answer before it was whole"));
}

/** Tells the server that the answer is of no more use, and the reader, if any, that nothing more comes. */
function cancel(stream: ClientHttp2Stream): void {
  stream.close(NGHTTP2_CANCEL);
  stream.destroy();
}

/** Why an answer that has ended is not whole. A lost connection ends it too; only how it closes tells them apart. */
function flawIn({ stream, failure }: Exchange): unknown {
  if (failure !== undefined) return failure;
  return stream.readableEnded && stream.rstCode === NGHTTP2_NO_ERROR ? undefined : failureOf(stream);
}

/** All of the body. Most answers are short, and an iterator costs more than they do. */
function wholeOf(exchange: Exchange): Promise<Buffer> {
  const { stream } = exchange;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const end = () => {
      const flaw = flawIn(exchange);
      if (flaw === undefined) resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
      else reject(flaw);
    };
    if (stream.destroyed) return end();
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.once("close", end);
  });
}

/** The body as it comes. No generator: one would keep the last piece for as long as it waits for the next. */
class Pieces implements AsyncIterableIterator<Buffer> {
  readonly #exchange: Exchange;
  readonly #heard: () => void;
  #wake: (() => void) | undefined;

  constructor(exchange: Exchange, heard: () => void) {
    this.#exchange = exchange;
    this.#heard = heard;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Buffer, undefined>> {
    const { stream } = this.#exchange;
    if (!this.#wake) this.#listen();
    for (;;) {
      const piece: Buffer | null = stream.destroyed ? null : stream.read();
      if (piece) {
        this.#heard();
        return { done: false, value: piece };
      }
      if (this.#exchange.isClosed) return this.#end();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Buffer, undefined>> {
    cancel(this.#exchange.stream);
    return { done: true, value: undefined };
  }

  #listen(): void {
    const wake = () => this.#wake?.();
    this.#wake = () => {};
    this.#exchange.stream.on("readable", wake).once("close", wake);
  }

  #end(): IteratorResult<Buffer, undefined> {
    const flaw = flawIn(this.#exchange);
    if (flaw !== undefined) throw flaw;
    return { done: true, value: undefined };
  }
}
