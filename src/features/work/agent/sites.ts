/** What the agent keeps in memory about each work: its engine, what it follows on the spoke, and how it fared. */

import type { KubeObject } from "#api/meta";
import { type AppliedManifestWork, type ManifestWork, WORK_FIELD_MANAGER } from "#api/work";
import { type ApplyEngine, createApplyEngine, Kinds } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Cluster, Trigger } from "#runtime";
import { Ahead } from "./ahead.ts";
import { Arrivals } from "./arrivals.ts";
import { Contention } from "./contention.ts";
import { Followed, type News, type Target } from "./followed.ts";

/** What there was when a turn ended with nothing left to do: for as long as it is the same, there is nothing to do. */
export interface Settled {
  /** Versions. */
  readonly work: string;
  readonly record: string;
  /** By object. */
  readonly objects: ReadonlyMap<string, string>;
  /** Others who want one of the objects, and in which version. */
  readonly rivals: string;
}

export interface Site {
  readonly engine: ApplyEngine;
  readonly contention: Contention;
  /** By object, the generation of the work in which it was last in place. */
  readonly inPlace: Map<string, number>;
  /** What has left the work and is not gone yet. */
  going: readonly Target[];
  /** How often in a row something of this generation could not be done. */
  failures: number;
  generation: number | undefined;
  /** The version of the work that our last report made of it; hearing of it is no news. */
  reported: string | undefined;
  /** The work and its record as our last writes have left them. */
  readonly work: Ahead<ManifestWork>;
  readonly record: Ahead<AppliedManifestWork>;
  /** What is heard of its objects while a turn is under way: by object, the version. */
  news: Map<string, string> | undefined;
  settled: Settled | undefined;
}

/** The version of what is not there. */
export const ABSENT = "";

export function versionOf(object: KubeObject | undefined): string {
  return object?.metadata.resourceVersion ?? ABSENT;
}

export interface SitesOptions {
  readonly spoke: Cluster;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Sites {
  readonly kinds: Kinds;
  readonly followed: Followed;
  readonly #arrivals: Arrivals;
  readonly #options: SitesOptions;
  readonly #sites = new Map<string, Site>();
  #enqueue: (name: string) => void = () => {};

  constructor(options: SitesOptions) {
    const { spoke, clock, log } = options;
    this.#options = options;
    this.kinds = new Kinds(spoke.client);
    this.followed = new Followed({
      client: spoke.client,
      clock,
      log,
      onChange: (name, news) => this.#changed(name, news),
    });
    this.#arrivals = new Arrivals({ client: spoke.client, clock, log, onArrival: (name) => this.#arrived(name) });
  }

  /** Asks for every work of which something on the spoke has changed. */
  readonly trigger: Trigger<string> = {
    subscribe: (enqueue) => {
      this.#enqueue = enqueue;
      return () => {
        this.#enqueue = () => {};
        this.followed.close();
        this.#arrivals.close();
        this.#sites.clear();
      };
    },
  };

  of(name: string, generation: number | undefined): Site {
    const known = this.#sites.get(name);
    if (known) {
      if (known.generation !== generation) known.failures = 0;
      known.generation = generation;
      return known;
    }
    const { spoke, clock } = this.#options;
    const site: Site = {
      engine: createApplyEngine({
        client: spoke.client,
        fieldManager: WORK_FIELD_MANAGER,
        clock,
        kinds: this.kinds,
        cacheOf: this.followed.cachesOf(name),
      }),
      contention: new Contention(clock),
      inPlace: new Map(),
      going: [],
      failures: 0,
      generation,
      reported: undefined,
      work: new Ahead(clock),
      record: new Ahead(clock),
      news: undefined,
      settled: undefined,
    };
    this.#sites.set(name, site);
    return site;
  }

  known(name: string): Site | undefined {
    return this.#sites.get(name);
  }

  /** Begins to collect what is heard of the objects of a work, until the turn has ended. */
  begin(site: Site): void {
    site.settled = undefined;
    site.news = new Map();
  }

  /** What was heard meanwhile is news if it is not what the turn has left. Of a turn that failed nobody knows what it left. */
  end(name: string, site: Site, left: Settled | undefined, isAtRest: boolean): void {
    const heard = site.news ?? new Map<string, string>();
    site.news = undefined;
    const isNew = [...heard].some(([identity, version]) => left?.objects.get(identity) !== version);
    if (isNew) this.#enqueue(name);
    else if (isAtRest) site.settled = left;
  }

  #changed(name: string, news: News | undefined): void {
    const site = this.#sites.get(name);
    if (!site || !news) {
      if (site) site.settled = undefined;
      this.#enqueue(name);
      return;
    }
    const { identity, after } = news;
    if (after) site.engine.heard(after);
    if (site.news) {
      site.news.set(identity, versionOf(after));
    } else if (site.settled?.objects.get(identity) !== versionOf(after)) {
      site.settled = undefined;
      this.#enqueue(name);
    }
  }

  /** Something that its last turn stood on is not so any more. */
  reconsider(name: string): void {
    this.#changed(name, undefined);
  }

  /** Whether this state of the work is what we have made of it ourselves. */
  isOwnReport({ metadata }: KubeObject): boolean {
    const { name, resourceVersion } = metadata;
    return resourceVersion !== undefined && this.#sites.get(name)?.reported === resourceVersion;
  }

  /** Whether the work has something that waits for a kind or a namespace to come. */
  waits(name: string, isWaiting: boolean): void {
    if (isWaiting) this.#arrivals.wait(name);
    else this.#arrivals.leave(name);
  }

  #arrived(name: string): void {
    const site = this.#sites.get(name);
    // A new kind may be served a moment later; what then fails is tried again soon.
    if (site) site.failures = 0;
    this.#enqueue(name);
  }

  leave(name: string): void {
    this.followed.release(name);
    this.#arrivals.leave(name);
    this.#sites.delete(name);
  }
}
