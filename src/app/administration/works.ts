/** Works, as an administrator gives them out: the same manifests for one or more clusters, and what that would change. */
import { ManagedCluster } from "#api/cluster";
import type { DynamicObject } from "#api/meta";
import { ManifestWork, WorkCondition } from "#api/work";
import { type Client, type Difference, differenceOf, identityOf, idOf, isNotFound, isUnknownKind } from "#kube";
import { findCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { UserError } from "../user-error.ts";
import { notAHub } from "./acceptance.ts";
import { find, remove } from "./changes.ts";
import type { Change, Task } from "./task.ts";

export interface WorkWish {
  readonly name: string;
  readonly clusters: readonly string[];
  readonly manifests: readonly DynamicObject[];
  /** Whether a work of that name that says something else is changed. */
  readonly overwrite: boolean;
}

/** What becomes of one object, as far as the works tell: agents dial out, so nobody looks at the cluster itself. */
export interface PlannedObject {
  readonly action: "create" | "update" | "remove" | "keep";
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly difference: Difference;
}

export interface PlacedWork {
  readonly cluster: string;
  readonly change: Change;
  readonly objects: readonly PlannedObject[];
}

/** Gives the work to every cluster. All must be there and free for it, or nothing is changed. */
export async function placeWork(task: Task, wish: WorkWish): Promise<PlacedWork[]> {
  await checkClusters(task.client, wish.clusters);
  const existing = new Map<string, ManifestWork | undefined>();
  for (const cluster of wish.clusters)
    existing.set(cluster, await find(task.client, ManifestWork, `${cluster}/${wish.name}`));
  for (const [cluster, work] of existing) if (work) checkReplaceable(work, cluster, wish);
  const placed: PlacedWork[] = [];
  for (const [cluster, work] of existing) {
    const change = await write(task, wish, cluster, work);
    placed.push({ cluster, change, objects: plannedObjects(manifestsOf(work), wish.manifests) });
  }
  return placed;
}

async function write(task: Task, wish: WorkWish, cluster: string, work: ManifestWork | undefined): Promise<Change> {
  const { client, dryRun, signal } = task;
  const key = `${cluster}/${wish.name}`;
  const what = `ManifestWork ${key}`;
  const workload = { manifests: [...wish.manifests] };
  if (!work) {
    const metadata = { name: wish.name, namespace: cluster };
    if (!dryRun) await client.create(ManifestWork, { metadata, spec: { workload } }, { signal });
    return { action: "create", what };
  }
  if (equal(manifestsOf(work), wish.manifests)) return { action: "keep", what };
  const { resourceVersion } = work.metadata;
  const patch = { metadata: { resourceVersion }, spec: { workload } };
  if (!dryRun) await client.patch(ManifestWork, key, patch, { type: "merge", signal });
  return { action: "change", what, note: "its manifests" };
}

function manifestsOf(work: ManifestWork | undefined): readonly DynamicObject[] {
  return work?.spec?.workload?.manifests ?? [];
}

async function checkClusters(client: Client, clusters: readonly string[]): Promise<void> {
  const { items } = await client.list(ManagedCluster).catch((error: unknown) => {
    if (!isUnknownKind(error)) throw error;
    throw notAHub(client);
  });
  const names = new Set(items.map(({ metadata }) => metadata.name));
  const missing = clusters.filter((cluster) => !names.has(cluster));
  if (missing.length === 0) return;
  throw new UserError(
    `there is no ManagedCluster ${missing.join(", ")} on ${client.server} (there is ${[...names].sort().join(", ") || "none"}); nothing was changed`,
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

/** By manifest, in the order of the new ones; what goes comes last. */
export function plannedObjects(
  before: readonly DynamicObject[],
  after: readonly DynamicObject[],
): readonly PlannedObject[] {
  const known = new Map(before.map((object) => [identity(object), object]));
  const wanted = new Set(after.map(identity));
  const kept = after.map((object) => {
    const old = known.get(identity(object));
    const difference = differenceOf(old, object, "");
    const action = old === undefined ? "create" : equal(old, object) ? "keep" : "update";
    return planned(action, object, difference);
  });
  const gone = before.filter((object) => !wanted.has(identity(object)));
  return [...kept, ...gone.map((object) => planned("remove", object, { changes: [], more: 0 }))];
}

function planned(action: PlannedObject["action"], object: DynamicObject, difference: Difference): PlannedObject {
  const { kind, metadata } = object;
  const { name, namespace } = metadata;
  return { action, kind, ...(namespace && { namespace }), name, difference };
}

/** The same for an object in whatever version. */
function identity(object: DynamicObject): string {
  return identityOf(idOf(object));
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
): Promise<Change[]> {
  const { client, dryRun } = task;
  const changes: Change[] = [];
  for (const cluster of clusters) {
    const key = `${cluster}/${name}`;
    const work = await find(client, ManifestWork, key);
    if (!work) throw await noSuchWork(client, name, cluster);
    if (force && !dryRun) {
      await client.delete(ManifestWork, key).catch(ifNotGone);
      await client.patch(ManifestWork, key, { metadata: { finalizers: null } }, { type: "merge" }).catch(ifNotGone);
    }
    const change = await remove(task, ManifestWork, key, holding);
    changes.push(change ?? { action: "delete", what: `ManifestWork ${key}` });
  }
  return changes;
}

function ifNotGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

function holding({ status }: ManifestWork): string {
  return findCondition(status?.conditions, WorkCondition.Deleting)?.message ?? "its cluster has yet to clean up";
}

export async function noSuchWork(client: Client, name: string, cluster: string): Promise<UserError> {
  const works = await listWorks(client, cluster);
  const names = works.map(({ metadata }) => metadata.name).join(", ");
  return new UserError(`there is no ManifestWork ${cluster}/${name} on ${client.server} (there is ${names || "none"})`);
}
