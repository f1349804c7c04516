/**
 * What happens to a request, in order: it gets an id, is understood, authenticated, perhaps impersonates,
 * is authorized, and is routed to a resource or to one of the server's own pages.
 */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import type { Logger } from "#lib/log";
import {
  type Attributes,
  type Authenticator,
  type Authorizer,
  accessDenied,
  type ResourceAttributes,
} from "../auth/index.ts";
import { ApiError, noSuchResource, unauthorized } from "../errors.ts";
import type { RegistryDependencies, Target } from "../registry/index.ts";
import type { Catalog, UserInfo } from "../resource.ts";
import { readBody } from "./body.ts";
import { impersonated } from "./impersonation.ts";
import { negotiate } from "./negotiation.ts";
import type { Pages } from "./pages.ts";
import { type RequestInfo, type ResourcePath, requestInfo } from "./request-info.ts";
import { isOurFault, serveResource } from "./resource-requests.ts";
import { type Response, sendError, sendText, writable } from "./response.ts";

export type Request = IncomingMessage | Http2ServerRequest;

export interface HandlerDependencies {
  readonly registry: RegistryDependencies;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  readonly pages: Pages;
  readonly log: Logger;
  /** Fires when the server stops: open watches end. */
  readonly stopping: AbortSignal;
}

const ANONYMOUS: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };

export function createHandler(dependencies: HandlerDependencies): (request: Request, response: Response) => void {
  return (request, response) => {
    response.on("error", () => {}); // the client went away in the middle of an answer: nothing to tell it
    serve(dependencies, request, response).catch((error: unknown) => {
      if (isOurFault(error)) {
        dependencies.log.error("request failed", { method: request.method ?? "", path: pathOf(request), error });
      }
      try {
        sendError(response, error, negotiatedForError(request));
      } catch {
        response.destroy?.();
      }
    });
  };
}

async function serve(dependencies: HandlerDependencies, request: Request, response: Response): Promise<void> {
  const out = writable(response);
  out.setHeader("Audit-Id", headerOf(request, "audit-id") ?? randomUUID());
  out.setHeader("Cache-Control", "no-cache, private");

  const method = request.method ?? "GET";
  const info = requestInfo(method, request.url ?? "/");
  const caller = await authenticate(dependencies.authenticator, request);
  const mayImpersonate = (user: UserInfo, what: Omit<ResourceAttributes, "user" | "verb">) =>
    dependencies.authorizer.authorize({ user, verb: "impersonate", version: "v1", ...what }).allowed;
  const user = impersonated(caller, request.headers, mayImpersonate);

  const attributes = attributesOf(user, info);
  if (!dependencies.authorizer.authorize(attributes).allowed) throw accessDenied(attributes);

  if (!info.resource) {
    dependencies.pages.serve(
      { method, info, accept: headerOf(request, "accept"), ifNoneMatch: headerOf(request, "if-none-match") },
      response,
    );
    return;
  }
  const target = targetOf(dependencies.registry.catalog, info.resource);
  if (!target) return answerUnknown(dependencies.registry.catalog, info.resource, response);

  const closed = new AbortController();
  response.on("close", () => closed.abort());
  await serveResource(
    dependencies.registry,
    {
      info,
      method,
      target,
      user,
      headers: {
        accept: headerOf(request, "accept"),
        userAgent: headerOf(request, "user-agent"),
        contentType: headerOf(request, "content-type"),
      },
      readBody: () => readBody(request),
      warnings: target.resource.deprecation ? [target.resource.deprecation] : [],
      closed: AbortSignal.any([closed.signal, dependencies.stopping]),
    },
    response,
  );
}

async function authenticate(authenticator: Authenticator, request: Request): Promise<UserInfo> {
  const authorization = headerOf(request, "authorization");
  const bearerToken = /^Bearer\s+(.*)$/i.exec(authorization ?? "")?.[1]?.trim();
  const peerCertificate = certificateOf(request);
  const user = await authenticator.authenticate({
    ...(peerCertificate && { peerCertificate }),
    ...(bearerToken && { bearerToken }),
  });
  if (user === "invalid") throw unauthorized();
  return user ?? ANONYMOUS;
}

interface TlsPeer {
  getPeerX509Certificate?(): { raw: Buffer } | undefined;
}

function certificateOf(request: Request): Buffer | undefined {
  const { socket } = "stream" in request && request.stream.session ? request.stream.session : request;
  return (socket as unknown as TlsPeer).getPeerX509Certificate?.()?.raw;
}

function attributesOf(user: UserInfo, { verb, path, resource }: RequestInfo): Attributes {
  if (!resource) return { user, verb, path };
  const { group, version, namespace, name, subresource } = resource;
  return {
    user,
    verb,
    group,
    version,
    resource: resource.resource,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
    ...(subresource !== undefined && { subresource }),
  };
}

function targetOf(catalog: Catalog, path: ResourcePath): Target | undefined {
  const resource = catalog.find(path.group, path.version, path.resource);
  if (!resource) return undefined;
  const subresource = resource.subresources.find(({ name }) => name === path.subresource);
  if (path.subresource !== undefined && !subresource) return undefined;
  if (path.namespace !== undefined && !resource.namespaced) return undefined;
  return {
    resource,
    ...(subresource && { subresource }),
    ...(path.namespace !== undefined && { namespace: path.namespace }),
    ...(path.name !== undefined && { name: path.name }),
  };
}

/** Inside a built-in group the answer is a Status; groups that nobody knows have no page at all. */
function answerUnknown(catalog: Catalog, { group, version }: ResourcePath, response: Response): void {
  const inGroup = catalog.resources.filter((resource) => resource.group === group);
  const served = inGroup.some((resource) => resource.version === version);
  if (served || inGroup.some(({ builtin }) => builtin)) throw noSuchResource();
  sendText(response, 404, "404 page not found\n");
}

function negotiatedForError(request: Request) {
  try {
    return negotiate({
      accept: headerOf(request, "accept"),
      userAgent: headerOf(request, "user-agent"),
      pretty: null,
      transforms: true,
    });
  } catch (error) {
    if (error instanceof ApiError) return undefined; // nothing fits: an error goes out as JSON all the same
    throw error;
  }
}

function headerOf(request: Request, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join(", ") : value;
}

function pathOf(request: Request): string {
  return (request.url ?? "").split("?")[0] ?? "";
}
