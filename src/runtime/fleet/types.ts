/** The contract of the fleet: who tells of clusters, how they stand, and what one gets by asking for one. */
import type { Key, Kind, KubeObject } from "#api/meta";
import type { Connection } from "#kube";
import type { Cache, CacheScope, Cluster, Fillable, KeyedByOptions, Trigger } from "../types.ts";

/** Why a cluster cannot be used now. The reason is API and ends up in conditions. */
export interface Unreachable {
  readonly reason: string;
  /** For people: what is wrong. It holds no secret, and stays the same while nothing changes. */
  readonly message: string;
}

export function isUnreachable(value: object): value is Unreachable {
  return "reason" in value && "message" in value;
}

/** The reasons that the fleet itself gives; providers have their own beside them. */
export const FleetReason = {
  /** No provider knows such a cluster. */
  notFound: "ClusterNotFound",
  /** It is known, and the first connection to it is being made. */
  engaging: "ClusterEngaging",
  /** Nobody answers at its address, or not in time. */
  unreachable: "ClusterUnreachable",
  /** It answers, and does not accept who we are. */
  unauthorized: "ClusterUnauthorized",
  /** It answers, and says that it cannot work. */
  unhealthy: "ClusterUnhealthy",
  /** What to show to it could not be had. */
  credentials: "ClusterCredentialsFailed",
  /** What describes the way to it makes no sense. */
  invalid: "KubeconfigInvalid",
  /** What describes the way to it asks for something that is not allowed here. */
  refused: "KubeconfigRefused",
  /** Of a kind: the cluster does not serve it. */
  kindMissing: "KindMissing",
  /** Of a kind: its objects there are not known yet, although there was time enough. */
  copyUnfilled: "CopyUnfilled",
} as const;

/** A cluster as a provider offers it. */
export interface Offer {
  readonly name: string;
  /** The same for the same way in, and another as soon as anything about it is another. */
  readonly fingerprint: string;
  /** The way in, or why there is none. It may take its time, but not for ever: it is called off after a while. */
  connect(signal: AbortSignal): Connection | Unreachable | Promise<Connection | Unreachable>;
  /** What a failed call says, in the provider's words; undefined where the fleet's own are good enough. */
  explain?(error: unknown): Unreachable | undefined;
}

/**
 * - `offered`: there is such a cluster, or the way to it has changed
 * - `removed`: there is no such cluster any more
 * - `listed`: everything that existed at the beginning has been told
 */
export type FleetChange =
  | { readonly type: "offered"; readonly offer: Offer }
  | { readonly type: "removed"; readonly name: string }
  | { readonly type: "listed" };

/** Somebody who knows clusters. */
export interface FleetProvider {
  /** For logs: `kubeconfig Secrets in fleet`. */
  readonly name: string;
  /**
   * Tells of all clusters and then of every change, until `signal` fires. One that fails is asked again after a
   * while; what it does not tell of again by then is gone.
   */
  follow(signal: AbortSignal): AsyncIterable<FleetChange>;
}

/**
 * - `Pending`: known, but there is no way in
 * - `Engaging`: being connected for the first time
 * - `Engaged`: connected and well
 * - `Degraded`: connected once, not well now; it recovers by itself
 * - `Disengaging`: gone, its last calls are ending
 */
export type MemberState = "Pending" | "Engaging" | "Engaged" | "Degraded" | "Disengaging";

export interface MemberStatus {
  readonly name: string;
  readonly state: MemberState;
  /** When it came into this state. */
  readonly since: Date;
  /** What is wrong, if anything. */
  readonly problem?: Unreachable;
  /**
   * `open` after several calls in a row that did not come through: further ones fail at once, and keys of controllers
   * that ran into it are parked, until the cluster answers again.
   */
  readonly circuit: "closed" | "open";
  /** Kinds that cannot be read there, though everything else can. */
  readonly unfilled: readonly UnfilledCopy[];
}

