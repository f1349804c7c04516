/** What an administrator installs on a hub so that clusters can ask to join. */

import { clusterPropertyCrd } from "#api/about";
import { addOnDeploymentConfigCrd, addOnTemplateCrd } from "#api/addon";
import type { CustomResourceDefinition } from "#api/apiextensions";
import {
  addOnPlacementScoreCrd,
  CLUSTER_GROUP,
  clusterClaimCrd,
  managedClusterCrd,
  managedClusterSetBindingCrd,
  managedClusterSetCrd,
  placementCrd,
  placementDecisionCrd,
} from "#api/cluster";
import { Namespace, ServiceAccount } from "#api/core";
import { clusterProfileCrd, profileDecisionCrd } from "#api/inventory";
import { apiVersionOf, type Kind, type KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { manifestWorkCrd, manifestWorkReplicaSetCrd } from "#api/work";

/** Names of the bootstrap identity; `clusteradm` looks for the same. */
export const Bootstrap = {
  namespace: "open-cluster-management",
  serviceAccount: "agent-registration-bootstrap",
  user: "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
  clusterRole: "open-cluster-management:bootstrap",
  clusterRoleBinding: "open-cluster-management:bootstrap:agent-registration",
} as const;

/** The kinds that a hub serves for registration and inventory. */
export const hubCrds: readonly CustomResourceDefinition[] = [
  managedClusterCrd,
  managedClusterSetCrd,
  managedClusterSetBindingCrd,
  clusterProfileCrd,
];

/**
 * Kinds that agents and tools look for on a hub; nothing in registration needs them. Those of add-ons whose versions differ
 * are not among them: who puts them on a hub has to convert between them, which an operator sees to.
 */
export const lookedForCrds: readonly CustomResourceDefinition[] = [
  manifestWorkCrd,
  manifestWorkReplicaSetCrd,
  placementCrd,
  placementDecisionCrd,
  addOnPlacementScoreCrd,
  addOnDeploymentConfigCrd,
  addOnTemplateCrd,
  profileDecisionCrd,
];

/** The kinds by which a spoke tells about itself. */
export const spokeCrds: readonly CustomResourceDefinition[] = [clusterClaimCrd, clusterPropertyCrd];

/** The service account whose token lets a cluster ask to join, and no more than ask; in the order to create them. */
export function bootstrapObjects(): KubeObject[] {
  return [
    complete(Namespace, { metadata: { name: Bootstrap.namespace } }),
    complete(ServiceAccount, { metadata: { name: Bootstrap.serviceAccount, namespace: Bootstrap.namespace } }),
    complete(ClusterRole, {
      metadata: { name: Bootstrap.clusterRole },
      rules: [
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
        {
          apiGroups: ["certificates.k8s.io"],
          resources: ["certificatesigningrequests"],
          verbs: ["create", "get", "list", "watch"],
        },
        { apiGroups: [CLUSTER_GROUP], resources: ["managedclusters"], verbs: ["get", "create", "list", "watch"] },
        // A new cluster falls into the default set, and its creator is asked for the right to join it.
        { apiGroups: [CLUSTER_GROUP], resources: ["managedclustersets/join"], verbs: ["create"] },
      ],
    }),
    complete(ClusterRoleBinding, {
      metadata: { name: Bootstrap.clusterRoleBinding },
      roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: Bootstrap.clusterRole },
      subjects: [{ kind: "ServiceAccount", name: Bootstrap.serviceAccount, namespace: Bootstrap.namespace }],
    }),
  ];
}

function complete<T extends KubeObject>(kind: Kind<T>, object: Omit<T, "apiVersion" | "kind">): KubeObject {
  return { apiVersion: apiVersionOf(kind), kind: kind.kind, ...object, metadata: object.metadata };
}
