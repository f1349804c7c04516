/** What a Klusterlet has on the cluster that its agents manage: a namespace, who the agents are there, and their rights. */

import type { DynamicObject } from "#api/meta";
import { OperatorAnnotation, OperatorLabel } from "#api/operator";
import { ClusterRole, ClusterRoleBinding } from "#api/rbac";
import { clusterRights, complete, localRights, namespace, roleRef, serviceAccount, subjectOf } from "../kit/index.ts";
import { Account, AGGREGATE_TO_WORK, ManagedRole } from "./names.ts";
import { accessRules, executionRules, registrationRules, workRules } from "./rights.ts";
import type { KlusterletWish } from "./wish.ts";

/** OpenShift may schedule agents beside the control plane. */
export const MANAGEMENT = { [OperatorAnnotation.management]: "management" };

export function managedObjects(wish: KlusterletWish): DynamicObject[] {
  const { name } = wish;
  const registration = { name: Account.registration(wish), namespace: wish.namespace };
  const work = { name: Account.work(wish), namespace: wish.namespace };
  const access = accessRules(wish.namespace, wish.grantAccess);
  return [
    klusterletNamespace(wish),
    ...[...new Set([registration.name, work.name])].map((account) =>
      serviceAccount({ name: account, namespace: wish.namespace }),
    ),
    ...clusterRights(ManagedRole.registration(name), registrationRules, [registration]),
    ...clusterRights(ManagedRole.access(name), access.everywhere, [registration]),
    ...localRights({ name: ManagedRole.access(name), namespace: wish.namespace }, access.inNamespace, [registration]),
    ...clusterRights(ManagedRole.work(name), workRules, [work]),
    complete(ClusterRole, {
      metadata: { name: ManagedRole.execution(name), labels: { ...AGGREGATE_TO_WORK } },
      rules: executionRules,
    }),
    complete(ClusterRoleBinding, {
      metadata: { name: ManagedRole.execution(name) },
      roleRef: roleRef("ClusterRole", ManagedRole.execution(name)),
      subjects: [subjectOf(work)],
    }),
    // The rules of this one are the cluster's business: it puts them together from all that carry the label.
    complete(ClusterRole, {
      metadata: { name: ManagedRole.aggregate(name) },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { ...AGGREGATE_TO_WORK } }] },
    }),
    complete(ClusterRoleBinding, {
      metadata: { name: ManagedRole.aggregate(name) },
      roleRef: roleRef("ClusterRole", ManagedRole.aggregate(name)),
      subjects: [subjectOf(work)],
    }),
    complete(ClusterRoleBinding, {
      metadata: { name: ManagedRole.executionAdmin(name) },
      roleRef: roleRef("ClusterRole", "admin"),
      subjects: [subjectOf(work)],
    }),
  ];
}

function klusterletNamespace(wish: KlusterletWish): DynamicObject {
  const space = namespace(wish.namespace, MANAGEMENT);
  return { ...space, metadata: { ...space.metadata, labels: { [OperatorLabel.klusterlet]: wish.name } } };
}
