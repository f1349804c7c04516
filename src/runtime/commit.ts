import { apiVersionOf, type Key, type Kind, type KubeObject, keyOf, type ObjectMeta } from "#api/meta";
import { type Client, type Draft, isNotFound, isUnknownKind, KubeError, type PatchOptions } from "#kube";
import { describe } from "#lib/meta";
import { mergeDiff } from "#lib/patch";
import type { CommitOptions } from "./types.ts";

/** Writes the difference between what was read and what should be; see `Cluster.commit`. */
export async function commit<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  before: T | undefined,
  after: T | Draft<T>,
  options: CommitOptions = {},
): Promise<T> {
  if (!before) return create(client, kind, after, options);

  const key = sameKey(kind, before, after);
  const spec = mergeDiff(writable(before), writable(after));
  const status = statusDiff(before, after);
  const write = async (current: T, change: unknown, more: PatchOptions = {}): Promise<T> => {
    try {
      return await client.patch(kind, key, onlyIf(current, change), { ...options, ...more, type: "merge" });
    } catch (error) {
      throw isNotFound(error) && !isUnknownKind(error) ? deletedMeanwhile(kind, before, error) : error;
    }
  };
  let current = before;
  if (spec !== undefined) current = await write(current, spec);
  if (status !== undefined && !isGone(current)) current = await write(current, status, { subresource: "status" });
  return current;
}

/** Whoever deletes an object changes it too: that the copy does not know it yet is nothing to tell anybody. */
function deletedMeanwhile<T extends KubeObject>({ kind }: Kind<T>, { metadata }: T, cause: KubeError): KubeError {
  const message = `${describe({ kind, metadata })} was deleted meanwhile; it is looked at again`;
  return new KubeError("status", message, { code: 409, reason: "Conflict", cause });
}

/** Whether there is anything to write. Throws where the two are not the same object. */
export function hasChanges<T extends KubeObject>(kind: Kind<T>, before: T, after: T | Draft<T>): boolean {
  sameKey(kind, before, after);
  return mergeDiff(writable(before), writable(after)) !== undefined || statusDiff(before, after) !== undefined;
}

async function create<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  draft: T | Draft<T>,
  options: CommitOptions,
): Promise<T> {
  const { resourceVersion: _, uid: __, ...metadata } = draft.metadata;
  const body = { ...draft, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata };
  const created = await client.create(kind, body as Draft<T>, options);
  const status = statusDiff(created, draft);
  if (status === undefined) return created;
  const patch = onlyIf(created, status);
  return client.patch(kind, keyOf(created), patch, { ...options, type: "merge", subresource: "status" });
}

function sameKey<T extends KubeObject>(kind: Kind<T>, before: T, after: T | Draft<T>): Key<T> {
  const { name, namespace } = after.metadata;
  if (name !== before.metadata.name || namespace !== before.metadata.namespace) {
    const wrong = describe({ kind: kind.kind, metadata: after.metadata });
    throw new Error(
      `cannot commit ${wrong} as a change of ${describe({ kind: kind.kind, metadata: before.metadata })}`,
    );
  }
  return keyOf(before);
}

/** What the main endpoint takes: everything but the status and the metadata that the server keeps itself. */
function writable(object: { metadata: Partial<ObjectMeta> }): Record<string, unknown> {
  const {
    apiVersion: _,
    kind: __,
    status: ___,
    metadata,
    ...fields
  } = object as Record<string, unknown> & typeof object;
  const { labels, annotations, finalizers, ownerReferences } = metadata;
  return { ...fields, metadata: { labels, annotations, finalizers, ownerReferences } };
}

function statusDiff(before: object, after: object): unknown {
  const wanted = statusOf(after);
  return wanted === undefined ? undefined : mergeDiff({ status: statusOf(before) }, { status: wanted });
}

function statusOf(object: { status?: unknown }): unknown {
  return object.status;
}

/** The patch, on condition that the object is still the one that was read, in the state in which it was read. */
function onlyIf({ metadata }: KubeObject, patch: unknown): Record<string, unknown> {
  const { metadata: change, ...fields } = patch as { metadata?: Record<string, unknown> };
  const { uid, resourceVersion } = metadata;
  return { ...fields, metadata: { ...change, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) } };
}

/** Taking the last finalizer from a deleted object lets it vanish; there is no status left to write. */
function isGone({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
}
