/** The group `addon.open-cluster-management.io`: what a hub adds to clusters. All its kinds are served in two versions. */
export { addOnDeploymentConfigCrd } from "./add-on-deployment-config.ts";
export { addOnTemplateCrd } from "./add-on-template.ts";
export {
  ClusterManagementAddOn,
  ClusterManagementAddOnV1Alpha1,
  clusterManagementAddOnCrd,
} from "./cluster-management-add-on.ts";
export { AddOnConversion, convertedBy } from "./conversion.ts";
export {
  ManagedClusterAddOn,
  ManagedClusterAddOnV1Alpha1,
  managedClusterAddOnCrd,
} from "./managed-cluster-add-on.ts";
export { ADDON_GROUP, AddOnAnnotation, KUBE_CLIENT_SIGNER, NO_DEFAULT_CONFIG } from "./names.ts";
