/**
 * What happens to a request, in order: it gets an id, is understood, authenticated, perhaps impersonates,
 * waits for a place, is authorized, and is routed to a resource or to one of the server's own pages.
 * Whatever becomes of it, those who keep account are told.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "#lib/clock";
import { isWireDuration } from "#lib/duration";
import type { Logger } from "#lib/log";
import {
  type Attributes,
  type Authenticator,
  type Authorizer,
  accessDenied,
  type StandingRequests,
} from "../auth/index.ts";
import { ApiError, badRequest, noSuchResource, unauthorized } from "../errors.ts";
import type { RegistryDependencies, Target } from "../registry/index.ts";
import type { Catalog, UserInfo } from "../resource.ts";
import { readBody } from "./body.ts";
import { type Exchange, type ExchangeObserver, isLongRunning } from "./exchange.ts";
import { impersonated } from "./impersonation.ts";
import { FLOW_HEADERS, type Limiter } from "./limiter.ts";
import type { Peer, Request, Response } from "./messages.ts";
import { negotiate } from "./negotiation.ts";
import { isHealthPage, type Pages } from "./pages.ts";
import { type RequestInfo, type ResourcePath, requestInfo } from "./request-info.ts";
import { isOurFault, serveResource } from "./resource-requests.ts";
import { sendError, sendText } from "./response.ts";

export interface HandlerDependencies {
  readonly registry: RegistryDependencies;
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Ends watches whose right is taken away. */
  readonly standing: StandingRequests;
  readonly limiter: Limiter;
  readonly pages: Pages;
  readonly observers: readonly ExchangeObserver[];
  readonly clock: Clock;
  readonly log: Logger;
  /** Fires when the server stops: open watches end. */
  readonly stopping: AbortSignal;
}

const ANONYMOUS: UserInfo = { username: "system:anonymous", groups: ["system:unauthenticated"] };

export function createHandler(dependencies: HandlerDependencies): (request: Request, response: Response) => void {
  const { observers, log } = dependencies;
  return (request, response) => {
    response.on("error", () => {}); // the client went away in the middle of an answer: nothing to tell it
    const exchange = exchangeOf(request, dependencies.clock);
    const gone = new Departure();
    const closed = new Promise<void>((resolve) => {
      response.once("close", () => {
        gone.happened();
        resolve();
      });
    });
    const served = serve(dependencies, exchange, request, response, gone).catch((error: unknown) => {
      if (error instanceof ApiError) exchange.failure = error.status;
      if (isOurFault(error)) {
        log.error("request failed", { method: request.method ?? "", path: exchange.info.path, error });
      }
      try {
        leaveUnread(request, response);
        sendError(response, error, negotiatedForError(request));
      } catch {
        response.destroy();
      }
    });
    // A client that leaves does not stop a write: what became of it is known when both are over.
    Promise.all([served, closed])
      .then(() => {
        exchange.code = response.statusCode;
        for (const observer of observers) observer.completed(exchange);
      })
      .catch((error: unknown) => log.error("cannot keep account of a request", { error }));
  };
}

/** That the client went away, as a signal for the few who ask: making one for every request would cost more than a read. */
class Departure {
  #controller: AbortController | undefined;
  #isOver = false;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isOver) this.#controller.abort();
    return this.#controller.signal;
  }

  happened(): void {
    this.#isOver = true;
    this.#controller?.abort();
  }
}

/** Longer ids are somebody's attempt to fill our log. */
const LONGEST_AUDIT_ID = 128;

function exchangeOf(request: Request, clock: Clock): Exchange {
  const askedId = headerOf(request, "audit-id");
  return {
    auditId: askedId && askedId.length <= LONGEST_AUDIT_ID ? askedId : randomUUID(),
    receivedAt: clock.now(),
    startedAt: performance.now(),
    uri: request.url ?? "/",
    info: requestInfo(request.method ?? "GET", request.url ?? "/"),
    userAgent: headerOf(request, "user-agent"),
    contentType: headerOf(request, "content-type"),
    sourceIp: peerOf(request).address,
  };
}

/** A request refused before its body was read has a connection that is good for nothing else. */
function leaveUnread(request: Request, response: Response): void {
  if (request.complete) return;
  request.resume();
  const { stream } = response;
  if (stream) stream.once("finish", () => stream.close());
  else if (!response.headersSent) response.setHeader("Connection", "close");
}

