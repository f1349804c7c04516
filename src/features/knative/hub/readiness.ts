/** Whether what was installed works. */
import { type Deployment, DeploymentConditionType } from "#api/apps";
import { type Job, JobConditionType } from "#api/batch";
import { isTrue } from "#lib/conditions";

/**
 * Available as it is wished now, and rolled out: that an earlier version of it is available says nothing, and while
 * Pods of that version are there, the new ones do not work yet.
 */
export function isAvailable({ metadata, spec, status = {} }: Deployment): boolean {
  const { observedGeneration = 0, replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  const isSeen = observedGeneration >= (metadata.generation ?? 0);
  const isRolledOut = updatedReplicas >= (spec.replicas ?? 1) && replicas <= updatedReplicas;
  const isWorking = availableReplicas >= updatedReplicas;
  return isSeen && isRolledOut && isWorking && isTrue(status.conditions, DeploymentConditionType.available);
}

/** Was available, and nobody has looked at its newest wish yet, which may concern nothing but its annotations. */
export function isUnseen({ metadata, status = {} }: Deployment): boolean {
  const isNew = (status.observedGeneration ?? 0) < (metadata.generation ?? 0);
  return isNew && isTrue(status.conditions, DeploymentConditionType.available);
}

export function isComplete({ status }: Job): boolean {
  return isTrue(status?.conditions, JobConditionType.complete);
}
