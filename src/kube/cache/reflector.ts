/**
 * Follows all objects of a kind: a full picture first, then every change, for as long as it runs.
 *
 * The picture comes as the beginning of a watch (WatchList) where the server can do that, else from a list in
 * pages. Both are consistent reads, so the picture never goes back behind what was already seen. A watch that
 * ends goes on where it ended; only when the server does not remember that place a new picture is taken. A server that
 * was gone may have been set back to an older state. It would take our place for one in its future and say nothing of
 * what is different, so it is asked where it is before the watch goes on.
 */
import { apiVersionOf, type Kind, type KubeObject, keyOf, type Status } from "#api/meta";
import type { Clock } from "#lib/clock";
import { Breath } from "../breath.ts";
import { isExpired, isNotFound, isTimeout, isTooLargeResourceVersion, KubeError, statusError } from "../errors.ts";
import type { Client, ListOptions, WatchEvent, WatchOptions } from "../types.ts";
import { Backoff } from "./backoff.ts";
import { type KeptParts, keeping } from "./projection.ts";

/** Which objects are followed, and what of them is kept. */
export interface Scope extends KeptParts {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** Where a reflector puts what it learns; it waits for the answers. */
export interface Sink<T extends KubeObject> {
  replace(objects: Map<string, T>): Promise<void>;
  put(object: T): void;
  remove(object: T): void;
}

/**
 * - `stopped`: not running
 * - `filling`: taking the first, or a new, full picture
 * - `following`: up to date
 * - `waiting`: failed, will try again
 * - `missing`: the server does not know the kind, will ask again
 */
export type ReflectorState = "stopped" | "filling" | "following" | "waiting" | "missing";

export interface ReflectorOptions<T extends KubeObject> {
  client: Pick<Client, "list" | "watch" | "server">;
  kind: Kind<T>;
  scope: Scope;
  sink: Sink<T>;
  clock: Clock;
  random: () => number;
  log: (message: string) => void;
}

const PAGE = 500;
/** Seconds after which the server ends a watch; spread, so that a fleet does not come back all at once. */
const WATCH_SECONDS = { least: 300, most: 600 };
/** A watch that ends sooner and without an event was not one; at full speed this would be a storm. */
const SHORTEST_WATCH = 1_000;
/** A server that ignores the wish for initial events would leave us waiting for their end. */
const LONGEST_SILENCE = 30_000;
/** A CRD is often installed moments after the first look. */
const MISSING_CAP = 10_000;
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** It is there, and has had enough of us. */
class EndedAtOnce extends KubeError {}

/** The server is at an earlier state than what it has told us. */
class WentBack extends Error {
  override readonly name = "WentBack";
}

/** The stream is over before the picture is whole. */
class Incomplete extends Error {
  override readonly name = "Incomplete";
}

export class Reflector<T extends KubeObject> {
  state: ReflectorState = "stopped";
  /** What went wrong last; gone as soon as things work again. */
  lastError: Error | undefined;
  readonly #options: ReflectorOptions<T>;
  readonly #backoff: Backoff;
  readonly #kept: (object: T) => T;
  readonly #asked: Pick<ListOptions, "namespace" | "labelSelector" | "fieldSelector" | "metadataOnly">;
  /** Where to go on watching; without it a full picture is needed. */
  #resourceVersion: string | undefined;
  #canWatchList = true;
  /** Nobody answered for a while: whoever answers next may be another, or know less. */
  #wasGone = false;
  /** Nothing has come since the last picture that was taken because the previous one had expired. */
  #expiredAgain = false;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    const { projection, managedFields: _, ...which } = options.scope;
    this.#asked = projection === "metadata" ? { ...which, metadataOnly: true } : which;
    this.#kept = keeping(options.kind, options.scope);
    this.#backoff = new Backoff(options.clock, options.random);
  }

