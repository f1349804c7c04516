/**
 * Clusters from kubeconfig files: every context of every file is one. The files are read again when they change. One
 * that makes no sense is passed over and what was read before stays, because it is often only half written.
 */
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type ExecEngine, fingerprint, type Kubeconfig, KubeconfigError, loadKubeconfig } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { changesFrom } from "../changes.ts";
import { type FleetChange, type FleetProvider, isUnreachable, type Offer } from "../types.ts";
import { watchFolders } from "./folders.ts";
import { wayOf } from "./kubeconfig-way.ts";

export interface KubeconfigFilesOptions {
  /** Files, and folders of which those are read that are called like kubeconfigs. */
  readonly paths: readonly string[];
  /** What a cluster is called; `<file>+<context>` unless told. */
  readonly nameOf?: (file: string, context: string) => string;
  /** Runs the programs that the files name. Without it their users are refused. */
  readonly exec?: ExecEngine;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What is read in a folder. */
const KUBECONFIG = /^(?:kubeconfig|.*\.kubeconfig)(?:\.ya?ml)?$/;

export function kubeconfigFilesProvider(options: KubeconfigFilesOptions): FleetProvider {
  const paths = options.paths.map((path) => resolve(path));
  return {
    name: `kubeconfig files ${paths.join(", ")}`,
    follow: (signal) =>
      changesFrom(signal, (tell, fail) => {
        const files = new Files(options, tell);
        const look = () => files.read(paths);
        const stop = watchFolders({ paths, look, fail, clock: options.clock });
        return stop;
      }),
  };
}

class Files {
  readonly #options: KubeconfigFilesOptions;
  readonly #tell: (change: FleetChange) => void;
  /** What was last read from each file. */
  #configs = new Map<string, Kubeconfig>();
  #offered = new Map<string, string>();
  #isListed = false;

  constructor(options: KubeconfigFilesOptions, tell: (change: FleetChange) => void) {
    this.#options = options;
    this.#tell = tell;
  }

  async read(paths: readonly string[]): Promise<void> {
    const files = (await Promise.all(paths.map(filesIn))).flat();
    const configs = new Map<string, Kubeconfig>();
    for (const file of files) {
      const config = await this.#load(file);
      if (config) configs.set(file, config);
    }
    this.#configs = configs;
    await this.#offer();
    if (!this.#isListed) this.#tell({ type: "listed" });
    this.#isListed = true;
  }

  async #load(file: string): Promise<Kubeconfig | undefined> {
    try {
      return await loadKubeconfig({ path: file });
    } catch (error) {
      if (!(error instanceof KubeconfigError)) throw error;
      const { message } = error;
      this.#options.log.warn("a kubeconfig cannot be read; what was read before stays", { file, message });
      return this.#configs.get(file);
    }
  }

  async #offer(): Promise<void> {
    const { nameOf = (file: string, context: string) => `${file}+${context}` } = this.#options;
    const offered = new Map<string, string>();
    for (const [file, config] of this.#configs) {
      for (const { name: context } of config.contexts) {
        const offer = await this.#offerOf(nameOf(file, context), config, context);
        offered.set(offer.name, offer.fingerprint);
        if (this.#offered.get(offer.name) !== offer.fingerprint) this.#tell({ type: "offered", offer });
      }
    }
    for (const name of this.#offered.keys()) if (!offered.has(name)) this.#tell({ type: "removed", name });
    this.#offered = offered;
  }

  async #offerOf(name: string, config: Kubeconfig, context: string): Promise<Offer> {
    const { exec, clock } = this.#options;
    const trust = { files: true, insecure: true, ...(exec && { exec }) };
    const connect = () => wayOf(config, context, { trust, clock });
    const way = await connect();
    if (isUnreachable(way)) return { name, fingerprint: fingerprint(way), connect };
    // Certificates are in by their content; a token's file is read again by whoever uses it.
    const { credentials, ...plain } = way;
    const source = credentials && config.users.find((user) => user.name === userOf(config, context));
    return { name, fingerprint: fingerprint([plain, source]), connect };
  }
}

function userOf(config: Kubeconfig, context: string): string | undefined {
  return config.contexts.find(({ name }) => name === context)?.user;
}

/** The file itself, or the kubeconfigs in the folder; nothing where there is neither. */
async function filesIn(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = await readdir(path);
    return names
      .filter((name) => KUBECONFIG.test(name))
      .sort()
      .map((name) => join(path, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
