import { comparedWithUpstream } from "../../../test/support/definitions.ts";
import { appliedManifestWorkCrd, manifestWorkCrd } from "./index.ts";

comparedWithUpstream([
  ["work.open-cluster-management.io_manifestworks.yaml", manifestWorkCrd],
  ["work.open-cluster-management.io_appliedmanifestworks.yaml", appliedManifestWorkCrd],
]);
