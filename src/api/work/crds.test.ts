import { comparedWithUpstream } from "../../../test/support/definitions.ts";
import { appliedManifestWorkCrd, manifestWorkCrd, manifestWorkReplicaSetCrd } from "./index.ts";

comparedWithUpstream([
  ["work.open-cluster-management.io_manifestworks.yaml", manifestWorkCrd],
  ["work.open-cluster-management.io_appliedmanifestworks.yaml", appliedManifestWorkCrd],
  ["work.open-cluster-management.io_manifestworkreplicasets.yaml", manifestWorkReplicaSetCrd],
]);
