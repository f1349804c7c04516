import { describe, expect, it } from "vitest";
import type { ContainerStatus, Pod } from "#api/core";
import { containerOf, loggedRun } from "./log-run.ts";

const began = "2026-01-01T00:00:00Z";
const ended = { exitCode: 1, startedAt: began, containerID: "simulated://1" };

function pod(status: Partial<ContainerStatus> | undefined, list = "containerStatuses"): Pod {
  const full = { name: "web", image: "i", imageID: "", ready: false, restartCount: 0, ...status };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns" },
    spec: {
      containers: [{ name: "web" }],
      initContainers: [{ name: "init" }],
      ephemeralContainers: [{ name: "debug" }],
    },
    status: status ? { [list]: [full] } : {},
  };
}

describe("the run whose log is meant", () => {
  const running = { containerID: "simulated://2", state: { running: { startedAt: began } } };

  it.each<[why: string, Pod, previous: boolean, containerID: string, isRunning: boolean]>([
    ["goes on", pod(running), false, "simulated://2", true],
    ["is that of an init container", pod(running, "initContainerStatuses"), false, "simulated://2", true],
    ["is that of a debugging container", pod(running, "ephemeralContainerStatuses"), false, "simulated://2", true],
    ["has ended", pod({ state: { terminated: ended } }), false, "simulated://1", false],
    ["is the one before", pod({ ...running, lastState: { terminated: ended } }), true, "simulated://1", false],
    [
      "is the last one of a container that waits to be tried again",
      pod({ state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated: ended } }),
      false,
      "simulated://1",
      false,
    ],
  ])("%s", (_, given, previous, containerID, isRunning) => {
    expect(loggedRun(given, "web", previous)).toEqual({ began: new Date(began), containerID, isRunning });
  });

  it.each<[sentence: string, Pod, previous: boolean]>([
    ['container "web" in pod "p" is not available', pod(undefined), false],
    ['previous terminated container "web" in pod "p" not found', pod(running), true],
    [
      'container "web" in pod "p" is waiting to start: ContainerCreating',
      pod({ state: { waiting: { reason: "ContainerCreating" } } }),
      false,
    ],
    [
      'container "web" in pod "p" is waiting to start: image can\'t be pulled',
      pod({ state: { waiting: { reason: "ErrImagePull" } } }),
      false,
    ],
    [
      'container "web" in pod "p" is waiting to start: trying and failing to pull image',
      pod({ state: { waiting: { reason: "ImagePullBackOff" } } }),
      false,
    ],
    ['container "web" in pod "p" is waiting to start - no logs yet', pod({ state: {} }), false],
  ])("does not exist: %s", (sentence, given, previous) => {
    expect(loggedRun(given, "web", previous)).toBe(sentence);
  });

  it("is of a container of any sort", () => {
    const names = ["web", "init", "debug"];
    expect(names.map((name) => containerOf(pod(undefined), name)?.name)).toEqual(names);
    expect(containerOf(pod(undefined), "other")).toBeUndefined();
  });
});
