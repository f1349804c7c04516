import { randomUUID } from "node:crypto";
import { apiVersionOf, type Kind, type KubeObject, keyOf, splitKey } from "#api/meta";
import { type Client, type PatchType, statusError } from "#kube";
import { type Clock, timestamp } from "#lib/clock";
import { clone, equal } from "#lib/json";
import { applyJsonPatch, applyMergePatch, PatchError, parseJsonPatch } from "#lib/patch";
import { inScope } from "./fake-scope.ts";
import { FakeStore } from "./fake-store.ts";
import { watchStore } from "./fake-watch.ts";

type AnyKind = Kind<KubeObject>;
type Loose = KubeObject & { status?: unknown };

/** A write that a client asked for, whether or not it changed anything. */
export interface FakeWrite {
  readonly verb: "create" | "update" | "patch" | "delete";
  /** `ManagedCluster` */
  readonly kind: string;
  readonly key: string;
  readonly subresource?: string;
  readonly body?: unknown;
}

export interface FakeServerOptions {
  readonly clock: Clock;
  /** Called before every write; what it throws is the answer. */
  readonly beforeWrite: (write: FakeWrite) => void;
  readonly createSub?: Client["createSub"];
}

/** The verbs of an API server over a store in memory, with what controllers rely on: versions, status, finalizers. */
export class FakeServer {
  readonly store = new FakeStore();
  readonly #options: FakeServerOptions;

  constructor(options: FakeServerOptions) {
    this.#options = options;
  }

  /** Puts an object there as it is, status and all. One that is there keeps its identity and counts on. */
  seed(kind: AnyKind, object: { metadata: Partial<KubeObject["metadata"]> }): KubeObject {
    const filled = this.#complete(kind, clone(object) as KubeObject);
    const current = this.store.get(resourceOf(kind), keyOf(filled));
    if (!current) return this.store.put(resourceOf(kind), filled);
    const { uid, creationTimestamp, generation = 1 } = current.metadata;
    const given = object.metadata.generation;
    const next = given === undefined || given === generation ? nextGeneration(kind, current, filled) : given;
    const metadata = {
      ...filled.metadata,
      ...(uid && { uid: object.metadata.uid ?? uid }),
      ...(creationTimestamp && { creationTimestamp: object.metadata.creationTimestamp ?? creationTimestamp }),
      generation: next,
    };
    return this.store.put(resourceOf(kind), { ...filled, metadata });
  }

  client(): Client {
    // One server serves all kinds; which of them a call means, its `kind` argument says. The casts tie that knot.
    const client = {
      server: "https://fake.invalid",
      get: async (kind: AnyKind, key: string) => this.#existing(kind, key),
      list: async (kind: AnyKind, scope = {}) => ({
        apiVersion: apiVersionOf(kind),
        kind: `${kind.kind}List`,
        metadata: { resourceVersion: String(this.store.revision) },
        items: this.store.list(resourceOf(kind)).filter(inScope(scope)),
      }),
      watch: async (kind: AnyKind, options = {}) => watchStore(this.store, resourceOf(kind), kind, options),
      create: async (kind: AnyKind, object: KubeObject) => this.#create(kind, clone(object)),
      update: async (kind: AnyKind, object: KubeObject, { subresource }: { subresource?: string } = {}) => {
        const key = keyOf(object);
        this.#asked({ verb: "update", kind: kind.kind, key, body: object, ...(subresource && { subresource }) });
        return this.#write(kind, this.#existing(kind, key), clone(object), subresource);
      },
      patch: async (
        kind: AnyKind,
        key: string,
        patch: unknown,
        { type = "merge", subresource }: { type?: PatchType; subresource?: string } = {},
      ) => this.#patch(kind, key, patch, type, subresource),
      delete: async (
        kind: AnyKind,
        key: string,
        { preconditions = {} }: { preconditions?: { uid?: string; resourceVersion?: string } } = {},
      ) => this.#delete(kind, key, preconditions),
      createSub:
        this.#options.createSub ??
        (async (kind: AnyKind, key: string) => {
          throw failure(404, "NotFound", `the fake has no subresources that answer for ${kind.plural} "${key}"`);
        }),
      raw: async (path: string) => {
        throw failure(404, "NotFound", `the fake does not serve ${path}`);
      },
      close() {},
    };
    return client as unknown as Client;
  }

