/** What the policies of a Job make of Pods that failed and of indexes that succeeded. */
import type { Job, PodFailureRule } from "#api/batch";
import type { ContainerStatus, Pod, PodStatus } from "#api/core";
import { keyOf } from "#api/meta";
import { IntervalSet } from "#lib/intervals";
import { completionsOf } from "./job-pods.ts";

export interface FailureRuling {
  readonly action: PodFailureRule["action"] | undefined;
  /** Whether the failure counts towards the limits. */
  readonly isCounted: boolean;
  /** Why the Job fails, if it does. */
  readonly message?: string;
}

const COUNTED: FailureRuling = { action: undefined, isCounted: true };

/** What the first rule that fits says of a failed Pod; without one, the failure counts. */
export function rulingOn({ spec }: Job, pod: Pod): FailureRuling {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = matchOf(rule, pod);
    if (why === undefined) continue;
    const { action } = rule;
    const message = `${why} matching ${action} rule at index ${index}`;
    return { action, isCounted: action !== "Ignore", ...(action === "FailJob" && { message }) };
  }
  return COUNTED;
}

/** How a rule fits a Pod, in words; undefined when it does not. */
function matchOf({ onExitCodes, onPodConditions = [] }: PodFailureRule, pod: Pod): string | undefined {
  if (onExitCodes) {
    const container = exitOf(onExitCodes, pod.status);
    if (!container) return undefined;
    return `Container ${container.name} for pod ${keyOf(pod)} failed with exit code ${exitCode(container)}`;
  }
  const found = pod.status?.conditions?.find(({ type, status }) =>
    onPodConditions.some((pattern) => pattern.type === type && pattern.status === status),
  );
  return found && `Pod ${keyOf(pod)} has condition ${found.type}`;
}

function exitOf(
  { containerName, operator, values }: NonNullable<PodFailureRule["onExitCodes"]>,
  status: PodStatus | undefined,
): ContainerStatus | undefined {
  const containers = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
  return containers.find((container) => {
    const code = exitCode(container);
    if (!code || (containerName !== undefined && containerName !== container.name)) return false;
    return values.includes(code) === (operator === "In");
  });
}

function exitCode({ state }: ContainerStatus): number | undefined {
  return state?.terminated?.exitCode;
}

/** Why the indexes that have succeeded are enough; undefined when they are not. */
export function successOf(job: Job, succeeded: IntervalSet): string | undefined {
  if (succeeded.size === 0) return undefined;
  const index = job.spec.successPolicy?.rules.findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined) return succeededCount !== undefined && succeeded.size >= succeededCount;
    const required = IntervalSet.parse(succeededIndexes, completionsOf(job));
    return required.size > 0 && succeeded.overlap(required) >= Math.min(required.size, succeededCount ?? required.size);
  });
  return index === undefined || index < 0 ? undefined : `Matched rules at index ${index}`;
}
