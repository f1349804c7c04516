/** The containers of a Pod, one step further: which of them begin, go on, have ended, or wait to be tried again. */
import type { Container, ContainerStatus, Pod } from "#api/core";
import { timestamp } from "#lib/clock";
import type { Ended, PodRunner, Role, Run, Sight } from "./runner.ts";

export interface Containers {
  readonly init: readonly ContainerStatus[];
  readonly main: readonly ContainerStatus[];
  readonly ephemeral: readonly ContainerStatus[];
  /** Whether the containers proper may run: every init container before them has done its part. */
  readonly areInitialized: boolean;
  /** Whether nothing will run any more. */
  readonly haveEnded: boolean;
  /** Milliseconds until time alone brings something new. */
  readonly after: number | undefined;
}

/** A container waits so long before it is tried a third time, twice as long before the fourth, and so on. */
const FIRST_BACKOFF_MS = 10_000;
const LONGEST_BACKOFF_MS = 300_000;
/** One that ran for so long has earned another try at once. */
export const FORGIVEN_AFTER_MS = 600_000;

/** What the containers of the Pod do now, after everything that could begin has begun. */
export function advance(pod: Pod, runner: PodRunner, now: Date): Containers {
  return new Advance(pod, runner, now).containers();
}

export function roleOf({ spec }: Pod, container: Container): Role {
  if (spec.initContainers?.includes(container)) return container.restartPolicy === "Always" ? "sidecar" : "init";
  return spec.containers.includes(container) ? "main" : "ephemeral";
}

class Advance {
  readonly #pod: Pod;
  readonly #runner: PodRunner;
  readonly #now: Date;
  #after: number | undefined;

  constructor(pod: Pod, runner: PodRunner, now: Date) {
    this.#pod = pod;
    this.#runner = runner;
    this.#now = now;
  }

