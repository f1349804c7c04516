/**
 * Lets the agents of a cluster that was given up finish cleaning: as long as there is a ledger they may read it and cross
 * out what they have done, and when nothing is left in it, it goes, and their rights with it.
 *
 * Key     ManagedCluster name, which is that of its namespace
 * Reads   ManagedCluster, Namespace, ConfigMap (the ledger), Role, RoleBinding
 * Writes  Role, RoleBinding; deletes the ledger
 */
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace } from "#api/core";
import { type KubeObject, keyOf } from "#api/meta";
import { Role, RoleBinding } from "#api/rbac";
import { DETACH_LEDGER } from "#api/work";
import { isNotFound } from "#kube";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done } from "#runtime";
import { ensure } from "../../ensure.ts";
import { isEmpty, LEDGER_ROLE, ledgerRole, ledgerRoleBinding, wasDenied } from "./ledger.ts";

export function ledgerController({ hub }: { hub: Cluster }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const namespaces = hub.cache(Namespace);
  // By name and not by label: agents may write their ledger, and must not be able to hide it from us.
  const ledgers = hub.cache(ConfigMap, { fieldSelector: `metadata.name=${DETACH_LEDGER}` });
  const roles = hub.cache(Role, { fieldSelector: `metadata.name=${LEDGER_ROLE}` });
  const bindings = hub.cache(RoleBinding, { fieldSelector: `metadata.name=${LEDGER_ROLE}` });

  return {
    name: "cluster-detach-ledger",
    triggers: [
      clusters.keyedBy(({ metadata }) => metadata.name),
      ledgers.keyedBy(namespaceOf),
      roles.keyedBy(namespaceOf),
      bindings.keyedBy(namespaceOf),
    ],
    reads: [namespaces],

    async reconcile(name) {
      const namespace = namespaces.get(name);
      if (!namespace || isDeleting(namespace)) return done; // what lies in it goes with it
      const ledger = ledgers.get(`${name}/${DETACH_LEDGER}`);
      if (ledger && !isDeleting(ledger) && !isEmpty(ledger) && mayWorkOff(clusters.get(name), ledger)) {
        await ensure(hub, Role, roles.get(`${name}/${LEDGER_ROLE}`), ledgerRole(name));
        await ensure(hub, RoleBinding, bindings.get(`${name}/${LEDGER_ROLE}`), ledgerRoleBinding(name));
        return done;
      }
      await withdraw(name);
      if (ledger && isEmpty(ledger)) await close(ledger);
      return done;
    },
  };

  async function withdraw(name: string): Promise<void> {
    const binding = bindings.get(`${name}/${LEDGER_ROLE}`);
    const role = roles.get(`${name}/${LEDGER_ROLE}`);
    if (binding) await hub.remove(RoleBinding, binding);
    if (role) await hub.remove(Role, role);
  }

  /** Only in the state in which it was seen to be empty: something may just have been written down. */
  async function close(ledger: ConfigMap): Promise<void> {
    if (isDeleting(ledger)) return;
    const { uid, resourceVersion } = ledger.metadata;
    const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
    try {
      await hub.client.delete(ConfigMap, keyOf(ledger), { preconditions });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** A cluster that was denied gets no rights back by being removed; one that is let in again is as good as any. */
function mayWorkOff(cluster: ManagedCluster | undefined, ledger: ConfigMap): boolean {
  if (cluster?.spec?.hubAcceptsClient) return true;
  const isJudged = findCondition(cluster?.status?.conditions, ClusterCondition.HubAccepted) !== undefined;
  return !isJudged && !wasDenied(ledger);
}

function namespaceOf({ metadata }: KubeObject): string | undefined {
  return metadata.namespace;
}
