/** Looking again whenever something in a folder changes. */
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { Clock } from "#lib/clock";

/** So often it is looked at where the system cannot tell of changes: certificates elsewhere, folders yet to come. */
const LOOK_EVERY = 10_000;
/** A file is often written in several steps; they are seen as one. */
const SETTLE = 100;

/** Looks at once and after every change near one of the paths, never twice at a time. The answer ends it. */
export function watchFolders(options: {
  readonly paths: readonly string[];
  readonly look: () => Promise<void>;
  readonly fail: (error: unknown) => void;
  readonly clock: Clock;
}): () => void {
  const { paths, look, fail, clock } = options;
  let cancelLook = () => {};
  let isLooking = false;
  let isWanted = false;
  let isSoon = false;
  let isEnded = false;

  const lookNow = async () => {
    cancelLook();
    isSoon = false;
    if (isLooking) {
      isWanted = true;
      return;
    }
    isLooking = true;
    try {
      do {
        isWanted = false;
        await look();
      } while (isWanted && !isEnded);
    } catch (error) {
      fail(error);
    }
    isLooking = false;
    if (!isEnded && !isSoon) lookIn(LOOK_EVERY);
  };
  const lookIn = (ms: number) => {
    cancelLook();
    cancelLook = clock.after(ms, () => void lookNow());
  };

  /** A folder in which something always changes must not put the look off for ever. */
  const lookSoon = () => {
    if (isSoon || isEnded) return;
    isSoon = true;
    lookIn(SETTLE);
  };

  const watchers = paths.flatMap((path) => [
    watchFolder(path, lookSoon),
    watchFolder(dirname(path), (name) => name === basename(path) && lookSoon()),
  ]);
  void lookNow();
  return () => {
    isEnded = true;
    cancelLook();
    for (const watcher of watchers) watcher?.close();
  };
}

/** Undefined where there is nothing to watch, or no more watches to be had. */
function watchFolder(folder: string, onChange: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => onChange(name));
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
