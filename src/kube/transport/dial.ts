/** One connection to one server: TCP, TLS, and which HTTP it speaks. */
import { createHash } from "node:crypto";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, type SecureContext } from "node:tls";
import type { Clock } from "#lib/clock";
import type { Connection } from "../config/connection.ts";
import { describe, LinkError } from "./link.ts";

/** TCP and TLS together. */
export const DIAL_TIMEOUT = 10_000;

/** After this long without a word, the system asks whether the peer is still there. */
const KEEP_ALIVE = 30_000;

/** The default of a quarter of a second gives up on far servers that have several addresses. */
const ATTEMPT_TIMEOUT = 2_000;

export type DialTarget = Pick<Connection, "server" | "ca" | "cert" | "key" | "serverName" | "insecure">;

export interface Dialed {
  socket: Socket;
  protocol: "h2" | "http/1.1";
}

/** Connects within ten seconds or throws a LinkError. The socket never keeps the process alive. */
export function dial(target: DialTarget, protocols: readonly string[], clock: Clock): Promise<Dialed> {
  return new Promise((resolve, reject) => {
    const { socket, ready, protocol } = open(target, protocols);
    socket.unref();
    // Whoever uses the connection learns of its end by other means; unheard, an error would end the process.
    socket.on("error", () => {});
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE);
    const fail = (error: Error) => {
      cancel();
      socket.destroy();
      reject(new LinkError("unreachable", `cannot connect: ${describe(error)}`, error));
    };
    const cancel = clock.after(DIAL_TIMEOUT, () => fail(new Error(`no answer within ${DIAL_TIMEOUT / 1000} s`)));
    const onClose = () => fail(new Error("the server closed the connection"));
    socket.once("error", fail);
    socket.once("close", onClose);
    socket.once(ready, () => {
      cancel();
      socket.off("error", fail);
      socket.off("close", onClose);
      resolve({ socket, protocol: protocol() });
    });
  });
}

function open(target: DialTarget, protocols: readonly string[]) {
  const url = new URL(target.server);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (url.protocol === "http:") {
    const port = Number(url.port || 80);
    const socket = connectTcp({ host, port, autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT });
    return { socket, ready: "connect", protocol: (): Dialed["protocol"] => "http/1.1" };
  }
  const name = target.serverName ?? host;
  const options = {
    host,
    port: Number(url.port || 443),
    autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT,
    // An address is no name that can be asked for in TLS; it is still checked against the certificate.
    ...(isIP(name) === 0 && { servername: name }),
    ALPNProtocols: [...protocols],
    secureContext: secureContextOf(target),
    rejectUnauthorized: !target.insecure,
  };
  const socket = connectTls(options);
  const protocol = (): Dialed["protocol"] => (socket.alpnProtocol === "h2" ? "h2" : "http/1.1");
  return { socket, ready: "secureConnect", protocol };
}

/** Contexts in use, by what they were made from: a fleet behind one authority parses it once. */
const contexts = new Map<string, WeakRef<SecureContext>>();
const forgotten = new FinalizationRegistry((id: string) => {
  if (!contexts.get(id)?.deref()) contexts.delete(id);
});

function secureContextOf({ ca, cert, key }: DialTarget): SecureContext {
  const id = createHash("sha256")
    .update(JSON.stringify([ca, cert, key]))
    .digest("base64");
  const known = contexts.get(id)?.deref();
  if (known) return known;
  const context = createSecureContext({
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  });
  contexts.set(id, new WeakRef(context));
  forgotten.register(context, id);
  return context;
}
