/**
 * What controllers tell people about objects: Events of `events.k8s.io/v1`. The same told again is not another
 * Event but a series: the second time is written, later ones are counted and written now and then, and a series
 * ends when nothing was heard of it for a while.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { ObjectReference } from "#api/core";
import { Event } from "#api/events";
import { type KubeObject, keyOf } from "#api/meta";
import { type Client, isAlreadyExists, isNotFound, KubeError } from "#kube";
import { type Clock, microTimestamp } from "#lib/clock";
import type { Logger } from "#lib/log";
import { pause, sharedAbort } from "./abort.ts";

export interface Telling {
  readonly type?: "Normal" | "Warning";
  /** Why, in one CamelCase word that programs may look for. */
  readonly reason: string;
  /** What was done or tried, in one CamelCase word; the reason unless told. */
  readonly action?: string;
  /** For people; cut at 1024 characters. */
  readonly note: string;
  /** Another object that has to do with it. */
  readonly related?: KubeObject;
}

export interface EventRecorder {
  /** Never fails and is never waited for: an Event is a courtesy. */
  tell(regarding: KubeObject, telling: Telling): void;
  /** Takes nothing more, and ends when what is waiting has been written or has failed once more, or after 5 s. */
  close(): Promise<void>;
}

export interface RecorderOptions {
  readonly client: Client;
  /** Who tells, such as the name of a controller. */
  readonly controller: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** Which of its processes tells; `<controller>-<hostname>` unless told. */
  readonly instance?: string;
  readonly random?: () => number;
}

export function createEventRecorder(options: RecorderOptions): EventRecorder {
  return new SeriesRecorder(options);
}

/** A series of which nothing was heard for so long is over. */
const SILENCE = 6 * 60_000;
/** How often the count of a series is written while it goes on. */
const REFRESH = 30 * 60_000;
/** More writes than these do not wait: somebody tells faster than the server listens. */
const MOST_WAITING = 1_000;
const WORKERS = 8;
const ATTEMPTS = 12;
const RETRY = 10_000;
/** Retries are up to a quarter late, so that not all come at once after an outage. */
const JITTER = 0.25;
/** How long the end of a program may wait for its last Events. */
const PARTING = 5_000;
const LONGEST_NOTE = 1_024;
const LONGEST_INSTANCE = 128;
/** A name has at most 253 characters, of which a dot and sixteen digits are ours. */
const LONGEST_SUBJECT = 236;

interface Series {
  readonly id: string;
  readonly event: Event;
  count: number;
  lastObserved: Date;
  /** How many of them the server knows of; 0 before it knows the Event at all. */
  written: number;
  writtenAt: Date;
  isQueued: boolean;
}

class SeriesRecorder implements EventRecorder {
  readonly #options: RecorderOptions;
  readonly #log: Logger;
  readonly #instance: string;
  readonly #random: () => number;
  readonly #series = new Map<string, Series>();
  readonly #waiting: Series[] = [];
  readonly #workers = new Set<Promise<void>>();
  readonly #closing = sharedAbort();
  #busy = 0;
  #cancelSweep: (() => void) | undefined;

  constructor(options: RecorderOptions) {
    const { controller, instance = `${controller}-${hostname()}`, random = Math.random, log } = options;
    this.#options = options;
    this.#instance = instance.slice(0, LONGEST_INSTANCE);
    this.#random = random;
    this.#log = log.with({ component: "events" });
  }

