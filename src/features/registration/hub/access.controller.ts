/**
 * Makes room on the hub for the token of a cluster whose agent grants access, and clears it away when access ends.
 *
 * Key     ManagedCluster name, which is that of its namespace
 * Reads   ManagedCluster, Namespace, Secret, Role, RoleBinding
 * Writes  one Secret, which the agent fills, and the Role and RoleBinding by which the agent may use that Secret
 *         and no other
 */
import { CLUSTER_ACCESS, ClusterAnnotation, ManagedCluster } from "#api/cluster";
import { Namespace, Secret } from "#api/core";
import type { KubeObject } from "#api/meta";
import { Role, RoleBinding } from "#api/rbac";
import { isDeleting } from "#lib/meta";
import { type Cluster, type Controller, done } from "#runtime";
import { ensure } from "../ensure.ts";
import { verdictOn } from "./acceptance.controller.ts";
import { ACCESS_ROLE, accessRole, accessRoleBinding, accessSecret } from "./access-objects.ts";

export function accessController({ hub }: { hub: Cluster }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const namespaces = hub.cache(Namespace);
  // By name and not by label: the agent may write its Secret, and must not be able to hide it from us.
  const secrets = hub.cache(Secret, { fieldSelector: `metadata.name=${CLUSTER_ACCESS.secret}` });
  const roles = hub.cache(Role, { fieldSelector: `metadata.name=${ACCESS_ROLE}` });
  const bindings = hub.cache(RoleBinding, { fieldSelector: `metadata.name=${ACCESS_ROLE}` });

  return {
    name: "cluster-access",
    triggers: [
      clusters.keyedBy(({ metadata }) => metadata.name),
      namespaces.keyedBy(({ metadata }) => (clusters.get(metadata.name) ? metadata.name : undefined)),
      secrets.keyedBy(namespaceOf),
      roles.keyedBy(namespaceOf),
      bindings.keyedBy(namespaceOf),
    ],

    async reconcile(name) {
      const namespace = namespaces.get(name);
      if (!namespace || isDeleting(namespace)) return done; // what lies in it goes with it
      await (isAccessGranted(clusters.get(name), namespace) ? makeRoom(name) : clear(name));
      return done;
    },
  };

  /** All at once: the agent comes as soon as it is accepted, and who is refused waits before trying again. */
  async function makeRoom(cluster: string): Promise<void> {
    await Promise.all([
      ensure(hub, Role, roles.get(`${cluster}/${ACCESS_ROLE}`), accessRole(cluster)),
      ensure(hub, RoleBinding, bindings.get(`${cluster}/${ACCESS_ROLE}`), accessRoleBinding(cluster)),
      ensure(hub, Secret, secrets.get(`${cluster}/${CLUSTER_ACCESS.secret}`), accessSecret(cluster)),
    ]);
  }

  /** Rights go first, so that nobody fills what is about to be removed. */
  async function clear(cluster: string): Promise<void> {
    const binding = bindings.get(`${cluster}/${ACCESS_ROLE}`);
    const role = roles.get(`${cluster}/${ACCESS_ROLE}`);
    const secret = secrets.get(`${cluster}/${CLUSTER_ACCESS.secret}`);
    if (binding) await hub.remove(RoleBinding, binding);
    if (role) await hub.remove(Role, role);
    if (secret) await hub.remove(Secret, secret);
  }
}

/** Whether the hub lets the cluster in and its agent says that it keeps a token here. */
function isAccessGranted(cluster: ManagedCluster | undefined, namespace: Namespace): boolean {
  const isSaid = Boolean(cluster?.metadata.annotations?.[ClusterAnnotation.grantedAccess]);
  return isSaid && verdictOn(cluster, namespace).is === "accepted";
}

function namespaceOf({ metadata }: KubeObject): string | undefined {
  return metadata.namespace;
}
