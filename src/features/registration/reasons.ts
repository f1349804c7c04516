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

  setEmpty: "NoClusterMatched",
  setNotEmpty: "ClustersSelected",
  bound: "ClusterSetBound",
  setNotFound: "ClusterSetNotFound",

  /** On a CertificateSigningRequest. */
  requestApproved: "AutoApprovedByHubCSRApprovingController",
} as const;

export const EventReason = {
  available: "Available",
  unavailable: "Unavailable",
  availableUnknown: "AvailableUnknown",
} as const;