  #create(kind: AnyKind, draft: Loose): KubeObject {
    const { generateName } = draft.metadata;
    const name = draft.metadata.name || (generateName && `${generateName}${randomUUID().slice(0, 5)}`);
    if (!name) throw failure(422, "Invalid", `${kind.kind} needs a name or generateName`);
    const { status: _, ...object } = { ...draft, metadata: { ...draft.metadata, name } };
    const key = keyOf(object);
    this.#asked({ verb: "create", kind: kind.kind, key, body: draft });
    if (object.metadata.resourceVersion) {
      throw failure(400, "BadRequest", "resourceVersion should not be set on objects to be created");
    }
    if (this.store.get(resourceOf(kind), key)) {
      throw failure(409, "AlreadyExists", `${kind.plural} "${name}" already exists`, name);
    }
    const { uid: _uid, deletionTimestamp: _deleted, ...metadata } = object.metadata;
    return this.store.put(resourceOf(kind), this.#complete(kind, { ...object, metadata }));
  }

  #patch(kind: AnyKind, key: string, patch: unknown, type: PatchType, subresource: string | undefined): KubeObject {
    this.#asked({ verb: "patch", kind: kind.kind, key, body: patch, ...(subresource && { subresource }) });
    const current = this.store.get(resourceOf(kind), key);
    if (!current && type === "apply" && !subresource) {
      const { status: _, ...object } = clone(patch) as Loose;
      return this.store.put(resourceOf(kind), this.#complete(kind, object));
    }
    const before = current ?? this.#existing(kind, key);
    return this.#write(kind, before, patched(before, patch, type), subresource);
  }

  #write(kind: AnyKind, current: Loose, wanted: Loose, subresource: string | undefined): KubeObject {
    this.#check(kind, current, wanted.metadata);
    const { status, ...rest } = wanted;
    const { status: currentStatus, ...currentRest } = current;
    const isStatus = subresource === "status";
    // The main endpoint leaves the status alone, and /status everything else; other subresources take it all.
    const kept: Loose = isStatus ? currentRest : { ...rest, metadata: this.#metadata(kind, current, rest) };
    const newStatus = isStatus || subresource ? status : currentStatus;
    const next: Loose = newStatus === undefined ? kept : { ...kept, status: newStatus };
    if (equal(withoutVersion(next), withoutVersion(current))) return current;
    const stored = this.store.put(resourceOf(kind), next);
    if (stored.metadata.deletionTimestamp && (stored.metadata.finalizers ?? []).length === 0) {
      this.store.remove(resourceOf(kind), keyOf(stored));
    }
    return stored;
  }

