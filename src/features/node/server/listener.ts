/**
 * The port of a node. Until somebody connects it is nothing but a port: the certificate is asked for, and TLS is set
 * up, with the first connection.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createHttpsServer, type Server as HttpsServer } from "node:https";
import { createServer, type Socket } from "node:net";
import type { Logger } from "#lib/log";
import type { ServingIdentity } from "./serving-certificate.ts";

export interface NodeListener {
  readonly port: number;
  close(): Promise<void>;
}

export async function listen(options: {
  host: string;
  identity(): Promise<ServingIdentity>;
  handle(request: IncomingMessage, response: ServerResponse): void;
  log: Logger;
}): Promise<NodeListener> {
  const { host, identity, handle, log } = options;
  const sockets = new Set<Socket>();
  let https: HttpsServer | undefined;
  let shown: ServingIdentity | undefined;

  const secure = async (socket: Socket) => {
    const current = await identity();
    // Every client may show a certificate; whose it is, is looked at with each request.
    https ??= createHttpsServer({ requestCert: true, rejectUnauthorized: false }, handle).on(
      "tlsClientError",
      () => {},
    );
    if (current !== shown) https.setSecureContext({ cert: current.certificate, key: current.key });
    shown = current;
    https.emit("connection", socket);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {}); // the client went away
    secure(socket).catch((error: unknown) => {
      log.warn("cannot serve logs without a certificate", { error });
      socket.destroy();
    });
  });
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port: 0 }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  if (typeof address !== "object" || !address) throw new Error("the node's server has no port");
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
