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

/** Who applies server-side where a work does not say; who says may only add to it. */
export const WORK_FIELD_MANAGER = "work-agent";