  tell(regarding: KubeObject, telling: Telling): void {
    if (this.#closing.signal.aborted) return;
    const event = this.#eventOf(regarding, telling);
    const id = sameness(event);
    const known = this.#series.get(id);
    const now = this.#options.clock.now();
    if (known) {
      known.count++;
      known.lastObserved = now;
      if (known.count === 2) this.#enqueue(known);
      return;
    }
    const series = { id, event, count: 1, lastObserved: now, written: 0, writtenAt: now, isQueued: false };
    this.#series.set(id, series);
    this.#enqueue(series);
    this.#cancelSweep ??= this.#options.clock.after(SILENCE, () => this.#sweep());
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#cancelSweep?.();
    const enough = sharedAbort();
    const late = pause(this.#options.clock, PARTING, enough.signal);
    await Promise.race([Promise.all(this.#workers), late]);
    enough.abort();
  }

  #eventOf(regarding: KubeObject, { type = "Normal", reason, action = reason, note, related }: Telling): Event {
    const { name, namespace = "default" } = regarding.metadata;
    const unique = randomBytes(8).toString("hex");
    return {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { namespace, name: `${name.slice(0, LONGEST_SUBJECT)}.${unique}` },
      eventTime: microTimestamp(this.#options.clock.now()),
      reportingController: this.#options.controller,
      reportingInstance: this.#instance,
      action,
      reason,
      type,
      regarding: reference(regarding),
      ...(related && { related: reference(related) }),
      note: note.slice(0, LONGEST_NOTE),
    };
  }

  #enqueue(series: Series): void {
    if (series.isQueued) return; // whoever writes it writes the newest count
    if (this.#waiting.length >= MOST_WAITING) {
      this.#log.warn("too many Events; one is not written", { reason: series.event.reason });
      if (series.written === 0) this.#series.delete(series.id);
      return;
    }
    series.isQueued = true;
    this.#waiting.push(series);
    if (this.#busy >= WORKERS) return;
    const worker: Promise<void> = this.#work().finally(() => this.#workers.delete(worker));
    this.#workers.add(worker);
  }

  async #work(): Promise<void> {
    this.#busy++;
    for (let series = this.#waiting.shift(); series; series = this.#waiting.shift()) {
      await this.#persist(series);
    }
    this.#busy--; // at once, and not when the promise is heard of: nobody may count on a worker that has left
  }

  async #persist(series: Series): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      try {
        await this.#write(series);
        series.isQueued = false;
        // The second was told while the first was on its way.
        if (series.count > 1 && series.written === 1) this.#enqueue(series);
        return;
      } catch (error) {
        this.#log.debug("an Event was not written", { reason: series.event.reason, attempt, error });
        if (this.#closing.signal.aborted || !isWorthRetrying(error)) break;
        await pause(this.#options.clock, RETRY * (1 + JITTER * this.#random()), this.#closing.signal);
      }
    }
    series.isQueued = false;
    this.#series.delete(series.id);
  }

  async #write(series: Series): Promise<void> {
    const { client, clock } = this.#options;
    const { event, count, lastObserved, written } = series;
    const told = count > 1 && { series: { count, lastObservedTime: microTimestamp(lastObserved) } };
    try {
      if (written > 0) await client.patch(Event, keyOf(event), told || {}, { type: "merge" });
      else await client.create(Event, { ...event, ...told });
    } catch (error) {
      if (written > 0 && isNotFound(error)) {
        await client.create(Event, { ...event, ...told }); // the server forgets Events after an hour
      } else if (!isAlreadyExists(error)) {
        throw error; // one that exists was written by an attempt whose answer got lost
      }
    }
    series.written = count;
    series.writtenAt = clock.now();
  }

  /** Ends the series that fell silent and refreshes those that go on. */
  #sweep(): void {
    const now = this.#options.clock.now().getTime();
    for (const series of [...this.#series.values()]) {
      const isSilent = now - series.lastObserved.getTime() >= SILENCE;
      const isStale = now - series.writtenAt.getTime() >= REFRESH;
      if (series.count > series.written && (isSilent || isStale)) this.#enqueue(series);
      if (isSilent) this.#series.delete(series.id);
    }
    this.#cancelSweep = this.#series.size > 0 ? this.#options.clock.after(SILENCE, () => this.#sweep()) : undefined;
  }
}

/** Events that agree in this are the same, told again. */
function sameness({ type, action, reason, reportingController, reportingInstance, regarding, related }: Event): string {
  return JSON.stringify([type, action, reason, reportingController, reportingInstance, regarding, related]);
}

function reference({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { namespace, name, uid } = metadata;
  return { apiVersion, kind, ...(namespace && { namespace }), name, ...(uid && { uid }) };
}

/** What the server has refused it refuses again. */
function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof KubeError) || error.kind !== "status" || error.code >= 500 || error.code === 429;
}
