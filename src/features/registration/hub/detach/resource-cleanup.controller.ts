/**
 * Takes a cluster's add-ons and works away when the cluster goes, in their order and while its agent can still clean up
 * after them. A cluster that is lost is not waited for longer than a bound; what it leaves uncleaned goes into a ledger.
 *
 * Key     ManagedCluster name, which is that of its namespace
 * Reads   ManagedCluster, Namespace, RoleBinding, ConfigMap (the ledger); what lies in the namespaces of clusters that go
 * Writes  ManagedCluster finalizer `resource-cleanup`, condition Deleting; deletes what lies in the namespace, and the
 *         RoleBinding for work when no work is left; the ledger
 * Twin    ocm:pkg/registration/hub/gc/*.go
 */
import { ClusterFinalizer, ClusterLabel, ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace } from "#api/core";
import { keyOf } from "#api/meta";
import { RoleBinding } from "#api/rbac";
import { DETACH_LEDGER, ManifestWork } from "#api/work";
import { isNotFound, isUnknownKind } from "#kube";
import type { Clock } from "#lib/clock";
import { type ConditionClaim, setCondition } from "#lib/conditions";
import { hasFinalizer, isDeleting, withFinalizer, withoutFinalizer } from "#lib/meta";
import { again, type Cluster, type Controller, done, forEach, type Outcome, type ReconcileContext } from "#runtime";
import { Reason } from "../../reasons.ts";
import { CLUSTER_OBJECTS, rbacName } from "../cluster-rbac.ts";
import { cleanedKinds, isWork } from "./cleaned-kinds.ts";
import { leavesTraces, withEntries } from "./ledger.ts";
import { lostSince, type Plan, planFor, remainingCondition } from "./plan.ts";
import { createRemains, LOOK_AGAIN, type Remaining } from "./remains.ts";

export interface ResourceCleanupOptions {
  readonly hub: Cluster;
  readonly clock: Clock;
  /** Whether add-ons and works are removed, and clusters held back until they are gone: the gate ResourceCleanup. */
  readonly isOn: boolean;
  /** `group/version/resource` in the order in which they go. */
  readonly resources?: readonly string[];
  /** Milliseconds that a lost cluster holds its end up. */
  readonly patience: number;
}

