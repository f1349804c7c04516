/** What operators have in common: how they put programs on a cluster, keep them as they are, and tell of them. */
export { definitionVersion, isNewer, stamped } from "./definitions.ts";
export { type DeploymentOptions, deployment, type VolumeMount } from "./deployment.ts";
export {
  ClusterManagerGates,
  chosenGates,
  type GateChoice,
  gateArguments,
  gateCondition,
  HubGates,
  HubWorkGates,
  KlusterletGates,
  SpokeGates,
  SpokeWorkGates,
  withGates,
} from "./gates.ts";
export { imageFor } from "./images.ts";
export { type InstallationOptions, operatorInstallation } from "./installation.ts";
export { handedOn } from "./labels.ts";
export {
  clusterRights,
  complete,
  localRights,
  namespace,
  type Place,
  roleRef,
  serviceAccount,
  subjectOf,
} from "./objects.ts";
export { replicaChoice } from "./replicas.ts";
export { type ContainerResources, resourcesOf } from "./resources.ts";
export { rightsTo } from "./rules.ts";
export { SITE_KINDS, Site } from "./site.ts";
export { Sites, type SitesOptions } from "./sites.ts";
export { generationsOf, hindrancesIn, isRolling, relatedResources, sentenceOf } from "./status.ts";
export { clientConfigAt, webhookConfiguration } from "./webhook-configurations.ts";
