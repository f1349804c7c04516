/** The words of the operators that are written on objects and read by others: never change one. */

export const OPERATOR_GROUP = "operator.open-cluster-management.io";

/** Where the operators themselves run, on hubs and on spokes. */
export const OPERATOR_NAMESPACE = "open-cluster-management";
/** Where a ClusterManager keeps the programs of the hub. */
export const HUB_NAMESPACE = "open-cluster-management-hub";
/** Where a Klusterlet keeps the agents, unless its spec says otherwise. */
export const AGENT_NAMESPACE = "open-cluster-management-agent";
/** Where add-ons run on a spoke, unless they say otherwise. */
export const AGENT_ADDON_NAMESPACE = "open-cluster-management-agent-addon";

/** What the objects are called that `init` and `join` make; whoever looks for the operators' objects looks for these. */
export const OperatorName = { clusterManager: "cluster-manager", klusterlet: "klusterlet" } as const;

export const OperatorFinalizer = {
  clusterManager: "operator.open-cluster-management.io/cluster-manager-cleanup",
  klusterlet: "operator.open-cluster-management.io/klusterlet-cleanup",
  /** In hosted mode, while there is something of the Klusterlet on the cluster that hosts its agents. */
  klusterletHosted: "operator.open-cluster-management.io/klusterlet-hosted-cleanup",
} as const;

export const OperatorLabel = {
  /** On everything that the operator made for a ClusterManager: its name. */
  createdByClusterManager: "open-cluster-management.io/created-by-clustermanager",
  /** On everything that the operator made for a Klusterlet: its name. */
  createdByKlusterlet: "open-cluster-management.io/created-by-klusterlet",
  /** On the namespace of a Klusterlet on the managed cluster: its name. */
  klusterlet: "operator.open-cluster-management.io/klusterlet",
  /** `"true"` on a namespace of an add-on: the image pull secret is copied there. */
  addonNamespace: "addon.open-cluster-management.io/namespace",
} as const;

export const OperatorAnnotation = {
  /** On a CustomResourceDefinition: which version of the operator wrote it, so that an older one leaves it alone. */
  version: "operator.open-cluster-management.io/version",
  /** On a Klusterlet: since when its managed cluster cannot be reached while it waits to be cleaned up. */
  evictionTimestamp: "operator.open-cluster-management.io/managed-resources-eviction-timestamp",
  /** On a namespace of agents: OpenShift may schedule them beside the control plane. */
  management: "workload.openshift.io/allowed",
  /** On a ClusterManager: further arguments of the hub's programs, as a JSON list of words. */
  hubArguments: "operator.capstan.dev/hub-arguments",
} as const;

/** The Secrets that agents, operators and administrators know by name. */
export const OperatorSecret = {
  /** Copied from the operator's namespace to where its Pods run. */
  imagePull: "open-cluster-management-image-pull-credentials",
  /** Key `kubeconfig`: how an agent asks to join. */
  bootstrap: "bootstrap-hub-kubeconfig",
  /** Keys `kubeconfig`, `cluster-name`, `agent-name`, `tls.crt` and `tls.key`: who an agent is. */
  hub: "hub-kubeconfig-secret",
  /** In hosted mode, key `kubeconfig`: the managed cluster, as its administrator. */
  managed: "external-managed-kubeconfig",
} as const;

/** Conditions of both kinds. */
export const OperatorCondition = { Applied: "Applied", ValidFeatureGates: "ValidFeatureGates" } as const;

export const FeatureGateReason = {
  valid: "FeatureGatesAllValid",
  invalid: "InvalidFeatureGatesExisting",
} as const;

export const ClusterManagerCondition = {
  ...OperatorCondition,
  Progressing: "Progressing",
  HubRegistrationDegraded: "HubRegistrationDegraded",
} as const;

export const ClusterManagerReason = {
  applied: "ClusterManagerApplied",
  crdFailed: "CRDApplyFailed",
  hubResourceFailed: "HubResourceApplyFailed",
  runtimeResourceFailed: "RuntimeResourceApplyFailed",
  webhookFailed: "WebhookApplyFailed",
  unsupportedMode: "UnsupportedDeployOption",
  unsupportedOption: "UnsupportedConfiguration",
  otherManager: "OtherClusterManager",
  malformedArguments: "MalformedHubArguments",
  removing: "Removing",
  rolling: "ClusterManagerDeploymentRolling",
  upToDate: "ClusterManagerUpToDate",
  registrationMissing: "GetRegistrationDeploymentFailed",
  registrationUnavailable: "UnavailableRegistrationPod",
  registrationFunctional: "RegistrationFunctional",
} as const;

export const KlusterletCondition = {
  ...OperatorCondition,
  ReadyToApply: "ReadyToApply",
  Available: "Available",
  RegistrationDesiredDegraded: "RegistrationDesiredDegraded",
  WorkDesiredDegraded: "WorkDesiredDegraded",
  HubConnectionDegraded: "HubConnectionDegraded",
  /** Ours, and only once something was held: what a person has to confirm before the work agent removes it. */
  WorkRemovalHeld: "WorkRemovalHeld",
} as const;

export const KlusterletReason = {
  prepared: "KlusterletPrepared",
  prepareFailed: "KlusterletPrepareFailed",
  applied: "KlusterletApplied",
  applyFailed: "KlusterletApplyFailed",
  crdFailed: "CRDApplyFailed",
  managedClusterFailed: "ManagedClusterResourceApplyFailed",
  managementClusterFailed: "ManagementClusterResourceApplyFailed",
  removing: "Removing",
  available: "KlusterletAvailable",
  noAvailablePods: "NoAvailablePods",
  deploymentMissing: "GetDeploymentFailed",
  deploymentsFunctional: "DeploymentsFunctional",
  unavailablePods: "UnavailablePods",
  hubFunctional: "HubConnectionFunctional",
  hubSecretMissing: "HubKubeConfigSecretMissing",
  hubKubeconfigMissing: "HubKubeConfigMissing",
  hubKubeconfigError: "HubKubeConfigError",
  clusterNameMissing: "ClusterNameMissing",
  hubUnauthorized: "HubKubeConfigUnauthorized",
  bootstrapMissing: "BootstrapSecretMissing",
  bootstrapError: "BootstrapSecretError",
  bootstrapUnauthorized: "BootstrapSecretUnauthorized",
  bootstrapFunctional: "BootstrapSecretFunctional",
  removalHeld: "RemovalHeld",
  noRemovalHeld: "NoRemovalHeld",
} as const;

/** What restores the identity of a cluster that lost it, given by whoever administers hub and spoke; conditions name it. */
export function rejoinCommand(clusterName: string): string {
  return `capstan rejoin --cluster-name ${clusterName} --context SPOKE --hub-context HUB`;
}
