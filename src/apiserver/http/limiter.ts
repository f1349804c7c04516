/**
 * How many requests are worked on at a time. Reads and writes have places of their own, so that a storm of one
 * leaves room for the other; who finds none waits a moment in line, and is sent away when that is too long.
 */
import type { Clock } from "#lib/clock";
import { type ApiError, tooManyRequests } from "../errors.ts";

export type RequestKind = "readOnly" | "mutating";

export interface LimiterOptions {
  readonly clock: Clock;
  /** How many at a time. */
  readonly places?: Readonly<Record<RequestKind, number>>;
  /** How many may wait for each place that there is. */
  readonly waitingPerPlace?: number;
  readonly longestWaitMs?: number;
}

export interface Limiter {
  /**
   * Takes a place, at once if there is one; the answer gives it back and may be called more than once. Throws 429
   * when the line is too long or the wait was; a caller who goes away leaves the line.
   */
  enter(kind: RequestKind, closed: () => AbortSignal): Promise<() => void> | (() => void);
  inFlight(kind: RequestKind): number;
  /** How many were sent away. */
  rejected(kind: RequestKind): number;
}

/** As kube-apiserver: max-requests-inflight and max-mutating-requests-inflight. */
const PLACES: Readonly<Record<RequestKind, number>> = { readOnly: 400, mutating: 200 };
const WAITING_PER_PLACE = 2;
const LONGEST_WAIT_MS = 1_000;
const RETRY_AFTER_SECONDS = 1;

/** All requests belong to one flow of one priority level; its ids are made up and never change. */
export const FLOW_HEADERS: readonly (readonly [name: string, value: string])[] = [
  ["X-Kubernetes-PF-FlowSchema-UID", "8c6b5f0a-3d52-4f4e-9a0b-5e1f7c2d9e01"],
  ["X-Kubernetes-PF-PriorityLevel-UID", "8c6b5f0a-3d52-4f4e-9a0b-5e1f7c2d9e02"],
];

export function createLimiter(options: LimiterOptions): Limiter {
  const { clock, places = PLACES, waitingPerPlace = WAITING_PER_PLACE, longestWaitMs = LONGEST_WAIT_MS } = options;
  const lineOf = (kind: RequestKind) =>
    new Line({ clock, places: places[kind], longest: places[kind] * waitingPerPlace, longestWaitMs });
  const lines = { readOnly: lineOf("readOnly"), mutating: lineOf("mutating") };
  return {
    enter: (kind, closed) => lines[kind].enter(closed),
    inFlight: (kind) => lines[kind].taken,
    rejected: (kind) => lines[kind].rejected,
  };
}

interface LineOptions {
  readonly clock: Clock;
  readonly places: number;
  readonly longest: number;
  readonly longestWaitMs: number;
}

/** Called with a place, in the order in which they came. */
type Waiting = (leave: () => void) => void;

class Line {
  readonly #options: LineOptions;
  /** A Set keeps the order of arrival and lets anybody leave. */
  readonly #waiting = new Set<Waiting>();
  taken = 0;
  rejected = 0;

  constructor(options: LineOptions) {
    this.#options = options;
  }

  enter(closed: () => AbortSignal): Promise<() => void> | (() => void) {
    if (this.taken < this.#options.places) return this.#take();
    if (this.#waiting.size >= this.#options.longest) throw this.#rejection();
    return this.#wait(closed());
  }

  #take(): () => void {
    this.taken++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.taken--;
      this.#next();
    };
  }

  #next(): void {
    const [first] = this.#waiting;
    if (!first) return;
    this.#waiting.delete(first);
    first(this.#take());
  }

  #wait(closed: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const give: Waiting = (leave) => {
        stopWaiting();
        resolve(leave);
      };
      const giveUp = () => {
        stopWaiting();
        reject(this.#rejection());
      };
      const cancelTimer = this.#options.clock.after(this.#options.longestWaitMs, giveUp);
      const stopWaiting = () => {
        this.#waiting.delete(give);
        cancelTimer();
        closed.removeEventListener("abort", giveUp);
      };
      closed.addEventListener("abort", giveUp);
      this.#waiting.add(give);
    });
  }

  #rejection(): ApiError {
    this.rejected++;
    return tooManyRequests("too many requests, please try again later", RETRY_AFTER_SECONDS);
  }
}
