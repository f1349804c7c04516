/** A file that grows to a limit, then makes room for a new one and is kept under another name until the next time. */
import { appendFile, chmod, rename, stat } from "node:fs/promises";

const LARGEST = 10 * 1024 * 1024;

/** It tells who did what: nobody but the owner may read it. */
const PRIVATE_FILE = 0o600;

export class RotatingFile {
  readonly #path: string;
  readonly #largest: number;
  /** Unknown until the first write, and again after one that failed. */
  #size: number | undefined;

  constructor(path: string, largest = LARGEST) {
    this.#path = path;
    this.#largest = largest;
  }

  /** Opens and closes the file each time: a thousand idle clusters hold no file open. */
  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    const size = this.#size ?? (await this.#sizeOnDisk());
    this.#size = undefined;
    const isFull = size > 0 && size + bytes.length > this.#largest;
    if (isFull) await rename(this.#path, `${this.#path}.1`);
    await appendFile(this.#path, bytes, { mode: PRIVATE_FILE });
    this.#size = (isFull ? 0 : size) + bytes.length;
  }

  /** What is already there is closed to others, whoever made it. */
  async #sizeOnDisk(): Promise<number> {
    try {
      await chmod(this.#path, PRIVATE_FILE);
      return (await stat(this.#path)).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
      throw error;
    }
  }
}
