/** The events of a watch, decoded as their bytes come. */
import type { KubeObject } from "#api/meta";
import { isObject, parseJson } from "#lib/json";
import { Breath } from "./breath.ts";
import type { Call } from "./call.ts";
import { KubeError } from "./errors.ts";
import { LineDecoder } from "./lines.ts";
import type { TransportResponse } from "./transport/index.ts";
import type { WatchEvent } from "./types.ts";

/**
 * The events until the server ends the stream, the caller's signal fires or the iterator is returned; those
 * three end it quietly, anything else throws a KubeError. Iterate once, one event after the other.
 */
export function eventsOf<T extends KubeObject>(
  response: TransportResponse,
  call: Call,
  kubeError: (error: unknown) => KubeError,
): AsyncIterable<WatchEvent<T>> {
  // Called off before anyone iterated: nothing else would end the call then.
  call.signal.addEventListener("abort", () => call.end(), { once: true });
  const events = new Events<T>(response, call, kubeError);
  return { [Symbol.asyncIterator]: () => events };
}

/**
 * No generator: one keeps what it read last while it waits for more, and the first bytes of a watch may be all objects of
 * a kind, after which nothing comes for hours.
 */
class Events<T extends KubeObject> implements AsyncIterator<WatchEvent<T>> {
  readonly #response: TransportResponse;
  readonly #call: Call;
  readonly #kubeError: (error: unknown) => KubeError;
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #lines = new LineDecoder();
  readonly #breath = new Breath();
  #isOver = false;

  constructor(response: TransportResponse, call: Call, kubeError: (error: unknown) => KubeError) {
    this.#response = response;
    this.#call = call;
    this.#kubeError = kubeError;
    this.#chunks = response.body[Symbol.asyncIterator]();
  }

  async next(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    try {
      while (!this.#isOver) {
        if (this.#breath.due) await this.#breath.pause();
        const line = this.#lines.next() ?? (await this.#read());
        if (line !== undefined && !this.#isOver) return { done: false, value: eventOf<T>(line, this.#call) };
      }
    } catch (error) {
      const failure = this.#kubeError(error);
      const isQuiet = this.#isOver || failure.kind === "aborted";
      this.#end();
      if (!isQuiet) throw failure;
    }
    return { done: true, value: undefined };
  }

  async return(): Promise<IteratorResult<WatchEvent<T>, undefined>> {
    this.#end();
    return { done: true, value: undefined };
  }

  /** Hands what has come to the decoder. What was left of a line when the stream ended is one too. */
  async #read(): Promise<string | undefined> {
    const { done, value } = await this.#chunks.next();
    if (!done) {
      this.#lines.push(value);
      return undefined;
    }
    const rest = this.#lines.rest();
    if (rest !== "") return rest;
    this.#end();
    return undefined;
  }

  #end(): void {
    this.#isOver = true;
    this.#response.cancel();
    this.#call.end();
  }
}

function eventOf<T extends KubeObject>(line: string, call: Call): WatchEvent<T> {
  let event: unknown;
  try {
    event = parseJson(line);
  } catch {
    throw new KubeError("malformed", `${call.what}: an event is not JSON`);
  }
  if (!isObject(event) || typeof event.type !== "string" || !isObject(event.object)) {
    throw new KubeError("malformed", `${call.what}: an event has no type or no object`);
  }
  return event as unknown as WatchEvent<T>;
}
