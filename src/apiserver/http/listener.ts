/** The port of a cluster: TLS, HTTP/2 and HTTP/1.1, client certificates asked for and checked by hand. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import { type Handle, Http2Request, Http2Response } from "./messages.ts";

export interface ListenerOptions {
  readonly host: string;
  /** Tried in order; 0 lets the system choose. */
  readonly ports: Iterable<number>;
  readonly certificate: string;
  readonly key: string;
  readonly handle: Handle;
}

export interface Listener {
  readonly port: number;
  close(): Promise<void>;
}

const SESSION_MEGABYTES = 1024;

/** On the first port that is free. Rejects with the system's error (EADDRINUSE, EACCES …) when none can be had. */
export async function listen({ host, ports, certificate, key, handle }: ListenerOptions): Promise<Listener> {
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
  return {
    port: await firstFree(server, host, ports),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        open.end();
      }),
  };
}

/** One server for all tries: what makes it one, its keys first of all, costs a hundred times as much as a try. */
async function firstFree(server: Http2SecureServer, host: string, ports: Iterable<number>): Promise<number> {
  let taken: unknown = new Error("there is no port to serve on");
  for (const port of ports) {
    try {
      return await listening(server, host, port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
      taken = error;
    }
  }
  throw taken;
}

function listening(server: Http2SecureServer, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      server.off("error", fail).off("listening", succeed);
    };
    const fail = (error: Error) => {
      settle();
      reject(error);
    };
    const succeed = () => {
      settle();
      const address = server.address();
      resolve(typeof address === "object" && address ? address.port : port);
    };
    server.on("error", fail).on("listening", succeed).listen({ host, port });
  });
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
