/** Waiting until what was applied works. */
import type { DynamicObject, Kind } from "#api/meta";
import { createCache } from "../cache/index.ts";
import { keyOfId, nameOf, type ObjectId } from "./identity.ts";
import { missingIn } from "./readiness.ts";
import type { EngineParts } from "./run.ts";
import type { ApplyReport } from "./types.ts";
import { isInPlace } from "./verdict.ts";

export interface ReadyOptions {
  /** Milliseconds. */
  readonly patience: number;
  readonly signal?: AbortSignal;
  readonly onWait?: (what: string) => void;
}

/** An object that does not work yet, and what is missing. */
export interface Unready {
  readonly id: ObjectId;
  readonly message: string;
}

interface Place {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly ids: ObjectId[];
}

export async function whenReady(
  { client, clock, kinds }: Pick<EngineParts, "client" | "clock" | "kinds">,
  { objects }: ApplyReport,
  { patience, signal, onWait = () => {} }: ReadyOptions,
): Promise<readonly Unready[]> {
  const missing = new Map<ObjectId, string>();
  const places = new Map<string, Place>();
  for (const report of objects) {
    const { id, live } = report;
    const problem = live && isInPlace(report) && report.action !== "pruned" ? missingIn(live) : undefined;
    const kind = live && kinds.known(live);
    if (problem === undefined || !kind) continue;
    missing.set(id, problem);
    const key = `${kind.group}|${kind.plural}|${id.namespace ?? ""}`;
    const place = places.get(key) ?? { kind, namespace: id.namespace, ids: [] };
    place.ids.push(id);
    places.set(key, place);
  }
  if (missing.size === 0) return [];

  const stop = new AbortController();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener("abort", end);
      stop.abort();
      resolve([...missing].map(([id, message]) => ({ id, message })));
    };
    const cancel = clock.after(patience, end);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) return end();
    const judge = (id: ObjectId, live: DynamicObject | undefined) => {
      const problem = live ? missingIn(live) : "it is gone";
      if (problem === undefined) missing.delete(id);
      else missing.set(id, problem);
      if (missing.size === 0) end();
    };
    for (const [id, problem] of missing) onWait(`${nameOf(id)}: ${problem}`);
    for (const { kind, namespace, ids } of places.values()) {
      const cache = createCache({ client, clock, kind, scope: namespace === undefined ? {} : { namespace } });
      const wanted = new Map(ids.map((id) => [keyOfId(id), id]));
      const look = () => {
        if (cache.synced) for (const [key, id] of wanted) judge(id, cache.get(key));
      };
      cache.onChange((before, after) => {
        const { namespace: place, name } = (after ?? before)?.metadata ?? {};
        const id = wanted.get(place ? `${place}/${name}` : (name ?? ""));
        if (id && !stop.signal.aborted) judge(id, after);
      });
      cache.start(stop.signal);
      void cache.whenSynced().then(look);
    }
  });
}
