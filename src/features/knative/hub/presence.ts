/**
 * An installation as it stands on its cluster: the engine that puts it there, and copies of all that belongs to it,
 * so that readiness and drift are seen when they happen and nothing is asked twice.
 */
import { setMaxListeners } from "node:events";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { Job } from "#api/batch";
import { ConfigMap } from "#api/core";
import { COMPONENT_LABEL, type KnativeComponent } from "#api/knative";
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import {
  type ApplyEngine,
  type ApplyOptions,
  type ApplyReport,
  createApplyEngine,
  fingerprint,
  type LiveCache,
  type ObjectSet,
  orAborted,
} from "#kube";
import type { Clock } from "#lib/clock";
import type { Cache, CacheScope, Cluster } from "#runtime";
import { OURS } from "./anchor.ts";
import { type Place, RECORD_SUFFIX } from "./installation.ts";

export interface PresenceOptions {
  readonly cluster: Cluster;
  readonly component: KnativeComponent;
  readonly clock: Clock;
  /** Something of the installation is not as it was left, or works now, or no longer does. */
  onChange(): void;
}

/** The name under which upstream's operator writes: fields stay with the operator, whichever of the two it is. */
export const FIELD_MANAGER = "manifestival";

export class Presence {
  readonly cluster: Cluster;
  readonly #options: PresenceOptions;
  readonly #engine: ApplyEngine;
  readonly #life = new AbortController();
  readonly #started = new Set<object>();
  #followed: string | undefined;
  #awaited: ReadonlySet<string> = new Set();
  #stopFollowing: () => void = () => {};

  constructor(options: PresenceOptions) {
    const { cluster, clock } = options;
    this.cluster = cluster;
    this.#options = options;
    this.#engine = createApplyEngine({
      client: cluster.client,
      fieldManager: FIELD_MANAGER,
      clock,
      // The copies hold whole objects; which kind it is does not matter to the engine.
      cacheOf: (kind) =>
        this.#awaited.has(groupKindOf(kind))
          ? undefined
          : (this.#cache(kind as Kind<DynamicObject & KubeObject>) as unknown as LiveCache),
    });
    setMaxListeners(0, this.#life.signal); // one for each kind
  }

  /** Makes the cluster look so, and watches from then on that it stays so. */
  async apply(set: ObjectSet, options: ApplyOptions): Promise<ApplyReport> {
    const mark = fingerprint(set.wishes.map(({ object }) => object));
    if (mark === this.#followed) return this.#engine.apply(set, options);
    // Filling the copies first saves asking for each object: where there is no Knative they are empty, and known to be.
    this.#awaited = kindsDefinedIn(set);
    await this.#follow(set, options.signal);
    const report = await this.#engine.apply(set, options);
    if (report.objects.some(({ reason }) => reason === "UnknownKind" || reason === "Prerequisite")) return report;
    this.#awaited = new Set();
    await this.#follow(set, options.signal);
    this.#followed = mark;
    return report;
  }

  /** What `apply` would do; nothing is written, and nothing watched. */
  plan(set: ObjectSet, options: ApplyOptions): Promise<ApplyReport> {
    this.#awaited = kindsDefinedIn(set);
    return this.#engine.plan(set, options);
  }

  /** Removes all that a record lists. */
  remove(set: Pick<ObjectSet, "tracking" | "namespace">, options: ApplyOptions): Promise<ApplyReport> {
    this.#stopFollowing();
    this.#followed = undefined;
    return this.#engine.apply({ ...set, wishes: [] }, options);
  }

  /** What we keep on the cluster about the installation itself. */
  async own(key: string, signal: AbortSignal): Promise<ConfigMap | undefined> {
    const [namespace = ""] = key.split("/");
    return (await this.#ours(namespace, signal)).get(key);
  }

  /** The lists of what was ever installed there, whoever wished it. */
  async lists({ namespace, record }: Place, signal: AbortSignal | undefined): Promise<readonly ConfigMap[]> {
    const [kind = ""] = record.split("-");
    const all = (await this.#ours(namespace, signal ?? this.#life.signal)).list();
    return all.filter(({ metadata: { name } }) => name.startsWith(`${kind}-`) && name.endsWith(RECORD_SUFFIX));
  }

  async #ours(namespace: string, signal: AbortSignal): Promise<Cache<ConfigMap>> {
    const cache = this.#copy(ConfigMap, { namespace, labelSelector: OURS }, true);
    await orAborted(cache.whenSynced(), signal);
    return cache;
  }

  async deployment(key: string, signal: AbortSignal): Promise<Deployment | undefined> {
    return (await this.#filled(Deployment, signal)).get(key);
  }

  async job(key: string, signal: AbortSignal): Promise<Job | undefined> {
    return (await this.#filled(Job, signal)).get(key);
  }

  close(): void {
    this.#stopFollowing();
    this.#life.abort();
  }

  /** A cluster that has gone fills nothing any more, so nobody waits for longer than they may. */
  async #filled<T extends KubeObject>(kind: Kind<T>, signal: AbortSignal): Promise<Cache<T>> {
    const cache = this.#cache(kind);
    await orAborted(cache.whenSynced(), signal);
    return cache;
  }

  /** Only what carries the label of the component, which all of it does. */
  #cache<T extends KubeObject>(kind: Kind<T>): Cache<T> {
    const labelSelector = `${COMPONENT_LABEL}=${this.#options.component}`;
    return this.#copy(kind, { labelSelector }, isWatchedForProgress(kind));
  }

  #copy<T extends KubeObject>(kind: Kind<T>, scope: CacheScope, isTold: boolean): Cache<T> {
    const { cluster, onChange } = this.#options;
    const cache = cluster.cache(kind, scope);
    if (this.#started.has(cache)) return cache;
    this.#started.add(cache);
    cache.start(this.#life.signal);
    if (isTold) {
      const stop = cache.onChange(() => onChange());
      this.#life.signal.addEventListener("abort", stop, { once: true });
    }
    return cache;
  }

  async #follow(set: ObjectSet, signal: AbortSignal | undefined): Promise<void> {
    this.#stopFollowing();
    const life = this.#life.signal;
    const following = this.#engine.followDrift(set, () => this.#options.onChange(), { signal: life });
    this.#stopFollowing = await orAborted(following, signal ?? life);
  }
}

/** Kinds that the set itself brings: before they are there, copies of them could never be filled. */
function kindsDefinedIn({ wishes }: ObjectSet): ReadonlySet<string> {
  const defined = wishes.flatMap(({ object }) => {
    if (object.kind !== CustomResourceDefinition.kind) return [];
    const { group, names } = object.spec as CustomResourceDefinition["spec"];
    return [groupKindOf({ group, kind: names.kind })];
  });
  return new Set(defined);
}

function groupKindOf({ group, kind }: Pick<Kind, "group" | "kind">): string {
  return `${kind}.${group}`;
}

function isWatchedForProgress({ group, kind }: Pick<Kind, "group" | "kind">): boolean {
  return [Deployment, Job].some((watched) => watched.group === group && watched.kind === kind);
}
