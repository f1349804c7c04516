/** The contract of `kube`: one API server, connected. Implementations lie beside; tests have their own. */
import type { Key, Kind, KubeList, KubeObject } from "#api/meta";

/** What every call takes: a bound on its time, and a way to call it off. */
export interface CallOptions {
  /** Milliseconds until the call fails with a Timeout; 30 s unless told. Watches: until headers arrive. */
  timeout?: number;
  signal?: AbortSignal;
}

export interface ReadOptions extends CallOptions {
  resourceVersion?: string;
}

export interface ListOptions extends ReadOptions {
  /** Only the metadata of each object is sent. */
  metadataOnly?: boolean;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  limit?: number;
  continue?: string;
  resourceVersionMatch?: "Exact" | "NotOlderThan";
}

export interface WatchOptions extends CallOptions {
  /** Only the metadata of each object is sent. */
  metadataOnly?: boolean;
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  resourceVersion?: string;
  allowWatchBookmarks?: boolean;
  sendInitialEvents?: boolean;
  resourceVersionMatch?: "NotOlderThan";
  timeoutSeconds?: number;
}

export interface WriteOptions extends CallOptions {
  fieldManager?: string;
  fieldValidation?: "Ignore" | "Warn" | "Strict";
  dryRun?: boolean;
  subresource?: string;
  /** Whoever the server shall take the caller for; the caller must be allowed to impersonate them. */
  actAs?: string;
}

export type PatchType = "merge" | "json" | "strategic" | "apply";

export interface PatchOptions extends WriteOptions {
  type?: PatchType;
  force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: "Orphan" | "Background" | "Foreground";
  gracePeriodSeconds?: number;
}

export interface WatchEvent<T> {
  type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  object: T;
}

/** One API server as one identity. All calls throw KubeError (see errors.ts) and nothing else. */
export interface Client {
  /** `https://host:port`, without a trailing slash. */
  readonly server: string;
  get<T extends KubeObject>(kind: Kind<T>, key: Key<T>, options?: ReadOptions & { subresource?: string }): Promise<T>;
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<KubeList<T>>;
  /** Opens the stream (it throws if it cannot) and yields events until the server ends it or `signal` fires. */
  watch<T extends KubeObject>(kind: Kind<T>, options?: WatchOptions): Promise<AsyncIterable<WatchEvent<T>>>;
  create<T extends KubeObject>(kind: Kind<T>, object: Draft<T>, options?: WriteOptions): Promise<T>;
  /** POST to a subresource of an object, with a body and an answer of another kind (`token`, `eviction`). */
  createSub<B extends KubeObject, T extends KubeObject>(
    kind: Kind<T>,
    key: Key<T>,
    subresource: string,
    body: Draft<B>,
    options?: CallOptions,
  ): Promise<B>;
  update<T extends KubeObject>(kind: Kind<T>, object: T, options?: WriteOptions): Promise<T>;
  patch<T extends KubeObject>(kind: Kind<T>, key: Key<T>, patch: unknown, options?: PatchOptions): Promise<T>;
  delete<T extends KubeObject>(kind: Kind<T>, key: Key<T>, options?: DeleteOptions): Promise<void>;
  /** A GET outside of resources: `/version`, `/livez`. The body as text; throws like all calls. */
  raw(path: string, options?: CallOptions): Promise<string>;
  /** Ends every stream and connection. Calls after it fail. */
  close(): void;
}

/** An object as one writes it: apiVersion and kind are filled in from the kind. */
export type Draft<T extends KubeObject> = Omit<T, "apiVersion" | "kind" | "metadata"> & {
  apiVersion?: string;
  kind?: string;
  metadata: Partial<T["metadata"]>;
};
