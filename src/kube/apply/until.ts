/** Waiting for the world: by watching it, never by asking again and again. */
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import { createCache, type Scope } from "../cache/index.ts";
import type { Client } from "../types.ts";
import type { Patience } from "./attempts.ts";

export interface Wait<T extends KubeObject = DynamicObject> extends Patience {
  readonly client: Client;
  readonly kind: Kind<T>;
  readonly scope: Scope;
  readonly isFulfilled: (objects: readonly T[]) => boolean;
  /** Runs when it turns out that there is something to wait for. */
  readonly onWait: () => void;
}

/**
 * Whether the objects in the scope come to be as asked before patience ends. A first look is all there is without
 * patience; it throws what the server throws.
 */
export async function until<T extends KubeObject>(wait: Wait<T>): Promise<boolean> {
  const { client, kind, scope, isFulfilled, clock, signal } = wait;
  const { items } = await client.list(kind, { ...scope, ...(signal && { signal }) });
  if (isFulfilled(items)) return true;
  const remaining = wait.until - clock.now().getTime();
  if (remaining <= 0 || signal?.aborted) return false;
  wait.onWait();
  return watched(wait, remaining);
}

function watched<T extends KubeObject>(
  { client, kind, scope, isFulfilled, clock, signal }: Wait<T>,
  remaining: number,
): Promise<boolean> {
  const stop = new AbortController();
  const cache = createCache({ client, kind, scope, clock });
  return new Promise((resolve) => {
    const end = (result: boolean) => {
      cancel();
      signal?.removeEventListener("abort", giveUp);
      stop.abort();
      resolve(result);
    };
    const giveUp = () => end(false);
    const look = () => cache.synced && !stop.signal.aborted && isFulfilled(cache.list()) && end(true);
    const cancel = clock.after(remaining, giveUp);
    signal?.addEventListener("abort", giveUp, { once: true });
    cache.onChange(look);
    cache.start(stop.signal);
    // Nothing changes where there is nothing: the first picture must be looked at too.
    void cache.whenSynced().then(look);
  });
}
