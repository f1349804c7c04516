/** The contract of the store: what the verbs, the watches and the controllers may rely on. */
import type { DynamicObject } from "#api/meta";

/** An object at rest. It is shared by everybody who reads it and must never be changed. */
export type Stored = DynamicObject;

export interface StoreEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly resource: string;
  readonly key: string;
  readonly revision: number;
  /** The new state; for DELETED the last state, with the revision of the delete as resourceVersion. */
  readonly object: Stored;
  /** The state before; absent for ADDED. */
  readonly previous?: Stored;
}

/**
 * What somebody who watches may care for at most; everything of the resource unless told. It saves looking at what is
 * none of one's business: a change of one object among thousands goes to those few who asked for it.
 */
export type Interest =
  | { readonly key: string }
  | { readonly namespace: string }
  /** Objects that have a label with this value, or had it until now. */
  | { readonly label: string; readonly value: string };

export interface ListScope {
  readonly namespace?: string;
  /** Of one object, if there is no need to see others. */
  readonly key?: string;
  readonly revision?: number;
}

export interface ListResult {
  readonly items: Stored[];
  readonly revision: number;
}

/**
 * All state of one cluster, in memory, with a log on disk. Reads show only what is durable; writes see
 * what is durable or on its way there, so that two writers of one object never miss each other.
 */
export interface Store {
  /** The newest durable revision. An empty store is at 1, because clients take "0" to mean any revision. */
  readonly revision: number;
  /**
   * The oldest revision that a watch of any resource may resume from and a list of any resource may be read
   * at. A quiet resource may reach back further than that.
   */
  readonly oldest: number;
  get(resource: string, key: string): Stored | undefined;
  /** What the next write will find, durable or not. */
  head(resource: string, key: string): Stored | undefined;
  /**
   * In order of key. With `revision`, the state as it was then; throws Compacted when that is forgotten and
   * StoreError when it has not happened yet.
   */
  list(resource: string, options?: ListScope): ListResult;
  /** Resources that hold at least one object, in order of name. */
  resources(): string[];
  /**
   * Reads the newest state, durable or on its way, decides, and writes. `decide` gets undefined for a missing
   * object and returns the next state, `undefined` to delete, or the current state itself to leave things as
   * they are. It runs at once and must not await nor write; what it throws rejects the answer and nothing is
   * written. The answer comes when the write is durable: the object with its resourceVersion (for a delete, the
   * final state). When the disk fails, everything accepted and not yet durable is rejected with a StoreError.
   */
  write(
    resource: string,
    key: string,
    decide: (current: Stored | undefined) => Stored | undefined,
  ): Promise<Stored | undefined>;
  /**
   * Events of one resource after `since`, then all that follow, in order and once each. Throws Compacted.
   * What has already happened is delivered before this returns. With an interest, other events may be left out,
   * but need not be. The answer ends it.
   */
  watch(resource: string, since: number, onEvent: (event: StoreEvent) => void, interest?: Interest): () => void;
  /** Every event of the cluster from now on. The answer ends it. */
  subscribe(onEvent: (event: StoreEvent) => void): () => void;
  /** Called with the new revision after every durable batch; used for waits on a future revision. */
  onRevision(listener: (revision: number) => void): () => void;
  /** Finishes what was accepted and a snapshot under way, and lets go of the files. */
  close(): Promise<void>;
}

/** The revision asked for is older than what is kept. */
export class Compacted extends Error {
  readonly asked: number;
  readonly oldest: number;
  constructor(asked: number, oldest: number) {
    super(`revision ${asked} is older than ${oldest}, the oldest that is kept`);
    this.name = "Compacted";
    this.asked = asked;
    this.oldest = oldest;
  }
}

export type Durability = "sync" | "os" | "memory";