  /** Runs until `signal` fires; never throws. Run again, it goes on where it was. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#round(signal);
      } catch (error) {
        if (signal.aborted) break;
        await this.#recover(error as Error, signal);
      }
    }
    this.state = "stopped";
  }

  /** One watch, from its opening (with or without a picture) to its end. */
  async #round(signal: AbortSignal): Promise<void> {
    if (this.#resourceVersion === undefined) {
      this.state = this.state === "missing" ? "missing" : "filling";
      if (this.#canWatchList) return this.#watchList(signal);
      await this.#list(signal);
    } else if (this.#wasGone) {
      await this.#comparePlaces(this.#resourceVersion, signal);
    }
    this.#wasGone = false;
    const started = this.#options.clock.now().getTime();
    const events = await this.#open({ resourceVersion: this.#resourceVersion ?? "" }, signal);
    this.#works();
    let count = 0;
    for await (const event of events) {
      count++;
      this.#apply(event);
    }
    this.#refuseShort(started, count, signal);
  }

  /** A list of one tells where the server is. */
  async #comparePlaces(ours: string, signal: AbortSignal): Promise<void> {
    const { client, kind } = this.#options;
    const { metadata } = await client.list(kind, { ...this.#asked, metadataOnly: true, limit: 1, signal });
    this.#refuseEarlier(metadata.resourceVersion ?? "", ours);
  }

  #refuseEarlier(theirs: string, ours: string | undefined): void {
    if (ours === undefined || !isEarlier(theirs, ours)) return;
    const { plural } = this.#options.kind;
    throw new WentBack(
      `the server has gone back from version ${ours} of ${plural} to ${theirs}; taking all of them anew`,
    );
  }

  async #watchList(signal: AbortSignal): Promise<void> {
    const { sink, clock } = this.#options;
    const quiet = new AbortController();
    const stop = () => quiet.abort();
    signal.addEventListener("abort", stop, { once: true });
    let silent = false;
    const waitForWord = () =>
      clock.after(LONGEST_SILENCE, () => {
        silent = true;
        quiet.abort();
      });
    let cancel = () => {};
    try {
      const started = clock.now().getTime();
      const events = await this.#open(
        { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan", resourceVersion: "" },
        quiet.signal,
      );
      cancel = waitForWord();
      let picture: Map<string, T> | undefined = new Map();
      let count = 0;
      for await (const event of events) {
        count++;
        if (!picture) {
          this.#apply(event);
          continue;
        }
        cancel();
        cancel = waitForWord();
        if (!this.#collect(event, picture)) continue;
        cancel();
        this.#works();
        await sink.replace(picture);
        picture = undefined;
        this.#resourceVersion = event.object.metadata.resourceVersion;
      }
      if (silent) throw new Incomplete("the server sent no end of initial events");
      if (signal.aborted) return;
      if (picture) throw new Incomplete("the watch ended before the initial events did");
      this.#refuseShort(started, count, signal);
    } catch (error) {
      // Whatever a server or a proxy has against this kind of watch, a list may still work.
      if (this.#resourceVersion === undefined && (silent || isRefusal(error) || isTimeout(error))) {
        this.#canWatchList = false;
        this.#say(`watch with initial events failed, using lists: ${(error as Error).message}`);
        return;
      }
      throw error;
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
    }
  }

