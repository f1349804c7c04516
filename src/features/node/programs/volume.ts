/** One volume of a Pod: its files on this machine, kept as their sources are. */
import { mkdir, rm } from "node:fs/promises";
import { ConfigMap, type Pod, Secret, type Volume } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import { errorText } from "#lib/log";
import { AccountToken } from "./account-token.ts";
import { type Files, writeFiles } from "./atomic-folder.ts";
import type { Reference } from "./references.ts";
import type { Surroundings } from "./surroundings.ts";
import { Unfulfilled } from "./variables.ts";
import {
  areSame,
  filesOf,
  type Ingredients,
  ingredientsOf,
  type Sources,
  type TokenProjection,
} from "./volume-files.ts";

export interface VolumeOptions extends Surroundings {
  readonly volume: Volume;
  readonly folder: string;
  /** The newest. */
  pod(): Pod;
  /** Called when the volume has become ready, or has trouble that it did not have. */
  readonly changed: () => void;
}

/** Every namespace has it, and in it the authority of the API server. */
const ROOT_AUTHORITY = "kube-root-ca.crt";
const AUTHORITY_KEY = "ca.crt";
const DEFAULT_TOKEN_SECONDS = 3600;
const FOLDER_MODE = 0o700;
const RETRY_MS = 5_000;

export class MountedVolume {
  readonly folder: string;
  readonly #options: VolumeOptions;
  readonly #ingredients: Ingredients | undefined;
  readonly #secrets = new Map<string, Reference<Secret>>();
  readonly #configMaps = new Map<string, Reference<ConfigMap>>();
  readonly #tokens = new Map<TokenProjection, AccountToken>();
  #written: Files | undefined;
  #isReady = false;
  #isFrozen = false;
  #trouble: string | undefined;
  /** What is being written; and whether something came meanwhile. */
  #work: Promise<void> = Promise.resolve();
  #isWorking = false;
  #isStale = false;
  #cancelRetry: () => void = () => {};

  constructor(options: VolumeOptions) {
    this.#options = options;
    this.folder = options.folder;
    this.#ingredients = ingredientsOf(options.volume);
    for (const projection of this.#ingredients?.projections ?? []) {
      const { secret, configMap, serviceAccountToken } = projection;
      if (secret?.name) this.#follow(this.#secrets, Secret, secret.name);
      if (configMap?.name && !this.#isAuthority(configMap.name))
        this.#follow(this.#configMaps, ConfigMap, configMap.name);
      if (serviceAccountToken) this.#tokens.set(serviceAccountToken, this.#tokenFor(serviceAccountToken));
    }
    this.refresh();
  }

  /** Whether everything is there that a container may look for. Once it was, it stays so. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Why it is not ready, if more than a moment is missing. */
  get trouble(): string | undefined {
    return this.#isReady ? undefined : this.#trouble;
  }

  /** Whether a container may leave something there that outlives it. */
  get isScratch(): boolean {
    return this.#options.volume.emptyDir !== undefined;
  }

  /** Something may have changed, of the Pod or of what the volume is made from. */
  refresh(): void {
    if (this.#isFrozen) return;
    this.#isStale = true;
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#work = this.#settle();
  }

  /** Follows nothing any more. */
  async freeze(): Promise<void> {
    this.#isFrozen = true;
    this.#cancelRetry();
    for (const each of [...this.#secrets.values(), ...this.#configMaps.values(), ...this.#tokens.values()])
      each.close();
    await this.#work;
  }

  /** Takes away what the sources gave; what containers left stays. */
  async clear(): Promise<void> {
    if (!this.isScratch) await rm(this.folder, { recursive: true, force: true });
  }

  async #settle(): Promise<void> {
    while (this.#isStale && !this.#isFrozen) {
      this.#isStale = false;
      const before = [this.#isReady, this.#trouble];
      try {
        if (await this.#write()) this.#isReady = true;
        this.#trouble = this.#waitedFor();
      } catch (error) {
        this.#trouble = error instanceof Unfulfilled ? error.message : this.#failed(error);
      }
      if (before[0] !== this.#isReady || before[1] !== this.#trouble) this.#options.changed();
    }
    this.#isWorking = false;
  }

  /** What the disk refuses now it may take later. */
  #failed(error: unknown): string {
    this.#cancelRetry();
    this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => this.refresh());
    return errorText(error);
  }

  /** Whether the folder is as it should be. */
  async #write(): Promise<boolean> {
    const { volume, folder, pod } = this.#options;
    if (volume.emptyDir) {
      await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
      return true;
    }
    if (!this.#ingredients) {
      const [kind = "no source"] = Object.keys(volume).filter((key) => key !== "name");
      throw new Unfulfilled(
        `a volume of kind ${kind} is not offered by this node; it has secret, configMap, projected, downwardAPI and emptyDir`,
      );
    }
    if (!this.#isKnown()) return false;
    const files = filesOf(pod(), this.#ingredients, this.#sources());
    if (this.#written && areSame(this.#written, files)) return true;
    await writeFiles(folder, files);
    this.#written = files;
    return true;
  }

  #isKnown(): boolean {
    const references = [...this.#secrets.values(), ...this.#configMaps.values()];
    return (
      references.every(({ isKnown }) => isKnown) && [...this.#tokens.values()].every(({ token }) => token !== undefined)
    );
  }

  #waitedFor(): string | undefined {
    const all = [...this.#secrets.values(), ...this.#configMaps.values(), ...this.#tokens.values()];
    return all.map(({ trouble }) => trouble).find((trouble) => trouble !== undefined);
  }

  #sources(): Sources {
    return {
      secret: (name) => {
        const secret = this.#secrets.get(name)?.object;
        return secret && contents(secret.data, "base64");
      },
      configMap: (name) => {
        const { ca } = this.#options.server;
        if (ca !== undefined && name === ROOT_AUTHORITY) return contents({ [AUTHORITY_KEY]: ca }, "utf8");
        const configMap = this.#configMaps.get(name)?.object;
        return configMap && new Map([...contents(configMap.data, "utf8"), ...contents(configMap.binaryData, "base64")]);
      },
      token: (projection) => this.#tokens.get(projection)?.token ?? "",
    };
  }

  /** Programs trust whom the node trusts: the server that both talk to need not be the one that the cluster names. */
  #isAuthority(name: string): boolean {
    return name === ROOT_AUTHORITY && this.#options.server.ca !== undefined;
  }

  #follow<T extends KubeObject>(known: Map<string, Reference<T>>, kind: Kind<T>, name: string): void {
    if (known.has(name)) return;
    const { references, pod } = this.#options;
    const key = `${pod().metadata.namespace}/${name}`;
    known.set(
      name,
      references.follow(kind, key, () => this.refresh()),
    );
  }

  #tokenFor({ audience, expirationSeconds = DEFAULT_TOKEN_SECONDS }: TokenProjection): AccountToken {
    const { client, references, clock, pod } = this.#options;
    return new AccountToken({
      client,
      references,
      clock,
      pod: pod(),
      audience: audience || undefined,
      expirationSeconds,
      changed: () => this.refresh(),
    });
  }
}

function contents(data: Readonly<Record<string, string>> = {}, encoding: BufferEncoding): Map<string, Buffer> {
  return new Map(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, encoding)]));
}
