/** What the two protocols have in common: a request goes out, headers and a stream of bytes come back. */
import type { IncomingHttpHeaders } from "node:http";

export interface TransportRequest {
  method: string;
  /** Path and query, as they go over the wire. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
}

export interface TransportResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** The bytes as they come; ends quietly only if the server ended the answer. Iterate once. */
  body: AsyncIterable<Buffer>;
  /** The same at once, where the link has a cheaper way to it. Either is read, and not both. */
  whole?(): Promise<Buffer>;
  /** Gives the rest of the answer up. */
  cancel(): void;
}

/** One way to send requests: an HTTP/2 session, or a pool of HTTP/1.1 connections. */
export interface Link {
  /** Whether one more request can be sent now. */
  hasRoom(): boolean;
  /**
   * Sends; resolves when headers are there. When `signal` fires, now or while the body is read, the
   * request is cancelled and fails with the signal's reason.
   */
  send(request: TransportRequest, signal: AbortSignal): Promise<TransportResponse>;
  /** Takes no further requests; those under way go on. */
  retire(): void;
  /** Ends everything; requests under way fail with `failure`. */
  destroy(failure: LinkError): void;
}

/**
 * - `unreachable`: no connection
 * - `refused`: the server has certainly not looked at the request
 * - `lost`: the connection broke; what the server did is not known
 * - `closed`: the transport was closed by its owner
 */
export type LinkFailure = "unreachable" | "refused" | "lost" | "closed";

export class LinkError extends Error {
  override readonly name = "LinkError";
  readonly failure: LinkFailure;

  constructor(failure: LinkFailure, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
  }
}

/** The error as a LinkError; what is none yet means that the connection broke. */
export function asLost(error: unknown): LinkError {
  if (error instanceof LinkError) return error;
  return new LinkError("lost", `connection lost: ${describe(error)}`, error);
}

/** Node's network errors say what happened in `code` and sometimes nothing in `message`. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(describe).join("; ");
  if (!(error instanceof Error)) return String(error);
  return error.message || (error as NodeJS.ErrnoException).code || error.name;
}