export function resourceCleanupController(options: ResourceCleanupOptions): Controller {
  const { hub, clock, isOn, patience } = options;
  const clusters = hub.cache(ManagedCluster);
  const namespaces = hub.cache(Namespace);
  const bindings = hub.cache(RoleBinding, { labelSelector: CLUSTER_OBJECTS });
  const ledgers = hub.cache(ConfigMap, { fieldSelector: `metadata.name=${DETACH_LEDGER}` });
  const kinds = cleanedKinds(options.resources);
  const works = kinds.some(isWork) ? kinds : [...kinds, ...cleanedKinds([workResource()])];
  const remains = createRemains(hub, clock, works);

  return {
    name: "cluster-resource-cleanup",
    // A cluster with a thousand works is not to keep others from going.
    concurrency: 4,
    triggers: [
      clusters.keyedBy(({ metadata }) => metadata.name),
      bindings.keyedBy(({ metadata }) => {
        const cluster = metadata.labels?.[ClusterLabel.name] ?? "";
        return metadata.name === rbacName.work(cluster) ? cluster : undefined;
      }),
      remains.trigger,
    ],
    reads: [namespaces, ledgers],

    async reconcile(name, context) {
      const cluster = clusters.get(name);
      if (!cluster) return afterwards(name, context, undefined);
      const isWished = isOn && !isDeleting(cluster);
      const hasOurs = hasFinalizer(cluster, ClusterFinalizer.resources);
      if (isWished || (hasOurs && !isOn)) {
        const after = isWished
          ? withFinalizer(cluster, ClusterFinalizer.resources)
          : withoutFinalizer(cluster, ClusterFinalizer.resources);
        await hub.commit(ManagedCluster, cluster, after);
      }
      if (!isDeleting(cluster)) return isGoing(name) ? afterwards(name, context, cluster) : done;
      return hasOurs && isOn ? clean(cluster, context) : afterwards(name, context, cluster);
    },
  };

  /** Whether somebody is taking the namespace away from a cluster that stays. */
  function isGoing(name: string): boolean {
    const namespace = namespaces.get(name);
    return namespace !== undefined && isDeleting(namespace);
  }

  /** While the cluster is there and its agent keeps its rights. */
  async function clean(cluster: ManagedCluster, context: ReconcileContext): Promise<Outcome> {
    const { name } = cluster.metadata;
    const since = lostSince(cluster);
    const givenUp = since === undefined ? undefined : since + patience;
    try {
      const remaining = (await remains.in(name, context.signal)).filter(({ kind }) => kinds.includes(kind));
      if (!(await isPast(name, cluster, context.signal))) {
        remains.forget(name);
        return done;
      }
      const now = clock.now();
      const plan = planFor({ remaining, mayRemove: true, givenUpAt: () => givenUp, now });
      const isDenied = !cluster.spec?.hubAcceptsClient;
      await carryOut(name, plan, { ...context, isDenied });
      const isOver = remaining.length === 0;
      const claim = remainingCondition(
        remaining,
        givenUp !== undefined && givenUp > now.getTime() ? givenUp : undefined,
      );
      const said = saying(cluster, claim, now);
      await hub.commit(ManagedCluster, cluster, isOver ? withoutFinalizer(said, ClusterFinalizer.resources) : said);
      return isOver ? done : lookAgain(plan, now);
    } catch (error) {
      if (!context.signal.aborted) await tell(cluster, error);
      throw error;
    }
  }

  /** When the cluster does not hold back its end any more, or is gone without one. */
  async function afterwards(
    name: string,
    context: ReconcileContext,
    cluster: ManagedCluster | undefined,
  ): Promise<Outcome> {
    // The binding is what shows that a cluster was here: where there is none, things may lie for one that is to come.
    const binding = bindings.get(`${name}/${rbacName.work(name)}`);
    const remaining = binding ? await remains.in(name, context.signal) : [];
    if (!binding || !(await isPast(name, cluster, context.signal))) {
      remains.forget(name);
      return done;
    }
    const now = clock.now();
    const givenUpAt = ({ metadata }: Remaining) =>
      metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp) + patience;
    // A cluster that stays keeps what it has; whoever takes its namespace away has to wait for its agent.
    const stays = cluster !== undefined && !isDeleting(cluster);
    const plan = planFor({
      remaining: stays ? [] : remaining.filter(({ kind }) => kinds.includes(kind)),
      mayRemove: isOn,
      givenUpAt,
      now,
    });
    await carryOut(name, plan, { ...context, isDenied: cluster !== undefined && !cluster.spec?.hubAcceptsClient });
    if (!remaining.some(({ kind }) => isWork(kind))) await letGo(binding);
    if (remaining.length > 0) return lookAgain(plan, now);
    remains.forget(name);
    return done;
  }

  /**
   * Whether there is no other cluster of the name than this one, or none at all. Asked of the server, because a copy may
   * lag, and after what remains was read: what was there then was not put there for one that has come since. A hub that
   * knows no clusters says nothing.
   */
  async function isPast(name: string, cluster: ManagedCluster | undefined, signal: AbortSignal): Promise<boolean> {
    try {
      const { metadata } = await hub.client.get(ManagedCluster, name, { signal });
      return metadata.uid === cluster?.metadata.uid;
    } catch (error) {
      if (isNotFound(error) && !isUnknownKind(error)) return true;
      if (isUnknownKind(error)) return false;
      throw error;
    }
  }

  async function letGo(binding: RoleBinding): Promise<void> {
    await hub.remove(RoleBinding, binding);
    if (!hasFinalizer(binding, ClusterFinalizer.workBinding)) return;
    const { uid } = binding.metadata;
    const finalizers = withoutFinalizer(binding, ClusterFinalizer.workBinding).metadata.finalizers ?? null;
    await released(RoleBinding, keyOf(binding), { ...(uid && { uid }), finalizers });
  }

  async function carryOut(
    name: string,
    { remove, release }: Plan,
    { signal, log, isDenied }: ReconcileContext & { isDenied: boolean },
  ): Promise<void> {
    if (release.length > 0) {
      await writeDown(name, release.filter(leavesTraces), { log, isDenied });
      const named = release.slice(0, MOST_NAMED).map(({ kind, metadata }) => `${kind.plural}/${metadata.name}`);
      log.warn("gives up on what is left of a cluster that does not answer", {
        cluster: name,
        count: release.length,
        objects: named.join(","),
      });
    }
    await forEach(remove, async ({ kind, metadata }) => {
      const preconditions = metadata.uid ? { uid: metadata.uid } : {};
      try {
        await hub.client.delete(kind, keyOf({ apiVersion: "", kind: "", metadata }), { preconditions, signal });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    });
    await forEach(release, async ({ kind, metadata }) => {
      const { uid } = metadata;
      await released(kind, keyOf({ apiVersion: "", kind: "", metadata }), { ...(uid && { uid }), finalizers: null });
    });
  }

  /** Before anything is forgotten. A namespace that goes holds nothing, and there it is only said. */
  async function writeDown(
    name: string,
    works: readonly Remaining[],
    { log, isDenied }: Pick<ReconcileContext, "log"> & { isDenied: boolean },
  ): Promise<void> {
    if (works.length === 0) return;
    const namespace = namespaces.get(name);
    if (!namespace || isDeleting(namespace)) {
      log.warn("its namespace goes too, so nobody will know what the cluster still has to clean up", { cluster: name });
      return;
    }
    const ledger = ledgers.get(`${name}/${DETACH_LEDGER}`);
    const { ledger: after, omitted } = withEntries(name, ledger, works, { now: clock.now(), isDenied });
    await hub.commit(ConfigMap, ledger, after);
    if (omitted > 0) log.warn("the ledger of a cluster is full; some works are not in it", { cluster: name, omitted });
  }

  async function released(
    kind: Parameters<typeof hub.client.patch>[0],
    key: string,
    metadata: Record<string, unknown>,
  ): Promise<void> {
    try {
      await hub.client.patch(kind, key, { metadata }, { type: "merge" });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async function tell(cluster: ManagedCluster, error: unknown): Promise<void> {
    const [first] = error instanceof AggregateError ? error.errors : [error];
    const why = first instanceof Error ? first.message : String(first);
    const message = `What is left of the cluster could not be removed: ${why}. It is tried again.`;
    const claim = { type: "Deleting", status: "False", reason: Reason.deletingError, message } as const;
    // The error itself is what is reported; that it could not be written down as well would only hide it.
    await hub.commit(ManagedCluster, cluster, saying(cluster, claim, clock.now())).catch(() => {});
  }
}

/** Enough to know what to look for. */
const MOST_NAMED = 10;

function workResource(): string {
  return `${ManifestWork.group}/${ManifestWork.version}/${ManifestWork.plural}`;
}

function saying(cluster: ManagedCluster, claim: ConditionClaim, now: Date): ManagedCluster {
  const conditions = setCondition(cluster.status?.conditions ?? [], claim, now);
  return { ...cluster, status: { ...cluster.status, conditions } };
}

function lookAgain({ next = Number.POSITIVE_INFINITY }: Plan, now: Date): Outcome {
  return again(Math.min(Math.max(next - now.getTime(), 0), LOOK_AGAIN));
}