/** A kind whose objects on a cluster are not known, although somebody wants them. */
export interface UnfilledCopy extends Unreachable {
  /** `configmaps`, `widgets.example.com` */
  readonly kind: string;
}

/**
 * - `removed`: nobody knows a cluster of this name any more
 * - `released`: the name is still known, but that server is no longer connected: another answers, or there is no way in
 * - `stopped`: the fleet ends
 */
export type Departure = "removed" | "released" | "stopped";

/** A cluster by its name, or by the object that stands for it. */
export type ClusterRef = string | { readonly namespace?: string; readonly name: string };

/** A key that knows the cluster it is on: `<cluster>|<key>`. */
export type ClusterKey<K extends string = string> = `${string}|${K}`;

export interface Fleet {
  /** Follows all providers until `signal` fires; by its end no cluster is connected any more. A fleet runs once. */
  run(signal: AbortSignal): Promise<void>;
  /** The cluster if it is connected and well, else why not. Never waits, unless told how long. */
  reach(ref: ClusterRef, options?: ReachOptions): Promise<Cluster | Unreachable>;
  /** The cluster if it has been connected, well or not. */
  get(name: string): Cluster | undefined;
  /** How a cluster stands; undefined for one that nobody knows. */
  stateOf(name: string): MemberState | undefined;
  /** Every known cluster, by name. */
  readonly members: readonly MemberStatus[];
  /** Resolves when every provider has told of the clusters that existed at the start. */
  whenListed(): Promise<void>;
  /** A kind on all clusters, present and future. */
  cache<T extends KubeObject>(kind: Kind<T>, scope?: CacheScope): FleetCache<T>;
  /**
   * Asks for reconciles whenever a cluster comes, goes, gets unwell or recovers: of the keys that `key` names. With
   * `after`, also when its copies of those kinds are filled, so that what is missing there can be told.
   */
  keyedBy<K extends string>(
    key: (cluster: string) => K | readonly K[] | undefined,
    options?: Pick<FleetKeyedByOptions<KubeObject>, "after">,
  ): Trigger<K>;
  /**
   * Calls `join` for each connected cluster, now and later, however well it is. The signal fires when the cluster
   * goes, or is replaced by another server under its name. The answer ends it, signals and all.
   */
  forEach(join: (cluster: Cluster, signal: AbortSignal) => void): () => void;
  /** Runs after a change of any cluster's status. */
  onChange(listener: (status: MemberStatus) => void): () => void;
  /** Runs after a cluster has left: for queue items to drop and for what the hub keeps about it. */
  onRemoved(listener: (name: string, why: Departure) => void): () => void;
}

export interface ReachOptions {
  /** So many milliseconds it may take until the cluster is connected and well. */
  readonly patience?: number;
}

/**
 * The copies of one kind on all clusters. It counts as filled at once, because no cluster waits for another: what
 * is asked for on a cluster comes when that cluster's copy is filled.
 */
export interface FleetCache<T extends KubeObject> extends Fillable {
  /** The copy on one cluster; undefined while it is not connected or not filled. */
  on(cluster: string): Cache<T> | undefined;
  get(cluster: string, key: Key<T>): T | undefined;
  list(cluster: string): T[];
  /**
   * Asks for a reconcile of what `key` names, with the cluster's name in front, whenever an object comes, changes
   * or goes on any cluster, and of everything on a cluster that recovers.
   */
  keyedBy<K extends string>(
    key: (object: T, cluster: string) => K | readonly K[] | undefined,
    options?: FleetKeyedByOptions<T>,
  ): Trigger<ClusterKey<K>>;
  /** Resolves when the copy on a cluster is filled; on one that goes before, never. */
  filledOn(cluster: Cluster): Promise<void>;
}

export interface FleetKeyedByOptions<T extends KubeObject> extends KeyedByOptions<T> {
  /** Kinds that are read too: a cluster's objects wait until its copies of them are filled. */
  readonly after?: readonly Pick<FleetCache<T>, "filledOn">[];
}
