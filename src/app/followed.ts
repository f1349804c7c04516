/** Values that change while a program runs, such as what a Secret in a file says, and work that follows them. */
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "#lib/clock";
import { watchFolders } from "#runtime";

/** Tells what there is now, or that there is nothing, and then of everything that takes its place. The answer ends it. */
export type Followed<T> = (tell: (value: T | undefined) => void) => () => void;

export function constant<T>(value: T): Followed<T> {
  return (tell) => {
    tell(value);
    return () => {};
  };
}

/** What `read` makes of a file, looked at again whenever something changes beside it. It throws where that is a fault. */
export function followedFile<T>(options: {
  readonly file: string;
  readonly read: () => Promise<T | undefined>;
  readonly fail: (error: unknown) => void;
  readonly clock: Clock;
}): Followed<T> {
  const { file, read, fail, clock } = options;
  return (tell) => {
    let isEnded = false;
    const look = async () => {
      const value = await read();
      if (!isEnded) tell(value);
    };
    // Secrets are put into a folder all at once, under other names; so the folder is what is watched.
    const stop = watchFolders({ paths: [dirname(file)], look, fail, clock });
    return () => {
      isEnded = true;
      stop();
    };
  };
}

/** The text of a file; undefined where there is none. */
export async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

export interface WithNewestOptions<T> {
  readonly source: Followed<T>;
  /** The same for values that mean the same: work goes on with the one that it has. */
  readonly mark: (value: T) => string;
  /** Begins with a value, and ends when its signal fires: another has taken its place, or everything ends. */
  readonly work: (value: T, signal: AbortSignal) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Works with the newest value, and starts over with the next. While there is none, the work goes on with what there
 * was: a file that is being replaced may be gone for a moment. Throws what the work throws.
 */
export async function withNewest<T>({ source, mark, work, signal }: WithNewestOptions<T>): Promise<void> {
  let newest: { readonly value: T; readonly mark: string } | undefined;
  let wake = () => {};
  const stop = source((value) => {
    if (value === undefined) return;
    const next = { value, mark: mark(value) };
    if (next.mark === newest?.mark) return;
    newest = next;
    wake();
  });
  const end = () => wake();
  signal.addEventListener("abort", end, { once: true });
  try {
    for (let last: typeof newest; !signal.aborted; ) {
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (newest === undefined || newest === last) {
        await changed;
        continue;
      }
      last = newest;
      const over = new AbortController();
      void changed.then(() => over.abort());
      await work(last.value, over.signal);
    }
  } finally {
    stop();
    signal.removeEventListener("abort", end);
  }
}
