import * as fs from "node:fs/promises";
import { join } from "node:path";
import { isObject, parseJson } from "#lib/json";
import { hasCode, StoreDamaged, StoreError } from "./errors.ts";

/** What the store asks of the file system; tests put something less reliable in its place. */
export type Disk = Pick<typeof fs, "open" | "rename" | "rm" | "readdir" | "mkdir" | "readFile" | "link">;

export const realDisk: Disk = fs;

/** State holds Secrets: nobody but the owner may read it. */
export const PRIVATE_FILE = 0o600;
const PRIVATE_DIRECTORY = 0o700;

const FORMAT = 1;
const FORMAT_FILE = "format.json";
const SNAPSHOT = /^snapshot-(\d+)\.jsonl$/;
const LOG = /^log-(\d+)\.wal$/;
const UNFINISHED = /^(?:snapshot-\d+\.jsonl|format\.json)\.tmp$/;

/** A snapshot of this revision, or a log of what came after it. */
export interface DataFile {
  readonly path: string;
  readonly revision: number;
}

/** The directory of one store: which files it holds, what they are called and how they come into being. */
export class Directory {
  readonly path: string;
  readonly disk: Disk;
  #hasFormat = false;

  constructor(path: string, disk: Disk) {
    this.path = path;
    this.disk = disk;
  }

  logPath(revision: number): string {
    return join(this.path, `log-${revision}.wal`);
  }

  snapshotPath(revision: number): string {
    return join(this.path, `snapshot-${revision}.jsonl`);
  }

  async create(): Promise<void> {
    await this.disk.mkdir(this.path, { recursive: true, mode: PRIVATE_DIRECTORY });
  }

  /** Refuses what another version of the store has written. */
  async checkFormat(): Promise<void> {
    const file = join(this.path, FORMAT_FILE);
    let text: string;
    try {
      text = await this.disk.readFile(file, "utf8");
    } catch (error) {
      if (hasCode(error, "ENOENT")) return;
      throw error;
    }
    const format = formatIn(text);
    if (format === undefined) throw new StoreDamaged(file, 0, "it does not say which format the files have");
    if (format !== FORMAT) {
      throw new StoreError(
        `${file} says format ${String(format)}, and this version of Capstan reads format ${FORMAT}: ` +
          "use the version that wrote it, or another directory",
      );
    }
    this.#hasFormat = true;
  }

  /** What is there, oldest first. */
  async list(): Promise<{ snapshots: DataFile[]; logs: DataFile[]; unfinished: string[] }> {
    const names = await this.disk.readdir(this.path);
    const matching = (pattern: RegExp) =>
      names
        .flatMap((name) => {
          const revision = pattern.exec(name)?.[1];
          return revision === undefined ? [] : [{ path: join(this.path, name), revision: Number(revision) }];
        })
        .sort((a, b) => a.revision - b.revision);
    const [snapshots, logs] = [matching(SNAPSHOT), matching(LOG)];
    if (!this.#hasFormat && snapshots.length + logs.length > 0) {
      throw new StoreDamaged(join(this.path, FORMAT_FILE), 0, "it is missing, though there is data beside it");
    }
    const unfinished = names.filter((name) => UNFINISHED.test(name)).map((name) => join(this.path, name));
    return { snapshots, logs, unfinished };
  }

  /** Says which format the files have, before the first of them is written. */
  async ensureFormat(): Promise<void> {
    if (this.#hasFormat) return;
    await this.writeWhole(join(this.path, FORMAT_FILE), async (write) => {
      await write(Buffer.from(`${JSON.stringify({ format: FORMAT })}\n`));
    });
    this.#hasFormat = true;
  }

  /** Writes a file that is either there as a whole or not at all, whenever the power fails. */
  async writeWhole(path: string, fill: (write: (bytes: Buffer) => Promise<void>) => Promise<void>): Promise<void> {
    const unfinished = `${path}.tmp`;
    try {
      const handle = await this.disk.open(unfinished, "w", PRIVATE_FILE);
      try {
        await fill(async (bytes) => {
          await handle.writeFile(bytes);
        });
        await handle.sync();
      } finally {
        await handle.close();
      }
      await this.disk.rename(unfinished, path);
    } catch (error) {
      // The failure that led here is the one to tell of; what is left over is removed at the next start.
      await this.disk.rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await this.syncEntries();
  }

  /** Makes sure that files created, renamed and removed so far stay so. */
  async syncEntries(): Promise<void> {
    const handle = await this.disk.open(this.path, "r");
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  }

  /** Removes snapshots and logs that a snapshot of this revision makes needless. */
  async removeBefore(revision: number): Promise<void> {
    const { snapshots, logs } = await this.list();
    // Logs first: a snapshot without the logs behind it is old but true, logs without their snapshot are not.
    for (const file of [...logs, ...snapshots]) {
      if (file.revision < revision) await this.disk.rm(file.path, { force: true });
    }
  }
}

function formatIn(text: string): unknown {
  try {
    const content = parseJson(text);
    return isObject(content) ? content.format : undefined;
  } catch {
    return undefined;
  }
}