  containers(): Containers {
    const { spec, status } = this.#pod;
    const wasInitialized = (status?.containerStatuses ?? []).some(hasBegun);
    let areInitialized = true;
    const init = (spec.initContainers ?? []).map((container) => {
      const known = reportedOf(status?.initContainerStatuses, container);
      const isSidecar = roleOf(this.#pod, container) === "sidecar";
      if (wasInitialized && !isSidecar) return known ?? fresh(container, "PodInitializing");
      if (!areInitialized) return known ?? fresh(container, "PodInitializing");
      const next = this.#settle(container, known ?? fresh(container, "PodInitializing"));
      if (!wasInitialized) areInitialized = isSidecar ? next.started === true : isDone(next);
      return next;
    });
    const main = spec.containers.map((container) => {
      const known = reportedOf(status?.containerStatuses, container);
      const reason = init.length > 0 ? "PodInitializing" : "ContainerCreating";
      return areInitialized
        ? this.#settle(container, known ?? fresh(container, reason))
        : (known ?? fresh(container, reason));
    });
    const ephemeral = (spec.ephemeralContainers ?? []).map((container) =>
      this.#settle(
        container,
        reportedOf(status?.ephemeralContainerStatuses, container) ?? fresh(container, "ContainerCreating"),
      ),
    );
    const haveEnded = areInitialized ? main.every((each) => this.#isOver(each, "main")) : init.some(this.#hasFailed);
    if (!haveEnded) return { init, main, ephemeral, areInitialized, haveEnded, after: this.#after };
    // Nothing keeps a Pod alive but its containers proper: what ran beside them ends with them.
    const end = (each: ContainerStatus) => (each.state?.running ? ended(each, { exitCode: 0 }, this.#now) : each);
    return { init: init.map(end), main, ephemeral: ephemeral.map(end), areInitialized, haveEnded, after: undefined };
  }

  /** Takes one container as far as it goes at this moment. */
  #settle(container: Container, reported: ContainerStatus): ContainerStatus {
    const role = roleOf(this.#pod, container);
    const run = (attempt: number): Run => ({ pod: this.#pod, container, role, attempt });
    let status = reported;
    for (;;) {
      let sight: Sight;
      if (status.state?.running) {
        const current = run(status.restartCount);
        const isOutdated = isReplaced(status, container, role);
        sight = isOutdated ? this.#runner.end(current, status) : this.#runner.look(current, status);
        status = shown(status, sight, role);
      } else {
        const last = status.state?.terminated ?? status.lastState?.terminated;
        if (status.state?.terminated && this.#isOver(status, role)) return status;
        const strikes = this.#runner.strikes(this.#pod, status);
        const wait = last && status.image === container.image ? backoffLeft(strikes, last, this.#now) : 0;
        if (wait > 0) return this.#backedOff(status, container, { strikes, wait });
        const attempt = last ? status.restartCount + 1 : status.restartCount;
        sight = this.#runner.start(run(attempt), status);
        const restarted = { ...status, lastState: last ? { terminated: last } : {}, image: container.image ?? "" };
        status = shown(
          { ...restarted, restartCount: sight.is === "waiting" ? status.restartCount : attempt },
          sight,
          role,
        );
      }
      if (sight.is === "ended") continue;
      this.#wakeIn(sight.after);
      return status;
    }
  }

  #backedOff(
    status: ContainerStatus,
    container: Container,
    { strikes, wait }: { strikes: number; wait: number },
  ): ContainerStatus {
    this.#wakeIn(wait);
    const { name, namespace, uid } = this.#pod.metadata;
    const seconds = backoff(strikes) / 1000;
    const last = status.state?.terminated ?? status.lastState?.terminated;
    return {
      ...status,
      ready: false,
      started: false,
      lastState: last ? { terminated: last } : {},
      state: {
        waiting: {
          reason: "CrashLoopBackOff",
          message: `back-off ${goDuration(seconds)} restarting failed container=${container.name} pod=${name}_${namespace}(${uid})`,
        },
      },
    };
  }

  /** Whether a container that has ended stays so. */
  #isOver({ state }: ContainerStatus, role: Role): boolean {
    if (!state?.terminated) return false;
    const { exitCode } = state.terminated;
    const { restartPolicy = "Always" } = this.#pod.spec;
    switch (role) {
      case "sidecar":
        return false;
      case "ephemeral":
        return true;
      case "init":
        return exitCode === 0 || restartPolicy === "Never";
      case "main":
        return restartPolicy === "Never" || (restartPolicy === "OnFailure" && exitCode === 0);
    }
  }

  #hasFailed = ({ state }: ContainerStatus): boolean => {
    const failed = state?.terminated !== undefined && state.terminated.exitCode !== 0;
    return failed && this.#pod.spec.restartPolicy === "Never";
  };

  #wakeIn(ms: number | undefined): void {
    if (ms !== undefined) this.#after = Math.min(ms, this.#after ?? ms);
  }
}

function reportedOf(statuses: readonly ContainerStatus[] | undefined, { name }: Container) {
  return statuses?.find((status) => status.name === name);
}

export function hasBegun({ state, lastState }: ContainerStatus): boolean {
  return (state?.running ?? state?.terminated ?? lastState?.terminated) !== undefined;
}

function isDone({ state }: ContainerStatus): boolean {
  return state?.terminated?.exitCode === 0;
}

/** Whether the container runs an image that is no longer the one wished for. */
function isReplaced({ image }: ContainerStatus, container: Container, role: Role): boolean {
  return (role === "main" || role === "sidecar") && image !== (container.image ?? "");
}

function fresh({ name, image = "" }: Container, reason: string): ContainerStatus {
  return {
    name,
    image,
    imageID: "",
    ready: false,
    started: false,
    restartCount: 0,
    state: { waiting: { reason } },
    lastState: {},
  };
}

/** The status with what was seen in it. */
function shown(status: ContainerStatus, sight: Sight, role: Role): ContainerStatus {
  if (sight.is === "waiting") {
    const { reason, message } = sight;
    const waiting = { reason, ...(message !== undefined && { message }) };
    return { ...status, ready: false, started: false, state: { waiting } };
  }
  const { containerID, imageID, since } = sight;
  const startedAt = timestamp(since);
  if (sight.is === "running") {
    const ready = sight.isReady && role !== "init" && role !== "ephemeral";
    return { ...status, containerID, imageID, ready, started: role !== "init", state: { running: { startedAt } } };
  }
  const running = { ...status, containerID, imageID, state: { running: { startedAt } } };
  return { ...ended(running, sight, sight.at), ready: role === "init" && sight.exitCode === 0 };
}

/** The status of a container that ran until now and ended so. */
export function ended(
  status: ContainerStatus,
  { exitCode, reason, message }: Pick<Ended, "exitCode" | "reason" | "message">,
  at: Date,
): ContainerStatus {
  const startedAt = status.state?.running?.startedAt;
  return {
    ...status,
    ready: false,
    started: false,
    state: {
      terminated: {
        exitCode,
        reason: reason ?? (exitCode === 0 ? "Completed" : "Error"),
        ...(message !== undefined && { message }),
        ...(startedAt !== undefined && { startedAt }),
        finishedAt: timestamp(at),
        ...(status.containerID !== undefined && { containerID: status.containerID }),
      },
    },
  };
}

/** Milliseconds to wait before the next try of a container that was restarted so often. */
function backoff(restarts: number): number {
  return restarts === 0 ? 0 : Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (restarts - 1));
}

function backoffLeft(
  strikes: number,
  { startedAt = "", finishedAt = "" }: { startedAt?: string; finishedAt?: string },
  now: Date,
): number {
  const end = Date.parse(finishedAt);
  const begin = Date.parse(startedAt);
  if (Number.isNaN(end) || end - begin > FORGIVEN_AFTER_MS) return 0;
  return end + backoff(strikes) - now.getTime();
}

/** `10s`, `1m20s`, `5m0s`, as programs look for it in messages. */
function goDuration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}
