/** Keeps audit events: the latest in memory, all in a file, written in the background. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { AuditEvent } from "./event.ts";
import { RotatingFile } from "./rotating-file.ts";

export interface AuditLog {
  /** Never fails and never waits. */
  record(event: AuditEvent): void;
  /** The latest events, oldest first. */
  recent(): AuditEvent[];
  /** Writes what is still to be written. */
  close(): Promise<void>;
}

export interface AuditLogOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Where events are written; without it they are kept in memory only. */
  readonly path?: string;
  /** How many are kept in memory. */
  readonly remembered?: number;
}

/** Few enough that a thousand busy clusters in one process can afford it. */
const REMEMBERED = 64;
const FLUSH_AFTER_MS = 1_000;
/** A disk that does not keep up loses events, not memory. */
const MOST_PENDING = 10_000;

export function createAuditLog({ clock, log, path, remembered = REMEMBERED }: AuditLogOptions): AuditLog {
  // As text, which takes less room than an event of many parts and is less to look through for the garbage collector.
  const latest = new Ring<string>(remembered);
  const writer = path === undefined ? undefined : new Writer(new RotatingFile(path), clock, log);
  return {
    record(event) {
      const line = JSON.stringify(event);
      latest.push(line);
      writer?.add(line);
    },
    recent: () => latest.all().map((line) => JSON.parse(line) as AuditEvent),
    close: async () => writer?.close(),
  };
}

class Ring<T> {
  readonly #size: number;
  #items: T[] = [];
  /** Where the next one goes once the ring is full. */
  #next = 0;

  constructor(size: number) {
    this.#size = size;
  }

  push(item: T): void {
    this.#items[this.#next] = item;
    this.#next = (this.#next + 1) % this.#size;
  }

  all(): T[] {
    if (this.#items.length < this.#size) return [...this.#items];
    return [...this.#items.slice(this.#next), ...this.#items.slice(0, this.#next)];
  }
}

class Writer {
  readonly #file: RotatingFile;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Lines without their ends. */
  #pending: string[] = [];
  #lost = 0;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: RotatingFile, clock: Clock, log: Logger) {
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
  }

  add(line: string): void {
    if (this.#pending.length >= MOST_PENDING) {
      this.#lost++;
      return;
    }
    this.#pending.push(line);
    this.#cancelTimer ??= this.#clock.after(FLUSH_AFTER_MS, () => this.#flush());
  }

  async close(): Promise<void> {
    this.#flush();
    await this.#writing;
  }

  /** One batch after the other; what comes meanwhile is the next batch. */
  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#writing = this.#writing.then(() => this.#writePending());
  }

  async #writePending(): Promise<void> {
    const lines = this.#pending;
    const lost = this.#lost;
    this.#pending = [];
    this.#lost = 0;
    if (lost > 0) this.#log.warn("audit events were lost, because the disk did not keep up", { lost });
    if (lines.length === 0) return;
    try {
      await this.#file.append(`${lines.join("\n")}\n`);
    } catch (error) {
      this.#log.warn("audit events were lost, because they could not be written", { lost: lines.length, error });
    }
  }
}
