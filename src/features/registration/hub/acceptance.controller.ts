/**
 * Lets a cluster in when an administrator says so, and puts it out again: its namespace and its agent's rights.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, Namespace, ClusterRole, ClusterRoleBinding, RoleBinding
 * Writes  the same but ManagedCluster's spec; of its status the condition HubAcceptedManagedCluster, and its finalizer
 *         `api-resource-cleanup`. The RoleBinding for work of a cluster that goes is left to cluster-resource-cleanup.
 * Twin    ocm:pkg/registration/hub/managedcluster/controller.go
 */
import { ClusterCondition, ClusterFinalizer, ClusterLabel, ManagedCluster } from "#api/cluster";
import { Namespace } from "#api/core";
import { type Condition, type KubeObject, keyOf } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/rbac";
import type { Draft } from "#kube";
import type { Clock } from "#lib/clock";
import { findCondition, isTrue, setCondition } from "#lib/conditions";
import { hasFinalizer, isDeleting, withFinalizer, withoutFinalizer } from "#lib/meta";
import { type Cluster, type Controller, done, forEach, type Outcome } from "#runtime";
import { ensure } from "../ensure.ts";
import { Reason } from "../reasons.ts";
import {
  CLUSTER_OBJECTS,
  clusterRole,
  clusterRoleBinding,
  isReservedName,
  rbacName,
  roleBindings,
} from "./cluster-rbac.ts";

export function acceptanceController({ hub, clock }: { hub: Cluster; clock: Clock }): Controller {
  const labelled = { labelSelector: CLUSTER_OBJECTS };
  const clusters = hub.cache(ManagedCluster);
  const namespaces = hub.cache(Namespace);
  const roles = hub.cache(ClusterRole, labelled);
  const bindings = hub.cache(ClusterRoleBinding, labelled);
  const localBindings = hub.cache(RoleBinding, labelled);

  return {
    name: "cluster-acceptance",
    triggers: [
      clusters.keyedBy((cluster) => cluster.metadata.name),
      namespaces.keyedBy(clusterNameOf),
      roles.keyedBy(clusterNameOf),
      bindings.keyedBy(clusterNameOf),
      localBindings.keyedBy(clusterNameOf),
    ],

    async reconcile(name) {
      const cluster = clusters.get(name);
      const namespace = namespaces.get(name);
      const verdict = verdictOn(cluster, namespace);
      switch (verdict.is) {
        case "waiting":
          return done;
        case "cleaning":
          if (namespace && !isDeleting(namespace)) await grant(name);
          return done;
        case "leaving":
          await withdraw(name);
          if (cluster) await hub.commit(ManagedCluster, cluster, withoutFinalizer(cluster, ClusterFinalizer.rights));
          return done;
        case "blocked":
          break;
        case "denied":
          await ensure(hub, ClusterRole, roles.get(rbacName.cluster(name)), clusterRole(name, false));
          await forEach(boundIn(name), withdrawn);
          break;
        case "accepted":
          if (cluster) return admit(cluster, verdict);
      }
      if (cluster) await hub.commit(ManagedCluster, cluster, judged(cluster, verdict, clock.now()));
      return done;
    },
  };

  /** What holds the cluster back until its rights are gone again comes before they are given. */
  async function admit(cluster: ManagedCluster, verdict: Verdict): Promise<Outcome> {
    const { name } = cluster.metadata;
    const held = await hub.commit(ManagedCluster, cluster, withFinalizer(cluster, ClusterFinalizer.rights));
    const labels = { [ClusterLabel.name]: name };
    await ensure(hub, Namespace, namespaces.get(name), { metadata: { name, labels } });
    await grant(name);
    await hub.commit(ManagedCluster, held, judged(held, verdict, clock.now()));
    return done;
  }

  async function grant(name: string): Promise<void> {
    await ensure(hub, ClusterRole, roles.get(rbacName.cluster(name)), clusterRole(name, true));
    await ensure(hub, ClusterRoleBinding, bindings.get(rbacName.cluster(name)), clusterRoleBinding(name));
    await forEach(roleBindings(name), bind);
  }

  /** One that somebody deleted, or that is left of an earlier cluster of this name, makes way at once. */
  async function bind(wished: Draft<RoleBinding>): Promise<void> {
    const current = localBindings.get(keyOf(wished as RoleBinding));
    const isLeft = current !== undefined && isDeleting(current);
    if (isLeft) await withdrawn(current);
    await ensure(hub, RoleBinding, isLeft ? undefined : current, wished);
  }

  async function withdraw(name: string): Promise<void> {
    if (isReservedName(name)) return; // such a cluster never had rights; its role's name is a common role's
    const role = roles.get(rbacName.cluster(name));
    const binding = bindings.get(rbacName.cluster(name));
    if (binding) await hub.remove(ClusterRoleBinding, binding);
    if (role) await hub.remove(ClusterRole, role);
    const others = boundIn(name).filter(({ metadata }) => metadata.name !== rbacName.work(name));
    await forEach(others, withdrawn);
  }

  function boundIn(name: string): RoleBinding[] {
    return roleBindings(name).flatMap(({ metadata }) => localBindings.get(`${name}/${metadata.name}`) ?? []);
  }

  /** A binding gives rights for as long as it exists, deleted or not; so nothing may hold it. */
  async function withdrawn(binding: RoleBinding): Promise<void> {
    const released = await hub.commit(RoleBinding, binding, withoutFinalizer(binding, ClusterFinalizer.workBinding));
    await hub.remove(RoleBinding, released);
  }
}

