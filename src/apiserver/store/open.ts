import { type Clock, systemClock } from "#lib/clock";
import { Directory, type Disk, realDisk } from "./directory.ts";
import { messageOf, StoreError } from "./errors.ts";
import { DEFAULT_HISTORY, type HistoryLimits } from "./history.ts";
import { DiskJournal, memoryJournal, SNAPSHOT_AFTER } from "./journal.ts";
import { LiveStore } from "./live-store.ts";
import { lock } from "./lock.ts";
import { Log } from "./log.ts";
import { emptyState, type NewState, type Recovered, recover } from "./recovery.ts";
import { State } from "./state.ts";
import type { Store } from "./types.ts";

interface CommonOptions {
  readonly history?: Partial<HistoryLimits>;
  /** Hears what a person should know and nothing fails for: a cut-off tail, a snapshot that could not be written. */
  readonly warn?: (message: string) => void;
  readonly clock?: Clock;
  /** The least bytes of log that are worth a snapshot. */
  readonly snapshotAfter?: number;
  readonly disk?: Disk;
}

/**
 * `sync` acknowledges a write when the disk has it, `os` when the operating system has it, and `memory` keeps
 * nothing; `dir` is not looked at then.
 */
export type StoreOptions = CommonOptions &
  (
    | { readonly durability: "memory"; readonly dir?: string }
    | { readonly durability: "sync" | "os"; readonly dir: string }
  );

/**
 * Opens the store of one cluster; the directory is created when it is missing. Throws StoreError when another
 * process has it open or another version wrote it, and StoreDamaged when acknowledged writes cannot be read.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { clock = systemClock, warn = (message) => process.emitWarning(message, "StoreWarning") } = options;
  const limits = { ...DEFAULT_HISTORY, ...options.history };
  const newState: NewState = (revision, floor) => new State(revision, floor, limits, clock);

  if (options.durability === "memory") {
    const release = async () => {};
    return new LiveStore({
      name: "the store",
      state: emptyState(newState),
      journal: memoryJournal,
      clock,
      warn,
      release,
    });
  }

  const directory = new Directory(options.dir, options.disk ?? realDisk);
  const sync = options.durability === "sync";
  const unlock = await enter(directory);
  let log: Log | undefined;
  try {
    const recovered = await recover(directory, newState, warn);
    const { state, logBytes, snapshotBytes } = recovered;
    log = new Log({ directory, sync, ...recovered.log });
    await tidy(directory, log, recovered, sync);
    const snapshotAfter = options.snapshotAfter ?? SNAPSHOT_AFTER;
    const journal = new DiskJournal({ directory, log, sync, snapshotAfter, snapshotBytes, logBytes, warn });
    return new LiveStore({ name: `the store in ${options.dir}`, state, journal, clock, warn, release: unlock });
  } catch (error) {
    await log?.close();
    await unlock();
    throw asStoreError(directory, error);
  }
}

/** Finishes on disk what an earlier process left half done. */
async function tidy(directory: Directory, log: Log, { needless, state }: Recovered, sync: boolean): Promise<void> {
  try {
    if (log.hasTornTail || (sync && log.size > 0)) await log.secure();
    if (needless.length === 0) return;
    // The snapshot that makes the others needless must be there to stay before they go.
    await directory.syncEntries();
    for (const path of needless) await directory.disk.rm(path, { force: true });
  } catch (error) {
    state.history.close();
    throw error;
  }
}

async function enter(directory: Directory): Promise<() => Promise<void>> {
  try {
    await directory.create();
    await directory.checkFormat();
    return await lock(directory);
  } catch (error) {
    throw asStoreError(directory, error);
  }
}

function asStoreError({ path }: Directory, cause: unknown): StoreError {
  if (cause instanceof StoreError) return cause;
  return new StoreError(`cannot open the store in ${path}: ${messageOf(cause)}`, { cause });
}
