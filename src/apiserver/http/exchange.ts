/** One request and what becomes of it, for those who keep account: it grows as the request is understood. */
import type { Status } from "#api/meta";
import type { Decision } from "../auth/index.ts";
import type { Target } from "../registry/index.ts";
import type { UserInfo } from "../resource.ts";
import type { RequestInfo } from "./request-info.ts";

export interface Exchange {
  readonly auditId: string;
  readonly receivedAt: Date;
  /** Of the process's own clock, in milliseconds, for durations. */
  readonly startedAt: number;
  readonly uri: string;
  readonly info: RequestInfo;
  readonly userAgent: string | undefined;
  readonly contentType?: string | undefined;
  readonly sourceIp: string | undefined;
  /** Who came. */
  caller?: UserInfo;
  /** Whom the caller acts as. */
  user?: UserInfo;
  decision?: Decision;
  /** What is served under the URL, once it is found. */
  target?: Target;
  /** The name of an object that the request created. */
  createdName?: string;
  /** Remarks of those who had a say, for the audit log. */
  annotations?: Readonly<Record<string, string>>;
  code?: number;
  failure?: Status;
}

/** Told of requests as they go. Must not throw. */
export interface ExchangeObserver {
  /** A watch was answered, and events follow. */
  streaming(exchange: Exchange): void;
  /** The answer is complete, or the client is gone. */
  completed(exchange: Exchange): void;
}

/** Parts of a Pod that are streams. */
const STREAMS: ReadonlySet<string> = new Set(["attach", "exec", "log", "portforward", "proxy"]);

/** Watches and streams last until somebody has enough: they are neither counted as in flight nor timed. */
export function isLongRunning({ info }: Pick<Exchange, "info">): boolean {
  return info.resource !== undefined && (info.verb === "watch" || STREAMS.has(info.resource.subresource ?? ""));
}
