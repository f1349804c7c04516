import { setImmediate as endOfTurn } from "node:timers/promises";
import type { Directory } from "./directory.ts";
import { messageOf } from "./errors.ts";
import { Log } from "./log.ts";
import { type Batch, encodeFrame } from "./record.ts";
import { writeSnapshot } from "./snapshot.ts";
import type { Capture } from "./state.ts";

/** Where batches go before they count. */
export interface Journal {
  /** Resolves when it is time to close a batch that was just opened: others may be about to write as well. */
  gathered(): Promise<void>;
  /** Resolves when the batch is as durable as it was asked to be. Only one at a time. */
  append(batch: Batch, lines: readonly Buffer[]): Promise<void>;
  /** Whether replaying the log would take so much longer than reading a snapshot that one is due. */
  readonly isSnapshotDue: boolean;
  /**
   * Begins a new log and, in the background, a snapshot that makes the old one needless. Between two batches only.
   */
  beginSnapshot(revision: number, captures: readonly Capture[]): Promise<void>;
  close(): Promise<void>;
}

/** Keeps nothing: for clusters that may be forgotten. */
export const memoryJournal: Journal = {
  gathered: async () => {},
  append: async () => {},
  isSnapshotDue: false,
  beginSnapshot: async () => {},
  close: async () => {},
};

/** A log shorter than this is read in a blink: no snapshot is worth its while. */
export const SNAPSHOT_AFTER = 8 * 1024 * 1024;

/** A log is read as a whole at start, and that must fit into one buffer. */
const LONGEST_LOG = 512 * 1024 * 1024;

export interface DiskJournalOptions {
  readonly directory: Directory;
  readonly log: Log;
  readonly sync: boolean;
  /** The least bytes of log that are worth a snapshot. */
  readonly snapshotAfter: number;
  /** The size of the newest snapshot. */
  readonly snapshotBytes: number;
  /** How much log there is since. */
  readonly logBytes: number;
  readonly warn: (message: string) => void;
}

/** Logs and snapshots in a directory. A crash at any moment leaves files from which all of it can be read. */
export class DiskJournal implements Journal {
  readonly #directory: Directory;
  readonly #sync: boolean;
  readonly #snapshotAfter: number;
  readonly #warn: (message: string) => void;
  #log: Log;
  #snapshotBytes: number;
  /** Bytes in logs before the current one that no snapshot covers yet. */
  #earlierBytes: number;
  /** After a failed snapshot, the length of log at which it is tried again. */
  #retryAt = 0;
  #snapshot: Promise<void> | undefined;

  constructor(options: DiskJournalOptions) {
    this.#directory = options.directory;
    this.#log = options.log;
    this.#sync = options.sync;
    this.#snapshotAfter = options.snapshotAfter;
    this.#snapshotBytes = options.snapshotBytes;
    this.#earlierBytes = options.logBytes - options.log.size;
    this.#warn = options.warn;
  }

  /**
   * Requests that arrive together are worked on one after the other in one turn. Waiting for its end makes one record
   * of them, where the first would go alone: half as many writes and syncs under load, and no time lost without.
   */
  gathered(): Promise<void> {
    return endOfTurn();
  }

  append(batch: Batch, lines: readonly Buffer[]): Promise<void> {
    return this.#log.append(encodeFrame(batch, lines));
  }

  get isSnapshotDue(): boolean {
    const logBytes = this.#earlierBytes + this.#log.size;
    return !this.#snapshot && logBytes > this.#bound && logBytes >= this.#retryAt;
  }

  async beginSnapshot(revision: number, captures: readonly Capture[]): Promise<void> {
    try {
      await this.#roll(revision);
    } catch (error) {
      this.#giveUp(error);
      return;
    }
    this.#snapshot = this.#write(revision, captures)
      .catch((error) => this.#giveUp(error))
      .finally(() => {
        this.#snapshot = undefined;
      });
  }

  async close(): Promise<void> {
    await this.#snapshot;
    await this.#log.close();
  }

  /** Snapshots grow with what is stored, so writing them costs a fixed share of all writing. */
  get #bound(): number {
    return Math.min(Math.max(this.#snapshotAfter, 2 * this.#snapshotBytes), LONGEST_LOG);
  }

  async #roll(revision: number): Promise<void> {
    const old = this.#log;
    if (old.revision === revision) return;
    // A log that is not the last must be whole, or a later start would take it for damaged.
    await old.secure();
    await old.close();
    this.#earlierBytes += old.size;
    this.#log = new Log({ directory: this.#directory, revision, sync: this.#sync });
  }

  async #write(revision: number, captures: readonly Capture[]): Promise<void> {
    this.#snapshotBytes = await writeSnapshot(this.#directory, revision, captures);
    this.#earlierBytes = 0;
    this.#retryAt = 0;
    try {
      await this.#directory.removeBefore(revision);
    } catch (error) {
      this.#warn(`cannot remove old files in ${this.#directory.path}: ${messageOf(error)}`);
    }
  }

  #giveUp(error: unknown): void {
    this.#retryAt = this.#earlierBytes + this.#log.size + this.#bound;
    const what = `cannot write a snapshot in ${this.#directory.path}: ${messageOf(error)}`;
    this.#warn(`${what}; the log goes on, and it will be tried again`);
  }
}
