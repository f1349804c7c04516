/** Waiting for objects, by watching them, and saying what is missing. */
import { type Kind, type KubeObject, keyOf } from "#api/meta";
import { type Client, isNetworkError, isTimeout, isUnknownKind } from "#kube";
import type { Task } from "./task.ts";

export interface Scope {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export type Waiting = Pick<Task, "signal" | "onWait">;

/** Between two looks at a server that does not answer, or does not serve the kind yet. */
const PAUSE_MS = 500;

/** The one object of this name. */
export function named(key: string): Scope {
  const [name = "", namespace] = key.split("/").reverse();
  return { ...(namespace !== undefined && { namespace }), fieldSelector: `metadata.name=${name}` };
}

/**
 * Ends when nothing is missing any more. `missing` says in words what is, given all objects in the scope; a kind that
 * the server does not have is one without objects. The first look throws what the server throws; later the connection
 * may come and go.
 */
export async function until<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  scope: Scope,
  missing: (objects: readonly T[]) => string | undefined,
  { signal, onWait = () => {} }: Waiting,
): Promise<void> {
  let last: string | undefined;
  const isMet = (objects: readonly T[]): boolean => {
    const what = missing(objects);
    if (what !== undefined && what !== last) onWait(what);
    last = what;
    return what === undefined;
  };
  for (let isFirst = true; ; isFirst = false) {
    signal.throwIfAborted();
    try {
      if (await seen(client, kind, scope, isMet, signal)) return;
    } catch (error) {
      signal.throwIfAborted();
      if (isFirst || !(isNetworkError(error) || isTimeout(error))) throw error;
      await pause(signal);
    }
  }
}

/** One list and the stream after it. */
async function seen<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  scope: Scope,
  isMet: (objects: readonly T[]) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const { items, metadata } = await client.list(kind, { ...scope, signal }).catch((error: unknown) => {
    if (!isUnknownKind(error)) throw error;
    return { items: [], metadata: { resourceVersion: undefined } };
  });
  if (isMet(items)) return true;
  if (metadata.resourceVersion === undefined) {
    await pause(signal);
    return false;
  }
  const known = new Map(items.map((item) => [keyOf(item), item]));
  const { resourceVersion } = metadata;
  for await (const { type, object } of await client.watch(kind, { ...scope, signal, resourceVersion })) {
    if (type === "ERROR") return false; // too old to go on from: look anew
    if (type === "BOOKMARK") continue;
    if (type === "DELETED") known.delete(keyOf(object));
    else known.set(keyOf(object), object);
    if (isMet([...known.values()])) return true;
  }
  return false;
}

/** Ends when there is no such object. */
export async function untilGone<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  key: string,
  waiting: Waiting,
  holds: (object: T) => string = () => "it is being removed",
): Promise<void> {
  const missing = ([object]: readonly T[]) => object && `${kind.kind} ${key} to go: ${holds(object)}`;
  await until(client, kind, named(key), missing, waiting);
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, PAUSE_MS);
    signal.addEventListener("abort", end, { once: true });
  });
}
