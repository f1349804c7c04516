/** A server that is just enough of a cluster to be engaged: an identity, a health, and ConfigMaps to watch. */
import type { Connection } from "#kube";
import { type ScriptedRequest, type ScriptedServer, scriptedServer } from "../../src/kube/testing/scripted-server.ts";

export interface SmallServer {
  readonly connection: Connection;
  /** Watches so far, each with the resourceVersion it began at; empty where it asked for everything. */
  readonly watches: string[];
  /** The tokens that requests came with, newest last. */
  readonly tokens: string[];
  /** Whether it says that it is ready. */
  ready: boolean;
  /** Whether it answers anything but 500. */
  works: boolean;
  /** Tokens that it does not accept any more. */
  readonly refused: Set<string>;
  /** Breaks all connections. */
  drop(): void;
  /** Open connections. */
  open(): number;
  requests(path: string): number;
  stop(): Promise<void>;
}

export async function smallServer({ uid }: { uid: string }): Promise<SmallServer> {
  const watches: string[] = [];
  const tokens: string[] = [];
  const refused = new Set<string>();
  const answer = (request: ScriptedRequest) => {
    const token = String(request.headers.authorization ?? "").replace("Bearer ", "");
    tokens.push(token);
    if (refused.has(token)) return request.reply(401, "who are you?");
    if (!server.works) return request.reply(500, "out of order");
    if (request.path === "/readyz") return request.reply(server.ready ? 200 : 500, server.ready ? "ok" : "not ready");
    if (request.path === "/api/v1/namespaces/kube-system") {
      return request.reply(200, { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system", uid } });
    }
    if (request.path !== "/api/v1/configmaps") return request.reply(404, {});
    watches.push(request.query.get("resourceVersion") ?? "");
    request.stream();
    if (request.query.get("sendInitialEvents") === "true") for (const event of PICTURE) request.write(event);
  };
  const scripted: ScriptedServer = await scriptedServer(answer);
  const server: SmallServer = {
    connection: scripted.connection,
    watches,
    tokens,
    ready: true,
    works: true,
    refused,
    drop: () => scripted.drop(),
    open: () => scripted.open(),
    requests: (path) => scripted.requests.filter((request) => request.path === path).length,
    stop: () => scripted.stop(),
  };
  return server;
}

const configMap = (metadata: object) => ({ apiVersion: "v1", kind: "ConfigMap", metadata });

const PICTURE = [
  { type: "ADDED", object: configMap({ name: "one", namespace: "default", resourceVersion: "5" }) },
  {
    type: "BOOKMARK",
    object: configMap({ resourceVersion: "7", annotations: { "k8s.io/initial-events-end": "true" } }),
  },
].map((event) => `${JSON.stringify(event)}\n`);
