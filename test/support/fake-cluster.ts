import type { Key, Kind, KubeObject } from "#api/meta";
import type { Client, Draft } from "#kube";
import { type Clock, ManualClock } from "#lib/clock";
import { type Cluster, createCluster } from "#runtime";
import { FakeServer, type FakeWrite, resourceOf } from "./fake-server.ts";
import { fakeSource } from "./fake-source.ts";

/** A kind, and objects of it that exist from the start. */
export type Seed<T extends KubeObject = KubeObject> = readonly [kind: Kind<T>, ...objects: NoInfer<Draft<T>>[]];

export interface FakeClusterOptions {
  /** `hub` unless told. */
  name?: string;
  /** Tells when objects are created and deleted. */
  clock?: Clock;
  /** Answers POSTs to subresources, such as `token`. */
  createSub?: Client["createSub"];
}

export interface FakeCluster extends Cluster {
  /** What the server has now, whatever the caches know. */
  read<T extends KubeObject>(kind: Kind<T>, key: Key<T>): T | undefined;
  readAll<T extends KubeObject>(kind: Kind<T>): T[];
  /** Creates or replaces as somebody else would, status included. It is not counted as a write. */
  put<T extends KubeObject>(kind: Kind<T>, object: Draft<T>): T;
  /** Makes an object vanish at once, finalizers or not. It is not counted as a write. */
  drop<T extends KubeObject>(kind: Kind<T>, key: Key<T>): void;
  /** Every write that was asked for, oldest first. Empty it to begin counting anew. */
  readonly writes: FakeWrite[];
  /** Lets the test see every write before it happens; what it throws is the server's answer. */
  beforeWrite(check: (write: FakeWrite) => void): void;
}

/**
 * A cluster in memory with these objects: `fakeCluster([ManagedCluster, one, two], [ClusterProfile])`. Options may
 * come first.
 */
export function fakeCluster<const S extends readonly KubeObject[]>(...seeds: Seeds<S>): FakeCluster;
export function fakeCluster<const S extends readonly KubeObject[]>(
  options: FakeClusterOptions,
  ...seeds: Seeds<S>
): FakeCluster;
export function fakeCluster(...args: readonly (FakeClusterOptions | Seed)[]): FakeCluster {
  const seeds = args.filter((arg): arg is Seed => Array.isArray(arg));
  const [options = {}] = args.filter((arg): arg is FakeClusterOptions => !Array.isArray(arg));
  const { name = "hub", clock = new ManualClock(), createSub } = options;

  const writes: FakeWrite[] = [];
  let check: (write: FakeWrite) => void = () => {};
  const server = new FakeServer({
    clock,
    beforeWrite(write) {
      writes.push(write);
      check(write);
    },
    ...(createSub && { createSub }),
  });
  for (const [kind, ...objects] of seeds) for (const object of objects) server.seed(kind, object);

  const cluster = createCluster({
    name,
    client: server.client(),
    open: (kind, scope) => fakeSource(server.store, resourceOf(kind), scope),
  });
  // What the store keeps under a kind's name was put there as that kind.
  return {
    ...cluster,
    read: <T extends KubeObject>(kind: Kind<T>, key: Key<T>) =>
      server.store.get(resourceOf(kind), key) as T | undefined,
    readAll: <T extends KubeObject>(kind: Kind<T>) => server.store.list(resourceOf(kind)) as T[],
    put: <T extends KubeObject>(kind: Kind<T>, object: Draft<T>) => server.seed(kind, object) as T,
    drop: (kind, key) => server.store.remove(resourceOf(kind), key),
    writes,
    beforeWrite(next) {
      check = next;
    },
  };
}

type Seeds<S extends readonly KubeObject[]> = { readonly [I in keyof S]: Seed<S[I]> };
