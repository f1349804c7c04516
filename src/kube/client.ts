/** The client of one API server. */
import { apiVersionOf, type Key, type Kind, type KubeList, type KubeObject, keyOf } from "#api/meta";
import { type Clock, systemClock } from "#lib/clock";
import { stringifyJson } from "#lib/json";
import { failureOf, objectOf, textOf, warningsOf } from "./answers.ts";
import { Call } from "./call.ts";
import type { Connection } from "./config/connection.ts";
import { type Credential, type Credentials, isSameCredential } from "./credentials.ts";
import { KubeError } from "./errors.ts";
import type { ClientMetrics } from "./metrics.ts";
import { orAborted } from "./or-aborted.ts";
import { collectionPath, creationPath, objectPath, query } from "./paths.ts";
import {
  type DirectServer,
  type KeepAlive,
  LinkError,
  Transport,
  type TransportRequest,
  type TransportResponse,
} from "./transport/index.ts";
import type {
  CallOptions,
  Client,
  DeleteOptions,
  Draft,
  ListOptions,
  PatchOptions,
  PatchType,
  ReadOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./types.ts";
import { eventsOf } from "./watch.ts";

export interface ClientOptions {
  connection: Connection;
  clock?: Clock;
  userAgent?: string;
  /** The server, where it is in the same process: it is asked without a connection, and knows by itself who asks. */
  direct?: DirectServer;
  /** How soon a server that has vanished without a word is noticed; within 45 s unless told. */
  keepAlive?: KeepAlive;
  /** Told what the server remarks about a request that it carries out, such as a deprecated version. */
  onWarning?: (text: string) => void;
  /** Counts what is sent. */
  metrics?: ClientMetrics;
}

/** A client that connects with its first call. */
export function createClient(options: ClientOptions): Client {
  return new HttpClient(options);
}

const JSON_TYPE = "application/json";
const METADATA = `${JSON_TYPE};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${JSON_TYPE}`;
const METADATA_LIST = `${JSON_TYPE};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${JSON_TYPE}`;

const PATCH_TYPES: Record<PatchType, string> = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml", // of which JSON is a part
};

/** How often a call is repeated because the server asks for it or the connection broke. */
const MOST_RETRIES = 10;
/** The pause before a GET is sent for the third time and more; the first repetition goes out at once. */
const LOST_PAUSE = 1_000;
/** A server ends a watch at its timeoutSeconds; if it has not done so by then, it is not there any more. */
const WATCH_GRACE = 30_000;

interface Request {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  accept?: string;
  query?: string;
  body?: unknown;
  contentType?: string;
  actAs?: string | undefined;
  /** Answers that are refusals may repeat what the request held. */
  discreet?: boolean;
}

