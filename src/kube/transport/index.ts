/**
 * The way to one API server. The first request connects; what the server negotiates decides between one
 * HTTP/2 session (further ones only when its streams are used up) and kept HTTP/1.1 connections. A lost
 * session is replaced by the next request. Waiting between attempts is left to callers.
 */
import type { Clock } from "#lib/clock";
import { type DialTarget, dial } from "./dial.ts";
import { Http1Link } from "./http1-link.ts";
import { openHttp2 } from "./http2-link.ts";
import { type Link, LinkError, type TransportRequest, type TransportResponse } from "./link.ts";

export { LinkError, type LinkFailure, type TransportRequest, type TransportResponse } from "./link.ts";

export class Transport {
  readonly #target: DialTarget;
  readonly #clock: Clock;
  readonly #links = new Set<Link>();
  #connecting: Promise<void> | undefined;
  #closed = false;

  constructor(target: DialTarget, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
  }

  /** Resolves with headers and body; throws a LinkError, or the reason of `signal`. */
  async send(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      if (this.#closed) throw new LinkError("closed", "the client was closed");
      for (const link of this.#links) if (link.hasRoom()) return link.send(request, signal);
      this.#connecting ??= this.#connect().finally(() => {
        this.#connecting = undefined;
      });
      await orAborted(this.#connecting, signal);
    }
  }

  close(): void {
    this.#closed = true;
    for (const link of this.#links) link.destroy();
    this.#links.clear();
  }

  async #connect(): Promise<void> {
    const { server } = this.#target;
    const { socket, protocol } = await this.#dial(["h2", "http/1.1"]);
    const link =
      protocol === "h2"
        ? await openHttp2(socket, server, this.#clock, (gone) => this.#links.delete(gone))
        : new Http1Link(async () => (await this.#dial(["http/1.1"])).socket, socket, server);
    if (this.#closed) return link.destroy();
    this.#links.add(link);
  }

  async #dial(protocols: string[]) {
    try {
      return await dial(this.#target, protocols, this.#clock);
    } catch (error) {
      if (error instanceof LinkError) throw error;
      // The certificate or key does not parse.
      throw new LinkError("unreachable", `cannot connect: ${(error as Error).message}`, error);
    }
  }
}

/** Waits for what others wait for too: whoever has enough leaves, the rest go on. */
function orAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
