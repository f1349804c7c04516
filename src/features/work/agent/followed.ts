/**
 * Copies of what works have put on the spoke, kept current by watching: from them comes what is there, what has changed
 * and what is reported, so that nothing is asked twice and nothing is polled.
 *
 * A copy holds the objects of one kind in one namespace, or of one kind that has none; definitions are large, and are
 * followed one by one. Copies are shared by all works that have something there, and go with the last of them.
 */
import { setMaxListeners } from "node:events";
import { CustomResourceDefinition } from "#api/apiextensions";
import { type DynamicObject, type Kind, type KubeObject, splitKey } from "#api/meta";
import {
  type CacheOf,
  type Client,
  createCache,
  identityOf,
  isNotFound,
  isUnknownKind,
  type LiveCache,
  type ObjectCache,
  type ObjectId,
  objectIdentity,
  orAborted,
} from "#kube";
import type { Clock } from "#lib/clock";
import { equal } from "#lib/json";
import type { Logger } from "#lib/log";

/** An object that somebody wants to know about. */
export interface Target {
  readonly kind: Kind;
  readonly id: ObjectId;
}

export interface FollowedOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Something has happened to an object that this holder follows; without one, to whatever it follows. */
  readonly onChange: (holder: string, news?: News) => void;
}

/** What is heard of an object; without `after` it is gone. */
export interface News {
  readonly identity: string;
  readonly after: DynamicObject | undefined;
}

/** A copy that cannot be filled by then is done without; it is used as soon as it is there. */
const LONGEST_WAIT = 10_000;

interface Place {
  readonly at: string;
  readonly cache: ObjectCache<DynamicObject>;
  /** Ends when the copy is filled, or has failed to be. */
  readonly settled: Promise<void>;
  readonly stop: () => void;
  readonly holders: Holders;
}

/** An object, and the place that it is followed in. */
interface Followee {
  readonly at: string;
  readonly identity: string;
}

export class Followed {
  readonly #options: FollowedOptions;
  readonly #places = new Map<string, Place>();
  readonly #held = new Map<string, readonly Followee[]>();

  constructor(options: FollowedOptions) {
    this.#options = options;
  }

  /** From now on the holder hears of these, and of no others. */
  hold(holder: string, targets: readonly Target[]): void {
    const wanted = targets.map(({ kind, id }) => {
      const { at } = this.#open(placeOf(kind, id.namespace, id.name), kind, id);
      return { at, identity: identityOf(id) };
    });
    const before = this.#held.get(holder) ?? [];
    if (equal(before, wanted)) return;
    this.#held.set(holder, wanted);
    for (const { at, identity } of wanted) this.#place(at).holders.add(identity, holder);
    const kept = new Set(wanted.map(({ at, identity }) => `${at} ${identity}`));
    for (const { at, identity } of before) if (!kept.has(`${at} ${identity}`)) this.#letGo(at, identity, holder);
  }

  release(holder: string): void {
    this.hold(holder, []);
    this.#held.delete(holder);
  }

  /** Ends when what the holder follows is filled, or it is known that it will not be soon. */
  async settle(holder: string, signal: AbortSignal): Promise<void> {
    const places = this.#placesOf(holder).map((at) => this.#place(at).settled);
    await orAborted(Promise.all(places), signal);
  }

  /** Whether all that the holder follows is told by itself; what is not has to be asked for now and then. */
  isFollowing(holder: string): boolean {
    return this.#placesOf(holder).every((at) => isUsable(this.#place(at).cache));
  }

  /** What an apply engine reads from, for objects of this holder. */
  cachesOf(holder: string): CacheOf {
    return (kind) => {
      const prefix = kindKey(kind);
      const places = this.#placesOf(holder).filter((at) => at.startsWith(prefix));
      return places.length === 0 ? undefined : this.#view(kind, places);
    };
  }

  /** The object; undefined when there is none. Throws when that cannot be told. */
  async find({ kind, id }: Target, signal: AbortSignal): Promise<DynamicObject | undefined> {
    const key = id.namespace ? `${id.namespace}/${id.name}` : id.name;
    const place = this.#places.get(placeOf(kind, id.namespace, id.name));
    if (place && isUsable(place.cache)) return place.cache.get(key);
    try {
      return await this.#options.client.get(kind, key, { signal });
    } catch (error) {
      if (isNotFound(error) && !isUnknownKind(error)) return undefined;
      throw error;
    }
  }

