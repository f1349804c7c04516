/** The status of a Pod as a kubelet reports it, from what its containers do. */
import type { ContainerStatus, Pod, PodPhase, PodStatus } from "#api/core";
import { timestamp } from "#lib/clock";
import { podConditions } from "./conditions.ts";
import { advance, type Containers, ended } from "./containers.ts";
import type { PodRunner } from "./runner.ts";

/** Where the Pod is on the network. */
export interface Place {
  readonly hostIP: string;
  readonly podIP: string;
}

export interface Turn {
  readonly status: PodStatus;
  /** Milliseconds until it is time for the next look. */
  readonly after: number | undefined;
}

/** Why a Pod was ended by the node. */
export const DEADLINE_EXCEEDED = "DeadlineExceeded";
const DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline";

/** SIGKILL, by the shell's reckoning. */
const KILLED = 137;

/** The Pod one step further. */
export function nextTurn(pod: Pod, place: Place, runner: PodRunner, now: Date): Turn {
  const startTime = pod.status?.startTime ?? timestamp(now);
  const left = untilDeadline(pod, startTime, now);
  if (left !== undefined && left <= 0) {
    const status = endedStatus(pod, place, () => KILLED, now, "Failed");
    return { status: { ...status, reason: DEADLINE_EXCEEDED, message: DEADLINE_MESSAGE }, after: undefined };
  }
  // Where it is, a container may want to know from its variables.
  const containers = advance({ ...pod, status: { ...pod.status, ...addressesOf(place) } }, runner, now);
  const phase = phaseOf(pod, containers);
  const wishes = [containers.after, containers.haveEnded ? undefined : left].filter((ms) => ms !== undefined);
  return {
    status: statusOf(pod, place, { ...containers, phase }, now),
    after: wishes.length > 0 ? Math.min(...wishes) : undefined,
  };
}

/** The status of a Pod of which everything has been ended. */
export function endedStatus(
  pod: Pod,
  place: Place,
  exitCode: (container: string) => number,
  now: Date,
  forced?: PodPhase,
): PodStatus {
  const end = (statuses: readonly ContainerStatus[] = []) =>
    statuses.map((each) => (each.state?.running ? ended(each, { exitCode: exitCode(each.name) }, now) : each));
  const { initContainerStatuses, containerStatuses = [], ephemeralContainerStatuses } = pod.status ?? {};
  const init = end(initContainerStatuses);
  const main = end(containerStatuses);
  const codes = main.map(({ state, lastState }) => (state?.terminated ?? lastState?.terminated)?.exitCode);
  const phase = forced ?? endPhase(codes);
  const areInitialized = main.some(({ state }) => state?.terminated);
  return statusOf(pod, place, { init, main, ephemeral: end(ephemeralContainerStatuses), areInitialized, phase }, now);
}

/** A Pod of which nothing ever ran neither succeeded nor failed. */
function endPhase(codes: readonly (number | undefined)[]): PodPhase {
  if (codes.every((code) => code === undefined)) return "Pending";
  return codes.every((code) => code === 0) ? "Succeeded" : "Failed";
}

function untilDeadline({ spec }: Pod, startTime: string, now: Date): number | undefined {
  const { activeDeadlineSeconds } = spec;
  return activeDeadlineSeconds === undefined
    ? undefined
    : Date.parse(startTime) + activeDeadlineSeconds * 1000 - now.getTime();
}

function phaseOf({ spec }: Pod, { init, main, areInitialized, haveEnded }: Containers): PodPhase {
  if (!areInitialized) return haveEnded && init.length > 0 ? "Failed" : "Pending";
  if (main.some(({ state, lastState }) => state?.waiting && !lastState?.terminated)) return "Pending";
  if (!haveEnded || spec.restartPolicy === "Always") return "Running";
  return main.every(({ state }) => state?.terminated?.exitCode === 0) ? "Succeeded" : "Failed";
}

function statusOf(
  pod: Pod,
  place: Place,
  situation: Pick<Containers, "init" | "main" | "ephemeral" | "areInitialized"> & { phase: PodPhase },
  now: Date,
): PodStatus {
  const { phase, init, main, ephemeral } = situation;
  const { generation } = pod.metadata;
  return {
    ...pod.status,
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    conditions: podConditions(pod, situation, now),
    ...addressesOf(place),
    startTime: pod.status?.startTime ?? timestamp(now),
    ...(init.length > 0 && { initContainerStatuses: [...init] }),
    containerStatuses: [...main],
    ...(ephemeral.length > 0 && { ephemeralContainerStatuses: [...ephemeral] }),
  };
}

function addressesOf({ hostIP, podIP }: Place): Required<Pick<PodStatus, "hostIP" | "hostIPs" | "podIP" | "podIPs">> {
  return { hostIP, hostIPs: [{ ip: hostIP }], podIP, podIPs: [{ ip: podIP }] };
}
