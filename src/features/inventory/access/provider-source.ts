/** The provider file as it is now: read at the start and again whenever it changes, however it is replaced. */
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type ProviderFile, ProviderFileError, parseProviderFile } from "./provider-file.ts";
import { type AccessFailure, AccessReason } from "./reasons.ts";

export interface ProviderSource {
  /** The last file that made sense, or why there is none. */
  current(): ProviderFile | AccessFailure;
  /** What is wrong with the file as it stands now, while an earlier one is in use. */
  problem(): string | undefined;
  /** Runs after `current` has become another. The answer ends that. */
  onChange(listener: () => void): () => void;
  close(): void;
}

export interface ProviderSourceOptions {
  /** Undefined or empty: this consumer does not reach clusters through the inventory. */
  readonly path: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** So often the file is looked at where the system cannot tell of changes. */
const LOOK_EVERY_MS = 10_000;

/** Follows the file from now on; it need not be there yet. */
export async function followProviderFile({ path, clock, log }: ProviderSourceOptions): Promise<ProviderSource> {
  if (!path) return noProviders();
  const follower = new Follower(resolve(path), clock, log);
  await follower.start();
  return follower;
}

function noProviders(): ProviderSource {
  const message = "there is no provider file; name one with --clusterprofile-provider-file";
  const none: AccessFailure = { reason: AccessReason.notConfigured, message };
  return { current: () => none, problem: () => undefined, onChange: () => () => {}, close() {} };
}

class Follower implements ProviderSource {
  readonly #file: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #listeners = new Set<() => void>();
  #current: ProviderFile | AccessFailure;
  #problem: string | undefined;
  /** What was read last; undefined: the file could not be read. */
  #text: string | undefined;
  #reading: Promise<void> | undefined;
  #again = false;
  #watcher: FSWatcher | undefined;
  #cancelLook: (() => void) | undefined;
  #closed = false;

  constructor(file: string, clock: Clock, log: Logger) {
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
    this.#current = { reason: AccessReason.notConfigured, message: `provider file ${file} has not been read yet` };
  }

  current(): ProviderFile | AccessFailure {
    return this.#current;
  }

  problem(): string | undefined {
    return this.#problem;
  }

  onChange(listener: () => void): () => void {
    const own = () => listener();
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#cancelLook?.();
    this.#listeners.clear();
  }

  /** The watch comes first: what changes after the reading is noticed by it. */
  async start(): Promise<void> {
    this.#watchFolder();
    await this.#read();
  }

  /** Not the file is watched but its folder: a file that is replaced is another file under the same name. */
  #watchFolder(): void {
    try {
      this.#watcher = watch(dirname(this.#file), { persistent: false }, () => this.#readSoon());
      this.#watcher.on("error", () => this.#lookLater());
    } catch {
      this.#lookLater(); // no such folder yet, or no more watches to be had
    }
  }

  #lookLater(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    if (this.#closed) return;
    this.#cancelLook = this.#clock.after(LOOK_EVERY_MS, () => {
      this.#watchFolder();
      this.#readSoon();
    });
  }

  #readSoon(): void {
    if (this.#reading) {
      this.#again = true;
      return;
    }
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined;
      if (this.#again && !this.#closed) {
        this.#again = false;
        this.#readSoon();
      }
    });
  }

  async #read(): Promise<void> {
    const { text, failure } = await this.#textNow();
    if (this.#closed || (text !== undefined && text === this.#text)) return;
    this.#text = text;
    try {
      if (text === undefined) throw new ProviderFileError(failure);
      this.#use(parseProviderFile(text, { file: this.#file, cwd: process.cwd() }));
    } catch (error) {
      if (!(error instanceof ProviderFileError)) throw error;
      this.#complain(error.message);
    }
  }

  async #textNow(): Promise<{ text?: string; failure: string }> {
    try {
      return { text: await readFile(this.#file, "utf8"), failure: "" };
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { failure: `provider file ${this.#file} cannot be read: ${code ?? message}` };
    }
  }

  #use(file: ProviderFile): void {
    for (const warning of file.warnings) this.#log.warn(warning);
    this.#problem = undefined;
    this.#current = file;
    this.#tell();
  }

  /** Whoever was let in by the last good file stays in. */
  #complain(message: string): void {
    if (message === this.#problem) return;
    this.#problem = message;
    const isUsed = !("reason" in this.#current);
    this.#log.warn(isUsed ? `${message}; the earlier one stays in use` : message);
    if (isUsed) return;
    this.#current = { reason: AccessReason.notConfigured, message };
    this.#tell();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
