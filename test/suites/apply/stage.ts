/** What the cases of the apply suite share: a server, engines on it, and an account of what was asked of it. */
import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { ConfigMap, Namespace } from "#api/core";
import type { DynamicObject, Key, Kind, KubeObject } from "#api/meta";
import {
  type ApplyEngine,
  type ApplyEngineOptions,
  type ApplyReport,
  type Client,
  connectionOf,
  createApplyEngine,
  createClient,
  nameOf,
} from "#kube";
import { type AuditedRequest, auditedBy } from "../../support/audit.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestServer } from "../../support/servers.ts";

export const MANAGER = "capstan";

export interface Call {
  readonly verb: "get" | "list" | "create" | "update" | "patch" | "delete" | "raw";
  readonly kind: string;
  readonly key: string;
}

export class ApplyStage {
  readonly server: TestServer;
  readonly client: Client;
  #count = 0;

  constructor(server: TestServer) {
    this.server = server;
    this.client = server.client;
  }

  engine(options: Partial<ApplyEngineOptions> = {}): ApplyEngine {
    return createApplyEngine({ client: this.client, fieldManager: MANAGER, ...options });
  }

  /** A namespace that nobody else uses. */
  async namespace(): Promise<string> {
    const name = `apply-${++this.#count}-${randomUUID().slice(0, 6)}`;
    await this.client.create(Namespace, { metadata: { name } });
    return name;
  }

  async exists(kind: Kind<KubeObject>, key: string): Promise<boolean> {
    return this.client.get(kind, key as Key<KubeObject>).then(
      () => true,
      () => false,
    );
  }

  async configMap(key: string): Promise<ConfigMap> {
    return this.client.get(ConfigMap, key);
  }

  /** What the server heard from the client that `work` was given. */
  async requestsOf(work: (client: Client) => Promise<unknown>): Promise<AuditedRequest[]> {
    const userAgent = `capstan-apply/${randomUUID()}`;
    const client = createClient({ connection: await connectionOf(this.server.kubeconfig), userAgent });
    try {
      await work(client);
      // The log is written a moment later; when it knows of this, it knows of all before.
      const last = `last-${randomUUID()}`;
      await client.get(ConfigMap, `default/${last}`).catch(() => {});
      return await eventually(() => {
        const heard = auditedBy(this.server).filter((event) => event.userAgent === userAgent);
        const end = heard.findIndex(({ requestURI }) => requestURI.includes(last));
        expect(end).toBeGreaterThanOrEqual(0);
        return heard.slice(0, end);
      });
    } finally {
      client.close();
    }
  }
}

export function writesIn(requests: readonly AuditedRequest[]): string[] {
  return requests
    .filter(({ verb, requestURI }) => !["get", "list", "watch"].includes(verb) && !requestURI.includes("dryRun=All"))
    .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
}

/** What was done to each object: `created ConfigMap demo/a`. */
export function deedsIn({ objects }: ApplyReport): string[] {
  return objects.map(({ id, action }) => `${action} ${nameOf(id)}`);
}

export function reasonsIn({ objects }: ApplyReport): Record<string, string> {
  return Object.fromEntries(objects.map(({ id, action, reason }) => [nameOf(id), `${action}: ${reason}`]));
}

/** The client with somebody in the line: what `interfere` throws is the answer. */
export function interfered(client: Client, interfere: (call: Call) => unknown): Client {
  const before = async (verb: Call["verb"], kind: { kind: string } | undefined, key: string) =>
    interfere({ verb, kind: kind?.kind ?? "", key });
  const wrapped = {
    ...bound(client),
    get: async (kind: Kind, key: string, options?: object) => {
      await before("get", kind, key);
      return client.get(kind, key, options);
    },
    list: async (kind: Kind, options?: object) => {
      await before("list", kind, "");
      return client.list(kind, options);
    },
    create: async (kind: Kind, object: DynamicObject, options?: object) => {
      await before("create", kind, object.metadata.name);
      return client.create(kind, object, options);
    },
    update: async (kind: Kind, object: DynamicObject, options?: object) => {
      await before("update", kind, object.metadata.name);
      return client.update(kind, object, options);
    },
    patch: async (kind: Kind, key: string, patch: unknown, options?: object) => {
      await before("patch", kind, key);
      return client.patch(kind, key, patch, options);
    },
    delete: async (kind: Kind, key: string, options?: object) => {
      await before("delete", kind, key);
      return client.delete(kind, key, options);
    },
    raw: async (path: string, options?: object) => {
      await before("raw", undefined, path);
      return client.raw(path, options);
    },
  };
  // Which kind a call means, its argument says; the cast ties that knot.
  return wrapped as unknown as Client;
}

function bound(client: Client) {
  return {
    server: client.server,
    watch: client.watch.bind(client),
    createSub: client.createSub.bind(client),
    close: () => client.close(),
  };
}
