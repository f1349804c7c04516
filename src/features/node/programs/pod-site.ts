/** The place of one Pod on this machine: its volumes, and what its containers are told when they begin. */
import { mkdirSync } from "node:fs";
import { rm, rmdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { ConfigMap, type Container, type Pod, Secret, type VolumeMount } from "#api/core";
import type { Telling } from "../events.ts";
import type { Waiting } from "../kubelet/runner.ts";
import type { Mount } from "./mounts.ts";
import type { Reference } from "./references.ts";
import type { OwnServer, Surroundings } from "./surroundings.ts";
import { argumentsOf, expanded, Unfulfilled, type Variables, variablesOf, wantedBy } from "./variables.ts";
import { MountedVolume } from "./volume.ts";

export interface PodSiteOptions extends Surroundings {
  readonly pod: Pod;
  /** Of this Pod alone. */
  readonly folder: string;
  readonly tell: (telling: Telling) => void;
  /** Called when a container that had to wait may begin, or waits for something else. */
  readonly changed: () => void;
}

/** What a container is given when it begins. */
export interface Outfit {
  readonly is: "outfit";
  readonly args: readonly string[];
  readonly env: Variables;
  readonly mounts: readonly Mount[];
}

const VOLUMES = "volumes";

/** It will begin as soon as all is there that it needs. */
export const CREATING: Waiting = { is: "waiting", reason: "ContainerCreating" };

export class PodSite {
  readonly #options: PodSiteOptions;
  readonly #volumes = new Map<string, MountedVolume>();
  /** What variables are read from, by name. */
  readonly #secrets = new Map<string, Reference<Secret>>();
  readonly #configMaps = new Map<string, Reference<ConfigMap>>();
  /** The trouble of volumes that was told already. */
  readonly #told = new Map<string, string>();
  #pod: Pod;
  #closing: Promise<void> | undefined;

  constructor(options: PodSiteOptions) {
    this.#options = options;
    this.#pod = options.pod;
  }

  /** The newest that is known. */
  get pod(): Pod {
    return this.#pod;
  }

  /** The Pod has changed: files may tell of its labels and annotations. */
  update(pod: Pod): void {
    if (pod.metadata.resourceVersion === this.#pod.metadata.resourceVersion) return;
    this.#pod = pod;
    for (const volume of this.#volumes.values()) volume.refresh();
  }

  /** What the container begins with, or why it cannot begin yet. */
  outfit(container: Container): Outfit | Waiting {
    const volumes = (container.volumeMounts ?? []).map(({ name }) => this.#volume(name));
    const references = this.#referencesOf(container);
    // A variable that cannot be had is worth more words than a volume that is on its way.
    if (references.some(({ isKnown }) => !isKnown)) return this.#unknown(references);
    try {
      const env = variablesOf(this.#pod, container, this.#contents(), this.#given());
      const args = argumentsOf(container, env);
      if (!volumes.every((volume) => volume?.isReady)) return CREATING;
      return { is: "outfit", args, env, mounts: this.#mounts(container.volumeMounts ?? [], env) };
    } catch (error) {
      if (!(error instanceof Unfulfilled)) throw error;
      return { is: "waiting", reason: "CreateContainerConfigError", message: error.message };
    }
  }

  /** Follows nothing any more; files stay as they are. */
  async freeze(): Promise<void> {
    for (const each of [...this.#secrets.values(), ...this.#configMaps.values()]) each.close();
    await Promise.all([...this.#volumes.values()].map((volume) => volume.freeze()));
  }

  /** Takes away what was written here; `removed`: what containers left, too. */
  close({ removed }: { removed: boolean }): Promise<void> {
    this.#closing ??= this.#close(removed);
    return this.#closing;
  }

  async #close(removed: boolean): Promise<void> {
    await this.freeze();
    const volumes = [...this.#volumes.values()];
    const { folder } = this.#options;
    if (removed) return rm(folder, { recursive: true, force: true });
    await Promise.all(volumes.map((volume) => volume.clear()));
    // Where no container has left anything, nothing is left.
    await rmdir(join(folder, VOLUMES)).catch(() => {});
    await rmdir(folder).catch(() => {});
  }

  #volume(name: string): MountedVolume | undefined {
    const known = this.#volumes.get(name);
    const volume = this.#pod.spec.volumes?.find((each) => each.name === name);
    if (known || !volume) return known;
    const { folder, client, references, clock, server } = this.#options;
    const made: MountedVolume = new MountedVolume({
      client,
      references,
      clock,
      server,
      volume,
      folder: join(folder, VOLUMES, name),
      pod: () => this.#pod,
      changed: () => this.#volumeChanged(name, made),
    });
    this.#volumes.set(name, made);
    return made;
  }

  #volumeChanged(name: string, { trouble }: MountedVolume): void {
    if (trouble !== undefined && this.#told.get(name) !== trouble) {
      const message = `MountVolume.SetUp failed for volume "${name}" : ${trouble}`;
      this.#options.tell({ type: "Warning", reason: "FailedMount", message });
      this.#told.set(name, trouble);
    }
    this.#options.changed();
  }

  #referencesOf(container: Container): Reference<Secret | ConfigMap>[] {
    const { references, changed } = this.#options;
    const keyOf = (name: string) => `${this.#pod.metadata.namespace}/${name}`;
    const { secrets, configMaps } = wantedBy(container);
    return [
      ...[...secrets].map((name) => {
        const reference = this.#secrets.get(name) ?? references.follow(Secret, keyOf(name), changed);
        this.#secrets.set(name, reference);
        return reference;
      }),
      ...[...configMaps].map((name) => {
        const reference = this.#configMaps.get(name) ?? references.follow(ConfigMap, keyOf(name), changed);
        this.#configMaps.set(name, reference);
        return reference;
      }),
    ];
  }

  #unknown(references: readonly Reference<Secret | ConfigMap>[]): Waiting {
    const trouble = references.map((each) => each.trouble).find((text) => text !== undefined);
    return trouble === undefined ? CREATING : { is: "waiting", reason: "CreateContainerConfigError", message: trouble };
  }

  #contents() {
    return {
      secret: (name: string) => {
        const secret = this.#secrets.get(name)?.object;
        return secret && decoded(secret.data);
      },
      configMap: (name: string) => {
        const configMap = this.#configMaps.get(name)?.object;
        return configMap && (configMap.data ?? {});
      },
    };
  }

  /** What every container is told. */
  #given(): Variables {
    const { metadata, spec } = this.#pod;
    return { HOSTNAME: spec.hostname ?? metadata.name, ...serverVariables(this.#options.server) };
  }

  #mounts(mounts: readonly VolumeMount[], env: Variables): Mount[] {
    return mounts.map(({ name, mountPath, subPath, subPathExpr }) => {
      const volume = this.#volumes.get(name);
      const folder = volume?.folder ?? "";
      const path = posix.normalize(mountPath).replace(/(?<=.)\/$/, "");
      const inner = posix.normalize(subPath || expanded(subPathExpr ?? "", env) || ".");
      if (posix.isAbsolute(inner) || inner.startsWith("..")) {
        throw new Unfulfilled(`the subPath of volume ${name} leads out of it`);
      }
      const real = posix.join(folder, inner);
      if (volume?.isScratch) mkdirSync(real, { recursive: true, mode: 0o700 });
      return { path, real };
    });
  }
}

/** A server below a path (`/clusters/NAME`) is reached by putting the path behind the port. */
function serverVariables({ url }: OwnServer): Variables {
  const { hostname, port, protocol, pathname } = new URL(url);
  const number = port || (protocol === "https:" ? "443" : "80");
  return {
    KUBERNETES_SERVICE_HOST: hostname.replace(/^\[|\]$/g, ""),
    KUBERNETES_SERVICE_PORT: `${number}${pathname.replace(/\/+$/, "")}`,
    KUBERNETES_SERVICE_PORT_HTTPS: number,
  };
}

function decoded(data: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString("utf8")]),
  );
}
