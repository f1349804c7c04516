import type { Interest, StoreEvent } from "./types.ts";

type OnEvent = (event: StoreEvent) => void;

interface Listener {
  readonly onEvent: OnEvent;
  /** The last revision that it knows: a listener that joins amid a batch is not told anything twice. */
  cursor: number;
}

interface WatchStart {
  readonly cursor: number;
  /** What happened after the cursor and before now. */
  readonly missed: readonly StoreEvent[];
  readonly onEvent: OnEvent;
  readonly interest: Interest | undefined;
}

/** Those who are told of events: each in order of revision, each event once. */
export class Listeners {
  readonly #ofResource = new Map<string, Watchers>();
  readonly #ofAll = new Set<Listener>();
  readonly #fault: (error: unknown) => void;

  /** `fault` hears what a listener throws, so that one broken listener harms no other and no write. */
  constructor(fault: (error: unknown) => void) {
    this.#fault = fault;
  }

  /** Tells of one resource: first what was missed, then what is dispatched after the cursor. The answer ends it. */
  watch(resource: string, { cursor, missed, onEvent, interest }: WatchStart): () => void {
    const listener = { onEvent, cursor };
    let watchers = this.#ofResource.get(resource);
    if (!watchers) {
      watchers = new Watchers();
      this.#ofResource.set(resource, watchers);
    }
    const leave = watchers.join(listener, interest);
    for (const event of missed) this.#tell(listener, event);
    return () => {
      listener.cursor = Number.POSITIVE_INFINITY;
      leave();
    };
  }

  /** Tells of everything dispatched after `cursor`. The answer ends it. */
  subscribe(cursor: number, onEvent: OnEvent): () => void {
    const listener = { onEvent, cursor };
    this.#ofAll.add(listener);
    return () => {
      listener.cursor = Number.POSITIVE_INFINITY;
      this.#ofAll.delete(listener);
    };
  }

  dispatch(event: StoreEvent): void {
    for (const listener of this.#ofAll) this.#tell(listener, event);
    this.#ofResource.get(event.resource)?.concernedBy(event, (listener) => this.#tell(listener, event));
  }

  #tell(listener: Listener, event: StoreEvent): void {
    if (event.revision <= listener.cursor) return;
    listener.cursor = event.revision;
    try {
      listener.onEvent(event);
    } catch (error) {
      this.#fault(error);
    }
  }
}

/** Those who watch one resource, by what they care for. */
class Watchers {
  readonly #ofEverything = new Set<Listener>();
  readonly #ofKey = new Groups<Listener>();
  readonly #ofNamespace = new Groups<Listener>();
  /** By name of the label, then by its value. */
  readonly #ofLabel = new Map<string, Groups<Listener>>();

  join(listener: Listener, interest: Interest | undefined): () => void {
    if (!interest) {
      this.#ofEverything.add(listener);
      return () => this.#ofEverything.delete(listener);
    }
    if ("key" in interest) return this.#ofKey.join(interest.key, listener);
    if ("namespace" in interest) return this.#ofNamespace.join(interest.namespace, listener);
    const { label, value } = interest;
    const ofLabel = this.#ofLabel.get(label) ?? new Groups<Listener>();
    this.#ofLabel.set(label, ofLabel);
    const leave = ofLabel.join(value, listener);
    return () => {
      leave();
      if (ofLabel.size === 0 && this.#ofLabel.get(label) === ofLabel) this.#ofLabel.delete(label);
    };
  }

  concernedBy(event: StoreEvent, tell: (listener: Listener) => void): void {
    for (const listener of this.#ofEverything) tell(listener);
    for (const listener of this.#ofKey.in(event.key)) tell(listener);
    const slash = event.key.indexOf("/");
    if (slash > 0) for (const listener of this.#ofNamespace.in(event.key.slice(0, slash))) tell(listener);
    for (const [label, groups] of this.#ofLabel) {
      const now = event.object.metadata.labels?.[label];
      const before = event.previous?.metadata.labels?.[label];
      if (now !== undefined) for (const listener of groups.in(now)) tell(listener);
      if (before !== undefined && before !== now) for (const listener of groups.in(before)) tell(listener);
    }
  }
}

const NOBODY: ReadonlySet<never> = new Set();

class Groups<T> {
  readonly #members = new Map<string, Set<T>>();

  get size(): number {
    return this.#members.size;
  }

  join(group: string, member: T): () => void {
    const members = this.#members.get(group) ?? new Set();
    this.#members.set(group, members.add(member));
    return () => {
      members.delete(member);
      if (members.size === 0 && this.#members.get(group) === members) this.#members.delete(group);
    };
  }

  in(group: string): ReadonlySet<T> {
    return this.#members.get(group) ?? NOBODY;
  }
}
