/**
 * Pods of Capstan's own image, run as real programs. What a program is given (variables, files, its service account) is
 * there before it begins and kept as it changes; what it writes is kept for those who ask.
 *
 * Nothing outlives the node: a run that this process knows nothing of ended with the process that began it.
 */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Container, ContainerStatus, Pod } from "#api/core";
import { keyOf } from "#api/meta";
import type { Client } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Telling } from "../events.ts";
import { FORGIVEN_AFTER_MS } from "../kubelet/containers.ts";
import type { ContainerLog, Ended, PodRunner, Run, Running, RunReference, Sight, Stopping } from "../kubelet/runner.ts";
import { imageIdOf } from "../simulation/image.ts";
import type { Execute } from "./execution.ts";
import { CREATING, PodSite } from "./pod-site.ts";
import { ProgramRun } from "./program-run.ts";
import { References } from "./references.ts";
import type { OwnServer, Surroundings } from "./surroundings.ts";

export interface ProgramPodsOptions {
  readonly execute: Execute;
  /** Where the files of Pods lie; nobody else's folder. */
  readonly root: string;
  readonly server: OwnServer;
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Tells people about a Pod. */
  readonly tell: (pod: Pod, telling: Telling) => void;
}

/** What is known of a Pod here. */
interface Known {
  readonly site: PodSite;
  /** Of each container, the current run and the one before it. */
  readonly runs: Map<string, { readonly current: ProgramRun; readonly previous?: ProgramRun }>;
}

/** As container runtimes say it of what ended while nobody looked. */
const LOST = { exitCode: 255, reason: "Unknown", message: "it ended with the node that ran it" } as const;
const LOST_LOG = "the log of this run is gone: it ended with the node that ran it";

const DEFAULT_GRACE_SECONDS = 30;
/** How long programs may take to end when the node does. */
const CLOSING_GRACE_MS = 5_000;

export class ProgramPods implements PodRunner {
  readonly #options: ProgramPodsOptions;
  readonly #surroundings: Surroundings;
  /** By the uid of the Pod. */
  readonly #known = new Map<string, Known>();
  readonly #listeners = new Set<(podKey: string) => void>();
  /** Folders of Pods that are being removed. */
  readonly #removals = new Set<Promise<void>>();
  #closing: Promise<void> | undefined;

  constructor(options: ProgramPodsOptions) {
    const { client, clock, log, server } = options;
    this.#options = options;
    this.#surroundings = { client, clock, server, references: new References({ client, clock, log }) };
  }

  start(run: Run): Sight {
    const { pod, container, attempt, role } = run;
    const known = this.#of(pod);
    known.site.update(pod);
    const before = known.runs.get(container.name);
    // Whoever asks may not have seen yet what became of the last time he asked.
    if (before && before.current.attempt >= attempt) return before.current.sight();
    const outfit = this.#closing ? CREATING : known.site.outfit(container);
    if (outfit.is === "waiting") return outfit;
    const previous = before?.current;
    const current = new ProgramRun({
      execute: this.#options.execute,
      outfit,
      attempt,
      strikes: strikesAfter(previous),
      imageID: imageIdOf(container.image ?? ""),
      saysReady: container.readinessProbe !== undefined && role !== "init",
      clock: this.#options.clock,
      changed: () => this.#changed(pod),
    });
    known.runs.set(container.name, { current, ...(previous && { previous }) });
    return current.sight();
  }

  look({ pod }: Run, reported: ContainerStatus): Sight {
    this.#known.get(uidOf(pod))?.site.update(pod);
    return this.#run(pod, reported.name, reported.containerID)?.sight() ?? this.#lost(reported);
  }

  end({ pod }: Run, reported: ContainerStatus): Running | Ended {
    const run = this.#run(pod, reported.name, reported.containerID);
    run?.stop(graceOf(pod));
    return run?.sight() ?? this.#lost(reported);
  }

  strikes(pod: Pod, { name, state, lastState }: ContainerStatus): number {
    const ended = state?.terminated ?? lastState?.terminated;
    return this.#run(pod, name, ended?.containerID)?.strikes ?? 0;
  }

