/** Which objects of a set are not as they were left, told by the caches, so that only those are applied again. */
import type { DynamicObject } from "#api/meta";
import { isDeleting } from "#lib/meta";
import { identityOf, idOf, keyOfId, type ObjectId } from "./identity.ts";
import { type Item, itemIdentity } from "./item.ts";
import { itemsOf } from "./items.ts";
import { manifestOf } from "./one.ts";
import { ownerChange } from "./owners.ts";
import type { EngineParts } from "./run.ts";
import { isAsWished } from "./strategies/index.ts";
import type { LiveCache, ObjectSet } from "./types.ts";

export interface Drift {
  readonly id: ObjectId;
  readonly found: "changed" | "missing";
}

export async function followDrift(
  parts: EngineParts,
  set: ObjectSet,
  onDrift: (drift: Drift) => void,
  { signal }: { signal?: AbortSignal },
): Promise<() => void> {
  const { items } = await itemsOf(set, parts, { clock: parts.clock, until: 0, signal });
  const follower = new Follower(parts, set, onDrift);
  for (const [cache, followed] of byCache(items, parts)) {
    await cache.whenSynced();
    if (!signal?.aborted) follower.follow(cache, followed);
  }
  signal?.addEventListener("abort", () => follower.stop(), { once: true });
  return () => follower.stop();
}

function byCache(items: readonly Item[], { cacheOf }: EngineParts): ReadonlyMap<LiveCache, readonly Item[]> {
  const groups = new Map<LiveCache, Item[]>();
  for (const item of items) {
    const cache = item.kind && cacheOf(item.kind);
    if (cache) groups.set(cache, [...(groups.get(cache) ?? []), item]);
  }
  return groups;
}

class Follower {
  readonly #parts: EngineParts;
  readonly #set: ObjectSet;
  readonly #onDrift: (drift: Drift) => void;
  readonly #ends: (() => void)[] = [];
  #stopped = false;

  constructor(parts: EngineParts, set: ObjectSet, onDrift: (drift: Drift) => void) {
    this.#parts = parts;
    this.#set = set;
    this.#onDrift = onDrift;
  }

  follow(cache: LiveCache, items: readonly Item[]): void {
    const byIdentity = new Map(items.map((item) => [itemIdentity(item), item]));
    // What is there is told by the subscription; what is not there is not.
    for (const item of items) if (!cache.get(keyOfId(item.id))) this.#judge(cache, item, false);
    this.#ends.push(
      cache.onChange((before, after) => {
        const object = after ?? before;
        const item = object && byIdentity.get(identityOf(idOf(object)));
        if (item) this.#judge(cache, item, after === undefined);
      }),
    );
  }

  stop(): void {
    this.#stopped = true;
    for (const end of this.#ends.splice(0)) end();
  }

  /** `left`: the cache has just told that the object is gone. */
  #judge(cache: LiveCache, item: Item, left: boolean): void {
    if (this.#stopped || item.strategy.type === "ReadOnly") return;
    const { busy, memory } = this.#parts;
    const identity = itemIdentity(item);
    const writing = busy.whileAt(identity);
    if (writing) {
      void writing.then(() => this.#judge(cache, item, left));
      return;
    }
    const cached = cache.get(keyOfId(item.id));
    if (!cached) {
      // What we have just created the cache will tell of in a moment.
      if (left || !memory.isYoung(identity)) this.#onDrift({ id: item.id, found: "missing" });
      return;
    }
    const live = memory.ahead(identity, cached);
    if (!isDeleting(live) && !this.#isAsLeft(item, live)) this.#onDrift({ id: item.id, found: "changed" });
  }

  #isAsLeft(item: Item, live: DynamicObject): boolean {
    const { kind, owner, strategy } = item;
    if (!kind) return true;
    const manifest = manifestOf(item, kind, this.#set);
    const task = { identity: itemIdentity(item), kind, key: keyOfId(item.id), manifest, owner, live };
    const stage = { ...this.#parts, dryRun: true, signal: undefined };
    return isAsWished(strategy, stage, task) && ownerChange(live, owner) === undefined;
  }
}
