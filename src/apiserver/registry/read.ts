/** GET: one object, or a list of them at one revision. */
import type { DynamicObject } from "#api/meta";
import { ApiError, badRequest, expired, notFound } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { Compacted, type ListScope, type Store } from "../store/index.ts";
import type { ListOptions } from "./options.ts";
import { keyOfOne, selectionOf } from "./selection.ts";
import { type NamedTarget, type RegistryDependencies, storeKey, subjectOf, type Target } from "./target.ts";
import { allShownBy, shownBy } from "./versions.ts";

/** How long a read waits for a revision that has not happened yet. */
const PATIENCE_MS = 3_000;

export async function get(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  resourceVersion: number | undefined,
): Promise<DynamicObject> {
  await revisionReached(dependencies, resourceVersion ?? 0);
  const stored = dependencies.store.get(target.resource.storage, storeKey(target));
  if (!stored) throw notFound(subjectOf(target));
  const shown = shownBy(target.resource, stored);
  return target.subresource?.view ? target.subresource.view.read(await shown) : shown;
}

export interface Listed {
  readonly items: DynamicObject[];
  readonly revision: number;
  readonly continueToken?: string;
  readonly remaining?: number;
}

export async function list(dependencies: RegistryDependencies, target: Target, options: ListOptions): Promise<Listed> {
  const { resource, namespace } = target;
  const { store } = dependencies;
  const selection = selectionOf(resource, options.labelSelector, options.fieldSelector);
  const from = options.continueToken ? decodeToken(options.continueToken) : undefined;
  await revisionReached(dependencies, Math.max(options.resourceVersion ?? 0, from?.revision ?? 0));

  const revision = from ? (from.revision >= 0 ? from.revision : undefined) : exactRevision(options);
  const key = keyOfOne(target, selection);
  const found = listAt(store, resource, { namespace, key, revision }, from?.start);
  const start = from ? firstAtOrAfter(found.items, from.start) : 0;

  // Versions that differ in more than their name may be selected by what only their own objects have.
  const isSelectedConverted = resource.conversion !== undefined && !selection.everything;
  const candidates = isSelectedConverted ? await allShownBy(resource, found.items) : found.items;
  const items: DynamicObject[] = [];
  for (let at = start; at < candidates.length; at++) {
    const candidate = candidates[at] as DynamicObject;
    if (!selection.everything && !selection.matches(candidate)) continue;
    if (options.limit > 0 && items.length === options.limit) {
      const last = candidates[at - 1] as DynamicObject;
      return {
        items: await allShownBy(resource, items),
        revision: found.revision,
        continueToken: encodeToken(found.revision, `${keyOfStored(last)}\0`),
        ...(selection.everything && { remaining: candidates.length - at }),
      };
    }
    items.push(candidate);
  }
  return { items: await allShownBy(resource, items), revision: found.revision };
}

/** A list at a revision and with a limit, but without a match, means exactly that revision: an old promise. */
function exactRevision({ match, limit, resourceVersion }: ListOptions): number | undefined {
  if (!resourceVersion) return undefined;
  return match === "Exact" || (match === "" && limit > 0) ? resourceVersion : undefined;
}

function listAt(
  store: Store,
  resource: Resource,
  { namespace, key, revision }: { [option in keyof ListScope]: ListScope[option] | undefined },
  start?: string,
) {
  try {
    return store.list(resource.storage, {
      ...(namespace !== undefined && { namespace }),
      ...(key !== undefined && { key }),
      ...(revision !== undefined && { revision }),
    });
  } catch (error) {
    if (!(error instanceof Compacted)) throw error;
    if (start === undefined) throw expired(`The resourceVersion for the provided list is too old.`);
    const gone = expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results.",
    );
    gone.status.metadata.continue = encodeToken(-1, start);
    throw gone;
  }
}

function keyOfStored({ metadata }: DynamicObject): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

function firstAtOrAfter(items: readonly DynamicObject[], start: string): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyOfStored(items[middle] as DynamicObject) < start) low = middle + 1;
    else high = middle;
  }
  return low;
}

function encodeToken(revision: number, start: string): string {
  return Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: revision, start: `/${start}` })).toString("base64url");
}

function decodeToken(token: string): { revision: number; start: string } {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    if (
      v === "meta.k8s.io/v1" &&
      Number.isSafeInteger(rv) &&
      rv !== 0 &&
      typeof start === "string" &&
      start.startsWith("/")
    ) {
      return { revision: rv, start: start.slice(1) };
    }
  } catch {
    // said below: whatever it was, it is not one of our tokens
  }
  throw badRequest("invalid continue token: continue key is not valid");
}

/** Waits a moment for a revision of the future; a revision that does not come is an error to retry. */
async function revisionReached({ store, clock }: RegistryDependencies, revision: number): Promise<void> {
  if (revision <= store.revision) return;
  await new Promise<void>((resolve, reject) => {
    const stop = store.onRevision((reached) => {
      if (reached < revision) return;
      cancel();
      stop();
      resolve();
    });
    const cancel = clock.after(PATIENCE_MS, () => {
      stop();
      reject(
        new ApiError(504, "Timeout", `Timeout: Too large resource version: ${revision}, current: ${store.revision}`, {
          causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
          retryAfterSeconds: 1,
        }),
      );
    });
  });
}