  stop(pod: Pod): Stopping {
    const runs = this.#known.get(uidOf(pod))?.runs ?? new Map<string, { current: ProgramRun }>();
    const alive = [...runs.values()].map(({ current }) => current).filter(({ isAlive }) => isAlive);
    for (const run of alive) run.stop(graceOf(pod));
    const left = alive.filter(({ isAlive }) => isAlive).map((run) => run.left);
    if (left.length > 0) return { is: "stopping", after: Math.max(...left) };
    return { is: "stopped", exitCode: (name) => runs.get(name)?.current.exitCode ?? LOST.exitCode };
  }

  finish(pod: Pod): void {
    const known = this.#known.get(uidOf(pod));
    if (!known) return;
    const ended = [...known.runs.values()].map(({ current }) => {
      current.stop(graceOf(pod));
      return current.ended;
    });
    void Promise.all(ended).then(() => this.#remove(known));
  }

  forget(pod: Pod): void {
    const uid = uidOf(pod);
    const known = this.#known.get(uid);
    if (!known) return;
    this.#known.delete(uid);
    for (const { current } of known.runs.values()) current.stop(0);
    this.#remove(known);
  }

  log(pod: Pod, container: Container, { began, containerID }: RunReference): ContainerLog {
    const run = this.#run(pod, container.name, containerID);
    if (run) return run.log.read();
    return { written: [{ time: began, text: LOST_LOG }], follow: async function* () {} };
  }

  onChange(listener: (podKey: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Removes what Pods have left that are no more; `isThere` is asked by uid. */
  async sweep(isThere: (uid: string) => boolean): Promise<void> {
    const { root } = this.#options;
    const left = await readdir(root).catch(() => []);
    const gone = left.filter((uid) => !isThere(uid) && !this.#known.has(uid));
    await Promise.all(gone.map((uid) => rm(join(root, uid), { recursive: true, force: true })));
  }

  /** Ends everything. Files that Pods themselves have written stay for the next start, secrets do not. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#listeners.clear();
    const all = [...this.#known.values()];
    const ended = all.flatMap(({ site, runs }) =>
      [...runs.values()].map(({ current }) => {
        current.stop(Math.min(CLOSING_GRACE_MS, graceOf(site.pod)));
        return current.ended;
      }),
    );
    await Promise.all(all.map(({ site }) => site.freeze()));
    await Promise.all(ended);
    await Promise.all(all.map(({ site }) => site.close({ removed: false })));
    await Promise.all(this.#removals);
  }

  #of(pod: Pod): Known {
    const uid = uidOf(pod);
    const known = this.#known.get(uid);
    if (known) return known;
    const site = new PodSite({
      ...this.#surroundings,
      pod,
      folder: join(this.#options.root, uid),
      tell: (telling) => this.#options.tell(pod, telling),
      changed: () => this.#changed(pod),
    });
    const made = { site, runs: new Map() };
    this.#known.set(uid, made);
    return made;
  }

  #run(pod: Pod, container: string, containerID: string | undefined): ProgramRun | undefined {
    const { current, previous } = this.#known.get(uidOf(pod))?.runs.get(container) ?? {};
    return [current, previous].find((run) => run !== undefined && run.containerID === containerID);
  }

  #lost({ containerID = "", imageID, state }: ContainerStatus): Ended {
    const at = this.#options.clock.now();
    return { is: "ended", since: new Date(state?.running?.startedAt ?? at), at, containerID, imageID, ...LOST };
  }

  #remove({ site }: Known): void {
    const removal = site
      .close({ removed: true })
      .catch((error: unknown) => this.#options.log.warn("the folder of a Pod cannot be removed", { error }))
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  #changed(pod: Pod): void {
    for (const listener of this.#listeners) listener(keyOf(pod));
  }
}

/** A run that lasted has cleared the container of what went before. */
function strikesAfter(previous: ProgramRun | undefined): number {
  if (!previous) return 0;
  return previous.age > FORGIVEN_AFTER_MS ? 1 : previous.strikes + 1;
}

function graceOf({ metadata, spec }: Pod): number {
  const { deletionGracePeriodSeconds } = metadata;
  return (deletionGracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS) * 1000;
}

function uidOf({ metadata }: Pod): string {
  return metadata.uid ?? "";
}
