/**
 * What giving out, changing or taking back a work would do, cluster by cluster and field by field. Where the cluster can be
 * reached, it is asked; where not, the works alone are compared, and it is said why.
 */
import { ManagedCluster } from "#api/cluster";
import type { DynamicObject } from "#api/meta";
import { ManifestWork } from "#api/work";
import { isOwned, type PlannedAction, type PlannedObject, planWork } from "#features/work/agent";
import { type Client, differenceOf, identityOf, idOf, isKubeError, isNetworkError, isTimeout } from "#kube";
import { type Clock, systemClock, timestamp } from "#lib/clock";
import { equal } from "#lib/json";
import { silentLog } from "#lib/log";
import { connectedCluster } from "#runtime";
import { find } from "./changes.ts";
import { causeOf } from "./hub-contact.ts";
import type { Task } from "./task.ts";
import { foundWorks, manifestsOf, preparedWork, type WorkWish } from "./works.ts";
import { openSpokes, type SpokeWays } from "./works-spokes.ts";

export interface ClusterPlan {
  readonly cluster: string;
  readonly objects: readonly PlannedObject[];
  /** Why the cluster itself was not looked at. */
  readonly unseen?: string;
}

interface Intent {
  readonly cluster: ManagedCluster;
  readonly name: string;
  readonly before: ManifestWork | undefined;
  readonly after: ManifestWork | undefined;
}

/** What the wish would change. All clusters must be there and free for it. */
export async function planWorks(task: Task, wish: WorkWish, ways: SpokeWays): Promise<ClusterPlan[]> {
  const places = await preparedWork(task, wish);
  const intents = places.map(({ cluster, work }) => {
    const after = wishedWork(wish, cluster.metadata.name, work, systemClock);
    return { cluster, name: wish.name, before: work, after };
  });
  return planned(task, intents, ways);
}

/** What taking the work back would remove; by force, nobody removes anything. */
export async function planDeletion(
  task: Task,
  name: string,
  clusters: readonly string[],
  { force, ...ways }: SpokeWays & { readonly force: boolean },
): Promise<ClusterPlan[]> {
  const intents: Intent[] = [];
  for (const before of await foundWorks(task.client, name, clusters)) {
    const cluster = await find(task.client, ManagedCluster, before.metadata.namespace ?? "");
    intents.push({ cluster: cluster ?? forgotten(before), name, before, after: undefined });
  }
  const plans = await planned(task, intents, ways);
  if (!force) return plans;
  return plans.map((plan) => ({ ...plan, objects: plan.objects.map(forced) }));
}

/** A cluster that the hub knows no more: nothing leads to it. */
function forgotten({ metadata }: ManifestWork): ManagedCluster {
  const { group, version, kind } = ManagedCluster;
  return { apiVersion: `${group}/${version}`, kind, metadata: { name: metadata.namespace ?? "" } };
}

function forced(object: PlannedObject): PlannedObject {
  if (object.action !== "delete") return object;
  return { ...object, action: "leave", message: "by force nobody cleans up: it stays on the cluster" };
}

/** So many clusters are asked at once. */
const AT_ONCE = 8;

async function planned(task: Task, intents: readonly Intent[], ways: SpokeWays): Promise<ClusterPlan[]> {
  const spokes = await openSpokes(task.client, ways, systemClock);
  try {
    const plans: ClusterPlan[] = [];
    for (let at = 0; at < intents.length; at += AT_ONCE) {
      plans.push(
        ...(await Promise.all(
          intents.slice(at, at + AT_ONCE).map(async (intent): Promise<ClusterPlan> => {
            const spoke = await spokes.reach(intent.cluster, task.signal);
            return typeof spoke === "string" ? unseen(intent, spoke) : live(task, intent, spoke);
          }),
        )),
      );
    }
    return plans;
  } finally {
    spokes.close();
  }
}

