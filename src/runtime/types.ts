/** The contract of the runtime: what a controller is given and what it gives back. */
import type { Key, Kind, KubeObject } from "#api/meta";
import type { ChangeListener, Client, Draft, KeptParts } from "#kube";
import type { Logger } from "#lib/log";
import type { Predicate } from "./predicates.ts";

/** A cluster that controllers can read and write. */
export interface Cluster {
  readonly name: string;
  readonly client: Client;
  /**
   * The shared cache of a kind; asking twice for the same kind and scope gives the same cache. It starts to
   * fill when the first controller that uses it starts.
   */
  cache<T extends KubeObject>(kind: Kind<T>, scope?: CacheScope): Cache<T>;
  /**
   * Writes the difference between what was read and what should be: a merge patch of metadata and spec, and one
   * of `/status`, each only when it has something to say, both on condition that nobody else wrote since. Without
   * `before` the object is created (and its status then patched). An `after` without status leaves the status
   * alone. What is wanted of the same `before` in the same moment is written together. Returns what the server has now.
   */
  commit<T extends KubeObject>(
    kind: Kind<T>,
    before: T | undefined,
    after: T | Draft<T>,
    options?: CommitOptions,
  ): Promise<T>;
  /** Deletes, if it is still the object that was read. Gone already, or about to go, is fine. */
  remove<T extends KubeObject>(kind: Kind<T>, object: T): Promise<void>;
}

export interface CommitOptions {
  fieldManager?: string;
  signal?: AbortSignal;
}

/** Which objects are copied, and what of them is kept. */
export interface CacheScope extends KeptParts {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** Something that has to be filled before it can be relied upon. */
export interface Fillable {
  /** Fills it, and keeps it up to date until the signals of all who started it have fired. */
  start(signal: AbortSignal): void;
  whenSynced(): Promise<void>;
}

/**
 * The newest known state of every object of a kind. Objects are shared: copy before changing. Reading a cache that
 * nobody started is an error, because it would look like a cluster without objects: a controller names the caches
 * it reads in its `triggers` or `reads`.
 */
export interface Cache<T extends KubeObject> extends Fillable {
  get(key: Key<T>): T | undefined;
  list(): T[];
  readonly synced: boolean;
  /** Objects by a value computed from them; kept up to date. */
  indexBy(value: (object: T) => string | readonly string[] | undefined): Index<T>;
  /** Asks for a reconcile of the key(s) that `key` names, whenever an object comes, changes or goes. */
  keyedBy<K extends string>(key: (object: T) => K | readonly K[] | undefined, options?: KeyedByOptions<T>): Trigger<K>;
  /**
   * Runs after every change with the state before and after; `undefined` for coming and going. One who comes late
   * first hears of everything there is, as initial. The answer ends it.
   */
  onChange(listener: ChangeListener<T>): () => void;
}

export interface KeyedByOptions<T extends KubeObject> {
  /** Which changes are worth a reconcile; all unless told. */
  readonly when?: Predicate<T>;
}

export interface Index<T> {
  at(value: string): T[];
}

/** Something that asks for reconciles. */
export interface Trigger<K extends string> {
  /** The cache that must be filled before the first reconcile; none for timers and the like. */
  readonly cache?: Fillable;
  /** Called once all caches of the controller are filled. The answer ends it. */
  subscribe(enqueue: (key: K, options?: { initial?: boolean }) => void): () => void;
}

export interface Controller<K extends string = string> {
  readonly name: string;
  readonly triggers: readonly Trigger<K>[];
  /** Caches that are read but trigger nothing; they too are filled before the first reconcile. */
  readonly reads?: readonly Fillable[];
  /**
   * How many keys are worked on at once; 1 unless told. A key of a cluster that takes longer than a second counts no
   * more, but against the limit of its own cluster: others need not wait for a cluster that does not answer.
   */
  readonly concurrency?: number;
  /** Milliseconds after which a reconcile is called off; five minutes unless told. */
  readonly deadline?: number;
  /** Whether it works although another process leads: for what every process does for itself. */
  readonly isUnled?: boolean;
  reconcile(key: K, context: ReconcileContext): Promise<Outcome>;
  /**
   * Called after a cluster of the fleet has left for good, for what is kept elsewhere because of it; retried like a
   * reconcile, and left out if the cluster has come back by then. Nobody calls it for clusters that left while the
   * program did not run.
   */
  clusterRemoved?(cluster: string, context: ReconcileContext): Promise<Outcome>;
}

export interface ReconcileContext {
  /** Fires when the reconcile has taken too long, or must end because everything does. */
  readonly signal: AbortSignal;
  /** Says the controller, the object, its cluster if the key names one, and the reconcile with every line. */
  readonly log: Logger;
  /** Tells this reconcile from all others, in logs here and wherever it is passed on to. */
  readonly reconcileId: string;
}

/** What a reconcile says at its end. An error thrown means: again, later and later. */
export type Outcome = { readonly after?: number };

/** Nothing more to do until something changes. */
export const done: Outcome = {};

/** Look again after so many milliseconds, even if nothing changes. */
export function again(after: number): Outcome {
  return { after };
}

/** Thrown where only a person can help: no retry until something changes. */
export class Terminal extends Error {
  override readonly name = "Terminal";
}
