import { setImmediate as nextTurn } from "node:timers/promises";
import type { DataFile, Directory } from "./directory.ts";
import { messageOf, StoreDamaged } from "./errors.ts";
import { decodeChange, decodeFrame, frameAt, hasFrameAfter } from "./record.ts";
import { readSnapshot } from "./snapshot.ts";
import { eventOf, type State } from "./state.ts";

/**
 * The revision of an empty store. It is not 0, because clients take a list's "0" for "any revision" when they watch
 * from there.
 */
const FIRST_REVISION = 1;

/** Other clusters of the process are served while one is read: give way this often. */
const PATIENCE_MS = 20;

export interface Recovered {
  readonly state: State;
  /** The log to go on with. */
  readonly log: { revision: number; size: number; hasTornTail: boolean };
  readonly logBytes: number;
  readonly snapshotBytes: number;
  /** Files that nothing depends on any more. */
  readonly needless: string[];
}

/** A state from which on everything is known. */
export type NewState = (revision: number, floor: number) => State;

/** The state of a store that has never been written. Its history reaches back to before the first write. */
export function emptyState(newState: NewState): State {
  return newState(FIRST_REVISION, 0);
}

/**
 * Reads the newest whole snapshot and all logs after it. Changes nothing on disk. Throws StoreDamaged when
 * something that was acknowledged cannot be read.
 */
export async function recover(
  directory: Directory,
  newState: NewState,
  warn: (message: string) => void,
): Promise<Recovered> {
  const { snapshots, logs, unfinished } = await directory.list();
  const { state, base, snapshotBytes, faults } = await newestWhole(directory, snapshots, newState);
  try {
    const needed = logs.filter((_, index) => (logs[index + 1]?.revision ?? Number.POSITIVE_INFINITY) > base);
    let logBytes = 0;
    let end = { size: 0, hasTornTail: false };
    for (const log of needed) {
      if (log.revision > state.revision) throw faults[0] ?? gap(log, 0, state.revision);
      end = await replay(directory, log, { state, base, isLast: log === needed.at(-1), warn });
      logBytes += end.size;
    }
    const newest = snapshots.at(-1);
    if (newest && faults[0] && state.revision < newest.revision) throw faults[0];
    for (const { file, message } of faults) warn(`${message}; the logs hold all of it, ${file} was not needed`);

    const last = needed.at(-1);
    const covered = (file: DataFile) => file.revision < base && !needed.includes(file);
    const needless = [...unfinished, ...[...logs, ...snapshots].filter(covered).map(({ path }) => path)];
    // A log from before the snapshot that holds nothing newer ends with it; a new one begins where it ends.
    if (last && (last.revision >= base || state.revision > base)) {
      return { state, log: { revision: last.revision, ...end }, logBytes, snapshotBytes, needless };
    }
    if (last) needless.push(last.path);
    const fresh = { revision: state.revision, size: 0, hasTornTail: false };
    return { state, log: fresh, logBytes: 0, snapshotBytes, needless };
  } catch (error) {
    state.history.close();
    throw error;
  }
}

async function newestWhole(directory: Directory, snapshots: readonly DataFile[], newState: NewState) {
  const faults: StoreDamaged[] = [];
  for (const snapshot of snapshots.toReversed()) {
    const state = newState(snapshot.revision, snapshot.revision);
    const outcome = await readSnapshot(directory.disk, snapshot, (...entry) => state.load(...entry));
    if (typeof outcome === "number") return { state, base: snapshot.revision, snapshotBytes: outcome, faults };
    faults.push(outcome);
  }
  return { state: emptyState(newState), base: 0, snapshotBytes: 0, faults };
}

/** Applies what a log holds beyond the snapshot. Answers where its last whole frame ends. */
async function replay(
  directory: Directory,
  { path }: DataFile,
  { state, base, isLast, warn }: { state: State; base: number; isLast: boolean; warn: (message: string) => void },
): Promise<{ size: number; hasTornTail: boolean }> {
  const bytes = await directory.disk.readFile(path);
  let offset = 0;
  let started = performance.now();
  while (offset < bytes.length) {
    const frame = frameAt(bytes, offset);
    if (!frame) {
      if (!isLast) throw new StoreDamaged(path, offset, "a record is not whole, and another log follows");
      if (hasFrameAfter(bytes, offset)) throw new StoreDamaged(path, offset, "a record is not whole, and more follow");
      const tail = bytes.length - offset;
      warn(`${path}: the last ${tail} bytes, from ${offset} on, are a write that was cut short; they are removed`);
      return { size: offset, hasTornTail: true };
    }
    apply(frame.text, { path, offset, state, base });
    offset = frame.end;
    if (performance.now() - started > PATIENCE_MS) {
      await nextTurn();
      started = performance.now();
    }
  }
  return { size: offset, hasTornTail: false };
}

function apply(
  text: Buffer,
  { path, offset, state, base }: { path: string; offset: number; state: State; base: number },
): void {
  try {
    const { batch, lines } = decodeFrame(text);
    if (batch.to <= base) return;
    if (batch.after !== state.revision) throw gap({ path, revision: batch.after }, offset, state.revision);
    for (const line of lines) {
      const { revision, resource, key, object } = decodeChange(line);
      if (revision <= state.revision) throw new SyntaxError(`revision ${revision} comes after ${state.revision}`);
      state.commit(eventOf(resource, key, revision, state.get(resource, key), object), batch.at);
    }
    if (batch.to !== state.revision) throw new SyntaxError(`revision ${batch.to} is missing`);
  } catch (error) {
    if (error instanceof StoreDamaged) throw error;
    throw new StoreDamaged(path, offset, messageOf(error));
  }
}

function gap({ path, revision }: DataFile, offset: number, reached: number): StoreDamaged {
  return new StoreDamaged(path, offset, `it goes on after revision ${revision}, but only ${reached} was reached`);
}
