/**
 * Sends the events of a watch at the pace of its reader. What waits is kept as objects that are stored anyway and
 * becomes bytes only when there is room for it, so that a slow reader costs next to nothing until it is dropped.
 */
import { systemClock } from "#lib/clock";
import type { WatchEvent } from "../registry/index.ts";
import type { Response } from "./messages.ts";
import { Rounds } from "./rounds.ts";

/** Changes that a reader may be behind; then it is dropped, and will list again when it is back. */
const FURTHEST_BEHIND = 10_000;

/** Small events travel together: one write for as many as fit. */
const WRITE_BYTES = 64 * 1024;

/** All watches of the process are sent from one thread, so they share its rounds. */
const rounds = new Rounds(systemClock);

export interface WatchStreamOptions {
  readonly response: Response;
  encode(event: WatchEvent): Buffer;
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
    this.#sendSoon();
  }

  /** From here on events are changes, and a reader that does not take them falls behind. */
  live(): void {
    this.#allowance = this.#waiting.length - this.#next + FURTHEST_BEHIND;
  }

  /** Ends the answer when everything has been sent. */
  end(): void {
    this.#isEnding = true;
    this.#sendSoon();
  }

  /** Sends nothing more. */
  stop(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.#next = 0;
  }

  #sendSoon(): void {
    if (!this.#isFull) rounds.join(this.#pump);
  }

  readonly #pump = (): void => {
    while (!this.#isFull && !this.#isOver && this.#next < this.#waiting.length) {
      this.#isFull = !this.#options.response.write(this.#batch());
    }
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
      if (this.#isEnding && !this.#isOver) {
        this.#isOver = true;
        this.#options.response.end();
      }
    }
  };

  #batch(): Buffer {
    const frames: Buffer[] = [];
    let size = 0;
    while (this.#next < this.#waiting.length && size < WRITE_BYTES) {
      const frame = this.#options.encode(this.#waiting[this.#next++] as WatchEvent);
      frames.push(frame);
      size += frame.length;
    }
    return joined(frames, size);
  }
}

let last: { frames: readonly Buffer[]; bytes: Buffer } | undefined;

/** Watchers of the same resource are sent the same frames one after the other: those of the last one will often do. */
function joined(frames: readonly Buffer[], size: number): Buffer {
  if (frames.length === 1) return frames[0] as Buffer;
  if (last?.frames.length === frames.length && last.frames.every((frame, index) => frame === frames[index])) {
    return last.bytes;
  }
  last = { frames, bytes: Buffer.concat(frames, size) };
  return last.bytes;
}
