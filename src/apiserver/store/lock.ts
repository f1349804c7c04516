import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject, parseJson } from "#lib/json";
import { Directory, PRIVATE_FILE, realDisk } from "./directory.ts";
import { DirectoryInUse, hasCode, StoreError } from "./errors.ts";

/** Two processes may find the same stale lock; whoever loses the race looks again, and there is an end to it. */
const ATTEMPTS = 10;

interface Holder {
  readonly pid: number;
  /** When the process started, where the system tells: a number may be given to another process later. */
  readonly started?: string;
}

/** As `lock`, for a directory that is not a store's. */
export function lockDirectory(path: string): Promise<() => Promise<void>> {
  return lock(new Directory(path, realDisk));
}

/** The process that has the directory locked; undefined when none is alive that does. */
export async function holderOfDirectory(path: string): Promise<number | undefined> {
  const content = await contentOf(new Directory(path, realDisk), join(path, "lock"));
  const holder = content === undefined ? undefined : holderIn(content);
  return holder && (await isAlive(holder)) ? holder.pid : undefined;
}

/** Keeps other processes out of the directory. The answer lets them in again. Throws DirectoryInUse if one is inside. */
export async function lock(directory: Directory): Promise<() => Promise<void>> {
  const path = join(directory.path, "lock");
  const mine = `${JSON.stringify(await holderOf(process.pid))}\n`;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (await claim(directory, path, mine)) {
      return async () => {
        if ((await contentOf(directory, path)) === mine) await directory.disk.rm(path, { force: true });
      };
    }
    const content = await contentOf(directory, path);
    if (content === undefined) continue;
    const holder = holderIn(content);
    if (holder && (await isAlive(holder))) {
      throw new DirectoryInUse(directory.path, holder.pid);
    }
    await removeStale(directory, path, content);
  }
  throw new StoreError(`cannot lock ${directory.path}: others take ${path} again and again`);
}

/** Puts the lock in place with its content, in one step, if there is none. */
async function claim({ disk }: Directory, path: string, content: string): Promise<boolean> {
  const draft = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`;
  try {
    const handle = await disk.open(draft, "wx", PRIVATE_FILE);
    try {
      await handle.writeFile(content);
    } finally {
      await handle.close();
    }
    await disk.link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, "EEXIST")) return false;
    throw error;
  } finally {
    await disk.rm(draft, { force: true });
  }
}

/** Takes the lock of a dead process away; if another was quicker and we took theirs, it is put back. */
async function removeStale(directory: Directory, path: string, stale: string): Promise<void> {
  const aside = `${path}.${process.pid}-${randomBytes(4).toString("hex")}`;
  try {
    await directory.disk.rename(path, aside);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return;
    throw error;
  }
  try {
    if ((await contentOf(directory, aside)) !== stale) await directory.disk.link(aside, path);
  } finally {
    await directory.disk.rm(aside, { force: true });
  }
}

async function contentOf({ disk }: Directory, path: string): Promise<string | undefined> {
  try {
    return await disk.readFile(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

/** Undefined when the content names nobody, as after a power cut: then nobody holds it. */
function holderIn(content: string): Holder | undefined {
  try {
    const value = parseJson(content);
    if (!isObject(value) || typeof value.pid !== "number") return undefined;
    return { pid: value.pid, ...(typeof value.started === "string" && { started: value.started }) };
  } catch {
    return undefined;
  }
}

async function isAlive({ pid, started }: Holder): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!hasCode(error, "EPERM")) return false; // another user's process is alive all the same
  }
  const now = await processFacts(pid);
  if (now?.isDead) return false;
  return started === undefined || now === undefined || started === now.started;
}

async function holderOf(pid: number): Promise<Holder> {
  const facts = await processFacts(pid);
  return { pid, ...(facts && { started: facts.started }) };
}

/** What the system tells of a process; undefined where it tells nothing. */
async function processFacts(pid: number): Promise<{ started: string; isDead: boolean } | undefined> {
  try {
    const [boot, stat] = await Promise.all([
      readFile("/proc/sys/kernel/random/boot_id", "utf8"),
      readFile(`/proc/${pid}/stat`, "utf8"),
    ]);
    // The second field is the program's name in brackets and may hold anything; the state is the first after it,
    // and the start the 20th. A zombie has ended and only waits for its parent to ask how.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return { started: `${boot.trim()}/${fields[19]}`, isDead: fields[0] === "Z" || fields[0] === "X" };
  } catch {
    return undefined;
  }
}
