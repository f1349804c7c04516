/** WATCH: what is, then what changes, one event after the other until somebody has enough. */
import { randomInt } from "node:crypto";
import { apiVersionOf, type DynamicObject, type Status } from "#api/meta";
import type { Clock } from "#lib/clock";
import { ApiError, expired, field, internalError, invalid } from "../errors.ts";
import { Compacted, type Interest, type ListResult, type StoreEvent } from "../store/index.ts";
import { booleanOf, integerOf, plainRevisionOf } from "./options.ts";
import { keyOfOne, type Selection, selectionOf } from "./selection.ts";
import type { RegistryDependencies, Target } from "./target.ts";
import { type WatchSource, watchSource } from "./watch-source.ts";

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

/** Starts at once and sends what there is, synchronously unless it must be converted; the answer ends it. */
export function watch(
  dependencies: RegistryDependencies,
  target: Target,
  options: WatchOptions,
  sink: WatchSink,
): () => void {
  const { store, clock } = dependencies;
  const selection = selectionOf(target.resource, options.labelSelector, options.fieldSelector);
  const stream = new Stream(target, selection, watchSource(store, target.resource), clock, sink);
  stream.start(options);
  return () => stream.stop();
}

class Stream {
  readonly #target: Target;
  readonly #selection: Selection;
  /** Of the keys that it is about. */
  readonly #prefix: string;
  readonly #source: WatchSource;
  readonly #clock: Clock;
  readonly #sink: WatchSink;
  #unwatch = () => {};
  #cancelTimers: (() => void)[] = [];
  #stopped = false;

  constructor(target: Target, selection: Selection, source: WatchSource, clock: Clock, sink: WatchSink) {
    this.#target = target;
    this.#selection = selection;
    this.#prefix = target.namespace === undefined ? "" : `${target.namespace}/`;
    this.#source = source;
    this.#clock = clock;
    this.#sink = sink;
  }

  start(options: WatchOptions): void {
    const asked = Number(options.resourceVersion || 0);
    const initial = options.sendInitialEvents ?? asked === 0;
    if (!initial) {
      this.#follow(asked === 0 ? this.#source.revision : asked, options);
      return;
    }
    const { namespace } = this.#target;
    const key = keyOfOne(this.#target, this.#selection);
    const scope = { ...(namespace !== undefined && { namespace }), ...(key !== undefined && { key }) };
    const state = this.#source.list(scope);
    if (state instanceof Promise) {
      state.then(
        (listed) => this.#begin(listed, options),
        (error: unknown) => this.#fail(error),
      );
    } else this.#begin(state, options);
  }

  #begin(state: ListResult, options: WatchOptions): void {
    if (this.#stopped) return;
    this.#sendState(state, options);
    this.#follow(state.revision, options);
  }

  #follow(since: number, options: WatchOptions): void {
    try {
      this.#unwatch = this.#source.watch(since, {
        onEvent: (event) => this.#onEvent(event),
        failed: (error) => this.#fail(error),
        interest: interestOf(this.#target, this.#selection),
      });
    } catch (error) {
      if (!(error instanceof Compacted)) throw error;
      this.#fail(expired(`too old resource version: ${since} (${error.oldest})`));
      return;
    }
    if (this.#stopped) {
      this.#unwatch(); // replaying history was too much for the sink
      return;
    }
    this.#schedule(options);
  }

  /** Whoever watches is told why it ends, and will list again. */
  #fail(error: unknown): void {
    if (this.#stopped) return;
    const { status } = error instanceof ApiError ? error : internalError(String(error));
    this.#sink.event({ type: "ERROR", object: status });
    this.#finish();
  }

  stop(): void {
    this.#stopped = true;
    this.#unwatch();
    for (const cancel of this.#cancelTimers) cancel();
    this.#cancelTimers = [];
  }

  #sendState({ items, revision }: ListResult, { sendInitialEvents, bookmarks }: WatchOptions): void {
    for (const stored of items) {
      if (this.#matches(stored)) this.#sink.event({ type: "ADDED", object: this.#source.present(stored) });
    }
    if (sendInitialEvents && bookmarks) this.#bookmark(revision, { annotations: { [INITIAL_EVENTS_END]: "true" } });
  }

  #onEvent({ type, object, previous, key }: StoreEvent): void {
    if (this.#stopped || !key.startsWith(this.#prefix)) return;
    const matched = previous !== undefined && this.#matches(previous);
    const matches = type !== "DELETED" && this.#matches(object);
    const present = (stored: DynamicObject) => this.#source.present(stored);
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
    if (name !== undefined && stored.metadata.name !== name) return false;
    return this.#selection.everything || this.#selection.matches(stored);
  }

  #schedule({ timeoutSeconds, bookmarks }: WatchOptions): void {
    const end = timeoutSeconds * 1000;
    this.#after(end, () => this.#finish());
    if (!bookmarks) return;
    if (end > BOOKMARK_BEFORE_END_MS)
      this.#after(end - BOOKMARK_BEFORE_END_MS, () => this.#bookmark(this.#source.revision));
    const periodically = () => {
      this.#bookmark(this.#source.revision);
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

/** What the stream cares for at most, the narrowest first. */
function interestOf(target: Target, selection: Selection): Interest | undefined {
  const key = keyOfOne(target, selection);
  if (key !== undefined) return { key };
  return target.namespace === undefined ? selection.label : { namespace: target.namespace };
}

function withVersion(object: DynamicObject, resourceVersion: string | undefined): DynamicObject {
  return { ...object, metadata: { ...object.metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
}