  close(): void {
    for (const { stop } of this.#places.values()) stop();
    this.#places.clear();
    this.#held.clear();
  }

  #placesOf(holder: string): string[] {
    return [...new Set(this.#held.get(holder)?.map(({ at }) => at))];
  }

  #place(at: string): Place {
    const place = this.#places.get(at);
    if (!place) throw new Error(`nothing is followed at ${at}`);
    return place;
  }

  #open(at: string, kind: Kind, { namespace, name }: ObjectId): Place {
    const known = this.#places.get(at);
    if (known) return known;
    const { client, clock, log } = this.#options;
    const life = new AbortController();
    setMaxListeners(0, life.signal);
    let fail = () => {};
    const failed = new Promise<void>((resolve) => {
      fail = resolve;
    });
    const cache = createCache<DynamicObject & KubeObject>({
      client,
      kind,
      scope: isFollowedAlone(kind) ? { fieldSelector: `metadata.name=${name}` } : namespace ? { namespace } : {},
      clock,
      log: (message) => {
        log.debug(message);
        if (cache.state === "waiting" || cache.state === "missing") fail();
      },
    });
    const cancel = clock.after(LONGEST_WAIT, () => fail());
    const filled = cache.whenSynced().then(() => {
      cancel();
      // Whoever went on without it can now see more.
      if (isLate) this.#tellAll(at);
    });
    let isLate = false;
    void failed.then(() => {
      isLate = !cache.synced;
    });
    const place: Place = {
      at,
      cache,
      settled: Promise.race([filled, failed]),
      stop: () => {
        cancel();
        fail();
        life.abort();
      },
      holders: new Holders(),
    };
    this.#places.set(at, place);
    cache.onChange((before, after, initial) => {
      const object = after ?? before;
      if (initial || !object) return;
      const identity = objectIdentity(object);
      for (const holder of place.holders.of(identity)) this.#options.onChange(holder, { identity, after });
    });
    cache.start(life.signal);
    return place;
  }

  #tellAll(at: string): void {
    for (const holder of this.#places.get(at)?.holders.all() ?? []) this.#options.onChange(holder);
  }

  #letGo(at: string, identity: string, holder: string): void {
    const place = this.#places.get(at);
    place?.holders.remove(identity, holder);
    if (place?.holders.size !== 0) return;
    place.stop();
    this.#places.delete(at);
  }

  #view(kind: Kind, places: readonly string[]): LiveCache {
    const open = () => places.flatMap((at) => this.#places.get(at)?.cache ?? []);
    return {
      get: (key) => {
        const { namespace, name } = splitKey(key);
        return this.#places.get(placeOf(kind, namespace, name))?.cache.get(key);
      },
      get synced() {
        return open().length === places.length && open().every(isUsable);
      },
      whenSynced: async () => {
        await Promise.all(open().map((cache) => cache.whenSynced()));
      },
      onChange: (listener) => {
        const ends = open().map((cache) => cache.onChange(listener));
        return () => {
          for (const end of ends) end();
        };
      },
    };
  }
}

/** Who follows which object. Mostly that is one, and a Set for each would take more than all the rest. */
class Holders {
  readonly #byObject = new Map<string, string | Set<string>>();

  /** Objects that somebody follows. */
  get size(): number {
    return this.#byObject.size;
  }

  of(identity: string): Iterable<string> {
    const holders = this.#byObject.get(identity) ?? [];
    return typeof holders === "string" ? [holders] : holders;
  }

  all(): Set<string> {
    return new Set([...this.#byObject.keys()].flatMap((identity) => [...this.of(identity)]));
  }

  add(identity: string, holder: string): void {
    const holders = this.#byObject.get(identity);
    if (holders === undefined) this.#byObject.set(identity, holder);
    else if (typeof holders !== "string") holders.add(holder);
    else if (holders !== holder) this.#byObject.set(identity, new Set([holders, holder]));
  }

  remove(identity: string, holder: string): void {
    const holders = this.#byObject.get(identity);
    if (holders === holder) this.#byObject.delete(identity);
    if (holders === undefined || typeof holders === "string") return;
    holders.delete(holder);
    if (holders.size === 0) this.#byObject.delete(identity);
  }
}

/** A copy of a kind that is not served any more shows what was. */
function isUsable(cache: ObjectCache<DynamicObject>): boolean {
  return cache.synced && cache.state !== "missing";
}

function isFollowedAlone({ group, kind }: Kind): boolean {
  return group === CustomResourceDefinition.group && kind === CustomResourceDefinition.kind;
}

function kindKey({ group, version, plural }: Kind): string {
  return `${group}/${version}/${plural}|`;
}

function placeOf(kind: Kind, namespace: string | undefined, name: string): string {
  return `${kindKey(kind)}${isFollowedAlone(kind) ? name : (namespace ?? "")}`;
}
