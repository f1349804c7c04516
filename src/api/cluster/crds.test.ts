import { comparedWithUpstream } from "../../../test/support/definitions.ts";
import {
  addOnPlacementScoreCrd,
  clusterClaimCrd,
  managedClusterCrd,
  managedClusterSetBindingCrd,
  managedClusterSetCrd,
  placementCrd,
  placementDecisionCrd,
} from "./index.ts";

comparedWithUpstream([
  ["cluster.open-cluster-management.io_managedclusters.yaml", managedClusterCrd],
  ["cluster.open-cluster-management.io_managedclustersets.yaml", managedClusterSetCrd],
  ["cluster.open-cluster-management.io_managedclustersetbindings.yaml", managedClusterSetBindingCrd],
  ["cluster.open-cluster-management.io_clusterclaims.yaml", clusterClaimCrd],
  ["cluster.open-cluster-management.io_placements.yaml", placementCrd],
  ["cluster.open-cluster-management.io_placementdecisions.yaml", placementDecisionCrd],
  ["cluster.open-cluster-management.io_addonplacementscores.yaml", addOnPlacementScoreCrd],
]);
