/** The words that are written on objects of this group and read by others: never change one. */

export const WORK_GROUP = "work.open-cluster-management.io";

export const WorkFinalizer = {
  /** On a ManifestWork, by the agent: what was applied for it has to go first. */
  work: "cluster.open-cluster-management.io/manifest-work-cleanup",
  /** On an AppliedManifestWork, by the agent: the objects that it lists have to go first. */
  applied: "cluster.open-cluster-management.io/applied-manifest-work-cleanup",
} as const;

/** Of a ManifestWork and of each of its manifests. What condition rules add has names of the user's choice. */
export const WorkCondition = {
  Applied: "Applied",
  Available: "Available",
  /** Only from condition rules: a work or a manifest that is finished is not applied again. */
  Complete: "Complete",
  /** Only from condition rules. It is true as soon as one manifest says so. */
  Progressing: "Progressing",
  /** Only of a ManifestWork. */
  Deleting: "Deleting",
  /** Only of a manifest. */
  StatusFeedbackSynced: "StatusFeedbackSynced",
} as const;

export const WorkLabel = {
  /** On a ManifestWork that a ManifestWorkReplicaSet has made: its namespace and name. */
  replicaSet: "work.open-cluster-management.io/manifestworkreplicaset",
} as const;

/** On an AppliedManifestWork, by our agent: what it needs to know before it removes anything on its own. */
export const AppliedAnnotation = {
  /** Stands for the hub that placed it: the uid of the cluster's ManagedCluster there. */
  hub: "work.capstan.dev/hub",
  /** The state of the work that it was last brought in line with, as JSON: uid, generation, resourceVersion. */
  seen: "work.capstan.dev/seen",
  /**
   * What it was made for, as JSON, in the form of `status.appliedResources`. It counts until something is listed there: a
   * new object cannot have a status, and what is about to come must be known before it comes.
   */
  coming: "work.capstan.dev/coming",
  /** Why something is not removed until somebody confirms it; for people. */
  held: "work.capstan.dev/removal-held",
  /** By a person: `confirmed` lets go what is held. */
  removal: "work.capstan.dev/removal",
} as const;
export const REMOVAL_CONFIRMED = "confirmed";

export const AppliedLabel = {
  /** `"true"` on an AppliedManifestWork, by our agent, while something of it is held: by this one finds them. */
  held: "work.capstan.dev/removal-held",
} as const;

/** Who applies server-side where a work does not say; who says may only add to it. */
export const WORK_FIELD_MANAGER = "work-agent";

/** On an object of which fields are ignored: tells which manifest was applied last. What stands in it is the agent's own. */
export const APPLIED_HASH = "open-cluster-management.io/config-spec-hash";

/**
 * The ConfigMap in a cluster's namespace on the hub that says which works of a lost cluster were given up before its agent
 * had cleaned up: one key per ManifestWork, as JSON its uid and the moment. The agent takes out what it has cleaned.
 */
export const DETACH_LEDGER = "capstan-detach-ledger";
