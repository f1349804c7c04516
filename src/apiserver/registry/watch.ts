/** WATCH: what is, then what changes, one event after the other until somebody has enough. */
import { randomInt } from "node:crypto";
import { apiVersionOf, type DynamicObject, type Status } from "#api/meta";
import type { Clock } from "#lib/clock";
import { expired, field, invalid } from "../errors.ts";
import { Compacted, type Store, type StoreEvent } from "../store/index.ts";
import { booleanOf, integerOf, plainRevisionOf } from "./options.ts";
import { type Selection, selectionOf } from "./selection.ts";
import type { RegistryDependencies, Target } from "./target.ts";

export interface WatchOptions {
  readonly resourceVersion: string;
  readonly bookmarks: boolean;
  readonly sendInitialEvents: boolean | undefined;
  readonly timeoutSeconds: number;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: DynamicObject | Status;
}

export interface WatchSink {
  event(event: WatchEvent): void;
  end(): void;
}

const BOOKMARK_PERIOD_MS = 60_000;
const BOOKMARK_BEFORE_END_MS = 2_000;
const SHORTEST_DEFAULT_S = 1_800;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

export function watchOptions(query: URLSearchParams): WatchOptions {
  const resourceVersion = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  const initial = query.get("sendInitialEvents") ?? "";
  const sendInitialEvents = initial === "" ? undefined : booleanOf(initial);
  const bookmarks = booleanOf(query.get("allowWatchBookmarks") ?? "");
  const timeout = integerOf(query.get("timeoutSeconds") ?? "");

  const errors = [];
  if (sendInitialEvents !== undefined && match !== "NotOlderThan") {
    errors.push(
      field.forbidden(
        "resourceVersionMatch",
        "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
      ),
    );
  }
  if (sendInitialEvents === undefined && match !== "") {
    errors.push(
      field.forbidden(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
      ),
    );
  }
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, errors);
  if (resourceVersion !== "") plainRevisionOf(resourceVersion);

  return {
    resourceVersion,
    bookmarks,
    sendInitialEvents,
    timeoutSeconds: timeout > 0 ? timeout : SHORTEST_DEFAULT_S + randomInt(SHORTEST_DEFAULT_S),
    labelSelector: query.get("labelSelector") ?? "",
    fieldSelector: query.get("fieldSelector") ?? "",
  };
}

/** Starts at once and synchronously sends what there is; the answer ends it. */
export function watch(
  dependencies: RegistryDependencies,
  target: Target,
  options: WatchOptions,
  sink: WatchSink,
): () => void {
  const { store, clock } = dependencies;
  const selection = selectionOf(target.resource, options.labelSelector, options.fieldSelector);
  const stream = new Stream(target, selection, store, clock, sink);
  stream.start(options);
  return () => stream.stop();
}

class Stream {
  readonly #target: Target;
  readonly #selection: Selection;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #sink: WatchSink;
  #unwatch = () => {};
  #cancelTimers: (() => void)[] = [];
  #stopped = false;

  constructor(target: Target, selection: Selection, store: Store, clock: Clock, sink: WatchSink) {
    this.#target = target;
    this.#selection = selection;
    this.#store = store;
    this.#clock = clock;
    this.#sink = sink;
  }

  start(options: WatchOptions): void {
    const { storage } = this.#target.resource;
    const asked = Number(options.resourceVersion || 0);
    const initial = options.sendInitialEvents ?? asked === 0;
    let since = asked;
    if (initial || asked === 0) since = initial ? this.#sendState(options) : this.#store.revision;
    try {
      this.#unwatch = this.#store.watch(storage, since, (event) => this.#onEvent(event));
    } catch (error) {
      if (!(error instanceof Compacted)) throw error;
      this.#sink.event({
        type: "ERROR",
        object: expired(`too old resource version: ${asked} (${error.oldest})`).status,
      });
      this.#finish();
      return;
    }
    if (this.#stopped) return; // replaying history was too much for the sink
    this.#schedule(options);
  }

  stop(): void {
    this.#stopped = true;
    this.#unwatch();
    for (const cancel of this.#cancelTimers) cancel();
    this.#cancelTimers = [];
  }

  #sendState({ sendInitialEvents, bookmarks }: WatchOptions): number {
    const { resource, namespace } = this.#target;
    const { items, revision } = this.#store.list(resource.storage, namespace === undefined ? {} : { namespace });
    for (const stored of items) {
      if (this.#matches(stored)) this.#sink.event({ type: "ADDED", object: resource.strategy.present(stored) });
    }
    if (sendInitialEvents && bookmarks) this.#bookmark(revision, { annotations: { [INITIAL_EVENTS_END]: "true" } });
    return revision;
  }

  #onEvent({ type, object, previous, key }: StoreEvent): void {
    if (this.#stopped) return;
    const { resource, namespace } = this.#target;
    if (namespace !== undefined && !key.startsWith(`${namespace}/`)) return;
    const matched = previous !== undefined && this.#matches(previous);
    const matches = type !== "DELETED" && this.#matches(object);
    const present = (stored: DynamicObject) => resource.strategy.present(stored);
    if (matches) this.#sink.event({ type: matched ? "MODIFIED" : "ADDED", object: present(object) });
    else if (matched) {
      // The watcher sees the last state that it was allowed to see, at the revision at which it lost sight.
      const last =
        type === "DELETED" ? object : withVersion(previous as DynamicObject, object.metadata.resourceVersion);
      this.#sink.event({ type: "DELETED", object: present(last) });
    }
  }

  #matches(stored: DynamicObject): boolean {
    const { name } = this.#target;
    return (name === undefined || stored.metadata.name === name) && this.#selection.matches(stored);
  }

  #schedule({ timeoutSeconds, bookmarks }: WatchOptions): void {
    const end = timeoutSeconds * 1000;
    this.#after(end, () => this.#finish());
    if (!bookmarks) return;
    if (end > BOOKMARK_BEFORE_END_MS)
      this.#after(end - BOOKMARK_BEFORE_END_MS, () => this.#bookmark(this.#store.revision));
    const periodically = () => {
      this.#bookmark(this.#store.revision);
      this.#after(BOOKMARK_PERIOD_MS, periodically);
    };
    if (end > BOOKMARK_PERIOD_MS) this.#after(BOOKMARK_PERIOD_MS, periodically);
  }

  #after(ms: number, task: () => void): void {
    this.#cancelTimers.push(this.#clock.after(ms, task));
  }

  #bookmark(revision: number, more: Record<string, unknown> = {}): void {
    const { resource } = this.#target;
    const metadata = { resourceVersion: String(revision), ...more };
    this.#sink.event({
      type: "BOOKMARK",
      object: { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata } as unknown as DynamicObject,
    });
  }

  #finish(): void {
    this.stop();
    this.#sink.end();
  }
}

function withVersion(object: DynamicObject, resourceVersion: string | undefined): DynamicObject {
  return { ...object, metadata: { ...object.metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
}
