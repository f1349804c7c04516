/** The folder of a fleet or an API server: which files it has, and how they come and go. */
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Kubeconfig, kubeconfigText, mergeKubeconfigs, writeKubeconfig } from "#kube";
import type { ReleaseSettings } from "./knative-releases.ts";
import { reasonOf, UserError } from "./user-error.ts";

export interface Ready {
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  readonly programs: readonly { readonly name: string; readonly pid: number }[];
}

/** Where the releases of Knative come from that this fleet's hub installs: whoever plans must look there too. */
const RELEASES_FILE = "knative-releases.json";

/** As consumers of the inventory call it by default. */
const PROVIDER_FILE = "clusterprofile-provider-file.json";

export class FleetDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  get logs(): string {
    return join(this.path, "logs");
  }

  get kubeconfig(): string {
    return join(this.path, "kubeconfig");
  }

  /** Where the port that all clusters share is kept, with its certificate. */
  get sharedPort(): string {
    return join(this.path, "shared-port.json");
  }

  /** How consumers of the inventory get into the clusters that its profiles stand for. */
  get providerFile(): string {
    return join(this.path, PROVIDER_FILE);
  }

  kubeconfigOf(cluster: string): string {
    return join(this.path, `${cluster}.kubeconfig`);
  }

  dataOf(cluster: string): string {
    return join(this.path, "data", cluster);
  }

  /** Where the files of the Pods lie that the nodes of a cluster run. */
  podsOf(cluster: string): string {
    return join(this.path, "pods", cluster);
  }

  /** The clusters that were ever started here, the hub first and the others in order of their numbers. */
  async clusters(): Promise<string[]> {
    const names = await readdir(join(this.path, "data")).catch(() => []);
    return names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true }));
  }

  async sharesPort(): Promise<boolean> {
    return exists(this.sharedPort);
  }

  async isFleet(): Promise<boolean> {
    return exists(join(this.path, "data"));
  }

  /** Makes the folder. Refuses one that is somebody else's: whose kubeconfigs we would overwrite. */
  async create(): Promise<void> {
    try {
      await mkdir(this.logs, { recursive: true, mode: 0o700 });
      await access(this.path, 2 /* W_OK */);
    } catch (error) {
      throw new UserError(`cannot write to ${this.path}: ${reasonOf(error)}; choose another folder with --dir`);
    }
    if ((await this.isFleet()) || !(await exists(this.kubeconfig))) return;
    throw new UserError(`${this.path} has a kubeconfig that is not a fleet's; choose another folder with --dir`);
  }

  /** Refuses a folder with something in it that is not a fleet's. */
  async assertOwn(): Promise<void> {
    if (await this.isFleet()) return;
    const entries = await readdir(this.path).catch(() => []);
    if (entries.length === 0) return;
    throw new UserError(`${this.path} is not a fleet's folder (it has no data/); nothing was removed`);
  }

  /** Removes everything that a fleet keeps here, except the lock of whoever calls this. */
  async clear(): Promise<void> {
    for (const cluster of await this.clusters()) await rm(this.kubeconfigOf(cluster), { force: true });
    for (const folder of ["data", "pods"]) await rm(join(this.path, folder), { recursive: true, force: true });
    for (const log of await readdir(this.logs).catch(() => [])) await rm(join(this.logs, log), { force: true });
    for (const name of ["kubeconfig", "ready.json", "shared-port.json", PROVIDER_FILE, RELEASES_FILE])
      await rm(join(this.path, name), { force: true });
  }

  /** Removes the fleet, and the folder if nothing else is in it. */
  async purge(): Promise<void> {
    await this.assertOwn();
    await this.clear();
    await rm(this.logs, { recursive: true, force: true });
    await rm(join(this.path, "lock"), { force: true });
    const rest = await readdir(this.path).catch(() => ["it is not there"]);
    if (rest.length === 0) await rm(this.path, { recursive: true });
  }

  /** One file for each cluster and one for all of them; a file that says the same already is left alone. */
  async writeKubeconfigs(byCluster: ReadonlyMap<string, Kubeconfig>): Promise<void> {
    for (const [name, config] of byCluster) await writeIfChanged(this.kubeconfigOf(name), config);
    await writeIfChanged(this.kubeconfig, mergeKubeconfigs([...byCluster.values()]));
  }

  async writeReady(ready: Ready): Promise<void> {
    const aside = join(this.path, `ready.json.${process.pid}`);
    await writeFile(aside, `${JSON.stringify(ready)}\n`);
    await rename(aside, join(this.path, "ready.json"));
  }

  async writeReleases(settings: ReleaseSettings): Promise<void> {
    await writeFile(join(this.path, RELEASES_FILE), `${JSON.stringify(settings)}\n`);
  }

  /** Undefined while no hub has run here. */
  async readReleases(): Promise<ReleaseSettings | undefined> {
    try {
      return JSON.parse(await readFile(join(this.path, RELEASES_FILE), "utf8"));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new UserError(`cannot read ${join(this.path, RELEASES_FILE)}: ${reasonOf(error)}; remove it`);
    }
  }

  async removeReady(): Promise<void> {
    await rm(join(this.path, "ready.json"), { force: true });
  }

  /** Undefined while the fleet is not ready. */
  async readReady(): Promise<Ready | undefined> {
    try {
      return JSON.parse(await readFile(join(this.path, "ready.json"), "utf8"));
    } catch {
      return undefined; // not there yet, or gone: both mean that nobody says ready
    }
  }
}

function rank(cluster: string): number {
  return cluster === "hub" ? 0 : 1;
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function writeIfChanged(path: string, config: Kubeconfig): Promise<void> {
  const current = await readFile(path, "utf8").catch(() => undefined);
  if (current !== kubeconfigText(config)) await writeKubeconfig(path, config);
}
