/** The port of a cluster: TLS, HTTP/2 and HTTP/1.1, client certificates asked for and checked by hand. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { type Handle, Http2Request, Http2Response } from "./messages.ts";

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificate: string;
  readonly key: string;
  readonly handle: Handle;
}

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

const SESSION_MEGABYTES = 1024;

/** Rejects with the system's error (EADDRINUSE, EACCES …) when the port cannot be had. */
export async function listen({ host, port, certificate, key, handle }: ListenerOptions): Promise<Listener> {
  const server = createSecureServer({
    cert: certificate,
    key,
    allowHTTP1: true,
    // Every client may show a certificate; whose it is, the authenticator decides. A TLS stack that
    // refused strangers here could not answer 401.
    requestCert: true,
    rejectUnauthorized: false,
    settings: { maxConcurrentStreams: 1000 },
    // A client with a few large lists under way is not an attacker: Node's ten megabytes would refuse its next
    // request. What one connection can hold is bounded by the limiter and by the pace of its watches.
    maxSessionMemory: SESSION_MEGABYTES,
  });
  const open = trackConnections(server);
  takeRequests(server, handle);
  server.on("sessionError", () => {}); // a client that breaks the protocol loses its connection, nothing more
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        open.end();
      }),
  };
}

function takeRequests(server: Http2SecureServer, handle: Handle): void {
  server.on("request", (request, response) =>
    handle(request as unknown as IncomingMessage, response as unknown as ServerResponse),
  );
  // With a listener for requests comes one of Node's own, which would hand over those of HTTP/2 in its own covers.
  server.removeAllListeners("stream");
  server.on("stream", (stream, headers) => {
    if (headers.expect === "100-continue") stream.additionalHeaders({ ":status": 100 });
    const request = new Http2Request(stream, headers);
    handle(request, new Http2Response(stream, request));
  });
}

/** A grace in which answers under way can finish; then connections are cut. */
const GRACE_MS = 300;

const KEEP_ALIVE_MS = 30_000;

function trackConnections(server: Http2SecureServer): { end(): void } {
  const sockets = new Set<Socket>();
  const sessions = new Set<ServerHttp2Session>();
  server.on("connection", (socket: Socket) => {
    // A client that vanished without a word is noticed by the system, also while it only watches.
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  return {
    end() {
      for (const session of sessions) session.close();
      setTimeout(() => {
        for (const session of sessions) session.destroy();
        for (const socket of sockets) socket.destroy();
      }, GRACE_MS).unref();
    },
  };
}