  /** What a writer may say of the metadata; the rest the server knows better. */
  #metadata(kind: AnyKind, current: KubeObject, wanted: KubeObject): KubeObject["metadata"] {
    const { labels, annotations, finalizers, ownerReferences } = wanted.metadata;
    const { labels: _l, annotations: _a, finalizers: held = [], ownerReferences: _o, ...own } = current.metadata;
    if (own.deletionTimestamp && finalizers?.some((finalizer) => !held.includes(finalizer))) {
      throw failure(422, "Invalid", "no new finalizers can be added if the object is being deleted", own.name);
    }
    return {
      ...own,
      generation: nextGeneration(kind, current, wanted),
      ...(hasAny(labels) && { labels }),
      ...(hasAny(annotations) && { annotations }),
      ...(hasAny(finalizers) && { finalizers }),
      ...(hasAny(ownerReferences) && { ownerReferences }),
    };
  }

  #delete(kind: AnyKind, key: string, preconditions: { uid?: string; resourceVersion?: string }): void {
    this.#asked({ verb: "delete", kind: kind.kind, key });
    const current = this.#existing(kind, key);
    this.#check(kind, current, preconditions);
    const { finalizers = [], deletionTimestamp, generation = 1 } = current.metadata;
    if (finalizers.length === 0) {
      this.store.remove(resourceOf(kind), key);
    } else if (!deletionTimestamp) {
      const now = timestamp(this.#options.clock.now());
      const metadata = { ...current.metadata, deletionTimestamp: now, generation: generation + 1 };
      this.store.put(resourceOf(kind), { ...current, metadata });
    }
  }

  #complete(kind: AnyKind, object: KubeObject): KubeObject {
    const { metadata } = object;
    if (kind.namespaced !== Boolean(metadata.namespace)) {
      const what = kind.namespaced ? "needs a namespace" : "has no namespace";
      throw failure(400, "BadRequest", `${kind.kind} ${metadata.name} ${what}`);
    }
    return {
      ...object,
      apiVersion: apiVersionOf(kind),
      kind: kind.kind,
      metadata: {
        generation: 1,
        creationTimestamp: timestamp(this.#options.clock.now()),
        ...metadata,
        uid: metadata.uid ?? randomUUID(),
      },
    };
  }

  #existing(kind: AnyKind, key: string): KubeObject {
    const found = this.store.get(resourceOf(kind), key);
    if (found) return found;
    const { name, namespace } = splitKey(key);
    if (kind.namespaced !== (namespace !== undefined)) {
      throw failure(400, "BadRequest", `"${key}" is not the key of a ${kind.kind}`);
    }
    throw failure(404, "NotFound", `${kind.plural} "${name}" not found`, name);
  }

  #check(kind: AnyKind, current: KubeObject, expected: { uid?: string; resourceVersion?: string }): void {
    const { name, uid, resourceVersion } = current.metadata;
    const because = (why: string) =>
      failure(409, "Conflict", `Operation cannot be fulfilled on ${kind.plural} "${name}": ${why}`, name);
    if (expected.uid && expected.uid !== uid) throw because("the uid in the precondition is of another object");
    if (expected.resourceVersion && expected.resourceVersion !== resourceVersion) {
      throw because("the object has been modified");
    }
  }

  #asked(write: FakeWrite): void {
    this.#options.beforeWrite(write);
  }
}

/** Where objects of a kind are kept; all versions of it share the place. */
export function resourceOf({ group, plural }: Pick<Kind, "group" | "plural">): string {
  return `${plural}.${group}`;
}

/** Server-side apply is taken for a merge patch: nobody here asks who owns a field. */
function patched(current: KubeObject, patch: unknown, type: PatchType): KubeObject {
  if (type === "strategic") throw failure(415, "UnsupportedMediaType", "the fake knows no strategic merge patches");
  try {
    if (type === "json") return applyJsonPatch(current, parseJsonPatch(patch)) as KubeObject;
    return applyMergePatch(current, patch) as KubeObject;
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw failure(error.failure === "Malformed" ? 400 : 422, "Invalid", error.message);
  }
}

/** It counts the changes of everything but metadata and status. */
function nextGeneration(kind: AnyKind, current: Loose, wanted: Loose): number {
  const { metadata: _m, status: _s, ...after } = wanted;
  const { metadata, status: _cs, ...before } = current;
  const identity = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  const isSame = equal({ ...after, ...identity }, { ...before, ...identity });
  return (metadata.generation ?? 1) + (isSame ? 0 : 1);
}

function withoutVersion({ metadata, ...rest }: KubeObject): unknown {
  const { resourceVersion: _, ...others } = metadata;
  return { ...rest, metadata: others };
}

function hasAny(value: object | undefined): boolean {
  return value !== undefined && Object.keys(value).length > 0;
}

function failure(code: number, reason: string, message: string, name?: string): Error {
  return statusError({
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    code,
    reason,
    message,
    ...(name && { details: { name } }),
  });
}
