/** Taking the hub away from a cluster: the ClusterManager, the operator, and all by which clusters asked to join. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { ConfigMap } from "#api/core";
import { ClusterManager, clusterManagerCrd, OPERATOR_NAMESPACE, OperatorCondition, OperatorName } from "#api/operator";
import { ClusterRole, Role, RoleBinding } from "#api/rbac";
import { clusterManagerInstallation } from "#features/operator/cluster-manager";
import type { Client } from "#kube";
import { isTrue } from "#lib/conditions";
import { UserError } from "../user-error.ts";
import { find, listed, remove } from "./changes.ts";
import { AUTHORITY_READERS, CLUSTER_INFO, isOurClusterInfo } from "./cluster-info.ts";
import { identityObjects, removeIdentity } from "./hub-tokens.ts";
import {
  holdsOf,
  isAbandoned,
  type OperatorsShare,
  type Removal,
  removeByOperator,
  removeDefinition,
  removeInstalled,
  removeOperatorNamespace,
} from "./removal.ts";
import type { Change, Task } from "./task.ts";

export interface Cleaning {
  /** The ClusterManager. */
  readonly name: string;
  readonly purgeOperator: boolean;
  /** Also while clusters are joined. */
  readonly force: boolean;
}

const OPERATORS_SHARE: OperatorsShare<ClusterManager> = {
  deployment: `${OPERATOR_NAMESPACE}/${OperatorName.clusterManager}`,
  force: false,
  mend: "bring it back with `capstan init --wait`, then clean again",
  holds: (object) => holdsOf(object, OperatorCondition.Applied),
};

/** Doing it again finishes what was interrupted. */
export async function cleanHub(task: Task, { name, purgeOperator, force }: Cleaning): Promise<Removal> {
  const { client } = task;
  await assertHub(client);
  if (!force) await refuseJoined(client);
  const changes: Change[] = [];
  const remarks: string[] = [];
  const add = (removal: Removal) => {
    changes.push(...removal.changes);
    remarks.push(...removal.remarks);
  };
  const only = (made: readonly Change[]) => add({ changes: made, remarks: [] });
  const manager = await find(client, ClusterManager, name);
  // Before anything is gone, because without the operator the rest would have to wait for ever.
  if (manager) await isAbandoned(task, ClusterManager, manager, OPERATORS_SHARE);
  only(await removeIdentity(task));
  const { change } = manager ? await removeByOperator(task, ClusterManager, manager, OPERATORS_SHARE) : {};
  only(change ? [change] : []);
  if ((await listed(client, ClusterManager)).some(({ metadata }) => metadata.name !== name)) {
    return { changes, remarks: [...remarks, "The operator stays, because there is another ClusterManager."] };
  }
  if (!purgeOperator) return { changes, remarks };
  const installed = clusterManagerInstallation({ image: "" });
  only(await removeInstalled(task, installed));
  only(await removeDefinition(task, clusterManagerCrd));
  only(await removeOwnClusterInfo(task));
  add(await removeOperatorNamespace(task, [...installed, ...identityObjects(false)]));
  return { changes, remarks };
}

async function assertHub(client: Client): Promise<void> {
  const [definition, role] = await Promise.all([
    find(client, CustomResourceDefinition, clusterManagerCrd.metadata.name),
    find(client, ClusterRole, OperatorName.clusterManager),
  ]);
  if (definition || role) return;
  throw new UserError(
    `${client.server} is no hub: it has no ClusterManager, or was cleaned already; choose the hub with --context or --kubeconfig`,
  );
}

/** A cluster that still works with the hub would be left with agents that nobody answers. */
async function refuseJoined(client: Client): Promise<void> {
  const joined = (await listed(client, ManagedCluster))
    .filter(({ status }) => isTrue(status?.conditions, ClusterCondition.Available))
    .map(({ metadata }) => metadata.name)
    .sort();
  if (joined.length === 0) return;
  const shown = joined.slice(0, 3).join(", ") + (joined.length > 3 ? ` and ${joined.length - 3} more` : "");
  const [first = ""] = joined;
  throw new UserError(
    `${shown} ${joined.length === 1 ? "is" : "are"} still joined to ${client.server}; take each out on its own side with \`capstan unjoin --cluster-name ${first}\`, forget those that are gone with \`kubectl delete managedcluster ${first}\`, or leave their agents behind with --force`,
  );
}

async function removeOwnClusterInfo(task: Task): Promise<Change[]> {
  const info = await find(task.client, ConfigMap, CLUSTER_INFO);
  const readers = `kube-public/${AUTHORITY_READERS}`;
  const changes = [
    info && isOurClusterInfo(info) ? await remove(task, ConfigMap, CLUSTER_INFO) : undefined,
    await remove(task, RoleBinding, readers),
    await remove(task, Role, readers),
  ];
  return changes.filter((change) => change !== undefined);
}
