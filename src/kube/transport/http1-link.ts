/** HTTP/1.1 with kept connections, for servers and proxies that do not speak HTTP/2. */
import { Agent, type ClientRequest, type IncomingMessage, request as sendRequest } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { asLost, type Link, type LinkError, type TransportRequest, type TransportResponse } from "./link.ts";

/** Takes connections from `dial`; the one that showed which protocol is spoken is used first. */
class DialAgent extends Agent {
  readonly #dial: () => Promise<Socket>;
  #first: Socket | undefined;

  constructor(dial: () => Promise<Socket>, first: Socket) {
    super({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
    this.#dial = dial;
    this.#first = first;
  }

  override createConnection(
    _options: unknown,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const first = this.#first;
    this.#first = undefined;
    if (first && !first.destroyed) return first;
    this.#dial().then(
      (socket) => callback?.(null, socket),
      (error: Error) => (callback as ((error: Error) => void) | undefined)?.(error),
    );
    return undefined;
  }

  /** Idle connections go at once, busy ones with their answer. */
  retire(): void {
    this.maxFreeSockets = 0;
    this.#first?.destroy();
    for (const idle of Object.values(this.freeSockets)) for (const socket of [...(idle ?? [])]) socket.destroy();
  }

  override destroy(): void {
    this.#first?.destroy();
    super.destroy();
  }
}

export class Http1Link implements Link {
  readonly #agent: DialAgent;
  readonly #server: URL;
  readonly #open = new Set<(failure: LinkError) => void>();

  constructor(dial: () => Promise<Socket>, first: Socket, server: string) {
    this.#agent = new DialAgent(dial, first);
    this.#server = new URL(server);
  }

  hasRoom(): boolean {
    return true;
  }

  send({ method, path, headers, body }: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const { host, hostname, port } = this.#server;
      const request: ClientRequest = sendRequest({
        agent: this.#agent,
        host: hostname,
        port,
        method,
        path,
        headers: { host, ...headers },
      });
      const exchange: Exchange = { failure: undefined };
      const fail = (failure: unknown) => {
        exchange.failure ??= failure;
        request.destroy();
        reject(exchange.failure);
      };
      const abort = () => fail(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      this.#open.add(fail);
      request.on("error", (error) => fail(asLost(error)));
      request.once("close", () => {
        signal.removeEventListener("abort", abort);
        this.#open.delete(fail);
        reject(exchange.failure ?? asLost(new Error("the server closed the connection")));
      });
      request.once("response", (message) => {
        const cancel = () => {
          request.destroy();
        };
        message.on("error", () => {}); // the reader of the body is told
        resolve({
          status: message.statusCode ?? 0,
          headers: message.headers,
          body: bodyOf(message, exchange, cancel),
          cancel,
        });
      });
      request.end(body);
    });
  }

  retire(): void {
    this.#agent.retire();
  }

  destroy(failure: LinkError): void {
    for (const fail of this.#open) fail(failure);
    this.#agent.destroy();
  }
}

interface Exchange {
  failure: unknown;
}

async function* bodyOf(message: IncomingMessage, exchange: Exchange, cancel: () => void): AsyncGenerator<Buffer> {
  try {
    yield* message.iterator({ destroyOnReturn: false });
  } catch (error) {
    throw exchange.failure ?? asLost(error);
  } finally {
    // A whole answer leaves the connection for the next request.
    if (!message.complete) cancel();
  }
  if (exchange.failure !== undefined) throw exchange.failure;
  if (!message.complete) throw asLost(new Error("the server ended the answer before it was whole"));
}