async function live({ client: hub, signal }: Task, intent: Intent, client: Client): Promise<ClusterPlan> {
  const { cluster, name, before, after } = intent;
  const clusterName = cluster.metadata.name;
  const { items: works } = await hub.list(ManifestWork, { namespace: clusterName, signal });
  try {
    const objects = await planWork({
      spoke: connectedCluster({ name: clusterName, client, clock: systemClock, log: silentLog }),
      hub: { server: hub.server, clusterUid: cluster.metadata.uid },
      name,
      before,
      after,
      works,
      clock: systemClock,
      signal,
    });
    return { cluster: clusterName, objects };
  } catch (error) {
    signal.throwIfAborted();
    if (!isKubeError(error) && !isNetworkError(error) && !isTimeout(error)) throw error;
    return unseen(intent, `${client.server} cannot be asked: ${causeOf(error)}`);
  }
}

/** The work as it would be. What it says beside its manifests stays. */
function wishedWork(wish: WorkWish, cluster: string, work: ManifestWork | undefined, clock: Clock): ManifestWork {
  const spec = { ...work?.spec, workload: { manifests: [...wish.manifests] } };
  if (work) {
    const generation = (work.metadata.generation ?? 0) + (equal(manifestsOf(work), wish.manifests) ? 0 : 1);
    return { ...work, metadata: { ...work.metadata, generation }, spec };
  }
  const { group, version, kind } = ManifestWork;
  const metadata = { name: wish.name, namespace: cluster, creationTimestamp: timestamp(clock.now()) };
  return { apiVersion: `${group}/${version}`, kind, metadata, spec };
}

function unseen({ cluster, before, after }: Intent, why: string): ClusterPlan {
  return { cluster: cluster.metadata.name, objects: comparedWorks(before, after), unseen: why };
}

/** As far as the works tell, by manifest in the order of the new ones; what goes comes last. */
export function comparedWorks(
  before: ManifestWork | undefined,
  after: ManifestWork | undefined,
): readonly PlannedObject[] {
  const [old, wished] = [manifestsOf(before), manifestsOf(after)];
  const known = new Map(old.map((object) => [identity(object), object]));
  const wanted = new Set(wished.map(identity));
  const kept = wished.map((object) => {
    const former = known.get(identity(object));
    const { changes, more } = differenceOf(former, object, "");
    const action = former === undefined ? "create" : equal(former, object) ? "leave" : "change";
    return { ...told(object, action, ""), changes, moreChanges: more };
  });
  const gone = old.filter((object) => !wanted.has(identity(object)));
  return [
    ...kept,
    ...gone.map((object) => (staysBehind(before, object) ? told(object, "leave", ORPHAN) : told(object, "delete", ""))),
  ];
}

const ORPHAN = "the work says that it stays (deleteOption)";

/** The report names objects as the delete option does, by their plural. */
function staysBehind(work: ManifestWork | undefined, object: DynamicObject): boolean {
  const option = work?.spec?.deleteOption;
  if (option?.propagationPolicy === "Orphan") return true;
  const { kind, metadata } = object;
  const { group = "" } = idOf(object);
  const reported = (work?.status?.resourceStatus?.manifests ?? []).find(
    ({ resourceMeta: meta }) =>
      meta.kind === kind &&
      (meta.group ?? "") === group &&
      meta.name === metadata.name &&
      (meta.namespace ?? "") === (metadata.namespace ?? ""),
  );
  const { resource = "", namespace = "", name = "" } = reported?.resourceMeta ?? {};
  return resource !== "" && !isOwned(option, { group, resource, namespace, name });
}

function told({ kind, metadata }: DynamicObject, action: PlannedAction, message: string): PlannedObject {
  const { name, namespace } = metadata;
  return { action, kind, ...(namespace && { namespace }), name, message, changes: [], moreChanges: 0 };
}

/** The same for an object in whatever version. */
function identity(object: DynamicObject): string {
  return identityOf(idOf(object));
}
