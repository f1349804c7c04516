/**
 * Manifests by URL. What a URL gave at first is kept on disk and is what it means from then on: a release does not
 * change, and an installation must not change because somebody's server does.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "#lib/json";
import { orAbsent } from "./absent.ts";
import { type DownloadOptions, download } from "./download.ts";
import type { ManifestText } from "./source.ts";

export interface ManifestFetcherOptions extends Partial<DownloadOptions> {
  /** Where texts are kept, with what is known about them. */
  readonly dir: string;
}

export interface Pulled extends ManifestText {
  readonly sha256: string;
  /** Whether it came over the network just now. */
  readonly isNew: boolean;
}

export interface ManifestFetcher {
  /**
   * The text behind a URL. Only the first time is the network asked, unless `refresh` says that what is there now shall
   * be what is meant.
   */
  pull(url: string, options?: { readonly refresh?: boolean }): Promise<Pulled>;
}

const DEFAULTS: DownloadOptions = { allowHosts: [], timeoutMs: 30_000, maxBytes: 16 * 1024 * 1024 };

export function createManifestFetcher({ dir, ...bounds }: ManifestFetcherOptions): ManifestFetcher {
  const options = { ...DEFAULTS, ...bounds };
  const pulling = new Map<string, Promise<Pulled>>();

  const fresh = async (url: string, pinned: string | undefined): Promise<Pulled> => {
    const bytes = await download(url, options);
    const text = textOf(bytes);
    const sha256 = digestOf(bytes);
    if (pinned !== undefined && pinned !== sha256) throw new Error(changed(pinned, sha256));
    await keep(pathsOf(dir, url), { url, sha256 }, bytes);
    return { name: url, text, sha256, isNew: true };
  };

  const pull = async (url: string, refresh: boolean): Promise<Pulled> => {
    const paths = pathsOf(dir, url);
    const pinned = refresh ? undefined : await pinnedAt(paths.record, url);
    const kept = pinned === undefined ? undefined : await orAbsent(readFile(paths.text));
    // A file that somebody damaged is fetched again, and must be what it was.
    if (kept && digestOf(kept) === pinned) return { name: url, text: textOf(kept), sha256: pinned, isNew: false };
    return fresh(url, pinned);
  };

  return {
    pull(url, { refresh = false } = {}) {
      const key = `${refresh} ${url}`;
      // Many ask for the same at once; one answer is enough for all of them.
      const running = pulling.get(key) ?? pull(url, refresh).finally(() => pulling.delete(key));
      pulling.set(key, running);
      return running;
    },
  };
}

function changed(pinned: string, now: string): string {
  return `it was sha256:${pinned} when it was first read, and is sha256:${now} now; pull it anew if that is meant`;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Error("it is not valid UTF-8");
  }
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

interface Paths {
  readonly text: string;
  readonly record: string;
}

function pathsOf(dir: string, url: string): Paths {
  const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
  return { text: join(dir, `${name}.yaml`), record: join(dir, `${name}.json`) };
}

/** The digest that a URL is bound to; undefined before its first time. */
async function pinnedAt(path: string, url: string): Promise<string | undefined> {
  const bytes = await orAbsent(readFile(path));
  if (!bytes) return undefined;
  let record: unknown;
  try {
    record = JSON.parse(textOf(bytes));
  } catch {
    record = undefined;
  }
  if (isObject(record) && record.url === url && typeof record.sha256 === "string") return record.sha256;
  throw new Error(`${path} does not say what ${url} was; remove it to read the URL as if for the first time`);
}

/** The record last: without its text it still says what the text must be. */
async function keep({ text, record }: Paths, known: { url: string; sha256: string }, bytes: Uint8Array): Promise<void> {
  await mkdir(join(text, ".."), { recursive: true });
  await replace(text, bytes);
  await replace(record, Buffer.from(`${JSON.stringify(known)}\n`));
}

async function replace(path: string, bytes: Uint8Array): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await writeFile(aside, bytes, { mode: 0o600 });
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  }
}