async function serve(
  dependencies: HandlerDependencies,
  exchange: Exchange,
  request: Request,
  response: Response,
  gone: Departure,
): Promise<void> {
  const { authenticator, authorizer, limiter } = dependencies;
  const { info } = exchange;
  response.setHeader("Audit-Id", exchange.auditId);
  response.setHeader("Cache-Control", "no-cache, private");

  if (!isLongRunning(exchange)) refuseBadTimeout(info);
  exchange.caller = await authenticate(authenticator, request);
  const user = impersonated({
    headers: request.headers,
    request: attributesOf(exchange.caller, info),
    isAllowed: (attributes) => authorizer.authorize(attributes).allowed,
  });
  exchange.user = user;

  for (const [name, value] of FLOW_HEADERS) response.setHeader(name, value);
  if (isLongRunning(exchange) || isHealthPage(info.path)) {
    return route(dependencies, exchange, user, request, response, gone);
  }
  const leave = await limiter.enter(isRead(request) ? "readOnly" : "mutating", () => gone.signal);
  try {
    await route(dependencies, exchange, user, request, response, gone);
  } finally {
    leave();
  }
}

/** How long a client will wait is its own business, as long as it says so in a way that can be read. */
function refuseBadTimeout({ query }: RequestInfo): void {
  const timeout = query.get("timeout");
  if (!timeout || isWireDuration(timeout)) return;
  const reason = `time: invalid duration ${JSON.stringify(timeout)}`;
  throw badRequest(`invalid timeout specified in the request URL - ${reason}`);
}

/** A request that has its place: may it, and who answers it? */
async function route(
  { registry, authorizer, standing, pages, observers, clock, stopping }: HandlerDependencies,
  exchange: Exchange,
  user: UserInfo,
  request: Request,
  response: Response,
  gone: Departure,
): Promise<void> {
  const { info } = exchange;
  const method = request.method ?? "GET";
  const attributes = attributesOf(user, info);
  exchange.decision = authorizer.authorize(attributes);
  if (!exchange.decision.allowed) throw accessDenied(attributes);

  if (!info.resource) {
    pages.serve(
      {
        method,
        info,
        base: request.base ?? "",
        accept: headerOf(request, "accept"),
        ifNoneMatch: headerOf(request, "if-none-match"),
      },
      response,
    );
    return;
  }
  const target = targetOf(registry.catalog, info.resource);
  if (!target) return answerUnknown(registry.catalog, info.resource, response);
  exchange.target = target;

  await serveResource(
    registry,
    {
      info,
      method,
      target,
      user,
      headers: {
        accept: headerOf(request, "accept"),
        userAgent: exchange.userAgent,
        contentType: headerOf(request, "content-type"),
      },
      readBody: () => readBody(request, clock),
      repeatedFields: [],
      warnings: target.resource.deprecation ? [target.resource.deprecation] : [],
      closed: () => AbortSignal.any([gone.signal, stopping, standing.whileAllowed(attributes, gone.signal)]),
      streaming: () => {
        exchange.code = 200;
        for (const observer of observers) observer.streaming(exchange);
      },
      created: (name) => {
        exchange.createdName = name;
      },
      annotate: (key, value) => {
        exchange.annotations = { ...exchange.annotations, [key]: value };
      },
    },
    response,
  );
}

function isRead({ method = "GET" }: Request): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}

async function authenticate(authenticator: Authenticator, request: Request): Promise<UserInfo> {
  const authorization = headerOf(request, "authorization");
  const bearerToken = /^Bearer\s+(.*)$/i.exec(authorization ?? "")?.[1]?.trim();
  const { certificate: peerCertificate } = peerOf(request);
  const user = await authenticator.authenticate({
    ...(peerCertificate && { peerCertificate }),
    ...(bearerToken && { bearerToken }),
  });
  if (user === "invalid") throw unauthorized();
  return user ?? ANONYMOUS;
}

interface Caller {
  readonly address: string | undefined;
  /** In DER. */
  readonly certificate: Buffer | undefined;
}

/** Asked once for each connection: the answers cannot change, and asking takes longer than a small read. */
const peers = new WeakMap<object, Caller>();

function peerOf({ stream, socket }: Request): Caller {
  const connection = stream?.session ?? socket;
  if (!connection) return { address: undefined, certificate: undefined }; // it is gone already
  const known = peers.get(connection);
  if (known) return known;
  const secured: Peer | undefined = stream?.session?.socket ?? socket;
  const peer = { address: secured?.remoteAddress, certificate: secured?.getPeerX509Certificate?.()?.raw };
  peers.set(connection, peer);
  return peer;
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
      protobuf: ["object", "metadata"],
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
