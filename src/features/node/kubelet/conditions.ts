/** The conditions that a kubelet keeps on a Pod; those of others stay beside them. */
import { type ContainerStatus, type Pod, type PodCondition, PodConditionType, type PodPhase } from "#api/core";
import type { ConditionStatus } from "#api/meta";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { hasBegun, roleOf } from "./containers.ts";

export interface Situation {
  readonly phase: PodPhase;
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  readonly areInitialized: boolean;
}

interface Claim {
  readonly status: ConditionStatus;
  readonly reason?: string;
  readonly message?: string;
}

const YES: Claim = { status: "True" };

/** All conditions of the Pod. The time of one that a kubelet keeps changes only when its status does. */
export function podConditions(pod: Pod, situation: Situation, now: Date): PodCondition[] {
  const known = pod.status?.conditions ?? [];
  const containersReady = containersReadyClaim(pod, situation);
  const claims: [type: string, claim: Claim][] = [
    [PodConditionType.readyToStart, { status: isTerminal(situation.phase) ? "False" : "True" }],
    [PodConditionType.initialized, initializedClaim(pod, situation)],
    [PodConditionType.ready, containersReady.status === "True" ? gatesClaim(pod, known) : containersReady],
    [PodConditionType.containersReady, containersReady],
    [PodConditionType.scheduled, YES],
  ];
  const ours = new Set(claims.map(([type]) => type));
  const { generation } = pod.metadata;
  return [
    ...claims.map(([type, claim]): PodCondition => {
      const before = findCondition(known, type);
      const since = before?.status === claim.status ? before.lastTransitionTime : undefined;
      return {
        type,
        ...(generation !== undefined && { observedGeneration: generation }),
        ...claim,
        lastProbeTime: null,
        lastTransitionTime: since ?? timestamp(now),
      };
    }),
    ...known.filter(({ type }) => !ours.has(type)),
  ];
}

export function isTerminal(phase: PodPhase | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}

function initializedClaim(pod: Pod, { phase, init, main, areInitialized }: Situation): Claim {
  if (phase === "Succeeded") return { status: "True", reason: "PodCompleted" };
  if (areInitialized || main.some(hasBegun)) return YES;
  const incomplete = init
    .filter((status, index) => {
      const container = pod.spec.initContainers?.[index];
      return container && roleOf(pod, container) === "sidecar" ? !status.started : !status.ready;
    })
    .map(({ name }) => name);
  return {
    status: "False",
    reason: "ContainersNotInitialized",
    message: `containers with incomplete status: [${incomplete.join(" ")}]`,
  };
}

function containersReadyClaim(pod: Pod, { phase, init, main }: Situation): Claim {
  if (phase === "Succeeded") return { status: "False", reason: "PodCompleted" };
  if (phase === "Failed") return { status: "False", reason: "PodFailed" };
  const sidecars = init.filter((_, index) => pod.spec.initContainers?.[index]?.restartPolicy === "Always");
  const unready = [...sidecars, ...main].filter(({ ready }) => !ready).map(({ name }) => name);
  if (unready.length === 0) return YES;
  return {
    status: "False",
    reason: "ContainersNotReady",
    message: `containers with unready status: [${unready.join(" ")}]`,
  };
}

/** Others may have a say in whether a Pod is ready. */
function gatesClaim({ spec }: Pod, conditions: readonly PodCondition[]): Claim {
  const closed = (spec.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = findCondition(conditions, conditionType);
    if (!condition) return `corresponding condition of pod readiness gate "${conditionType}" does not exist.`;
    if (condition.status === "True") return [];
    return `the status of pod readiness gate "${conditionType}" is not "True", but ${condition.status}`;
  });
  return closed.length === 0 ? YES : { status: "False", reason: "ReadinessGatesNotReady", message: closed.join(", ") };
}