  /** Puts an initial event into the picture; true at their end. */
  #collect(event: WatchEvent<T>, picture: Map<string, T>): boolean {
    const object = this.#checked(event);
    if (event.type === "BOOKMARK") return object.metadata.annotations?.[INITIAL_EVENTS_END] === "true";
    if (event.type === "DELETED") picture.delete(keyOf(object));
    else picture.set(keyOf(object), this.#kept(object));
    return false;
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, kind, sink } = this.#options;
    const breath = new Breath();
    const picture = new Map<string, T>();
    let page: ListOptions = { limit: PAGE };
    for (;;) {
      let list: Awaited<ReturnType<typeof client.list<T>>>;
      try {
        list = await client.list(kind, { ...this.#asked, ...page, signal });
      } catch (error) {
        if (!page.continue || !isExpired(error)) throw error;
        // The pages outlived the server's memory; all at once they cannot.
        picture.clear();
        page = {};
        continue;
      }
      for (const item of list.items) {
        picture.set(keyOf(item), this.#kept(item));
        if (breath.due) await breath.pause();
      }
      const { continue: next, resourceVersion } = list.metadata;
      if (next) {
        page = { limit: PAGE, continue: next };
        continue;
      }
      await sink.replace(picture);
      this.#resourceVersion = resourceVersion ?? "";
      return;
    }
  }

  #open(options: WatchOptions, signal: AbortSignal): Promise<AsyncIterable<WatchEvent<T>>> {
    const { client, kind, random } = this.#options;
    const { least, most } = WATCH_SECONDS;
    const timeoutSeconds = least + Math.floor(random() * (most - least));
    return client.watch(kind, { ...this.#asked, ...options, allowWatchBookmarks: true, timeoutSeconds, signal });
  }

  #apply(event: WatchEvent<T>): void {
    const { sink } = this.#options;
    const object = this.#checked(event);
    if (event.type === "DELETED") sink.remove(object);
    else if (event.type !== "BOOKMARK") sink.put(this.#kept(object));
    else this.#refuseEarlier(object.metadata.resourceVersion ?? "", this.#resourceVersion);
    if (object.metadata.resourceVersion) this.#resourceVersion = object.metadata.resourceVersion;
    this.#expiredAgain = false;
  }

  /** The object of an event; throws what an ERROR event says. */
  #checked({ type, object }: WatchEvent<T>): T {
    const { kind } = this.#options;
    if (type === "ERROR") throw statusError(object as unknown as Status, `watch ${kind.plural}`);
    const isMetadata = this.#asked.metadataOnly === true && object.kind === "PartialObjectMetadata";
    if (!isMetadata && (object.kind !== kind.kind || object.apiVersion !== apiVersionOf(kind))) {
      throw new KubeError("malformed", `watch ${kind.plural}: the server sent a ${object.apiVersion} ${object.kind}`);
    }
    return object;
  }

  #works(): void {
    this.state = "following";
    this.lastError = undefined;
  }

  #refuseShort(started: number, count: number, signal: AbortSignal): void {
    const lasted = this.#options.clock.now().getTime() - started;
    if (count > 0 || lasted >= SHORTEST_WATCH || signal.aborted) return;
    throw new EndedAtOnce("lost", `watch ${this.#options.kind.plural}: the server ended it at once`);
  }

  async #recover(error: Error, signal: AbortSignal): Promise<void> {
    this.lastError = error;
    const missing = isNotFound(error);
    this.state = missing ? "missing" : "waiting";
    if (!keepsItsPlace(error)) this.#resourceVersion = undefined;
    if (isSilence(error)) this.#wasGone = true;
    if (isExpired(error) && !this.#expiredAgain) {
      this.#expiredAgain = true;
      return;
    }
    this.#say(error.message);
    const delay = missing ? this.#backoff.next(MISSING_CAP) : this.#backoff.next();
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(delay, () => {
        signal.removeEventListener("abort", wake);
        resolve();
      });
      const wake = () => {
        cancel();
        resolve();
      };
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  #say(message: string): void {
    this.#options.log(message);
  }
}

/** Answers that say nothing about the way of asking: who asks, the kind, or the moment is at fault. */
const NO_REFUSAL = new Set([401, 403, 404, 410, 429]);

/** The server understood the question and will not have it put like this. */
function isRefusal(error: unknown): boolean {
  return error instanceof KubeError && error.code >= 400 && error.code < 500 && !NO_REFUSAL.has(error.code);
}

/** Failures after which the watch can go on where it was. */
function keepsItsPlace(error: Error): boolean {
  if (isTooLargeResourceVersion(error) || !(error instanceof KubeError)) return false;
  if (error.kind === "status") return KEEP_PLACE.has(error.code) || error.code >= 500;
  return error.kind !== "malformed";
}

const KEEP_PLACE = new Set([401, 403, 429]);

/** What stands before a server says so when the server itself does not answer. */
const NOBODY_THERE = new Set([502, 503, 504]);

/** The server did not answer, or broke off: it may have ended. */
function isSilence(error: Error): boolean {
  if (!(error instanceof KubeError) || error instanceof EndedAtOnce) return false;
  return error.kind === "unreachable" || error.kind === "lost" || NOBODY_THERE.has(error.code);
}

/** Versions that cannot be compared are not earlier. */
function isEarlier(version: string, than: string): boolean {
  const [one, other] = [version, than].map((each) => (/^\d+$/.test(each) ? BigInt(each) : undefined));
  return one !== undefined && other !== undefined && one < other;
}