class HttpClient implements Client {
  readonly server: string;
  /** What stays as it is, unless there is a source of what changes. */
  readonly #identity: Credential;
  readonly #credentials: Credentials | undefined;
  readonly #clock: Clock;
  readonly #userAgent: string;
  readonly #onWarning: ((text: string) => void) | undefined;
  readonly #transport: Transport;
  readonly #metrics: ClientMetrics | undefined;
  readonly #host: string;
  readonly #prefix: string;
  readonly #calls = new Set<Call>();
  readonly #stopListening: (() => void) | undefined;
  #awake: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: ClientOptions) {
    const { connection, clock = systemClock, userAgent = "capstan", direct, keepAlive, onWarning, metrics } = options;
    this.#identity = connection;
    this.#credentials = connection.credentials;
    this.#clock = clock;
    this.#userAgent = userAgent;
    this.#onWarning = onWarning;
    this.server = connection.server.replace(/\/+$/, "");
    const { host, pathname } = new URL(this.server);
    this.#metrics = metrics;
    this.#host = host;
    this.#prefix = pathname.replace(/\/+$/, "");
    this.#transport = new Transport(connection, { clock, direct, keepAlive });
    // Watches would otherwise stay on a connection of the old certificate until they end.
    this.#stopListening = this.#credentials?.onChange((credential) => this.#transport.present(credential));
  }

  async get<T extends KubeObject>(
    kind: Kind<T>,
    key: Key<T>,
    { resourceVersion, subresource, ...options }: ReadOptions & { subresource?: string } = {},
  ): Promise<T> {
    const path = objectPath(kind, key, subresource);
    return this.#object({ method: "GET", path, query: query({ resourceVersion }) }, kind, options);
  }

  async list<T extends KubeObject>(kind: Kind<T>, options: ListOptions = {}): Promise<KubeList<T>> {
    const { namespace, metadataOnly, timeout: _, signal: __, ...parameters } = options;
    const request: Request = {
      method: "GET",
      path: collectionPath(kind, namespace),
      query: query(parameters),
      ...(metadataOnly && { accept: METADATA_LIST }),
    };
    const list = await this.#answer<KubeList<T>>(request, options);
    if (!Array.isArray(list.items)) list.items = []; // Go writes an empty list as null
    const [apiVersion, kindName] = [apiVersionOf(kind), kind.kind];
    // Lists of built-in kinds leave out what the list itself says.
    list.items = list.items.map((item) =>
      item.kind && !metadataOnly ? item : { ...item, apiVersion, kind: kindName },
    );
    return list;
  }

  async watch<T extends KubeObject>(kind: Kind<T>, options: WatchOptions = {}): Promise<AsyncIterable<WatchEvent<T>>> {
    const { namespace, metadataOnly, timeout: _, signal: __, ...parameters } = options;
    const request: Request = {
      method: "GET",
      path: collectionPath(kind, namespace),
      query: query({ watch: true, ...parameters }),
      ...(metadataOnly && { accept: METADATA }),
    };
    const call = this.#begin(request, options);
    try {
      const response = await this.#exchange(request, call, async (answer) => answer);
      call.extend(options.timeoutSeconds === undefined ? undefined : options.timeoutSeconds * 1000 + WATCH_GRACE);
      return eventsOf<T>(response, call, (error) => this.#kubeError(error, call));
    } catch (error) {
      call.end();
      throw error;
    }
  }

  async create<T extends KubeObject>(kind: Kind<T>, object: Draft<T>, options: WriteOptions = {}): Promise<T> {
    const { name = "", namespace } = object.metadata;
    const collection = creationPath(kind, namespace);
    const key = namespace ? `${namespace}/${name}` : name;
    const path = options.subresource === undefined ? collection : objectPath(kind, key, options.subresource);
    const request: Request = { method: "POST", path, query: writeQuery(options), body: named(kind, object) };
    return this.#object({ ...request, actAs: options.actAs }, kind, options);
  }

  async createSub<B extends KubeObject, T extends KubeObject>(
    kind: Kind<T>,
    key: Key<T>,
    subresource: string,
    body: Draft<B>,
    options: CallOptions = {},
  ): Promise<B> {
    return this.#answer<B>({ method: "POST", path: objectPath(kind, key, subresource), body }, options);
  }

  async update<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = objectPath(kind, keyOf(object), options.subresource);
    const request: Request = { method: "PUT", path, query: writeQuery(options), body: named(kind, object) };
    return this.#object({ ...request, actAs: options.actAs }, kind, options);
  }

  async patch<T extends KubeObject>(
    kind: Kind<T>,
    key: Key<T>,
    patch: unknown,
    options: PatchOptions = {},
  ): Promise<T> {
    const { type = "merge", force, subresource } = options;
    const request: Request = {
      method: "PATCH",
      path: objectPath(kind, key, subresource),
      query: writeQuery(options, type === "apply" ? force : undefined),
      body: patch,
      contentType: PATCH_TYPES[type],
      actAs: options.actAs,
    };
    return this.#object(request, kind, options);
  }

  async delete<T extends KubeObject>(kind: Kind<T>, key: Key<T>, options: DeleteOptions = {}): Promise<void> {
    const { timeout: _, signal: __, ...wishes } = options;
    const body = { apiVersion: "v1", kind: "DeleteOptions", ...wishes };
    await this.#text({ method: "DELETE", path: objectPath(kind, key), body }, options);
  }

  async raw(path: string, options: CallOptions = {}): Promise<string> {
    if (!path.startsWith("/")) throw new KubeError("misuse", `"${path}" is no path; it must begin with /`);
    const [bare = "", ...rest] = path.split("?");
    return this.#text({ method: "GET", path: bare, query: rest.length > 0 ? `?${rest.join("?")}` : "" }, options);
  }

  close(): void {
    this.#closed = true;
    this.#stopListening?.();
    for (const call of [...this.#calls]) call.abort("the client was closed");
    this.#transport.close();
  }

  #object<T extends KubeObject>(request: Request, kind: Kind<T>, options: CallOptions): Promise<T> {
    return this.#answer<T>({ ...request, discreet: kind.group === "" && kind.plural === "secrets" }, options);
  }

  async #answer<A extends object>(request: Request, options: CallOptions): Promise<A> {
    const text = await this.#text(request, options);
    return objectOf(text, this.#what(request)) as A;
  }

  async #text(request: Request, options: CallOptions): Promise<string> {
    const call = this.#begin(request, options);
    try {
      const text = await this.#exchange(request, call, textOf);
      this.#metrics?.received({ method: request.method, host: this.#host, bytes: Buffer.byteLength(text) });
      return text;
    } finally {
      call.end();
    }
  }

  /** Sends, as often as it takes and may be, and hands the first good answer to `accept`. */
  async #exchange<A>(request: Request, call: Call, accept: (answer: TransportResponse) => Promise<A>): Promise<A> {
    let renewed: Credential | undefined;
    for (let retries = 0; ; retries++) {
      let pause: number;
      try {
        const credential = renewed ?? (await this.#credential(call));
        const response = await this.#send(this.#wireRequest(request, credential), call.signal, retries);
        for (const warning of warningsOf(response)) this.#onWarning?.(warning);
        if (response.status < 400) return await accept(response);

        const error = failureOf(response, await textOf(response), call.what, request.discreet ?? false);
        if (error.code === 401 && this.#credentials && !renewed) {
          renewed = await this.#renewed(this.#credentials, credential, call);
          // Writes are not repeated, as with other Kubernetes clients; the next one will fare better.
          if (request.method === "GET" && !isSameCredential(renewed, credential)) continue;
        }
        const asked = error.code === 429 || error.code >= 500 ? error.retryAfter : undefined;
        if (asked === undefined || retries >= MOST_RETRIES || asked * 1000 >= call.remaining) throw error;
        pause = asked * 1000;
      } catch (error) {
        if (!(error instanceof LinkError) || !mayRepeat(request, error) || retries >= MOST_RETRIES) {
          throw this.#kubeError(error, call);
        }
        pause = retries === 0 ? 0 : LOST_PAUSE;
        if (pause >= call.remaining) throw this.#kubeError(error, call);
      }
      if (pause > 0) await call.sleep(pause);
    }
  }

  async #send(request: TransportRequest, signal: AbortSignal, retries: number): Promise<TransportResponse> {
    if (!this.#metrics) return this.#transport.send(request, signal);
    const { method, body } = request;
    const started = performance.now();
    let code: number | undefined;
    try {
      const response = await this.#transport.send(request, signal);
      code = response.status;
      return response;
    } finally {
      this.#metrics.requested({
        method,
        host: this.#host,
        ...(code !== undefined && { code }),
        seconds: (performance.now() - started) / 1000,
        bytes: body?.length ?? 0,
        retries,
      });
    }
  }

  #wireRequest(request: Request, { token }: Credential): TransportRequest {
    const { method, path, body } = request;
    const bytes = body === undefined ? undefined : Buffer.from(stringifyJson(body), "utf8");
    return {
      method,
      path: `${this.#prefix}${path}${request.query ?? ""}`,
      headers: {
        accept: request.accept ?? JSON_TYPE,
        "user-agent": this.#userAgent,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(request.actAs !== undefined && { "impersonate-user": request.actAs }),
        ...(bytes && { "content-type": request.contentType ?? JSON_TYPE, "content-length": String(bytes.length) }),
      },
      ...(bytes && { body: bytes }),
    };
  }

  async #credential(call: Call): Promise<Credential> {
    if (!this.#credentials) return this.#identity;
    return this.#presented(this.#credentials.current(), call, "getting credentials");
  }

  async #renewed(credentials: Credentials, refused: Credential, call: Call): Promise<Credential> {
    const doing = "the server refused the credentials (401 Unauthorized), refreshing credentials";
    return this.#presented(credentials.refresh(refused), call, doing, 401);
  }

  /** Waits for a credential for as long as the call may take; from then on connections are made with its certificate. */
  async #presented(wanted: Promise<Credential>, call: Call, doing: string, code = 0): Promise<Credential> {
    try {
      const credential = await orAborted(wanted, call.signal);
      this.#transport.present(credential);
      return credential;
    } catch (cause) {
      if (cause === call.signal.reason) throw cause;
      throw new KubeError("credentials", `${call.what}: ${doing}: ${(cause as Error).message}`, { code, cause });
    }
  }

  /** A pending call keeps the process alive; connections as such do not. */
  #begin(request: Request, options: CallOptions): Call {
    const call = new Call(this.#what(request), options, this.#clock, (ended) => {
      this.#calls.delete(ended);
      if (this.#calls.size > 0) return;
      clearInterval(this.#awake);
      this.#awake = undefined;
    });
    if (this.#closed) call.abort("the client was closed");
    this.#calls.add(call);
    this.#awake ??= setInterval(() => {}, 2 ** 30);
    return call;
  }

  #what({ method, path }: Request): string {
    return `${method} ${path} on ${this.server}`;
  }

  #kubeError(error: unknown, call: Call): KubeError {
    if (error instanceof KubeError) return error;
    const { message } = error as Error;
    if (!(error instanceof LinkError)) return new KubeError("malformed", `${call.what}: ${message}`, { cause: error });
    const kinds = { unreachable: "unreachable", refused: "lost", lost: "lost", closed: "aborted" } as const;
    return new KubeError(kinds[error.failure], `${call.what}: ${message}`, { cause: error });
  }
}

/** What was read may be read again, and what the server has not looked at may be sent again. */
function mayRepeat({ method }: Request, { failure }: LinkError): boolean {
  return failure === "refused" || (failure === "lost" && method === "GET");
}

function writeQuery({ fieldManager, fieldValidation, dryRun }: WriteOptions, force?: boolean): string {
  return query({ fieldManager, fieldValidation, dryRun: dryRun ? "All" : undefined, force });
}

function named<T extends KubeObject>(kind: Kind<T>, object: Draft<T> | T): object {
  return { ...object, apiVersion: apiVersionOf(kind), kind: kind.kind };
}
