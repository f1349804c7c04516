/**
 * The way to one API server. The first request connects; what the server negotiates decides between one
 * HTTP/2 session (further ones only when its streams are used up) and kept HTTP/1.1 connections. A lost
 * session is replaced by the next request. Waiting between attempts is left to callers.
 */
import type { Clock } from "#lib/clock";
import type { Credential } from "../credentials.ts";
import { orAborted } from "../or-aborted.ts";
import { type DialTarget, dial } from "./dial.ts";
import { DirectLink, type DirectServer } from "./direct-link.ts";
import { Http1Link } from "./http1-link.ts";
import { type KeepAlive, openHttp2 } from "./http2-link.ts";
import { type Link, LinkError, type TransportRequest, type TransportResponse } from "./link.ts";

export type { DirectServer } from "./direct-link.ts";
export type { KeepAlive } from "./http2-link.ts";
export { LinkError, type LinkFailure, type TransportRequest, type TransportResponse } from "./link.ts";

/** So long what was asked with an old certificate may go on; a watch that is cut off then goes on where it was. */
const RETIREMENT = 30_000;

export interface TransportOptions {
  readonly clock: Clock;
  /** The server, where it is in the same process. */
  readonly direct?: DirectServer | undefined;
  readonly keepAlive?: KeepAlive | undefined;
}

export class Transport {
  readonly #clock: Clock;
  readonly #keepAlive: KeepAlive | undefined;
  readonly #links = new Set<Link>();
  /** Links of an earlier certificate, and what cancels their end. */
  readonly #retired = new Map<Link, () => void>();
  #target: DialTarget;
  #connecting: Promise<void> | undefined;
  #closed = false;

  constructor(target: DialTarget, { clock, direct, keepAlive }: TransportOptions) {
    this.#target = target;
    this.#clock = clock;
    this.#keepAlive = keepAlive;
    if (direct) this.#links.add(new DirectLink(direct));
  }

  /** Resolves with headers and body; throws a LinkError, or the reason of `signal`. */
  async send(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse> {
    for (;;) {
      if (signal.aborted) throw signal.reason;
      if (this.#closed) throw closed();
      for (const link of this.#links) if (link.hasRoom()) return link.send(request, signal);
      this.#connecting ??= this.#connect().finally(() => {
        this.#connecting = undefined;
      });
      await orAborted(this.#connecting, signal);
    }
  }

  /** From now on connections are made with this certificate; requests go out on those only. */
  present({ cert, key }: Credential): void {
    if (this.#target.cert === cert && this.#target.key === key) return;
    const { cert: _, key: __, ...target } = this.#target;
    this.#target = { ...target, ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
    for (const link of this.#links) this.#retire(link);
    this.#links.clear();
  }

  close(): void {
    this.#closed = true;
    for (const cancel of this.#retired.values()) cancel();
    for (const link of [...this.#links, ...this.#retired.keys()]) link.destroy(closed());
    this.#links.clear();
    this.#retired.clear();
  }

  #retire(link: Link): void {
    const end = this.#clock.after(RETIREMENT, () => {
      this.#retired.delete(link);
      link.destroy(new LinkError("lost", "connection lost: it was made with a certificate that has been replaced"));
    });
    this.#retired.set(link, end);
    link.retire();
  }

  async #connect(): Promise<void> {
    const target = this.#target;
    const { socket, protocol } = await dial(target, ["h2", "http/1.1"], this.#clock);
    const link =
      protocol === "h2"
        ? await openHttp2(socket, target.server, {
            clock: this.#clock,
            ...(this.#keepAlive && { keepAlive: this.#keepAlive }),
            onGone: (gone) => this.#gone(gone),
          })
        : new Http1Link(async () => (await dial(target, ["http/1.1"], this.#clock)).socket, socket, target.server);
    if (this.#closed || target !== this.#target) return link.destroy(closed());
    this.#links.add(link);
  }

  #gone(link: Link): void {
    this.#links.delete(link);
    this.#retired.get(link)?.();
    this.#retired.delete(link);
  }
}

function closed(): LinkError {
  return new LinkError("closed", "the client was closed");
}
