import type { Clock } from "#lib/clock";
import { StoreError } from "./errors.ts";
import { History, type HistoryLimits } from "./history.ts";
import { compare, KeyOrder } from "./key-order.ts";
import type { ListResult, ListScope, Stored, StoreEvent } from "./types.ts";

/** The objects of one resource at one moment, held apart from what happens afterwards. */
export interface Capture {
  readonly resource: string;
  readonly keys: readonly string[];
  readonly objects: readonly Stored[];
}

interface Table {
  readonly objects: Map<string, Stored>;
  readonly order: KeyOrder;
  /** The last answer to a list, until something changes: readers who page ask for the same again and again. */
  listed?: { readonly prefix: string | undefined; readonly objects: readonly Stored[] } | undefined;
}

/** Everything durable of one cluster: its objects, its revision and what happened lately. */
export class State {
  readonly history: History;
  readonly #tables = new Map<string, Table>();
  #revision: number;

  /** `floor` is the revision from which on every event will be committed here. */
  constructor(revision: number, floor: number, limits: HistoryLimits, clock: Clock) {
    this.#revision = revision;
    this.history = new History(floor, limits, clock);
  }

  get revision(): number {
    return this.#revision;
  }

  get(resource: string, key: string): Stored | undefined {
    return this.#tables.get(resource)?.objects.get(key);
  }

  resources(): string[] {
    return [...this.#tables]
      .filter(([, { objects }]) => objects.size > 0)
      .map(([resource]) => resource)
      .sort(compare);
  }

  /** Puts an object in place that is as old as the state itself: no event tells of it. */
  load(resource: string, key: string, object: Stored): void {
    const table = this.#table(resource);
    table.listed = undefined;
    if (!table.objects.has(key)) table.order.add(key);
    table.objects.set(key, object);
  }

  /** Makes an event part of the state; `at` is when it happened. */
  commit(event: StoreEvent, at: number): void {
    const { resource, key, type, object } = event;
    if (type === "DELETED") {
      const table = this.#table(resource);
      table.listed = undefined;
      if (table.objects.delete(key)) table.order.remove(key);
    } else {
      this.load(resource, key, object);
    }
    this.#revision = event.revision;
    this.history.append(event, at);
  }

  list(resource: string, { namespace, key, revision }: ListScope = {}): ListResult {
    if (key !== undefined && (revision === undefined || revision === this.#revision)) {
      const found = this.get(resource, key);
      return { items: found ? [found] : [], revision: this.#revision };
    }
    const prefix = namespace ? `${namespace}/` : undefined;
    if (revision === undefined || revision === this.#revision) {
      return { items: this.#current(resource, prefix), revision: this.#revision };
    }
    if (revision > this.#revision) {
      throw new StoreError(`revision ${revision} has not happened yet: the newest is ${this.#revision}`);
    }
    return { items: this.#past(resource, prefix, revision), revision };
  }

  /** The state as it is now. */
  capture(): Capture[] {
    return [...this.#tables].map(([resource, { objects, order }]) => {
      const keys = [...order.sorted()];
      return { resource, keys, objects: keys.map((key) => objects.get(key) as Stored) };
    });
  }

  #current(resource: string, prefix: string | undefined): Stored[] {
    const table = this.#tables.get(resource);
    if (!table) return [];
    if (!table.listed || table.listed.prefix !== prefix) {
      const objects = table.order.sorted(prefix).map((key) => table.objects.get(key) as Stored);
      table.listed = { prefix, objects };
    }
    return table.listed.objects.slice();
  }

  /** Takes the newest state and undoes what happened since. */
  #past(resource: string, prefix: string | undefined, revision: number): Stored[] {
    const before = new Map<string, Stored | undefined>();
    for (const { key, previous } of this.history.since(resource, revision)) {
      if (prefix !== undefined && !key.startsWith(prefix)) continue;
      if (!before.has(key)) before.set(key, previous);
    }
    if (before.size === 0) return this.#current(resource, prefix);

    const { objects, order } = this.#table(resource);
    const keys = order.sorted(prefix).filter((key) => !before.has(key) || before.get(key) !== undefined);
    const gone = [...before].filter(([key, object]) => object && !objects.has(key)).map(([key]) => key);
    const then = gone.length === 0 ? keys : [...keys, ...gone].sort(compare);
    return then.map((key) => (before.get(key) ?? objects.get(key)) as Stored);
  }

  #table(resource: string): Table {
    let table = this.#tables.get(resource);
    if (!table) {
      table = { objects: new Map(), order: new KeyOrder() };
      this.#tables.set(resource, table);
    }
    return table;
  }
}

/** The event that leads from one state of an object to the next; the revision is written into the object. */
export function eventOf(
  resource: string,
  key: string,
  revision: number,
  previous: Stored | undefined,
  next: Stored | undefined,
): StoreEvent {
  if (next === undefined) {
    if (previous === undefined) throw new StoreError(`there is no ${resource} ${key} to delete`);
    return { type: "DELETED", resource, key, revision, object: withRevision(previous, revision), previous };
  }
  const object = withRevision(next, revision);
  if (previous === undefined) return { type: "ADDED", resource, key, revision, object };
  return { type: "MODIFIED", resource, key, revision, object, previous };
}

function withRevision(object: Stored, revision: number): Stored {
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}
