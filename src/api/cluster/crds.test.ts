import { clusterPropertyCrd } from "#api/about";
import { clusterProfileCrd } from "#api/inventory";
import { comparedWithUpstream } from "../../../test/support/definitions.ts";
import { clusterClaimCrd, managedClusterCrd, managedClusterSetBindingCrd, managedClusterSetCrd } from "./index.ts";

comparedWithUpstream([
  ["cluster.open-cluster-management.io_managedclusters.yaml", managedClusterCrd],
  ["cluster.open-cluster-management.io_managedclustersets.yaml", managedClusterSetCrd],
  ["cluster.open-cluster-management.io_managedclustersetbindings.yaml", managedClusterSetBindingCrd],
  ["cluster.open-cluster-management.io_clusterclaims.yaml", clusterClaimCrd],
  ["multicluster.x-k8s.io_clusterprofiles.yaml", clusterProfileCrd],
  ["about.k8s.io_clusterproperties.ocm-v1alpha1.yaml", clusterPropertyCrd],
]);
