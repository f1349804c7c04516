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
 * three end it quietly, anything else throws a KubeError.
 */
export function eventsOf<T extends KubeObject>(
  response: TransportResponse,
  call: Call,
  kubeError: (error: unknown) => KubeError,
): AsyncIterable<WatchEvent<T>> {
  let returned = false;

  async function* decoded(): AsyncGenerator<WatchEvent<T>> {
    const lines = new LineDecoder();
    const breath = new Breath();
    try {
      for await (const chunk of response.body) {
        for (const line of lines.push(chunk)) {
          if (returned) return;
          yield eventOf<T>(line, call);
          if (breath.due) await breath.pause();
        }
      }
      const rest = lines.rest();
      if (rest !== "") yield eventOf<T>(rest, call);
    } catch (error) {
      const failure = kubeError(error);
      if (!returned && failure.kind !== "aborted") throw failure;
    } finally {
      response.cancel();
      call.end();
    }
  }

  // Called off before anyone iterated: nothing else would end the call then.
  call.signal.addEventListener("abort", () => call.end(), { once: true });

  const events = decoded();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => events.next(),
      return: () => {
        // A generator would finish its wait for the next event first.
        returned = true;
        response.cancel();
        call.end();
        return events.return(undefined);
      },
    }),
  };
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
