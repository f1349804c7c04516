/** A server that is just enough of a cluster to be engaged: an identity, a health, and ConfigMaps to watch and read. */
import type { Connection } from "#kube";
import { type ScriptedRequest, type ScriptedServer, scriptedServer } from "../../src/kube/testing/scripted-server.ts";

export interface SmallServer {
  readonly connection: Connection;
  readonly port: number;
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
  /** Writes a ConfigMap in `default`, and tells everybody who watches. Answers its resourceVersion. */
  put(name: string): string;
  /** Breaks all connections. */
  drop(): void;
  /** Open connections. */
  open(): number;
  requests(path: string): number;
  /** Forgets what was asked so far, for tests of what is left in memory. */
  forget(): void;
  stop(): Promise<void>;
}

export interface SmallServerOptions {
  /** What tells it from others. */
  readonly uid: string;
  /** Sees every request first; true if it took care of it. */
  readonly intercept?: (request: ScriptedRequest, server: SmallServer) => boolean;
}

/** As it begins, there is one ConfigMap, and two writes have happened since. */
const FIRST = { name: "one", version: 5 };
const BEGINNING = 7;
const MAPS = "/api/v1/configmaps";
const MAP = /^\/api\/v1\/namespaces\/default\/configmaps\/([^/]+)$/;

export async function smallServer({ uid, intercept = () => false }: SmallServerOptions): Promise<SmallServer> {
  const watches: string[] = [];
  const tokens: string[] = [];
  const refused = new Set<string>();
  const maps = new Map([[FIRST.name, FIRST.version]]);
  const watching = new Set<ScriptedRequest>();
  let version = BEGINNING;

  const answer = (request: ScriptedRequest) => {
    const token = String(request.headers.authorization ?? "").replace("Bearer ", "");
    tokens.push(token);
    if (intercept(request, server)) return;
    if (refused.has(token)) return request.reply(401, "who are you?");
    if (!server.works) return request.reply(500, "out of order");
    if (request.path === "/readyz") return request.reply(server.ready ? 200 : 500, server.ready ? "ok" : "not ready");
    if (request.path === "/api/v1/namespaces/kube-system") {
      return request.reply(200, { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system", uid } });
    }
    const read = MAP.exec(request.path)?.[1];
    const found = read === undefined ? undefined : maps.get(read);
    if (read !== undefined && found !== undefined) return request.reply(200, configMap(named(read, found)));
    if (request.path !== MAPS) return request.reply(404, {});
    if (request.query.get("watch") === "true") return watch(request);
    const items = [...maps].map(([name, at]) => configMap(named(name, at)));
    const metadata = { resourceVersion: String(version) };
    request.reply(200, { apiVersion: "v1", kind: "ConfigMapList", metadata, items });
  };

  const watch = (request: ScriptedRequest) => {
    watches.push(request.query.get("resourceVersion") ?? "");
    request.stream();
    watching.add(request);
    void request.closed.then(() => watching.delete(request));
    if (request.query.get("sendInitialEvents") !== "true") return;
    for (const [name, at] of maps) request.write(event("ADDED", named(name, at)));
    const annotations = { "k8s.io/initial-events-end": "true" };
    request.write(event("BOOKMARK", { resourceVersion: String(version), annotations }));
  };

  const scripted: ScriptedServer = await scriptedServer(answer);
  const server: SmallServer = {
    connection: scripted.connection,
    port: scripted.port,
    watches,
    tokens,
    ready: true,
    works: true,
    refused,
    put(name) {
      const type = maps.has(name) ? "MODIFIED" : "ADDED";
      maps.set(name, ++version);
      for (const request of watching) request.write(event(type, named(name, version)));
      return String(version);
    },
    drop: () => scripted.drop(),
    open: () => scripted.open(),
    requests: (path) => scripted.requests.filter((request) => request.path === path).length,
    forget() {
      for (const list of [watches, tokens, scripted.requests]) list.length = 0;
    },
    stop: () => scripted.stop(),
  };
  return server;
}

const named = (name: string, version: number) => ({ name, namespace: "default", resourceVersion: String(version) });

const configMap = (metadata: object) => ({ apiVersion: "v1", kind: "ConfigMap", metadata });

const event = (type: string, metadata: object) => `${JSON.stringify({ type, object: configMap(metadata) })}\n`;
