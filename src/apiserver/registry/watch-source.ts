/** Where a watch gets its events from: as the store has them, or, where somebody outside converts between versions, after that. */
import type { DynamicObject } from "#api/meta";
import { internalError } from "../errors.ts";
import type { Conversion, Resource } from "../resource.ts";
import type { Interest, ListResult, ListScope, Store, StoreEvent } from "../store/index.ts";

export interface WatchSource {
  /** Everything that happened until here has been told. */
  readonly revision: number;
  /** All there is; at once unless it has to be waited for. */
  list(options: ListScope): ListResult | Promise<ListResult>;
  /** What happens after a revision, in its order. Throws Compacted. The answer ends it; `failed` is the end, too. */
  watch(since: number, follower: Follower): () => void;
  /** An object of a list or an event as it is shown. */
  present(object: DynamicObject): DynamicObject;
}

export interface Follower {
  onEvent(event: StoreEvent): void;
  failed(error: unknown): void;
  /** What it cares for at most. */
  readonly interest: Interest | undefined;
}

export function watchSource(store: Store, resource: Resource): WatchSource {
  const { storage, conversion, strategy } = resource;
  if (conversion) return new ConvertedSource(store, storage, conversion);
  return {
    get revision() {
      return store.revision;
    },
    list: (options) => store.list(storage, options),
    watch: (since, { onEvent, interest }) => store.watch(storage, since, onEvent, interest),
    present: (object) => strategy.present(object),
  };
}

/** Events that may wait for their conversion; a webhook that is slower than that is too slow to be watched through. */
const MOST_WAITING = 10_000;

class ConvertedSource implements WatchSource {
  readonly #store: Store;
  readonly #storage: string;
  readonly #conversion: Conversion;
  #waiting: StoreEvent[] = [];
  #isConverting = false;
  #told = 0;

  constructor(store: Store, storage: string, conversion: Conversion) {
    this.#store = store;
    this.#storage = storage;
    this.#conversion = conversion;
  }

  get revision(): number {
    return this.#isConverting ? this.#told : this.#store.revision;
  }

  async list(options: ListScope): Promise<ListResult> {
    const { items, revision } = this.#store.list(this.#storage, options);
    return { items: await this.#conversion.shown(items), revision };
  }

  watch(since: number, { onEvent, failed }: Follower): () => void {
    let isOver = false;
    const end = (error?: unknown) => {
      if (isOver) return;
      isOver = true;
      unwatch();
      if (error !== undefined) failed(error);
    };
    let unwatch = () => {};
    this.#told = since;
    const stop = this.#store.watch(this.#storage, since, (event) => {
      if (isOver) return;
      this.#waiting.push(event);
      if (this.#waiting.length > MOST_WAITING) end(internalError("the conversion webhook is too slow for this watch"));
      else if (!this.#isConverting) this.#convert(() => !isOver, onEvent).catch(end);
    });
    unwatch = stop;
    if (isOver) stop();
    return () => end();
  }

  present(object: DynamicObject): DynamicObject {
    return object;
  }

  /** One batch after the other; what comes meanwhile is the next batch. */
  async #convert(goesOn: () => boolean, onEvent: (event: StoreEvent) => void): Promise<void> {
    this.#isConverting = true;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      for (const event of await this.#converted(batch)) {
        if (!goesOn()) return;
        onEvent(event);
        this.#told = event.revision;
      }
    }
    this.#isConverting = false;
  }

  async #converted(events: readonly StoreEvent[]): Promise<StoreEvent[]> {
    const states = events.flatMap(({ type, object, previous }) => [
      ...(previous ? [previous] : []),
      ...(type === "DELETED" ? [] : [object]),
    ]);
    const shown = await this.#conversion.shown(states);
    const known = new Map(states.map((state, index) => [state, shown[index] ?? state]));
    return events.map((event) => {
      const previous = event.previous && known.get(event.previous);
      const object = event.type === "DELETED" ? lastOf(previous, event.object) : known.get(event.object);
      return { ...event, object: object ?? event.object, ...(previous && { previous }) };
    });
  }
}

/** The final state is the one before, at the revision of the deletion: it need not be converted again. */
function lastOf(previous: DynamicObject | undefined, { metadata }: DynamicObject): DynamicObject | undefined {
  const { resourceVersion } = metadata;
  if (!previous) return undefined;
  return { ...previous, metadata: { ...previous.metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
}
