/** What there is: from caches where there are any, else from the server, in lists where many are asked for. */
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import { isNotFound, isUnknownKind } from "../errors.ts";
import type { CallOptions, Client } from "../types.ts";
import { identityOf, idOf, keyOfId } from "./identity.ts";
import type { Item } from "./item.ts";
import { itemIdentity } from "./item.ts";
import type { Memory } from "./memory.ts";
import { eachOf } from "./pool.ts";
import type { CacheOf } from "./types.ts";

/** From so many objects of a kind in one place on, one list is cheaper than asking for each. */
const WORTH_A_LIST = 20;
const PAGE = 500;

export interface LiveOptions {
  readonly client: Client;
  readonly cacheOf: CacheOf;
  readonly memory: Memory;
  readonly atOnce: number;
}

export class Live {
  readonly #options: LiveOptions;
  readonly #listed = new Map<string, DynamicObject | undefined>();

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** Reads ahead what will be asked for. What cannot be listed is left to be asked for one by one. */
  async readAhead(items: readonly Item[], options: CallOptions): Promise<void> {
    const groups = new Map<string, { kind: Kind; namespace: string | undefined; items: Item[] }>();
    for (const item of items) {
      const { kind, id } = item;
      if (!kind || this.#cacheOf(kind)) continue;
      const place = `${kind.group}|${kind.version}|${kind.plural}|${id.namespace ?? ""}`;
      const group = groups.get(place) ?? { kind, namespace: id.namespace, items: [] };
      group.items.push(item);
      groups.set(place, group);
    }
    const large = [...groups.values()].filter((group) => group.items.length >= WORTH_A_LIST);
    await eachOf(large, this.#options.atOnce, async (group) => {
      try {
        await this.#list(group, options);
      } catch {
        // Whoever may not list may still be allowed to get, and every other failure shows again there.
      }
    });
  }

  /** The object as far as is known; `fresh` asks the server itself. Undefined when there is none. */
  async get(item: Item, kind: Kind, fresh: boolean, options: CallOptions): Promise<DynamicObject | undefined> {
    const identity = itemIdentity(item);
    const cache = fresh ? undefined : this.#cacheOf(kind);
    const cached = cache?.get(keyOfId(item.id));
    if (cached) return this.#options.memory.ahead(identity, cached);
    if (cache && !this.#options.memory.isYoung(identity)) return undefined;
    if (!fresh && this.#listed.has(identity)) return this.#listed.get(identity);
    return existing(this.#options.client, kind, keyOfId(item.id), options);
  }

  async #list(
    { kind, namespace, items }: { kind: Kind; namespace: string | undefined; items: readonly Item[] },
    options: CallOptions,
  ): Promise<void> {
    const wanted = new Set(items.map(itemIdentity));
    const found = new Map<string, DynamicObject>();
    let token: string | undefined;
    do {
      const page = await this.#options.client.list(kind, {
        ...options,
        limit: PAGE,
        ...(namespace !== undefined && { namespace }),
        ...(token && { continue: token }),
      });
      for (const object of page.items) {
        const identity = identityOf(idOf(object));
        if (wanted.has(identity)) found.set(identity, object);
      }
      token = page.metadata.continue;
    } while (token);
    for (const identity of wanted) this.#listed.set(identity, found.get(identity));
  }

  /** A cache that is not filled yet would show an empty cluster. */
  #cacheOf(kind: Kind) {
    const cache = this.#options.cacheOf(kind);
    return cache?.synced ? cache : undefined;
  }
}

/** The object, or undefined when there is none; throws when that cannot be told. */
export async function existing<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  key: string,
  options: CallOptions,
): Promise<T | undefined> {
  try {
    return await client.get(kind, key, options);
  } catch (error) {
    if (isNotFound(error) && !isUnknownKind(error)) return undefined;
    throw error;
  }
}
