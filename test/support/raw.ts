/** Requests as they go over the wire: exact headers, exact bodies, and answers as they came. */
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from "node:http";
import { Agent, request as httpsRequest, type RequestOptions } from "node:https";
import type { ObjectMeta, StatusDetails } from "#api/meta";
import { connectionOf, type Kubeconfig } from "#kube";
import { createCertificateRequest, generateKeyPair } from "#lib/pki";
import { eventually } from "./eventually.ts";

/** Who asks; nobody when it is empty. */
export interface Caller {
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
}

export interface Asking {
  /** Bytes and text go out as they are, everything else as JSON. */
  readonly body?: unknown;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: OutgoingHttpHeaders;
}

export interface Reply {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Of JSON; empty for everything else. */
  readonly body: Body;
}

/** Any JSON object, with the fields that most answers have at hand. */
export interface Body {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly metadata: ObjectMeta & { readonly continue?: string; readonly remainingItemCount?: number };
  readonly items: readonly Body[];
  readonly reason?: string;
  readonly message?: string;
  readonly details?: StatusDetails;
  readonly [field: string]: unknown;
}

export interface RawEvent {
  readonly type: string;
  readonly object: Body;
}

export interface RawWatch {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  /** All events so far. */
  readonly events: readonly RawEvent[];
  /** Resolves once so many events have come. */
  seen(count: number): Promise<readonly RawEvent[]>;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface RawClient {
  request(method: string, path: string, asking?: Asking): Promise<Reply>;
  get(path: string, asking?: Asking): Promise<Reply>;
  post(path: string, body: unknown, asking?: Asking): Promise<Reply>;
  put(path: string, body: unknown, asking?: Asking): Promise<Reply>;
  patch(path: string, body: unknown, type?: "merge" | "json" | "apply" | "strategic"): Promise<Reply>;
  delete(path: string, options?: unknown): Promise<Reply>;
  watch(path: string, asking?: Asking): Promise<RawWatch>;
  /** The same server, asked by somebody else. */
  as(caller: Caller): RawClient;
  close(): void;
}

const PATCH_TYPES = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
};

/** A client of a server as the one its kubeconfig is for. */
export async function rawClient({ kubeconfig }: { readonly kubeconfig: Kubeconfig }): Promise<RawClient> {
  const { server, ca = "", cert = "", key = "", token = "" } = await connectionOf(kubeconfig);
  return clientOf({ server, ca }, { cert, key, token });
}

function clientOf(connection: { readonly server: string; readonly ca: string }, caller: Caller): RawClient {
  const { cert, key, token } = caller;
  const agent = new Agent({ keepAlive: true, ca: connection.ca, ...(cert && { cert }), ...(key && { key }) });
  const { hostname, port } = new URL(connection.server);
  const others: RawClient[] = [];

  const open = (method: string, path: string, { body, type, accept, headers }: Asking): ClientRequest => {
    const bytes = bytesOf(body);
    const options: RequestOptions = {
      agent,
      hostname,
      port,
      method,
      path,
      headers: {
        ...(token && { Authorization: `Bearer ${token}` }),
        ...(accept && { Accept: accept }),
        ...(bytes && { "Content-Type": type ?? "application/json", "Content-Length": bytes.length }),
        ...headers,
      },
    };
    const request = httpsRequest(options);
    request.end(bytes);
    return request;
  };
  const request: RawClient["request"] = async (method, path, asking = {}) => {
    const response = await answerTo(open(method, path, asking));
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString("utf8");
    return { code: response.statusCode ?? 0, headers: response.headers, text, body: bodyOf(response, text) };
  };

  return {
    request,
    get: (path, asking) => request("GET", path, asking),
    post: (path, body, asking) => request("POST", path, { ...asking, body }),
    put: (path, body, asking) => request("PUT", path, { ...asking, body }),
    patch: (path, body, type = "merge") => request("PATCH", path, { body, type: PATCH_TYPES[type] }),
    delete: (path, options) => request("DELETE", path, options === undefined ? {} : { body: options }),
    async watch(path, asking = {}) {
      const sent = open("GET", path, asking);
      return watchOf(sent, await answerTo(sent));
    },
    as(other) {
      const client = clientOf(connection, other);
      others.push(client);
      return client;
    },
    close() {
      agent.destroy();
      for (const other of others) other.close();
    },
  };
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined) return undefined;
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

function answerTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve);
    request.once("error", reject);
  });
}

function bodyOf({ headers }: IncomingMessage, text: string): Body {
  const empty = { metadata: {}, items: [] } as unknown as Body;
  if (!headers["content-type"]?.startsWith("application/json")) return empty;
  return text === "" ? empty : (JSON.parse(text) as Body);
}

function watchOf(request: ClientRequest, response: IncomingMessage): RawWatch {
  const events: RawEvent[] = [];
  let rest = "";
  let failed: unknown;
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") events.push(JSON.parse(line) as RawEvent);
  });
  request.on("error", (error) => {
    failed = error; // also told when we close: only `ended` looks at it
  });
  const ended = new Promise<void>((resolve, reject) => {
    response.once("end", () => {
      // A refused watch is one Status without a newline.
      if (rest.trim() !== "") events.push({ type: "", object: JSON.parse(rest) as Body });
      resolve();
    });
    response.once("error", (error) => reject(failed ?? error));
  });
  ended.catch(() => {});
  return {
    code: response.statusCode ?? 0,
    headers: response.headers,
    events,
    ended,
    seen: (count) =>
      eventually(() => {
        if (events.length < count) {
          throw new Error(`${events.length} of ${count} events so far: ${events.map(({ type }) => type).join(" ")}`);
        }
        return events;
      }),
    close: () => request.destroy(),
  };
}

const REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

/** A client certificate for a user, from the server's own authority, the way everybody gets one. */
export async function certified(admin: RawClient, user: string, groups: string[] = []): Promise<Caller> {
  const { privateKey } = generateKeyPair();
  const request = createCertificateRequest({ subject: { commonName: user, organizations: groups }, key: privateKey });
  const made = await admin.post(REQUESTS, {
    metadata: { generateName: "user-" },
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    },
  });
  const path = `${REQUESTS}/${made.body.metadata.name}`;
  const conditions = [{ type: "Approved", status: "True", reason: "Test", message: "" }];
  await admin.put(`${path}/approval`, { ...made.body, status: { conditions } });
  return eventually(async () => {
    const { certificate } = (await admin.get(path)).body.status as { certificate?: string };
    if (!certificate) throw new Error(`${path} is not signed yet`);
    return { cert: Buffer.from(certificate, "base64").toString("utf8"), key: privateKey };
  });
}
