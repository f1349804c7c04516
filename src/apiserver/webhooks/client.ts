/** Calls webhooks over HTTPS: bounded in time and in size, and whatever goes wrong ends in a sentence. */
import type { ClientRequest, IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import type { Clock } from "#lib/clock";
import { parseJson, stringifyJson } from "#lib/json";
import { answerFailure, connectionFailure, DEADLINE } from "./failure-texts.ts";

/** Where a webhook answers. */
export interface Destination {
  /** As errors show it, with its path; its host is who the certificate must be for. */
  readonly url: string;
  /** Where to connect to, when that is not what the URL says. */
  readonly endpoint?: { readonly host: string; readonly port: number };
  /** PEM of whom the certificate comes from; without it, whoever the system trusts. */
  readonly authority?: string;
}

export interface CallLimits {
  readonly timeoutMs: number;
  /** Of the answer, in bytes. */
  readonly largest: number;
}

/** The webhook gave no answer, or none that makes sense. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
}

export interface WebhookClient {
  /** Posts JSON, and gives the JSON of the answer. Throws CallFailure. */
  call(destination: Destination, body: unknown, limits: CallLimits): Promise<unknown>;
  /** Ends all calls. */
  close(): void;
}

/** One client serves all webhooks of a cluster: connections are kept by address, name and authority. */
export function createWebhookClient({ clock }: { readonly clock: Clock }): WebhookClient {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: 8, scheduling: "lifo" });
  return {
    async call(destination, body, limits) {
      const bytes = Buffer.from(stringifyJson(body));
      return decoded(await new Post({ agent, destination, bytes, limits, clock }).answer());
    },
    close: () => agent.destroy(),
  };
}

/** The failure to post to somewhere, named as kube-apiserver names it: with how long it would have waited. */
export function postFailure(
  { url }: Destination,
  { timeoutMs }: CallLimits,
  why: string,
  cause?: unknown,
): CallFailure {
  return new CallFailure(`Post ${JSON.stringify(`${url}${timeoutQuery(timeoutMs)}`)}: ${why}`, { cause });
}

function timeoutQuery(timeoutMs: number): string {
  return `?timeout=${Math.ceil(timeoutMs / 1000)}s`;
}

interface Answer {
  readonly code: number;
  /** Undefined where the webhook does not say. */
  readonly contentType: string | undefined;
  readonly text: string;
}

function decoded({ code, contentType, text }: Answer): unknown {
  if (code < 200 || code > 206) throw new CallFailure(answerFailure(code, contentType, text));
  if (text === "") {
    const type = contentType ?? "application/json";
    throw new CallFailure(`0-length response with status code: ${code} and content type: ${type}`);
  }
  try {
    return parseJson(text);
  } catch (error) {
    // The library would quote what it stumbled upon, and nobody knows what that is.
    if (error instanceof SyntaxError) throw new CallFailure("couldn't get version/kind; json parse error: no JSON");
    throw error;
  }
}

interface PostOptions {
  readonly agent: Agent;
  readonly destination: Destination;
  readonly bytes: Buffer;
  readonly limits: CallLimits;
  readonly clock: Clock;
}

/** One call, sent again at most once. */
class Post {
  readonly #options: PostOptions;
  #request: ClientRequest | undefined;
  #isLate = false;

  constructor(options: PostOptions) {
    this.#options = options;
  }

  async answer(): Promise<Answer> {
    const { clock, limits } = this.#options;
    const cancel = clock.after(limits.timeoutMs, () => {
      this.#isLate = true;
      this.#request?.destroy();
    });
    try {
      return await this.#read(await this.#response());
    } finally {
      cancel();
    }
  }

  async #response(): Promise<IncomingMessage> {
    for (let isSecond = false; ; isSecond = true) {
      try {
        this.#request = this.#open();
        return await responseTo(this.#request);
      } catch (error) {
        // A connection that was kept may have been closed by the other end just now: that says nothing of the webhook.
        if (this.#request?.reusedSocket && !isSecond && !this.#isLate) continue;
        throw this.#failure(error);
      }
    }
  }

  #open(): ClientRequest {
    const { agent, destination, bytes, limits } = this.#options;
    const url = new URL(destination.url);
    const host = hostOf(url);
    const request = httpsRequest({
      agent,
      method: "POST",
      host: destination.endpoint?.host ?? host,
      port: destination.endpoint?.port ?? (url.port || 443),
      path: `${url.pathname}${timeoutQuery(limits.timeoutMs)}`,
      ...(isIP(host) === 0 && { servername: host }),
      ...(destination.authority !== undefined && { ca: destination.authority }),
      rejectUnauthorized: true,
      checkServerIdentity: identityFlaw,
      headers: {
        Host: url.host,
        "User-Agent": "kube-apiserver-admission",
        Accept: "application/json, */*",
        "Content-Type": "application/json",
        "Content-Length": bytes.length,
      },
    });
    request.end(bytes);
    return request;
  }

  #failure(error: unknown): CallFailure {
    const { destination, limits } = this.#options;
    const why = this.#isLate ? DEADLINE : connectionFailure(error, new URL(destination.url));
    return postFailure(destination, limits, why, error);
  }

  async #read(response: IncomingMessage): Promise<Answer> {
    const { largest } = this.#options.limits;
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        size += chunk.length;
        if (size > largest) throw new CallFailure(`the response has more than the ${largest} bytes that are read`);
      }
    } catch (error) {
      if (error instanceof CallFailure) throw error;
      const why = this.#isLate ? DEADLINE : "unexpected EOF";
      throw new CallFailure(`unexpected error when reading response body. Please retry. Original error: ${why}`);
    } finally {
      if (!response.complete) this.#request?.destroy();
    }
    const { statusCode = 0, headers } = response;
    return { code: statusCode, contentType: headers["content-type"], text: Buffer.concat(chunks).toString("utf8") };
  }
}

function responseTo(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once("response", resolve);
    // Stays after the response has come: a socket that breaks later must not bring the server down.
    request.on("error", reject);
    request.once("close", () => reject(new Error("EOF")));
  });
}

/** The host of a URL as sockets want it: an IPv6 address has no brackets there. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

/** The common name of a certificate has long ceased to count. */
function identityFlaw(host: string, certificate: PeerCertificate): Error | undefined {
  if (certificate.subjectaltname) return checkServerIdentity(host, certificate);
  const flaw = "x509: certificate relies on legacy Common Name field, use SANs instead";
  return Object.assign(new Error(flaw), {
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
    reason: flaw,
    host,
    cert: certificate,
  });
}
