/** What is worth telling about a Pod, found by comparing what was reported of it with what is. */
import type { ContainerStatus, Pod, PodStatus } from "#api/core";
import type { Telling } from "../events.ts";
import { DEADLINE_EXCEEDED } from "./pod-status.ts";

/** From one report to the next. */
export function happenings(pod: Pod, after: PodStatus): Telling[] {
  const before = pod.status ?? {};
  const { reason, message = "" } = after;
  const deadline = reason === DEADLINE_EXCEEDED && before.reason !== reason ? [{ reason, message }] : [];
  return [
    ...eachContainer(after).flatMap(([status, fieldPath]) =>
      ofContainer(eachContainer(before).find(([{ name }]) => name === status.name)?.[0], status, pod).map(
        (telling) => ({ ...telling, fieldPath }),
      ),
    ),
    ...deadline,
  ];
}

/** What is told when a Pod begins to end. */
export function partings({ status = {} }: Pod): Telling[] {
  return eachContainer(status)
    .filter(([{ state }]) => state?.running)
    .map(([{ name }, fieldPath]) => ({ reason: "Killing", message: `Stopping container ${name}`, fieldPath }));
}

function eachContainer(status: PodStatus): [status: ContainerStatus, fieldPath: string][] {
  const { initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = [] } = status;
  return [
    ...initContainerStatuses.map((each): [ContainerStatus, string] => [each, `spec.initContainers{${each.name}}`]),
    ...containerStatuses.map((each): [ContainerStatus, string] => [each, `spec.containers{${each.name}}`]),
    ...ephemeralContainerStatuses.map((each): [ContainerStatus, string] => [
      each,
      `spec.ephemeralContainers{${each.name}}`,
    ]),
  ];
}

function ofContainer(before: ContainerStatus | undefined, after: ContainerStatus, pod: Pod): Telling[] {
  const isReplaced = before?.state?.running && before.image !== after.image;
  return [
    ...(isReplaced
      ? [{ reason: "Killing", message: `Container ${after.name} definition changed, will be restarted` }]
      : []),
    ...(after.containerID !== undefined && after.containerID !== before?.containerID
      ? [
          { reason: "Pulled", message: `Container image "${after.image}" already present on machine` },
          { reason: "Created", message: "Container created" },
          { reason: "Started", message: "Container started" },
        ]
      : []),
    ...waitings(before, after, pod),
  ];
}

function waitings(before: ContainerStatus | undefined, after: ContainerStatus, pod: Pod): Telling[] {
  const { waiting } = after.state ?? {};
  const type = "Warning";
  const isNew = waiting?.reason !== before?.state?.waiting?.reason || after.restartCount !== before?.restartCount;
  if (!waiting?.reason || !isNew) return [];
  switch (waiting.reason) {
    case "ContainerCreating":
    case "PodInitializing":
      return [];
    case "CrashLoopBackOff": {
      const { name, namespace, uid } = pod.metadata;
      const message = `Back-off restarting failed container ${after.name} in pod ${name}_${namespace}(${uid})`;
      return [{ type, reason: "BackOff", message }];
    }
    case "ErrImagePull":
      return [
        { reason: "Pulling", message: `Pulling image "${after.image}"` },
        { type, reason: "Failed", message: `Failed to pull image "${after.image}": ${waiting.message}` },
        { type, reason: "Failed", message: "Error: ErrImagePull" },
      ];
    case "ImagePullBackOff":
      return [
        { reason: "BackOff", message: `Back-off pulling image "${after.image}"` },
        { type, reason: "Failed", message: "Error: ImagePullBackOff" },
      ];
    default:
      return [{ type, reason: "Failed", message: `Error: ${waiting.reason}: ${waiting.message ?? ""}` }];
  }
}
