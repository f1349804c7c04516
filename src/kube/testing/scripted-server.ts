/** An API server for tests that says what a test tells it to say. */
import {
  createSecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Connection } from "../config/connection.ts";

/** Self-signed, valid until 2120, for 127.0.0.1, ::1, localhost and kube.test. It protects nothing. */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIBATAKBggqhkjOPQQDAjAaMRgwFgYDVQQDDA9zY3JpcHRl
ZC1zZXJ2ZXIwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBoxGDAW
BgNVBAMMD3NjcmlwdGVkLXNlcnZlcjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IA
BKnjf4PnPXSfJuorxst4q3+ykjBEhfM42kiHCGlBq/+6ByVW2b6YJqx/gJ2I6HZm
5BNVG23tZ/KMHiGoeLm0/l6jazBpMA8GA1UdEwEB/wQFMAMBAf8wNwYDVR0RBDAw
LocEfwAAAYcQAAAAAAAAAAAAAAAAAAAAAYIJbG9jYWxob3N0gglrdWJlLnRlc3Qw
HQYDVR0OBBYEFAngjMpAbpMBhoW54inPtcVwD8p7MAoGCCqGSM49BAMCA0kAMEYC
IQCr6Jl85SmVnBZwQCzXZxO4NwqDv2VokyRVJBORAFLz2AIhAKZLtpLnR5B3vQs6
8iSMeZJrWsPEaodnoVPwplpDeRMo
-----END CERTIFICATE-----
`;
export const PRIVATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaAsRMGPoiQoiz1Ld
LvRubbMXGFcnAI7RJ2AIHTOFU0WhRANCAASp43+D5z10nybqK8bLeKt/spIwRIXz
ONpIhwhpQav/ugclVtm+mCasf4CdiOh2ZuQTVRtt7WfyjB4hqHi5tP5e
-----END PRIVATE KEY-----
`;

export interface ScriptedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Record<string, string | string[] | undefined>;
  body: string;
  httpVersion: string;
  /** The common name in the client's certificate. */
  peer: string | undefined;
  /** Answers with JSON (or, given a string, with plain text). */
  reply(status: number, body: unknown, headers?: Record<string, string | string[]>): void;
  /** Begins a streamed answer. */
  stream(): void;
  /** Sends a part of a streamed answer as it is. */
  write(part: string | Buffer): void;
  end(): void;
  /** Resolves when the request is over, one way or the other. */
  closed: Promise<void>;
}

export interface ScriptedServer {
  connection: Connection;
  /** Every request so far, in order. */
  requests: ScriptedRequest[];
  /** How many connections there have been. */
  connections(): number;
  /** How many of them are open. */
  open(): number;
  sessions: Set<ServerHttp2Session>;
  /** Breaks all connections. */
  drop(): void;
  stop(): Promise<void>;
  port: number;
}

export type Script = (request: ScriptedRequest) => void;

export interface ScriptedServerOptions {
  protocol?: "h2" | "http/1.1";
  port?: number;
  maxConcurrentStreams?: number;
}

export async function scriptedServer(script: Script, options: ScriptedServerOptions = {}): Promise<ScriptedServer> {
  const { protocol = "h2", port = 0, maxConcurrentStreams } = options;
  const tls = { key: PRIVATE_KEY, cert: CERTIFICATE, requestCert: true, rejectUnauthorized: false };
  const requests: ScriptedRequest[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const sockets = new Set<Socket>();
  let connections = 0;

  const listen = async (request: Http2ServerRequest, response: Http2ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const scripted = scriptedRequest(request, response, Buffer.concat(chunks).toString("utf8"));
    requests.push(scripted);
    script(scripted);
  };
  const onRequest = (request: unknown, response: unknown) => {
    listen(request as Http2ServerRequest, response as Http2ServerResponse).catch(() => {});
  };
  let server: Server;
  if (protocol === "h2") {
    const secure = createSecureServer({
      ...tls,
      settings: maxConcurrentStreams === undefined ? {} : { maxConcurrentStreams },
    });
    secure.on("request", onRequest);
    secure.on("session", (session) => {
      sessions.add(session);
      session.on("error", () => {});
      session.on("close", () => sessions.delete(session));
    });
    server = secure as unknown as Server;
  } else {
    server = createHttpsServer(tls, onRequest);
  }
  server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("tlsClientError", () => {});
  const bound = await listening(server, port);
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    connection: { server: `https://127.0.0.1:${bound}`, ca: CERTIFICATE },
    requests,
    connections: () => connections,
    open: () => sockets.size,
    sessions,
    drop,
    port: bound,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        drop();
      }),
  };
}

function scriptedRequest(request: Http2ServerRequest, response: Http2ServerResponse, body: string): ScriptedRequest {
  const url = new URL(request.url, "https://scripted");
  const write = (part: string | Buffer) => {
    response.write(part as string);
  };
  return {
    method: request.method,
    path: url.pathname,
    query: url.searchParams,
    headers: request.headers as ScriptedRequest["headers"],
    httpVersion: request.httpVersion,
    peer: peerOf(request),
    body,
    reply(status, answer, headers = {}) {
      const plain = typeof answer === "string";
      response.writeHead(status, { "content-type": plain ? "text/plain" : "application/json", ...headers });
      response.end(plain ? answer : JSON.stringify(answer));
    },
    stream() {
      response.writeHead(200, { "content-type": "application/json" });
      const flushable = response as unknown as { flushHeaders?: () => void };
      flushable.flushHeaders?.();
    },
    write,
    end: () => {
      response.end();
    },
    closed: new Promise((resolve) => response.on("close", () => resolve())),
  };
}

function peerOf(request: Http2ServerRequest): string | undefined {
  const { CN } = (request.socket as TLSSocket).getPeerCertificate().subject ?? {};
  return Array.isArray(CN) ? CN[0] : CN;
}

/** A wire between client and server that can fall silent without breaking. */
export async function scriptedRelay(target: number): Promise<{ port: number; freeze(): void; stop(): Promise<void> }> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((near) => {
    const far = connect(target, "127.0.0.1");
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
    }
  });
  const port = await listening(server, 0);
  return {
    port,
    freeze() {
      for (const socket of sockets) {
        socket.unpipe();
        socket.resume();
      }
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function listening(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    if (tries > 4_000) throw new Error(`still not: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
