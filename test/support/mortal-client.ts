/**
 * Clients of a program that can die in the middle of what it does. From the moment of its death on none of its calls goes
 * out or comes back: what it had written stays written, and what it only knew is lost.
 */
import { type Kind, type KubeObject, keyOf } from "#api/meta";
import { type Client, KubeError, type WatchEvent } from "#kube";

/** Something that a program does or sees. */
export interface Deed {
  readonly when: "before" | "after" | "seen";
  readonly verb: "create" | "update" | "patch" | "delete" | "get" | "list" | "watch";
  readonly kind: string;
  /** Namespace and name, as far as they are known. */
  readonly key: string;
  readonly subresource?: string;
  /** What was written or seen. */
  readonly object?: unknown;
}

/** One life. It ends at the first deed that `isFatal` says so of. */
export class Life {
  readonly #isFatal: (deed: Deed) => boolean;
  readonly #dying = new AbortController();

  constructor(isFatal: (deed: Deed) => boolean = () => false) {
    this.#isFatal = isFatal;
  }

  /** A life that ends with its so many-th call. */
  static of(calls: number): Life {
    let left = calls;
    return new Life(({ when }) => when === "before" && --left <= 0);
  }

  /** Fires at its end: for the program, which has to be stopped then. */
  get over(): AbortSignal {
    return this.#dying.signal;
  }

  get isOver(): boolean {
    return this.#dying.signal.aborted;
  }

  /** The client as this life uses it. */
  lived(client: Client): Client {
    const wrap = (verb: "create" | "update" | "patch" | "delete" | "get" | "list") => {
      // Which kind of object a call is about, its first argument says; what is passed on is what was given.
      const call = client[verb].bind(client) as (kind: Kind<KubeObject>, ...args: unknown[]) => Promise<unknown>;
      return async (kind: Kind<KubeObject>, ...args: unknown[]) => {
        const deed = { verb, kind: kind.kind, ...toldBy(verb, args) };
        this.#live({ when: "before", ...deed });
        const answer = await call(kind, ...args);
        this.#live({ when: "after", ...deed });
        return answer;
      };
    };
    return {
      server: client.server,
      get: wrap("get") as Client["get"],
      list: wrap("list") as Client["list"],
      create: wrap("create") as Client["create"],
      update: wrap("update") as Client["update"],
      patch: wrap("patch") as Client["patch"],
      delete: wrap("delete") as Client["delete"],
      createSub: async (...args) => {
        this.#live();
        return client.createSub(...args);
      },
      raw: async (...args) => {
        this.#live();
        return client.raw(...args);
      },
      watch: async (kind, options) => {
        this.#live({ when: "before", verb: "watch", kind: kind.kind, key: "" });
        return this.#seen(kind, await client.watch(kind, options));
      },
      close: () => client.close(),
    };
  }

  async *#seen<T extends KubeObject>(
    kind: Kind<T>,
    events: AsyncIterable<WatchEvent<T>>,
  ): AsyncIterable<WatchEvent<T>> {
    for await (const event of events) {
      const { object } = event;
      this.#live({ when: "seen", verb: "watch", kind: kind.kind, key: named(object), object });
      yield event;
    }
  }

  /** Goes on living, or dies of it. */
  #live(deed?: Deed): void {
    if (!this.isOver && deed && this.#isFatal(deed)) this.#dying.abort();
    if (this.isOver) throw new KubeError("aborted", "the program was killed");
  }
}

/** What the arguments after the kind say: a key or an object, then a patch, then options. */
function toldBy(verb: Deed["verb"], args: readonly unknown[]): Pick<Deed, "key" | "object" | "subresource"> {
  const [first, second, third] = args;
  const isKeyed = typeof first === "string";
  const object = isKeyed ? second : first;
  const { subresource } = ((verb === "patch" ? third : second) ?? {}) as { subresource?: string };
  return {
    key: isKeyed ? first : verb === "list" ? "" : named(object as KubeObject),
    object,
    ...(subresource !== undefined && { subresource }),
  };
}

function named(object: KubeObject): string {
  return object.metadata.name === undefined ? "" : keyOf(object);
}
