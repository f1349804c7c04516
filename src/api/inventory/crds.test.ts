import { comparedWithUpstream } from "../../../test/support/definitions.ts";
import { clusterProfileCrd, profileDecisionCrd } from "./index.ts";

comparedWithUpstream([
  ["multicluster.x-k8s.io_clusterprofiles.yaml", clusterProfileCrd],
  ["multicluster.x-k8s.io_placementdecisions.yaml", profileDecisionCrd],
]);
