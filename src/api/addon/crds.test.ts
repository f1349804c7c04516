import { comparedWithUpstream } from "../../../test/support/definitions.ts";
import {
  AddOnConversion,
  addOnDeploymentConfigCrd,
  addOnTemplateCrd,
  clusterManagementAddOnCrd,
  convertedBy,
  managedClusterAddOnCrd,
} from "./index.ts";

/** How a YAML parser reads upstream's `{{ .Name }}`, which its operator fills in. */
const placeholder = { "[object Object]": null } as unknown as string;
const { service: name, path, port } = AddOnConversion;
const webhook = { caBundle: placeholder, service: { name, namespace: placeholder, path, port } };

comparedWithUpstream([
  ["addon.open-cluster-management.io_managedclusteraddons.yaml", convertedBy(managedClusterAddOnCrd, webhook)],
  ["addon.open-cluster-management.io_clustermanagementaddons.yaml", convertedBy(clusterManagementAddOnCrd, webhook)],
  ["addon.open-cluster-management.io_addondeploymentconfigs.yaml", addOnDeploymentConfigCrd],
  ["addon.open-cluster-management.io_addontemplates.yaml", addOnTemplateCrd],
]);
