import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { type Directory, PRIVATE_FILE } from "./directory.ts";
import { messageOf, StoreError } from "./errors.ts";

/** One log file: frames are added at its end, and what a failure leaves there is cut off again. */
export class Log {
  /** The revision after which it begins. */
  readonly revision: number;
  readonly path: string;
  readonly #directory: Directory;
  readonly #sync: boolean;
  #handle: FileHandle | undefined;
  #isAnnounced = false;
  /** Where the last whole frame ends. */
  #size: number;
  #hasTornTail: boolean;

  /** Nothing is opened before it is needed: a thousand idle clusters hold no file open. */
  constructor(options: {
    directory: Directory;
    revision: number;
    sync: boolean;
    size?: number;
    hasTornTail?: boolean;
  }) {
    this.revision = options.revision;
    this.path = options.directory.logPath(options.revision);
    this.#directory = options.directory;
    this.#sync = options.sync;
    this.#size = options.size ?? 0;
    this.#hasTornTail = options.hasTornTail ?? false;
  }

  get size(): number {
    return this.#size;
  }

  /** Whether there are bytes behind the last whole frame. */
  get hasTornTail(): boolean {
    return this.#hasTornTail;
  }

  /** Adds a frame. When this fails, the log is as it was before, at the latest when the next frame comes. */
  async append(frame: Buffer): Promise<void> {
    try {
      const handle = await this.#open();
      await this.#cut(handle);
      this.#hasTornTail = true;
      await writeAll(handle, frame, this.#size);
      if (this.#sync) await handle.datasync();
      this.#size += frame.length;
      this.#hasTornTail = false;
    } catch (cause) {
      // Cut off what was written already now if the disk lets us, because a restart would find it there.
      if (this.#handle) await this.#cut(this.#handle).catch(() => {});
      throw new StoreError(`cannot write ${this.path}: ${messageOf(cause)}`, { cause });
    }
  }

  /**
   * Cuts off a torn tail and makes durable what was found in the file: a process that died may have written it
   * and not have lived to see it through.
   */
  async secure(): Promise<void> {
    const handle = await this.#open();
    await this.#cut(handle);
    await handle.datasync();
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  async #open(): Promise<FileHandle> {
    if (!this.#handle) {
      await this.#directory.ensureFormat();
      this.#handle = await this.#directory.disk.open(this.path, constants.O_RDWR | constants.O_CREAT, PRIVATE_FILE);
    }
    if (this.#sync && !this.#isAnnounced) await this.#directory.syncEntries();
    this.#isAnnounced = true;
    return this.#handle;
  }

  async #cut(handle: FileHandle): Promise<void> {
    if (!this.#hasTornTail) return;
    await handle.truncate(this.#size);
    this.#hasTornTail = false;
  }
}

/** One write as a rule; a disk that is nearly full may take less than it was given. */
async function writeAll(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}
