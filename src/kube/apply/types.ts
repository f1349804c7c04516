/** The contract of the apply engine: what is wished for, and what is told about it. */
import type { DynamicObject, Key, Kind, OwnerReference } from "#api/meta";
import type { CallOptions } from "../types.ts";
import type { ObjectId } from "./identity.ts";

/** What is wanted of one object. */
export interface Wish {
  /** The object as it should be. It is never changed. */
  readonly object: DynamicObject;
  /** How it gets there; that of the set unless told. */
  readonly strategy?: Strategy;
  /** Whether it names an owner; as the set says unless told. */
  readonly owner?: OwnerPolicy;
  /** Where it was written, for messages. */
  readonly source?: string;
}

/**
 * - `ServerSideApply`: the fields of the manifest are ours, all others are left to whoever set them. Without `force` a
 *   field that somebody else set differently is a conflict.
 * - `Update`: the object becomes the manifest, as ManifestWork's strategy of that name has it: fields that others added
 *   go; labels, annotations, owners and finalizers of others stay.
 * - `CreateOnly`: created if absent, and then left alone.
 * - `ReadOnly`: never written, only looked up.
 */
export type Strategy =
  | {
      readonly type: "ServerSideApply";
      readonly force?: boolean;
      /** Who answers for the fields; the manager of the engine unless told. */
      readonly fieldManager?: string;
      /**
       * What is sent to an object that exists: the manifest without what is left to the cluster. An object to which
       * just this was sent last is then left alone, however it has changed since.
       */
      readonly ignoring?: (manifest: DynamicObject) => DynamicObject;
      /** The annotation that tells what was applied last; one of the manager's own unless told. */
      readonly note?: string;
      /**
       * Managers that wrote whole objects and no longer do: what they answer for becomes ours, and goes when the
       * manifest has it no more.
       */
      readonly succeeds?: readonly string[];
    }
  | { readonly type: "Update" }
  | { readonly type: "CreateOnly" }
  | { readonly type: "ReadOnly" };

/** `owned`: the object names this owner beside others; `orphaned`: it must not. No policy leaves owners alone. */
export interface OwnerPolicy {
  readonly mode: "owned" | "orphaned";
  readonly reference: OwnerReference;
}

/** Objects that belong together. */
export interface ObjectSet {
  readonly wishes: readonly Wish[];
  /** Server-side apply without force unless told. */
  readonly strategy?: Strategy;
  readonly owner?: OwnerPolicy;
  /** For objects that need a namespace and name none; `default` unless told. */
  readonly namespace?: string;
  /** What the set contained before, so that what has left it can be removed. Without it nothing ever is. */
  readonly tracking?: Tracking;
}

export interface Tracking {
  readonly inventory: Inventory;
  /** What tells that an object is of the set: a label that every one gets, or an owner that it names. */
  readonly membership: Membership;
  /** Whether what has left the set is removed; else it is only told. */
  readonly prune: boolean;
  readonly budget?: RemovalBudget;
  /** Whether Namespaces and CustomResourceDefinitions go too, and with them all that is in them. They stay unless told. */
  readonly containers?: "keep" | "remove";
}

export type Membership =
  | { readonly label: { readonly key: string; readonly value: string } }
  | {
      readonly owner: OwnerReference;
      /** Whether another owner has an equal claim: the object then stays, and only loses our reference. */
      readonly isRival?: (other: OwnerReference) => boolean;
    };

/** What a set contained, kept where it outlives the process. */
export interface Inventory {
  /** Throws when it cannot be told for sure; nothing is removed then. */
  read(options: CallOptions): Promise<readonly ObjectId[]>;
  /**
   * Replaces the record. It is called before the first write, with all that was and all that will be, so that a process
   * that dies leaves nothing untracked; and at the end, with all that is.
   */
  write(members: readonly ObjectId[], options: CallOptions): Promise<void>;
}

/** More than either of these is not removed at once: it looks like a mistake. */
export interface RemovalBudget {
  readonly objects: number;
  /** Of all objects that the set has or had. */
  readonly percent: number;
}

/** The newest known state of objects of one kind, as caches of `kube` and of the runtime have it. */
export interface LiveCache {
  get(key: Key<DynamicObject>): DynamicObject | undefined;
  readonly synced: boolean;
  whenSynced(): Promise<void>;
  onChange(listener: (before: DynamicObject | undefined, after: DynamicObject | undefined) => void): () => void;
}

/** The cache of a kind, where there is one. It must hold objects whole, though it may leave out managedFields. */
export type CacheOf = (kind: Kind) => LiveCache | undefined;

/**
 * - `created`, `updated`, `pruned`: written, or in a plan: to be written
 * - `unchanged`: as wished already
 * - `skipped`: the strategy leaves it alone
 * - `waiting`: may succeed later as it is
 * - `refused`: will not succeed until somebody changes something
 * - `held back`: not tried, for the reason given
 */
export type Action = "created" | "updated" | "unchanged" | "skipped" | "waiting" | "refused" | "pruned" | "held back";

/** Why; stable, for programs. */
export type Reason =
  | "Applied"
  | "AsWished"
  | "Adopted"
  | "Recreated"
  | "Exists"
  | "ReadOnly"
  | "LeftAlone"
  | "BeingDeleted"
  | "NamespaceMissing"
  | "UnknownKind"
  | "Prerequisite"
  | "WebhookUnbacked"
  | "ServerNotReady"
  | "Conflict"
  | "OtherSet"
  | "Duplicate"
  | "Malformed"
  | "Invalid"
  | "Forbidden"
  | "Refused"
  | "LeftTheSet"
  | "Released"
  | "Gone"
  | "NotOurs"
  | "Container"
  | "OverBudget"
  | "Incomplete"
  | "DoubtfulRead"
  | "NotAsked";

/** What was done to one object, or would be. The same state gives the same texts. */
export interface ObjectReport {
  readonly id: ObjectId;
  readonly action: Action;
  readonly reason: Reason;
  /** For people; empty where the action says it all. */
  readonly message: string;
  /** What changes, field by field; values of Secrets are masked. */
  readonly changes: readonly FieldChange[];
  /** Changes beyond those listed. */
  readonly moreChanges: number;
  /** Who else claims which field. */
  readonly conflicts: readonly FieldConflict[];
  /** False where a plan could not be tried on the server, such as an object of a kind that the set itself brings. */
  readonly checked: boolean;
  readonly source?: string;
  /** The object as the server has it now; absent where that is unknown. */
  readonly live?: DynamicObject;
}

export interface FieldChange {
  /** `.spec.containers[name=web].image` */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

export interface FieldConflict {
  readonly manager: string;
  readonly field: string;
}

export interface ApplyReport {
  /** In the order of the wishes, then what has left the set. */
  readonly objects: readonly ObjectReport[];
  /** Whether everything is as wished. */
  readonly complete: boolean;
  /** What is wrong beside the objects, such as a record that could not be written. */
  readonly problem?: string;
}

export interface RunOptions {
  /** Milliseconds that prerequisites and hindrances that may pass are waited for; 0 unless told. */
  readonly patience?: number;
  readonly signal?: AbortSignal;
  /** Hears, for people, what is waited for. */
  readonly onWait?: (what: string) => void;
  /** Hears of each object as soon as it is decided. */
  readonly onReport?: (report: ObjectReport) => void;
  /** Only these objects of the set are looked at, such as those that have drifted. Nothing is removed then. */
  readonly only?: (id: ObjectId) => boolean;
}
