/**
 * What an operator keeps on one cluster for one object: it is put there by the apply engine, told from all else by a
 * label, followed from then on so that whatever somebody changes is mended at once, and removed when it is not wished
 * any more.
 */
import { setMaxListeners } from "node:events";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import type { DynamicObject, Key, Kind, KubeObject } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/rbac";
import {
  type ApplyEngine,
  type ApplyReport,
  createApplyEngine,
  fingerprint,
  idOf,
  type LiveCache,
  type ObjectId,
  type ObjectSet,
  orAborted,
  type Wish,
} from "#kube";
import type { Clock } from "#lib/clock";
import type { Cache, Cluster } from "#runtime";

export interface SiteOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  /** Who answers for the fields that are written. */
  readonly fieldManager: string;
  /** What everything carries that is kept there. */
  readonly label: { readonly key: string; readonly value: string };
  /** Among which to look for what carries it; `SITE_KINDS` unless told. */
  readonly kinds?: readonly Kind<KubeObject>[];
  /** Of which kinds every change is worth a look, not only what differs from the wish; Deployments unless told. */
  readonly watched?: readonly Kind<KubeObject>[];
  /** What carries the label and is kept by somebody else: it goes only with everything. */
  readonly isSpared?: (id: ObjectId) => boolean;
  /** Something is not as it was left, or what is watched fares otherwise than before. */
  onChange(): void;
}

/** The kinds that all operators keep objects of. */
export const SITE_KINDS: readonly Kind<KubeObject>[] = [
  Namespace,
  CustomResourceDefinition,
  ServiceAccount,
  ClusterRole,
  ClusterRoleBinding,
  Role,
  RoleBinding,
  Secret,
  ConfigMap,
  Deployment,
] as readonly Kind<KubeObject>[];

/** All that is in them would go too, so they stay until somebody removes them on purpose. */
const CONTAINERS: ReadonlySet<string> = new Set([Namespace.plural, CustomResourceDefinition.plural]);

/** The operator answers for all that it makes, and half of it may be renamed with one edit. */
const NO_LIMIT = { objects: Number.POSITIVE_INFINITY, percent: 100 };

export interface SiteRunOptions {
  readonly signal: AbortSignal;
  /** Milliseconds for which what is likely to pass is waited for; none unless told. */
  readonly patience?: number;
}

export class Site {
  readonly cluster: Cluster;
  readonly #options: SiteOptions;
  readonly #engine: ApplyEngine;
  readonly #life = new AbortController();
  readonly #started = new Set<object>();
  #followed: string | undefined;
  #stopFollowing: () => void = () => {};

  constructor(options: SiteOptions) {
    const { cluster, clock, fieldManager } = options;
    this.cluster = cluster;
    this.#options = options;
    this.#engine = createApplyEngine({
      client: cluster.client,
      fieldManager,
      clock,
      // The copies hold whole objects; which kind it is does not matter to the engine.
      cacheOf: (kind) =>
        this.#isKept(kind) ? (this.#cache(kind as unknown as Kind<KubeObject>) as unknown as LiveCache) : undefined,
    });
    setMaxListeners(0, this.#life.signal); // one for each kind
  }

  /**
   * Makes the cluster look so, removes what carries the label and is not among the wishes, but no namespaces and
   * definitions, and watches from then on that it stays so.
   */
  async apply(
    wishes: readonly (DynamicObject | Wish)[],
    { signal, patience = 0 }: SiteRunOptions,
  ): Promise<ApplyReport> {
    const set = this.#set(wishes.map(wishOf), this.#options.isSpared);
    const mark = fingerprint(set.wishes.map(({ object }) => object));
    if (mark !== this.#followed) await this.#follow(set, signal);
    const report = await this.#engine.apply(set, { signal, patience });
    this.#followed = mark;
    return report;
  }

  /** Removes what carries the label, but no namespaces and definitions, and what `keep` says; the rest is as it was. */
  async remove({
    signal,
    keep = () => false,
  }: SiteRunOptions & { keep?: (id: ObjectId) => boolean }): Promise<ApplyReport> {
    this.rest();
    return this.#engine.apply(this.#set([], keep), { signal });
  }

  /** Mends nothing any more, until something is applied again. */
  rest(): void {
    this.#stopFollowing();
    this.#stopFollowing = () => {};
    this.#followed = undefined;
  }

  /** All that carries the label, of one kind. */
  async list<T extends KubeObject>(kind: Kind<T>, signal: AbortSignal): Promise<T[]> {
    return (await this.#filled(kind, signal)).list();
  }

  /** One that carries the label. */
  async get<T extends KubeObject>(kind: Kind<T>, key: Key<T>, signal: AbortSignal): Promise<T | undefined> {
    return (await this.#filled(kind, signal)).get(key);
  }

  close(): void {
    this.rest();
    this.#life.abort();
  }

  #set(wishes: readonly Wish[], keep: (id: ObjectId) => boolean = () => false): ObjectSet {
    const { label } = this.#options;
    const inventory = {
      // What carries the label is the record: it is on every object from its first moment on.
      read: async ({ signal }: { signal?: AbortSignal }) => (await this.#labelled(signal)).filter((id) => !keep(id)),
      write: async () => {},
    };
    return {
      wishes,
      strategy: { type: "ServerSideApply", force: true },
      tracking: { inventory, membership: { label }, prune: true, budget: NO_LIMIT },
    };
  }

  get #kinds(): readonly Kind<KubeObject>[] {
    return this.#options.kinds ?? SITE_KINDS;
  }

  #isKept({ group, plural }: Pick<Kind, "group" | "plural">): boolean {
    return this.#kinds.some((known) => known.group === group && known.plural === plural);
  }

  async #labelled(signal = this.#life.signal): Promise<ObjectId[]> {
    const kinds = this.#kinds.filter(({ plural }) => !CONTAINERS.has(plural));
    const found = await Promise.all(kinds.map((kind) => this.list(kind, signal)));
    return found.flat().map(idOf);
  }

  /** A cluster that has gone fills nothing any more, so nobody waits for longer than they may. */
  async #filled<T extends KubeObject>(kind: Kind<T>, signal: AbortSignal): Promise<Cache<T>> {
    const cache = this.#cache(kind);
    await orAborted(cache.whenSynced(), signal);
    return cache;
  }

  #cache<T extends KubeObject>(kind: Kind<T>): Cache<T> {
    const { cluster, label, onChange } = this.#options;
    const cache = cluster.cache(kind, { labelSelector: `${label.key}=${label.value}` });
    if (this.#started.has(cache)) return cache;
    this.#started.add(cache);
    cache.start(this.#life.signal);
    const { watched = [Deployment as Kind<KubeObject>] } = this.#options;
    if (watched.some(({ plural }) => plural === kind.plural)) {
      const stop = cache.onChange(() => onChange());
      this.#life.signal.addEventListener("abort", stop, { once: true });
    }
    return cache;
  }

  async #follow(set: ObjectSet, signal: AbortSignal): Promise<void> {
    this.#stopFollowing();
    const life = this.#life.signal;
    const following = this.#engine.followDrift(set, () => this.#options.onChange(), { signal: life });
    this.#stopFollowing = await orAborted(following, signal);
  }
}

function wishOf(wished: DynamicObject | Wish): Wish {
  return "object" in wished && !("kind" in wished) ? (wished as Wish) : { object: wished as DynamicObject };
}
