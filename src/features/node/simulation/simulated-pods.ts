/**
 * Pods that only look as if they ran. What a container does follows from its Pod and from the time at which it was
 * started, both of which the server keeps: a node that starts again goes on where it was, without a word.
 */
import { createHash } from "node:crypto";
import type { Container, ContainerStatus, Pod } from "#api/core";
import type { Clock } from "#lib/clock";
import { controllerOf } from "#lib/meta";
import type { ContainerLog, Ended, LogLine, PodRunner, Run, RunReference, Sight, Stopping } from "../kubelet/runner.ts";
import { AT_ONCE, type Ending, endingOf, NEVER } from "./command.ts";
import { imageIdOf, isMissing, isPause } from "./image.ts";
import { wishesOf } from "./wishes.ts";

/** By this prefix of a container's id programs can tell that nothing runs. */
export const SIMULATED = "simulated://";

const CRASH_LOOP = "CrashLoopBackOff";
const PULL_BACKOFF = "ImagePullBackOff";
/** The first failed pull shows for so long, before the reason becomes that pulling waits. */
const PULL_RETRY_MS = 1000;
/** How long a deleted Pod takes to end, if it is given so much time. */
const PARTING_MS = 1000;
const DEFAULT_GRACE_SECONDS = 30;
/** SIGTERM and SIGKILL, by the shell's reckoning. */
const TERMINATED = 143;
const KILLED = 137;

export class SimulatedPods implements PodRunner {
  readonly #clock: Clock;
  /**
   * What began when, by the uid of a Pod: the times that the server keeps have no fractions of seconds. Only what
   * still goes on is remembered.
   */
  readonly #moments = new Map<string, Map<string, number>>();

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  start(run: Run, before: ContainerStatus): Sight {
    const hindrance = this.#hindrance(run, before);
    if (hindrance) return hindrance;
    const now = this.#clock.now();
    const sight = this.#sight(run, now, now);
    if (sight.is === "running" && sight.after !== undefined) this.#remember(run.pod, sight.containerID, now);
    return sight;
  }

  look(run: Run, reported: ContainerStatus): Sight {
    const hindrance = this.#hindrance(run, reported);
    if (hindrance) return hindrance;
    const now = this.#clock.now();
    const exact = this.#moments.get(run.pod.metadata.uid ?? "")?.get(containerIdOf(run));
    const told = Date.parse(reported.state?.running?.startedAt ?? "");
    return this.#sight(run, new Date(exact ?? (Number.isNaN(told) ? now : told)), now);
  }

  end(_run: Run, { containerID = "", imageID, state }: ContainerStatus): Ended {
    const at = this.#clock.now();
    const since = new Date(state?.running?.startedAt ?? at);
    return { is: "ended", since, at, exitCode: KILLED, containerID, imageID };
  }

  strikes(_pod: Pod, { restartCount }: ContainerStatus): number {
    return restartCount;
  }

  stop(pod: Pod): Stopping {
    const grace = (pod.metadata.deletionGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000;
    const now = this.#clock.now();
    const asked = this.#remember(pod, "stop", now);
    const after = asked + Math.min(grace, PARTING_MS) - now.getTime();
    if (after > 0) return { is: "stopping", after };
    // A server that is told to go has done its work; a job that is told to go has not.
    const exitCode = pod.spec.restartPolicy === "Always" ? 0 : TERMINATED;
    return { is: "stopped", exitCode: () => exitCode };
  }

  finish(pod: Pod): void {
    this.forget(pod);
  }

  forget({ metadata: { uid = "" } }: Pod): void {
    this.#moments.delete(uid);
  }

  log({ metadata: { namespace, name } }: Pod, container: Container, { began }: RunReference): ContainerLog {
    const text = `simulated by Capstan: container ${container.name} (image ${container.image}) of Pod ${namespace}/${name} does not really run and writes no more than this line`;
    return { written: [{ time: began, text }], follow: silence };
  }

  /** Time and the Pod decide everything. */
  onChange(): () => void {
    return () => {};
  }

  /** Why the container cannot run, by the wish of its Pod or by its image. */
  #hindrance({ pod, container }: Run, reported: ContainerStatus): Sight | undefined {
    const { fail } = wishesOf(pod);
    if (fail !== undefined && fail !== CRASH_LOOP) {
      return { is: "waiting", reason: fail, message: "simulated, because an annotation of the Pod asks for it" };
    }
    const { image = "" } = container;
    if (!isMissing(image)) return undefined;
    const now = this.#clock.now();
    const isGivenUp = reported.image === image && reported.state?.waiting?.reason === PULL_BACKOFF;
    const left = isGivenUp ? 0 : this.#remember(pod, `pull ${image}`, now) + PULL_RETRY_MS - now.getTime();
    if (left <= 0) return { is: "waiting", reason: PULL_BACKOFF, message: `Back-off pulling image "${image}"` };
    const message = `simulated: by its name, nobody has the image "${image}"`;
    return { is: "waiting", reason: "ErrImagePull", message, after: left };
  }

  #sight(run: Run, since: Date, now: Date): Sight {
    const { afterMs, exitCode } = runEnding(run);
    const identity = { since, containerID: containerIdOf(run), imageID: imageIdOf(run.container.image ?? "") };
    const left = since.getTime() + afterMs - now.getTime();
    if (left <= 0) return { is: "ended", ...identity, at: new Date(since.getTime() + afterMs), exitCode };
    const untilReady = since.getTime() + wishesOf(run.pod).readyAfterMs - now.getTime();
    const next = Math.min(left, untilReady > 0 ? untilReady : Number.POSITIVE_INFINITY);
    return { is: "running", ...identity, isReady: untilReady <= 0, ...(Number.isFinite(next) && { after: next }) };
  }

  /** When something began, told for the first time now or before. */
  #remember({ metadata: { uid = "" } }: Pod, what: string, now: Date): number {
    const moments = this.#moments.get(uid) ?? new Map<string, number>();
    this.#moments.set(uid, moments);
    const known = moments.get(what) ?? now.getTime();
    moments.set(what, known);
    return known;
  }
}

/** No more lines, and no end before the signal. */
async function* silence(signal: AbortSignal): AsyncGenerator<LogLine> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** How a run would end. Only what is meant to end does; a Pod that is kept running runs whatever its command says. */
function runEnding({ pod, container, role }: Run): Ending {
  if (wishesOf(pod).fail === CRASH_LOOP && role === "main") return { afterMs: 0, exitCode: 1 };
  if (role === "sidecar" || role === "ephemeral") return NEVER;
  const { restartPolicy = "Always" } = pod.spec;
  if (role === "main" && restartPolicy === "Always") return NEVER;
  const argv = [...(container.command ?? []), ...(container.args ?? [])];
  const ending = argv.length > 0 ? endingOf(argv) : endingOfImage(pod, container.image ?? "", role);
  // A Pod that is kept running should be ready at once: what it waits for first is there already.
  return role === "init" && restartPolicy === "Always" ? { ...ending, afterMs: 0 } : ending;
}

/** Without a command nobody knows what an image does; of a Job it is sure that it means to end. */
function endingOfImage(pod: Pod, image: string, role: Run["role"]): Ending {
  if (isPause(image)) return NEVER;
  return role === "init" || controllerOf(pod)?.kind === "Job" ? AT_ONCE : NEVER;
}

/** The same for the same run, however often it is asked for. */
function containerIdOf({ pod, container, attempt }: Run): string {
  return `${SIMULATED}${sha256(`${pod.metadata.uid} ${container.name} ${attempt}`)}`;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
