/** Every reason that registration writes into a condition or an event. They are API: people and programs branch on them. */

export const Reason = {
  /** HubAccepted: an administrator let the cluster in. */
  accepted: "HubClusterAdminAccepted",
  /** HubAccepted: an administrator put the cluster out again. */
  denied: "HubClusterAdminDenied",
  /** HubAccepted: the administrator wants it in, and something stands in the way. */
  acceptFailed: "Error",

  joined: "ManagedClusterJoined",

  available: "ManagedClusterAvailable",
  apiServerUnavailable: "ManagedClusterKubeAPIServerUnavailable",
  /** Available: the agent has been silent for too long. */
  leaseStopped: "ManagedClusterLeaseUpdateStopped",

  clockSynced: "ManagedClusterClockSynced",
  clockOutOfSync: "ManagedClusterClockOutOfSync",

  certificateUpdated: "ClientCertificateUpdated",
  certificateUpdateFailed: "ClientCertificateUpdateFailed",

  /** Deleting: add-ons or works of the cluster are still there. */
  resourceRemaining: "ResourceRemaining",
  /** Deleting: what is there could not be read or removed. */
  deletingError: "DeletingError",
  /** Deleting: nothing of the cluster is left. */
  noResource: "NoResource",

  /** On a managed namespace of a ManagedCluster, by its agent. */
  namespaceApplied: "NamespaceApplied",
  namespaceApplyFailed: "NamespaceApplyFailed",

  setEmpty: "NoClusterMatched",
  setNotEmpty: "ClustersSelected",
  bound: "ClusterSetBound",
  setNotFound: "ClusterSetNotFound",

  /** On a CertificateSigningRequest. */
  requestApproved: "AutoApprovedByHubCSRApprovingController",
} as const;

/** The condition of a managed namespace in the status of a ManagedCluster. */
export const NAMESPACE_AVAILABLE = "NamespaceAvailable";

export const EventReason = {
  available: "Available",
  unavailable: "Unavailable",
  availableUnknown: "AvailableUnknown",
  /** There are more claims than the agent tells. */
  claimsTruncated: "CustomClusterClaimsTruncated",
} as const;
