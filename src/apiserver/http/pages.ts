/** The server's own pages: health, version, discovery, OpenAPI, keys of the token issuer. */
import { METRICS_CONTENT_TYPE } from "#lib/metrics";
import { AGGREGATED_DISCOVERY, type Discovery } from "../discovery/index.ts";
import { methodNotAllowed } from "../errors.ts";
import type { OpenApi } from "../openapi/index.ts";
import type { Response } from "./messages.ts";
import {
  acceptsAggregatedDiscovery,
  type Form,
  type Negotiated,
  negotiate,
  PROTOBUF,
  swaggerEncoding,
} from "./negotiation.ts";
import type { RequestInfo } from "./request-info.ts";
import { send, sendObject, sendText } from "./response.ts";

export interface PageRequest {
  readonly method: string;
  readonly info: RequestInfo;
  /** What stands in front of every path, as clients see it. */
  readonly base: string;
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

export interface PageSources {
  readonly version: Readonly<Record<string, string>>;
  readonly openApi: OpenApi;
  discovery(): Discovery;
  readonly openIdConfiguration: unknown;
  readonly keySet: unknown;
  /** For Prometheus. */
  metrics(): string;
  /** Names of what is checked, and whether each is well. */
  health(): ReadonlyMap<string, boolean>;
}

export interface Pages {
  serve(request: PageRequest, response: Response): void;
}

/** With a dot; clients ask for it with an at sign, which is no media type. */
const SWAGGER_PROTOBUF = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const HEALTH = /^\/(healthz|livez|readyz)(?:\/(.+))?$/;
/** Health pages are answered whatever else goes on. */
export function isHealthPage(path: string): boolean {
  return HEALTH.test(path);
}

const A_YEAR_MS = 365 * 24 * 3600 * 1000;

export function createPages(sources: PageSources): Pages {
  return {
    serve(request, response) {
      if (request.method !== "GET" && request.method !== "HEAD") throw methodNotAllowed();
      const { path } = request.info;
      const health = HEALTH.exec(path);
      if (health?.[1]) return serveHealth(sources.health(), { page: health[1], check: health[2] }, request, response);
      if (path === "/version" || path === "/version/") return serveObject(sources.version, request, response);
      if (path === "/")
        return serveObject(
          {
            paths: [
              "/api",
              "/apis",
              "/healthz",
              "/livez",
              "/metrics",
              "/openapi/v2",
              "/openapi/v3",
              "/readyz",
              "/version",
            ],
          },
          request,
          response,
        );
      if (path === "/metrics") return send(response, 200, sources.metrics(), { "Content-Type": METRICS_CONTENT_TYPE });
      if (path === "/.well-known/openid-configuration")
        return serveObject(sources.openIdConfiguration, request, response);
      if (path === "/openid/v1/jwks") {
        send(response, 200, JSON.stringify(sources.keySet), { "Content-Type": "application/jwk-set+json" });
        return;
      }
      if (path === "/openapi/v2") return serveSwagger(sources.openApi, request, response);
      if (path === "/openapi/v3" || path.startsWith("/openapi/v3/"))
        return serveOpenApi(sources.openApi, request, response);
      serveDiscovery(sources.discovery(), request, response);
    },
  };
}

function serveObject(object: unknown, request: PageRequest, response: Response): void {
  sendObject(response, 200, object, negotiated(request, []));
}

function negotiated({ accept, info }: PageRequest, protobuf: readonly Form[]): Negotiated {
  return negotiate({ accept, userAgent: undefined, pretty: info.query.get("pretty"), transforms: false, protobuf });
}

interface Tagged {
  readonly body: string | Uint8Array;
  readonly contentType: string;
  readonly etag?: string;
}

function serveTagged({ body, contentType, etag }: Tagged, { ifNoneMatch }: PageRequest, response: Response): void {
  const headers = { ...(etag && { ETag: etag }), Vary: "Accept" };
  if (etag && ifNoneMatch === etag) return send(response, 304, "", headers);
  send(response, 200, body, { "Content-Type": contentType, ...headers });
}

function serveDiscovery(discovery: Discovery, request: PageRequest, response: Response): void {
  const { path } = request.info;
  const aggregated = acceptsAggregatedDiscovery(request.accept) ? discovery.aggregated(path) : undefined;
  if (aggregated) return serveTagged({ contentType: AGGREGATED_DISCOVERY, ...aggregated }, request, response);
  const document = discovery.legacy(path);
  if (document) {
    const form = negotiated(request, ["object"]);
    // Some documents have never had an apiVersion; protobuf cannot do without one.
    return sendObject(response, 200, form.mediaType === PROTOBUF ? { apiVersion: "v1", ...document } : document, form);
  }
  sendText(response, 404, "404 page not found\n");
}

function serveSwagger(openApi: OpenApi, request: PageRequest, response: Response): void {
  const encoding = swaggerEncoding(request.accept);
  const contentType = encoding === "protobuf" ? SWAGGER_PROTOBUF : "application/json";
  serveTagged({ contentType, ...openApi.swagger(encoding) }, request, response);
}

function serveOpenApi(openApi: OpenApi, request: PageRequest, response: Response): void {
  const name = request.info.path.slice("/openapi/v3/".length);
  // The index is JSON, and called plain text: clients that insist on a type know it as that.
  if (name === "") {
    return serveTagged({ contentType: "text/plain; charset=utf-8", ...openApi.index() }, request, response);
  }
  const contentType = "application/json";
  const answer = openApi.answer(name, request.info.query.get("hash") ?? undefined);
  if (!answer) return sendText(response, 404, "404 page not found\n");
  if ("redirect" in answer) return send(response, 301, "", { Location: `${request.base}${answer.redirect}` });
  if (answer.immutable) {
    // The URL names the content: whoever has it may keep it.
    response.setHeader("Cache-Control", "public, immutable");
    response.setHeader("Expires", new Date(Date.now() + A_YEAR_MS).toUTCString());
  }
  serveTagged({ contentType, ...answer.document }, request, response);
}

function serveHealth(
  checks: ReadonlyMap<string, boolean>,
  { page, check }: { page: string; check: string | undefined },
  { info }: PageRequest,
  response: Response,
): void {
  const excluded = new Set(info.query.getAll("exclude"));
  const asked = [...checks].filter(([name]) => (check === undefined ? !excluded.has(name) : name === check));
  if (check !== undefined && asked.length === 0) return sendText(response, 404, "404 page not found\n");
  const failed = asked.some(([, well]) => !well);
  if (!failed && !info.query.has("verbose")) return sendText(response, 200, "ok");
  const lines = asked.map(([name, well]) => (well ? `[+]${name} ok` : `[-]${name} failed: reason withheld`));
  sendText(response, failed ? 500 : 200, `${[...lines, `${page} check ${failed ? "failed" : "passed"}`].join("\n")}\n`);
}
