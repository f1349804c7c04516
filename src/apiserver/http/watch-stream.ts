/**
 * Sends the events of a watch at the pace of its reader. What waits is kept as objects that are stored anyway and
 * becomes bytes only when there is room for it, so that a slow reader costs next to nothing until it is dropped.
 */
import type { WatchEvent } from "../registry/index.ts";
import type { Response } from "./response.ts";

/** Changes that a reader may be behind; then it is dropped, and will list again when it is back. */
const FURTHEST_BEHIND = 10_000;

/** Small events travel together: one write for as many as fit. */
const WRITE_BYTES = 64 * 1024;

export interface WatchStreamOptions {
  readonly response: Response;
  encode(event: WatchEvent): readonly Uint8Array[];
  /** Called when the reader is too far behind. */
  dropped(): void;
}

export class WatchStream {
  readonly #options: WatchStreamOptions;
  #waiting: WatchEvent[] = [];
  #next = 0;
  /** What there was at the start does not count against the reader. */
  #allowance = Number.POSITIVE_INFINITY;
  #isFull = false;
  #isScheduled = false;
  #isEnding = false;
  #isOver = false;

  constructor(options: WatchStreamOptions) {
    this.#options = options;
    options.response.on("drain", () => {
      this.#isFull = false;
      this.#pump();
    });
  }

  push(event: WatchEvent): void {
    if (this.#isOver) return;
    this.#waiting.push(event);
    if (this.#waiting.length - this.#next > this.#allowance) {
      this.stop();
      this.#options.dropped();
      return;
    }
    this.#schedule();
  }

  /** From here on events are changes, and a reader that does not take them falls behind. */
  live(): void {
    this.#allowance = this.#waiting.length - this.#next + FURTHEST_BEHIND;
  }

  /** Ends the answer when everything has been sent. */
  end(): void {
    this.#isEnding = true;
    this.#schedule();
  }

  /** Sends nothing more. */
  stop(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#next = 0;
  }

  /** Events of one commit come one after the other: they are sent together when all of them are there. */
  #schedule(): void {
    if (this.#isScheduled || this.#isFull) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (!this.#isFull && !this.#isOver && this.#next < this.#waiting.length) {
      this.#isFull = !this.#write(this.#batch());
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
      if (this.#isEnding && !this.#isOver) {
        this.#isOver = true;
        this.#options.response.end();
      }
    }
  }

  #batch(): Uint8Array {
    const pieces: Uint8Array[] = [];
    let size = 0;
    while (this.#next < this.#waiting.length && size < WRITE_BYTES) {
      for (const piece of this.#options.encode(this.#waiting[this.#next++] as WatchEvent)) {
        pieces.push(piece);
        size += piece.length;
      }
    }
    return Buffer.concat(pieces, size);
  }

  #write(chunk: Uint8Array): boolean {
    return (this.#options.response.write as (chunk: Uint8Array) => boolean).call(this.#options.response, chunk);
  }
}
