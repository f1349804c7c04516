/**
 * A client whose connection can be replaced while caches and controllers hold it. New credentials are shown from
 * the next request on, and streams go on. A new endpoint is another client beneath: streams of the old one end, and
 * reflectors go on from where they were.
 */
import type { Kind, KubeObject } from "#api/meta";
import { type Client, type ClientMetrics, type Connection, createClient, fingerprint } from "#kube";
import type { Clock } from "#lib/clock";
import { RelayedCredentials, sourceOf } from "./relayed-credentials.ts";

/** One way to one server, with credentials that can be replaced. */
export interface Line {
  readonly client: Client;
  readonly credentials: RelayedCredentials;
  /** The same for connections to the same endpoint, whoever one is there. */
  readonly target: string;
}

/** With the looks at a member, short enough that a cluster that is gone shows within a quarter of a minute. */
const KEEP_ALIVE = { every: 3_000, patience: 3_000 };

export interface LineOptions {
  readonly clock: Clock;
  readonly metrics?: ClientMetrics;
}

export function openLine(connection: Connection, { clock, metrics }: LineOptions): Line {
  const { token: _, cert: __, key: ___, ...endpoint } = connection;
  const credentials = new RelayedCredentials(sourceOf(connection));
  const client = createClient({
    connection: { ...endpoint, credentials },
    clock,
    keepAlive: KEEP_ALIVE,
    ...(metrics && { metrics }),
  });
  return { client, credentials, target: targetOf(connection) };
}

/** What makes it necessary to connect anew: everything but who we are. */
export function targetOf({ server, ca, serverName, insecure, proxy }: Connection): string {
  return fingerprint([server, ca, serverName, insecure, proxy]);
}

export interface ReplaceableClient {
  readonly client: Client;
  readonly line: Line;
  /** From now on everything goes over this line; the earlier one is closed. */
  use(line: Line): void;
  close(): void;
}

export function replaceableClient(first: Line): ReplaceableClient {
  let line = first;
  const client: Client = {
    get server() {
      return line.client.server;
    },
    get: (kind, key, options) => line.client.get(kind, key, options),
    list: (kind, options) => line.client.list(kind, options),
    watch: (kind, options) => line.client.watch(kind, options),
    create: (kind, object, options) => line.client.create(kind, object, options),
    createSub: (kind, key, subresource, body, options) => line.client.createSub(kind, key, subresource, body, options),
    update: <T extends KubeObject>(kind: Kind<T>, object: T, options?: Parameters<Client["update"]>[2]) =>
      line.client.update(kind, object, options),
    patch: (kind, key, patch, options) => line.client.patch(kind, key, patch, options),
    delete: (kind, key, options) => line.client.delete(kind, key, options),
    raw: (path, options) => line.client.raw(path, options),
    close: () => line.client.close(),
  };
  return {
    client,
    get line() {
      return line;
    },
    use(next) {
      const before = line;
      line = next;
      before.client.close();
    },
    close: () => line.client.close(),
  };
}
