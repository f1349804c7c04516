/**
 * The moments at which a crash leaves another picture on disk, each with a name. They are told apart by what the store
 * asks of its disk; something that it has never asked before has no name, and the tests say so.
 */
import { basename } from "node:path";
import type { DiskMoment, DiskOperation } from "./memory-disk.ts";

/** Every name, with what lies on disk when the crash comes. */
export const CRASH_POINTS = {
  "format:before-create": "an empty directory",
  "format:before-write": "the file that names the format is empty, and called unfinished",
  "format:half-written": "half of that file",
  "format:before-sync": "all of it, in the system's hands",
  "format:before-rename": "all of it, on the disk",
  "format:before-announce": "it has its name, in the system's hands",
  "log:before-create": "a snapshot or nothing, and no log to go on with",
  "log:before-announce": "an empty log, its name in the system's hands",
  "commit:before-append": "everything acknowledged, and nothing of the batch",
  "commit:torn-record": "half of a record at the end of the log",
  "commit:before-sync": "the record, in the system's hands",
  "commit:before-acknowledge": "the record, as durable as it was asked to be, and nobody knows",
  "rollback:before-cut": "half of a record whose writers were told that it failed",
  "roll:before-sync": "a log that is about to be the last but one",
  "snapshot:before-create": "a whole log, and no snapshot of it",
  "snapshot:before-write": "an empty snapshot, called unfinished",
  "snapshot:half-written": "half of a snapshot, called unfinished",
  "snapshot:before-sync": "all of the snapshot, in the system's hands",
  "snapshot:before-rename": "all of the snapshot, on the disk, called unfinished",
  "snapshot:before-announce": "the snapshot has its name, in the system's hands",
  "compaction:before-unlink-log": "a snapshot, and a log that it makes needless",
  "compaction:before-unlink-snapshot": "two snapshots, and no log between them",
  "recovery:before-announce": "what an earlier crash left, and the names are about to be made sure of",
  "recovery:before-cut": "half of a record, and a process that is about to cut it off",
  "recovery:before-sync": "records found in the log, not known to be on the disk",
  "recovery:before-unlink": "what an earlier crash left behind, and a process that is about to tidy up",
} as const;

export type CrashPoint = keyof typeof CRASH_POINTS;

/** A crash that leaves something to recover from: without one, a start has nothing to do. */
const PRECEDED_BY: Partial<Record<CrashPoint, CrashPoint>> = {
  "recovery:before-announce": "compaction:before-unlink-log",
  "recovery:before-cut": "commit:torn-record",
  "recovery:before-sync": "commit:before-sync",
  "recovery:before-unlink": "compaction:before-unlink-log",
};

/** Crashes that surely lead to the point, and where it can be, to the same point again in the next process. */
export function storyOf(point: CrashPoint): CrashPoint[] {
  const before = PRECEDED_BY[point];
  if (before) return [before, point];
  return isRare(point) ? [point] : [point, point];
}

/** What is reached only when writes are acknowledged by the disk itself. */
export const SYNC_ONLY: ReadonlySet<CrashPoint> = new Set(["log:before-announce", "commit:before-sync"]);

/** What happens once in the life of a directory, at most once in a start, or only when the disk fails. */
export function isRare(point: CrashPoint): boolean {
  return /^(format|recovery|rollback):/.test(point);
}

/** Gives the moments of one process their names. */
export class Namer {
  readonly #sync: boolean;
  /** Whether the store is still being opened. */
  isOpening = true;
  /** A record was written and is not synced yet. */
  #isCommitting = false;
  /** What waits for its name to be made sure of, in order. */
  readonly #unannounced: CrashPoint[] = [];

  constructor(durability: "sync" | "os") {
    this.#sync = durability === "sync";
  }

  /** The name of a moment; undefined for one that looks like the moment before it. */
  nameOf({ operation, path }: DiskMoment): CrashPoint | undefined {
    if (this.isOpening) return RECOVERY[operation];
    const name = this.#nameOf(operation, basename(path));
    if (name !== undefined && !(name in CRASH_POINTS)) throw new Error(`${operation} of ${path} has no name`);
    return name as CrashPoint | undefined;
  }

  #nameOf(operation: DiskOperation, file: string): string | undefined {
    if (operation === "announce") return this.#unannounced.shift() ?? "announce";
    if (file.endsWith(".wal")) return this.#ofLog(operation);
    const what = file.startsWith("format") ? "format" : "snapshot";
    switch (operation) {
      case "create":
        return `${what}:before-create`;
      case "write":
        return `${what}:before-write`;
      case "torn":
        return `${what}:half-written`;
      case "sync":
        return `${what}:before-sync`;
      case "written":
      case "synced":
        return undefined;
      case "rename":
        this.#unannounced.push(`${what}:before-announce`);
        return `${what}:before-rename`;
      case "unlink":
        return `compaction:before-unlink-${what}`;
      case "cut":
        return `${what}:before-cut`;
    }
  }

  #ofLog(operation: Exclude<DiskOperation, "announce">): string | undefined {
    switch (operation) {
      case "create":
        if (this.#sync) this.#unannounced.push("log:before-announce");
        return "log:before-create";
      case "write":
        return "commit:before-append";
      case "torn":
        this.#isCommitting = true;
        return "commit:torn-record";
      case "written":
        return this.#sync ? undefined : "commit:before-acknowledge";
      case "sync":
        return this.#isCommitting && this.#sync ? "commit:before-sync" : "roll:before-sync";
      case "synced": {
        const wasCommitting = this.#isCommitting;
        this.#isCommitting = false;
        return wasCommitting && this.#sync ? "commit:before-acknowledge" : undefined;
      }
      case "cut":
        this.#isCommitting = false;
        return "rollback:before-cut";
      case "unlink":
        return "compaction:before-unlink-log";
      case "rename":
        return "log:before-rename";
    }
  }
}

const RECOVERY: Partial<Record<DiskOperation, CrashPoint>> = {
  announce: "recovery:before-announce",
  cut: "recovery:before-cut",
  sync: "recovery:before-sync",
  unlink: "recovery:before-unlink",
};
