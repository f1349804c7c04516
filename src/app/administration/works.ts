/** Works, as an administrator gives them out: the same manifests for one or more clusters. */
import { ManagedCluster } from "#api/cluster";
import type { DynamicObject } from "#api/meta";
import { ManifestWork, WorkCondition } from "#api/work";
import { type Client, isForbidden, isKubeError, isNotFound, isUnknownKind } from "#kube";
import { findCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { UserError } from "../user-error.ts";
import { notAHub } from "./acceptance.ts";
import { find, listed, remove } from "./changes.ts";
import type { Change, Task } from "./task.ts";
import { insteadOf } from "./words.ts";

export interface WorkWish {
  readonly name: string;
  readonly clusters: readonly string[];
  readonly manifests: readonly DynamicObject[];
  /** Whether a work of that name that says something else is changed. */
  readonly overwrite: boolean;
}

export interface PlacedWork {
  readonly cluster: string;
  readonly change: Change;
}

/** A cluster, and the work of that name that it has. */
export interface WorkPlace {
  readonly cluster: ManagedCluster;
  readonly work: ManifestWork | undefined;
}

/** Gives the work to every cluster. All must be there and free for it, or nothing is changed. */
export async function placeWork(task: Task, wish: WorkWish): Promise<PlacedWork[]> {
  const placed: PlacedWork[] = [];
  for (const { cluster, work } of await preparedWork(task, wish)) {
    const { name } = cluster.metadata;
    try {
      placed.push({ cluster: name, change: await write(task, wish, name, work) });
    } catch (error) {
      throw refusal(error, `${name}/${wish.name}`, placed);
    }
  }
  return placed;
}

/** What a webhook of the hub says against it, without the way on which it said so. */
function refusal(error: unknown, key: string, placed: readonly PlacedWork[]): unknown {
  if (!isKubeError(error) || error.code !== 400) return error;
  const said = (error.status?.message ?? error.message).replace(/^admission webhook ".*?" denied the request: /, "");
  const before = placed.map(({ cluster }) => cluster).join(", ");
  const done = before === "" ? "nothing was changed" : `before it, ${before} was served`;
  return new UserError(`the hub refuses ManifestWork ${key}: ${said}; ${done}`, { cause: error });
}

/** Where the work would go, once it is sure that it can. */
export async function preparedWork({ client }: Pick<Task, "client">, wish: WorkWish): Promise<WorkPlace[]> {
  const places: WorkPlace[] = [];
  for (const cluster of await foundClusters(client, wish.clusters)) {
    places.push({ cluster, work: await find(client, ManifestWork, `${cluster.metadata.name}/${wish.name}`) });
  }
  for (const { cluster, work } of places) if (work) checkReplaceable(work, cluster.metadata.name, wish);
  return places;
}

/** The works of that name. Each of the clusters must have one, though the hub may have forgotten the cluster itself. */
export async function foundWorks(
  client: Client,
  name: string,
  clusters: readonly string[],
): Promise<readonly ManifestWork[]> {
  const works: ManifestWork[] = [];
  for (const cluster of clusters) {
    const work = await find(client, ManifestWork, `${cluster}/${name}`);
    if (!work) throw await noSuchWork(client, name, cluster);
    works.push(work);
  }
  return works;
}

async function write(task: Task, wish: WorkWish, cluster: string, work: ManifestWork | undefined): Promise<Change> {
  const { client, signal } = task;
  const key = `${cluster}/${wish.name}`;
  const what = `ManifestWork ${key}`;
  const workload = { manifests: [...wish.manifests] };
  if (!work) {
    const metadata = { name: wish.name, namespace: cluster };
    await client.create(ManifestWork, { metadata, spec: { workload } }, { signal });
    return { action: "create", what };
  }
  if (equal(manifestsOf(work), wish.manifests)) return { action: "keep", what };
  const { resourceVersion } = work.metadata;
  const patch = { metadata: { resourceVersion }, spec: { workload } };
  await client.patch(ManifestWork, key, patch, { type: "merge", signal });
  return { action: "change", what, note: "its manifests" };
}

export function manifestsOf(work: ManifestWork | undefined): readonly DynamicObject[] {
  return work?.spec?.workload?.manifests ?? [];
}

async function foundClusters(client: Client, names: readonly string[]): Promise<ManagedCluster[]> {
  const { items } = await client.list(ManagedCluster).catch((error: unknown) => {
    if (!isUnknownKind(error)) throw error;
    throw notAHub(client);
  });
  const byName = new Map(items.map((cluster) => [cluster.metadata.name, cluster]));
  const missing = names.filter((name) => !byName.has(name));
  if (missing.length === 0) return names.flatMap((name) => byName.get(name) ?? []);
  throw new UserError(
    `there is no ManagedCluster ${missing.join(", ")} on ${client.server} ${insteadOf(missing[0] ?? "", [...byName.keys()])}; nothing was changed`,
  );
}

function checkReplaceable(work: ManifestWork, cluster: string, wish: WorkWish): void {
  const what = `ManifestWork ${cluster}/${wish.name}`;
  if (work.metadata.deletionTimestamp) {
    throw new UserError(
      `${what} is being deleted; see what holds it with \`capstan why work ${wish.name} -c ${cluster}\``,
    );
  }
  if (wish.overwrite || equal(manifestsOf(work), wish.manifests)) return;
  throw new UserError(
    `${what} is there already and says something else; --overwrite replaces what it says, --plan shows what that changes. Nothing was changed`,
  );
}

/** The works of one cluster, or of all, by cluster and name. */
export async function listWorks(client: Client, cluster: string | undefined): Promise<ManifestWork[]> {
  const { items } = await client
    .list(ManifestWork, cluster === undefined ? {} : { namespace: cluster })
    .catch((error: unknown) => {
      if (!isUnknownKind(error)) throw error;
      throw new UserError(
        `${client.server} is no hub: it does not know ManifestWorks; choose the hub with --context or --kubeconfig`,
      );
    });
  if (cluster !== undefined && items.length === 0) await checkKnown(client, cluster);
  const place = ({ metadata }: ManifestWork) => `${metadata.namespace}/${metadata.name}`;
  return items.sort((a, b) => (place(a) < place(b) ? -1 : 1));
}

/**
 * Takes the work back from clusters and waits until they have cleaned up. By force, nobody is waited for: what the work
 * brought stays on the cluster, whose agent holds it until somebody confirms that it is to go.
 */
export async function deleteWork(
  task: Task,
  name: string,
  clusters: readonly string[],
  { force }: { force: boolean },
): Promise<void> {
  const { client } = task;
  await foundWorks(client, name, clusters);
  for (const cluster of clusters) {
    const key = `${cluster}/${name}`;
    if (force) {
      await client.delete(ManifestWork, key).catch(ifNotGone);
      await client.patch(ManifestWork, key, { metadata: { finalizers: null } }, { type: "merge" }).catch(ifNotGone);
    }
    await remove(task, ManifestWork, key, holding);
  }
}

function ifNotGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

function holding({ status }: ManifestWork): string {
  return findCondition(status?.conditions, WorkCondition.Deleting)?.message ?? "its cluster has yet to clean up";
}

/** That a cluster has no works may mean that it was misspelt. */
async function checkKnown(client: Client, cluster: string): Promise<void> {
  const clusters = await listed(client, ManagedCluster).catch((error: unknown) => {
    if (isForbidden(error)) return undefined; // whoever may see works need not be allowed to see clusters
    throw error;
  });
  if (!clusters || clusters.some(({ metadata }) => metadata.name === cluster)) return;
  const names = clusters.map(({ metadata }) => metadata.name);
  throw new UserError(`there is no ManagedCluster ${cluster} on ${client.server} ${insteadOf(cluster, names)}`);
}

export async function noSuchWork(client: Client, name: string, cluster: string): Promise<UserError> {
  const names = (await listWorks(client, cluster)).map(({ metadata }) => metadata.name);
  return new UserError(`there is no ManifestWork ${cluster}/${name} on ${client.server} ${insteadOf(name, names)}`);
}
