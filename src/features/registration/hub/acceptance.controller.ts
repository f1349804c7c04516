/**
 * Lets a cluster in when an administrator says so, and puts it out again: its namespace and its agent's rights.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, Namespace, ClusterRole, ClusterRoleBinding, RoleBinding
 * Writes  the same but ManagedCluster's spec; of its status the condition HubAcceptedManagedCluster
 * Twin    ocm:pkg/registration/hub/managedcluster/controller.go
 */
import { ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { Namespace } from "#api/core";
import type { Condition, KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/rbac";
import type { Clock } from "#lib/clock";
import { findCondition, setCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done, forEach } from "#runtime";
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
      const verdict = verdictOn(cluster, namespaces.get(name));
      switch (verdict.is) {
        case "waiting":
          return done;
        case "leaving":
          await withdraw(name);
          return done;
        case "blocked":
          break;
        case "denied":
          await ensure(hub, ClusterRole, roles.get(rbacName.cluster(name)), clusterRole(name, false));
          await withdrawFromNamespace(name);
          break;
        case "accepted":
          await admit(name);
      }
      if (cluster) await hub.commit(ManagedCluster, cluster, judged(cluster, verdict, clock.now()));
      return done;
    },
  };

  async function admit(name: string): Promise<void> {
    const labels = { [ClusterLabel.name]: name };
    await ensure(hub, Namespace, namespaces.get(name), { metadata: { name, labels } });
    await ensure(hub, ClusterRole, roles.get(rbacName.cluster(name)), clusterRole(name, true));
    await ensure(hub, ClusterRoleBinding, bindings.get(rbacName.cluster(name)), clusterRoleBinding(name));
    await forEach(roleBindings(name), (wished) =>
      ensure(hub, RoleBinding, localBindings.get(`${name}/${wished.metadata.name}`), wished),
    );
  }

  async function withdraw(name: string): Promise<void> {
    if (isReservedName(name)) return; // such a cluster never had rights; its role's name is a common role's
    const role = roles.get(rbacName.cluster(name));
    const binding = bindings.get(rbacName.cluster(name));
    if (binding) await hub.remove(ClusterRoleBinding, binding);
    if (role) await hub.remove(ClusterRole, role);
    await withdrawFromNamespace(name);
  }

  async function withdrawFromNamespace(name: string): Promise<void> {
    const ours = roleBindings(name).map(({ metadata }) => localBindings.get(`${name}/${metadata.name}`));
    await forEach(ours, async (binding) => {
      if (binding) await hub.remove(RoleBinding, binding);
    });
  }
}

type Verdict =
  | { is: "waiting" | "leaving" }
  | ({ is: "accepted" | "blocked" | "denied" } & Pick<Condition, "status" | "reason" | "message">);

/** What is to become of a cluster. One that was never let in is left as it is. */
export function verdictOn(cluster: ManagedCluster | undefined, namespace: Namespace | undefined): Verdict {
  if (!cluster || isDeleting(cluster)) return { is: "leaving" };
  const { name } = cluster.metadata;

  if (!cluster.spec?.hubAcceptsClient) {
    if (!findCondition(cluster.status?.conditions, ClusterCondition.HubAccepted)) return { is: "waiting" };
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
