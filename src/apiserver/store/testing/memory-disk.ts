/**
 * A disk in memory that knows what would be left of it: when the process is killed, all that was written; when the
 * power fails, what was synced, and of the rest whatever chance leaves. Whoever watches it is called at every moment
 * between two of its states, also in the middle of a write.
 */
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Disk } from "../directory.ts";
import type { Random } from "./random.ts";

/** What is about to happen, or has (`written`, `synced`); `torn` is half way through a `write`. */
export type DiskOperation =
  | "create"
  | "write"
  | "torn"
  | "written"
  | "sync"
  | "synced"
  | "cut"
  | "rename"
  | "unlink"
  | "announce";

export interface DiskMoment {
  readonly operation: DiskOperation;
  readonly path: string;
}

/** Awaited before the disk goes on; what it throws is the failure of the operation. */
export type OnMoment = (moment: DiskMoment) => Promise<void>;

interface Content {
  bytes: Buffer;
  synced: Buffer;
}

type Entries = Map<string, Content>;

const NOTHING = Buffer.alloc(0);

export class MemoryDisk {
  #entries: Entries = new Map();
  #syncedEntries: Entries = new Map();

  /** The disk as one process sees it. */
  attach(onMoment: OnMoment): Disk {
    const process = new Process(this.#entries, onMoment, () => {
      this.#syncedEntries = new Map(this.#entries);
    });
    return process as unknown as Disk;
  }

  /** Everything that was written, synced or not: a later power cut may still take it. */
  afterKill(): MemoryDisk {
    const copies = new Map<Content, Content>();
    const copied = (entries: Entries): Entries =>
      new Map(
        [...entries].map(([path, content]) => {
          const copy = copies.get(content) ?? { ...content };
          copies.set(content, copy);
          return [path, copy];
        }),
      );
    return MemoryDisk.#of(copied(this.#entries), copied(this.#syncedEntries));
  }

  /** What was synced; each change that was not may have arrived or not, and bytes at the end of a file in part. */
  afterPowerCut(random: Random): MemoryDisk {
    const entries: Entries = new Map();
    for (const path of new Set([...this.#entries.keys(), ...this.#syncedEntries.keys()])) {
      const [now, synced] = [this.#entries.get(path), this.#syncedEntries.get(path)];
      const content = random.next() < 0.5 ? now : synced;
      if (!content) continue;
      const bytes = leftOf(content, random);
      entries.set(path, { bytes, synced: bytes });
    }
    return MemoryDisk.#of(entries, new Map(entries));
  }

  /** Takes away what a dead process can no longer hold. */
  forgetLocks(): void {
    for (const entries of [this.#entries, this.#syncedEntries]) {
      for (const path of entries.keys()) if (isLock(path)) entries.delete(path);
    }
  }

  static #of(entries: Entries, syncedEntries: Entries): MemoryDisk {
    const disk = new MemoryDisk();
    disk.#entries = entries;
    disk.#syncedEntries = syncedEntries;
    return disk;
  }
}

function leftOf({ bytes, synced }: Content, random: Random): Buffer {
  const chance = random.next();
  if (chance < 1 / 3) return synced;
  if (chance < 2 / 3) return bytes;
  return bytes.subarray(
    0,
    Math.min(synced.length, bytes.length) + random.below(Math.abs(bytes.length - synced.length)),
  );
}

/** Locks name a process and are looked at by their own tests. */
export function isLock(path: string): boolean {
  return /^lock(\.|$)/.test(basename(path));
}

class Process {
  readonly #entries: Entries;
  readonly #onMoment: OnMoment;
  readonly #announce: () => void;

  constructor(entries: Entries, onMoment: OnMoment, announce: () => void) {
    this.#entries = entries;
    this.#onMoment = onMoment;
    this.#announce = announce;
  }

  async open(path: string, flags: string | number): Promise<FileHandle> {
    const isDirectory = flags === "r" && !this.#entries.has(path);
    if (isDirectory) return new DirectoryHandle(path, this.#onMoment, this.#announce) as unknown as FileHandle;
    let content = this.#entries.get(path);
    if (content && flags === "wx") throw fault("EEXIST", path);
    if (!content) {
      if (!isCreating(flags)) throw fault("ENOENT", path);
      await this.#onMoment({ operation: "create", path });
      content = { bytes: NOTHING, synced: NOTHING };
      this.#entries.set(path, content);
    } else if (flags === "w") {
      content.bytes = NOTHING;
    }
    return new OpenFile(path, content, this.#onMoment) as unknown as FileHandle;
  }

  async rename(from: string, to: string): Promise<void> {
    const content = this.#found(from);
    await this.#onMoment({ operation: "rename", path: to });
    this.#entries.delete(from);
    this.#entries.set(to, content);
  }

  async rm(path: string): Promise<void> {
    if (!this.#entries.has(path)) return;
    await this.#onMoment({ operation: "unlink", path });
    this.#entries.delete(path);
  }

  async link(from: string, to: string): Promise<void> {
    if (this.#entries.has(to)) throw fault("EEXIST", to);
    this.#entries.set(to, this.#found(from));
  }

  async mkdir(): Promise<void> {}

  async readdir(path: string): Promise<string[]> {
    return [...this.#entries.keys()].filter((file) => dirname(file) === path).map((file) => basename(file));
  }

  async readFile(path: string, encoding?: "utf8"): Promise<string | Buffer> {
    const { bytes } = this.#found(path);
    return encoding ? bytes.toString(encoding) : Buffer.from(bytes);
  }

  #found(path: string): Content {
    const content = this.#entries.get(path);
    if (!content) throw fault("ENOENT", path);
    return content;
  }
}

class OpenFile {
  readonly #path: string;
  readonly #content: Content;
  readonly #onMoment: OnMoment;
  /** Where `read` and `writeFile` go on. */
  #position = 0;

  constructor(path: string, content: Content, onMoment: OnMoment) {
    this.#path = path;
    this.#content = content;
    this.#onMoment = onMoment;
  }

  async write(bytes: Buffer, offset: number, length: number, position: number): Promise<{ bytesWritten: number }> {
    await this.#onMoment({ operation: "write", path: this.#path });
    const half = Math.floor(length / 2);
    this.#put(bytes.subarray(offset, offset + half), position);
    await this.#onMoment({ operation: "torn", path: this.#path });
    this.#put(bytes.subarray(offset + half, offset + length), position + half);
    await this.#onMoment({ operation: "written", path: this.#path });
    return { bytesWritten: length };
  }

  async writeFile(data: Buffer | string): Promise<void> {
    const bytes = Buffer.from(data);
    await this.write(bytes, 0, bytes.length, this.#position);
    this.#position += bytes.length;
  }

  async read(buffer: Buffer, offset: number, length: number): Promise<{ bytesRead: number; buffer: Buffer }> {
    const bytesRead = this.#content.bytes.copy(buffer, offset, this.#position, this.#position + length);
    this.#position += bytesRead;
    return { bytesRead, buffer };
  }

  async sync(): Promise<void> {
    await this.#onMoment({ operation: "sync", path: this.#path });
    this.#content.synced = this.#content.bytes;
    await this.#onMoment({ operation: "synced", path: this.#path });
  }

  datasync(): Promise<void> {
    return this.sync();
  }

  async truncate(size: number): Promise<void> {
    await this.#onMoment({ operation: "cut", path: this.#path });
    this.#content.bytes = this.#content.bytes.subarray(0, size);
  }

  async close(): Promise<void> {}

  #put(bytes: Buffer, position: number): void {
    const { bytes: before } = this.#content;
    const gap = Buffer.alloc(Math.max(0, position - before.length));
    const rest = before.subarray(position + bytes.length);
    this.#content.bytes = Buffer.concat([before.subarray(0, position), gap, bytes, rest]);
  }
}

class DirectoryHandle {
  readonly #path: string;
  readonly #onMoment: OnMoment;
  readonly #announce: () => void;

  constructor(path: string, onMoment: OnMoment, announce: () => void) {
    this.#path = path;
    this.#onMoment = onMoment;
    this.#announce = announce;
  }

  async sync(): Promise<void> {
    await this.#onMoment({ operation: "announce", path: this.#path });
    this.#announce();
  }

  async close(): Promise<void> {}
}

function isCreating(flags: string | number): boolean {
  return typeof flags === "number" ? (flags & constants.O_CREAT) !== 0 : flags !== "r";
}

function fault(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
