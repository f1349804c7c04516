import type { StoreEvent } from "./types.ts";

type OnEvent = (event: StoreEvent) => void;

interface Listener {
  readonly onEvent: OnEvent;
  /** The last revision that it knows: a listener that joins amid a batch is not told anything twice. */
  cursor: number;
}

/** Those who are told of events: each in order of revision, each event once. */
export class Listeners {
  readonly #ofResource = new Map<string, Set<Listener>>();
  readonly #ofAll = new Set<Listener>();
  readonly #fault: (error: unknown) => void;

  /** `fault` hears what a listener throws, so that one broken listener harms no other and no write. */
  constructor(fault: (error: unknown) => void) {
    this.#fault = fault;
  }

  /** Tells of one resource: first `missed`, then what is dispatched after `cursor`. The answer ends it. */
  watch(resource: string, cursor: number, missed: readonly StoreEvent[], onEvent: OnEvent): () => void {
    const listener = { onEvent, cursor };
    let listeners = this.#ofResource.get(resource);
    if (!listeners) {
      listeners = new Set();
      this.#ofResource.set(resource, listeners);
    }
    listeners.add(listener);
    for (const event of missed) this.#tell(listener, event);
    return () => this.#end(listener, listeners);
  }

  /** Tells of everything dispatched after `cursor`. The answer ends it. */
  subscribe(cursor: number, onEvent: OnEvent): () => void {
    const listener = { onEvent, cursor };
    this.#ofAll.add(listener);
    return () => this.#end(listener, this.#ofAll);
  }

  dispatch(event: StoreEvent): void {
    for (const listener of this.#ofAll) this.#tell(listener, event);
    for (const listener of this.#ofResource.get(event.resource) ?? []) this.#tell(listener, event);
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

  #end(listener: Listener, listeners: Set<Listener>): void {
    listener.cursor = Number.POSITIVE_INFINITY;
    listeners.delete(listener);
  }
}
