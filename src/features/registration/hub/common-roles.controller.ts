/**
 * Keeps the ClusterRoles that all clusters' bindings name, as long as there is a cluster, or one that is gone still cleans.
 *
 * Key     "common": there is one thing to look after
 * Reads   ManagedCluster, ClusterRole, RoleBinding
 * Writes  ClusterRole
 * Twin    ocm:pkg/registration/hub/managedcluster/controller.go
 */
import { ManagedCluster } from "#api/cluster";
import { ClusterRole, RoleBinding } from "#api/rbac";
import { type Cluster, type Controller, done, forEach, type Predicate } from "#runtime";
import { ensure } from "../ensure.ts";
import { CLUSTER_OBJECTS, commonRoles } from "./cluster-rbac.ts";

const KEY = "common";
/** What a role is bound to cannot be changed, and what else changes here is nobody's need of it. */
const comesOrGoes: Predicate = (before, after) => !before || !after;

export function commonRolesController({ hub }: { hub: Cluster }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const roles = hub.cache(ClusterRole, { labelSelector: CLUSTER_OBJECTS });
  const bindings = hub.cache(RoleBinding, { labelSelector: CLUSTER_OBJECTS });
  const wished = commonRoles();
  const names = new Set(wished.map(({ metadata }) => metadata.name));
  const isUsed = ({ roleRef }: RoleBinding) => names.has(roleRef.name);

  return {
    name: "cluster-common-roles",
    triggers: [
      clusters.keyedBy(() => KEY, { when: comesOrGoes }),
      roles.keyedBy((role) => (names.has(role.metadata.name) ? KEY : undefined)),
      bindings.keyedBy((binding) => (isUsed(binding) ? KEY : undefined), { when: comesOrGoes }),
    ],

    async reconcile() {
      const isNeeded = clusters.list().length > 0 || bindings.list().some(isUsed);
      await forEach(wished, async (role) => {
        const current = roles.get(role.metadata.name ?? "");
        if (isNeeded) await ensure(hub, ClusterRole, current, role);
        else if (current) await hub.remove(ClusterRole, current);
      });
      return done;
    },
  };
}
