/** The words of the Knative operator that are written on objects and read by its users. */

export const KNATIVE_GROUP = "operator.knative.dev";

/** `Ready` says whether all others are True. */
export const KnativeCondition = {
  ready: "Ready",
  dependenciesInstalled: "DependenciesInstalled",
  deploymentsAvailable: "DeploymentsAvailable",
  installSucceeded: "InstallSucceeded",
  targetClusterResolved: "TargetClusterResolved",
  versionMigrationEligible: "VersionMigrationEligible",
} as const;
export type KnativeCondition = (typeof KnativeCondition)[keyof typeof KnativeCondition];

/** Why a condition other than `TargetClusterResolved` is False. */
export const KnativeReason = {
  error: "Error",
  notReady: "NotReady",
} as const;

/** Why `TargetClusterResolved` is False. */
export const TargetReason = {
  profileNotFound: "ClusterProfileNotFound",
  profileNotReady: "ClusterProfileNotReady",
  profileUnavailable: "ClusterProfileUnavailable",
  accessFailed: "AccessProviderFailed",
  accessNotConfigured: "AccessProviderNotConfigured",
  disabled: "MulticlusterDisabled",
  clientFailed: "RemoteClientCreationFailed",
  stale: "RemoteClusterStale",
  closed: "ClusterProviderClosed",
} as const;
export type TargetReason = (typeof TargetReason)[keyof typeof TargetReason];

export const KnativeFinalizer = {
  serving: "knativeservings.operator.knative.dev",
  eventing: "knativeeventings.operator.knative.dev",
} as const;

/** On everything that is installed: which of the two it belongs to. */
export const COMPONENT_LABEL = "app.kubernetes.io/name";

/** The value of `COMPONENT_LABEL`, the folder of the releases, and the namespace on clusters other than the hub. */
export const KnativeComponent = {
  KnativeServing: "knative-serving",
  KnativeEventing: "knative-eventing",
} as const;
export type KnativeKind = keyof typeof KnativeComponent;
export type KnativeComponent = (typeof KnativeComponent)[KnativeKind];
