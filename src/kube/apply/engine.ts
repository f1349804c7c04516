/**
 * One engine for all that Capstan puts into clusters: it is told how objects should be, makes them so in an order in
 * which that can succeed, and tells of each what it did and why. An engine belongs to one cluster and one field manager,
 * and remembers what it did there.
 */
import type { DynamicObject } from "#api/meta";
import { type Clock, systemClock } from "#lib/clock";
import type { Client } from "../types.ts";
import { Busy } from "./busy.ts";
import { hashAnnotationOf } from "./content.ts";
import { type Drift, followDrift } from "./drift.ts";
import { objectIdentity } from "./identity.ts";
import { Kinds } from "./kinds.ts";
import { Memory } from "./memory.ts";
import { type ReadyOptions, type Unready, whenReady } from "./ready.ts";
import { Run } from "./run.ts";
import type { ApplyReport, CacheOf, ObjectSet, RunOptions } from "./types.ts";

export interface ApplyEngineOptions {
  readonly client: Client;
  /** Who answers for the fields that are applied. */
  readonly fieldManager: string;
  /** Caches to read from; what they have is not asked of the server. */
  readonly cacheOf?: CacheOf;
  readonly clock?: Clock;
  /** How many objects are worked on at once; 16 unless told. */
  readonly atOnce?: number;
  /** What becomes of fields that the server does not know; `Strict` refuses them, as kubectl does. `Warn` unless told. */
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
  /** The annotation that tells which manifest was applied last; one of Capstan's own unless told. */
  readonly hashAnnotation?: string;
  /** What is known of the server's kinds, for several engines of one server; one of its own unless told. */
  readonly kinds?: Kinds;
}

export interface ApplyEngine {
  /**
   * Makes the cluster look as the set says. Trouble with single objects is told in the report and keeps no others from
   * going in; it throws only when nothing can be done at all.
   */
  apply(set: ObjectSet, options?: RunOptions): Promise<ApplyReport>;
  /** The report that `apply` would give now, and nothing is written. Waiting is left out of it. */
  plan(set: ObjectSet, options?: RunOptions): Promise<ApplyReport>;
  /**
   * Tells, from the caches, of every object of the set that is not as it was left: at once of those that differ now,
   * then of each as it changes. The answer ends it.
   */
  followDrift(set: ObjectSet, onDrift: (drift: Drift) => void, options?: { signal?: AbortSignal }): Promise<() => void>;
  /** A cache shows this state of an object now, so that what our own write left of it need not be kept any longer. */
  heard(object: DynamicObject): void;
  /** Waits until what a report tells of works; the answer is what does not, and why. */
  whenReady(report: ApplyReport, options: ReadyOptions): Promise<readonly Unready[]>;
}

/** Hides the way to the server and back, without flooding it. */
const AT_ONCE = 16;

export function createApplyEngine(options: ApplyEngineOptions): ApplyEngine {
  const { client, clock = systemClock } = options;
  const parts = {
    client,
    clock,
    fieldManager: options.fieldManager,
    cacheOf: options.cacheOf ?? (() => undefined),
    atOnce: options.atOnce ?? AT_ONCE,
    fieldValidation: options.fieldValidation ?? ("Warn" as const),
    hashAnnotation: (manager: string) => options.hashAnnotation ?? hashAnnotationOf(manager),
    kinds: options.kinds ?? new Kinds(client),
    memory: new Memory(clock),
    busy: new Busy(),
  };
  return {
    apply: (set, run = {}) => new Run(parts, set, { ...run, dryRun: false }).report(),
    plan: (set, run = {}) => new Run(parts, set, { ...run, dryRun: true }).report(),
    followDrift: (set, onDrift, call = {}) => followDrift(parts, set, onDrift, call),
    heard: (object) => void parts.memory.ahead(objectIdentity(object), object),
    whenReady: (report, ready) => whenReady(parts, report, ready),
  };
}
