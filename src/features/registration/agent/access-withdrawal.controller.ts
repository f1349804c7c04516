/**
 * Takes back what the agent granted, now or in an earlier run, when it grants nothing any more or the hub has put the
 * cluster out: without its service account every token is worthless, wherever a copy of it lies. The hub clears its
 * own side.
 *
 * Key     the service account's name: there is one
 * Reads   ManagedCluster (hub); ServiceAccount, ClusterRoleBinding (spoke), which are not followed because most agents
 *         never make them
 * Writes  deletes both (spoke)
 */
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { ServiceAccount } from "#api/core";
import type { Key, Kind, KubeObject } from "#api/meta";
import { ClusterRoleBinding } from "#api/rbac";
import { isForbidden, isNotFound } from "#kube";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { atStart, type Cluster, type Controller, done } from "#runtime";
import { ACCESS_ACCOUNT, type AccessAccount, accessBindingName, isAccountOf } from "./access-account.ts";

export interface AccessWithdrawalOptions extends AccessAccount {
  hub: Cluster;
  spoke: Cluster;
  /** Whether the agent grants access for as long as the hub lets the cluster in. */
  isGranted: boolean;
}

export function accessWithdrawalController(options: AccessWithdrawalOptions): Controller {
  const { hub, clusterName, isGranted } = options;
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });
  let isWithdrawn = false;

  return {
    name: "cluster-access-withdrawal",
    triggers: [clusters.keyedBy(() => ACCESS_ACCOUNT), atStart(ACCESS_ACCOUNT)],

    async reconcile() {
      const cluster = clusters.get(clusterName);
      const accepted = findCondition(cluster?.status?.conditions, ClusterCondition.HubAccepted)?.status;
      const isPutOut = !cluster || isDeleting(cluster) || accepted === "False";
      const mayStay = isGranted && !isPutOut;
      if (!mayStay && !isWithdrawn) await withdrawAccess(options);
      isWithdrawn = !mayStay;
      return done;
    },
  };
}

/** Removes what the agent made to grant access, as far as there is any. */
export async function withdrawAccess({
  spoke,
  clusterName,
  namespace,
}: Pick<AccessWithdrawalOptions, "spoke" | "clusterName" | "namespace">): Promise<void> {
  await withdraw(ServiceAccount, `${namespace}/${ACCESS_ACCOUNT}`);
  await withdraw(ClusterRoleBinding, accessBindingName(namespace));

  /** An agent that may not even look was never able to grant anything. */
  async function withdraw<T extends KubeObject>(kind: Kind<T>, key: Key<T>): Promise<void> {
    try {
      const object = await spoke.client.get(kind, key);
      if (isAccountOf(clusterName, object)) await spoke.remove(kind, object);
    } catch (error) {
      if (!isNotFound(error) && !isForbidden(error)) throw error;
    }
  }
}
