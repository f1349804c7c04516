/** Which run of a container a log is asked of, or why there is none. */
import type { Container, ContainerStatus, Pod } from "#api/core";
import type { RunReference } from "../kubelet/runner.ts";

export interface LoggedRun extends RunReference {
  /** Whether lines may still come. */
  readonly isRunning: boolean;
}

export function containerOf({ spec }: Pod, name: string): Container | undefined {
  const { initContainers = [], containers, ephemeralContainers = [] } = spec;
  return [...containers, ...initContainers, ...ephemeralContainers].find((container) => container.name === name);
}

/** The run, or a sentence for the one who asked. */
export function loggedRun(pod: Pod, name: string, previous: boolean): LoggedRun | string {
  const what = `container "${name}" in pod "${pod.metadata.name}"`;
  const status = statusOf(pod, name);
  if (!status) return `${what} is not available`;
  const { running, terminated, waiting } = status.state ?? {};
  const last = status.lastState?.terminated;
  if (previous) return endedRun(last) ?? `previous terminated ${what} not found`;
  if (running) {
    return { began: new Date(running.startedAt ?? 0), isRunning: true, containerID: status.containerID ?? "" };
  }
  if (terminated || last) return endedRun(terminated) ?? endedRun(last) ?? `${what} is terminated`;
  return `${what} is waiting to start${waiting ? `: ${waitingText(waiting.reason)}` : " - no logs yet"}`;
}

function statusOf({ status }: Pod, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = status ?? {};
  return [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses].find(
    (each) => each.name === name,
  );
}

function endedRun(ended: { startedAt?: string; containerID?: string } | undefined): LoggedRun | undefined {
  if (!ended?.containerID) return undefined;
  return { began: new Date(ended.startedAt ?? 0), isRunning: false, containerID: ended.containerID };
}

function waitingText(reason = ""): string {
  switch (reason) {
    case "ErrImagePull":
      return "image can't be pulled";
    case "ImagePullBackOff":
      return "trying and failing to pull image";
    default:
      return reason;
  }
}