type Verdict =
  | { is: "waiting" | "cleaning" | "leaving" }
  | ({ is: "accepted" | "blocked" | "denied" } & Pick<Condition, "status" | "reason" | "message">);

/**
 * What is to become of a cluster. One that was never let in is left as it is, and one that goes keeps its rights as long
 * as its add-ons and works do, because its agent has to clean up after them.
 */
export function verdictOn(cluster: ManagedCluster | undefined, namespace: Namespace | undefined): Verdict {
  if (!cluster) return { is: "leaving" };
  if (isDeleting(cluster)) return { is: mayStillClean(cluster) ? "cleaning" : "leaving" };
  const { name } = cluster.metadata;

  if (!cluster.spec?.hubAcceptsClient) {
    // Who changes their mind while rights are being given is too early for the condition, but not for the finalizer.
    const wasJudged = findCondition(cluster.status?.conditions, ClusterCondition.HubAccepted) !== undefined;
    if (!wasJudged && !hasFinalizer(cluster, ClusterFinalizer.rights)) return { is: "waiting" };
    return { is: "denied", status: "False", reason: Reason.denied, message: "Denied by hub cluster admin" };
  }
  if (isReservedName(name)) {
    const message = `A cluster cannot be called ${name}: its agent would share the rights of others. Join it under another name.`;
    return { is: "blocked", status: "False", reason: Reason.acceptFailed, message };
  }
  if (namespace && isDeleting(namespace)) {
    const message = `Namespace ${name} is being deleted. The cluster is accepted when it is gone.`;
    return { is: "blocked", status: "False", reason: Reason.acceptFailed, message };
  }
  return { is: "accepted", status: "True", reason: Reason.accepted, message: "Accepted by hub cluster admin" };
}

function mayStillClean(cluster: ManagedCluster): boolean {
  const wasLetIn = isTrue(cluster.status?.conditions, ClusterCondition.HubAccepted) && cluster.spec?.hubAcceptsClient;
  return Boolean(wasLetIn) && hasFinalizer(cluster, ClusterFinalizer.resources);
}

function judged(cluster: ManagedCluster, verdict: Verdict, now: Date): ManagedCluster {
  if (!("status" in verdict)) return cluster;
  const { status, reason, message } = verdict;
  const type = ClusterCondition.HubAccepted;
  const conditions = setCondition(cluster.status?.conditions ?? [], { type, status, reason, message }, now);
  return { ...cluster, status: { ...cluster.status, conditions } };
}

/** Only what a cluster's label names; the common roles carry an empty one. */
function clusterNameOf(object: KubeObject): string | undefined {
  return object.metadata.labels?.[ClusterLabel.name] || undefined;
}
