/**
 * What runs the containers of Pods. The kubelet decides which of them should run, counts restarts and reports; a
 * runner begins and ends runs, or pretends to, and says what became of them.
 */
import type { Container, ContainerStatus, Pod } from "#api/core";

/** `init` ends before the next one begins; a `sidecar` is an init container that runs on beside the others. */
export type Role = "init" | "sidecar" | "main" | "ephemeral";

/** One run of a container. */
export interface Run {
  readonly pod: Pod;
  readonly container: Container;
  readonly role: Role;
  /** How many runs of this container came before. */
  readonly attempt: number;
}

/** What a container is doing. `after` are the milliseconds until it will do something else, if only time decides. */
export type Sight = Waiting | Running | Ended;

export interface Waiting {
  readonly is: "waiting";
  /** One word in CamelCase that programs may look for. */
  readonly reason: string;
  readonly message?: string;
  readonly after?: number;
}

export interface Running extends RunIdentity {
  readonly is: "running";
  readonly isReady: boolean;
  readonly after?: number;
}

export interface Ended extends RunIdentity {
  readonly is: "ended";
  readonly at: Date;
  readonly exitCode: number;
  /** `Completed` or `Error`, by the exit code, unless told. */
  readonly reason?: string;
  readonly message?: string;
}

interface RunIdentity {
  readonly since: Date;
  /** Another one for every run. */
  readonly containerID: string;
  readonly imageID: string;
}

/** A Pod that is being ended: it takes so many milliseconds more, or each container has its exit code. */
export type Stopping =
  | { readonly is: "stopping"; readonly after: number }
  | { readonly is: "stopped"; exitCode(containerName: string): number };

/** A line that a container wrote, without its end. */
export interface LogLine {
  readonly time: Date;
  readonly text: string;
}

/** Which of a container's runs is meant. */
export interface RunReference {
  readonly began: Date;
  readonly containerID: string;
}

/** What one run of a container wrote. */
export interface ContainerLog {
  /** So far, oldest first. */
  readonly written: readonly LogLine[];
  /** From now on, until the run ends or the signal fires. */
  follow(signal: AbortSignal): AsyncIterable<LogLine>;
}

export interface PodRunner {
  /** Begins a run, or says why it cannot begin; then it is asked again. `before` is what was reported last. */
  start(run: Run, before: ContainerStatus): Sight;
  /** What has become of a run that was reported as running; after a restart of the node it may not know of it. */
  look(run: Run, reported: ContainerStatus): Sight;
  /** Ends a run, because its container shall run another image. Asked again until it has ended. */
  end(run: Run, reported: ContainerStatus): Running | Ended;
  /** As how many restarts in a row the next one counts, for the time that the container waits before it. */
  strikes(pod: Pod, reported: ContainerStatus): number;
  /** Ends all that runs of a Pod which was deleted. Asked again until it has. */
  stop(pod: Pod): Stopping;
  /** The Pod has succeeded or failed: what still runs of it is to end. Its logs stay. */
  finish(pod: Pod): void;
  /** The Pod is gone: nothing more will be asked about it. */
  forget(pod: Pod): void;
  /** Of the current run of a container, or of the one before it. */
  log(pod: Pod, container: Container, run: RunReference): ContainerLog;
  /** Tells the key of a Pod of which something changed that neither the Pod nor time could tell. The answer ends it. */
  onChange(listener: (podKey: string) => void): () => void;
}
