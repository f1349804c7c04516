/** One connection to one server: TCP, a proxy on the way, TLS, and which HTTP it speaks. */
import { createHash } from "node:crypto";
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import type { Clock } from "#lib/clock";
import type { Connection } from "../config/connection.ts";
import { describe, LinkError } from "./link.ts";
import { askForTunnel, proxyHeaders } from "./proxy.ts";

/** TCP and TLS together. */
export const DIAL_TIMEOUT = 10_000;

/** After this long without a word, the system asks whether the peer is still there. */
const KEEP_ALIVE = 30_000;

/** The default of a quarter of a second gives up on far servers that have several addresses. */
const ATTEMPT_TIMEOUT = 2_000;

export type DialTarget = Pick<Connection, "server" | "ca" | "cert" | "key" | "serverName" | "insecure" | "proxy">;

export interface Dialed {
  socket: Socket;
  protocol: "h2" | "http/1.1";
}

/** Connects within ten seconds or throws a LinkError. The socket never keeps the process alive. */
export async function dial(target: DialTarget, protocols: readonly string[], clock: Clock): Promise<Dialed> {
  const opened: Socket[] = [];
  let cancel = () => {};
  const late = new Promise<never>((_, reject) => {
    const why = new Error(`no answer within ${DIAL_TIMEOUT / 1000} s`);
    cancel = clock.after(DIAL_TIMEOUT, () => reject(why));
  });
  try {
    return await Promise.race([connected(target, protocols, opened), late]);
  } catch (error) {
    for (const socket of opened) socket.destroy();
    throw new LinkError("unreachable", `cannot connect: ${describe(error)}`, error);
  } finally {
    cancel();
  }
}

/** `opened` gets every socket on the way, so that whoever has waited enough can end them. */
async function connected(target: DialTarget, protocols: readonly string[], opened: Socket[]): Promise<Dialed> {
  const server = addressOf(target.server);
  const wire = target.proxy === undefined ? undefined : await tunnelTo(server, target.proxy, target.ca, opened);
  if (!server.secure) {
    const socket = wire ?? (await ready(tcpTo(server), "connect", opened));
    return { socket, protocol: "http/1.1" };
  }
  const name = target.serverName ?? server.host;
  const socket = connectTls({
    ...(wire ? { socket: wire } : { ...server, autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT }),
    host: server.host,
    // An address is no name that can be asked for in TLS; it is still checked against the certificate.
    ...(isIP(name) === 0 && { servername: name }),
    ALPNProtocols: [...protocols],
    secureContext: secureContextOf(target),
    rejectUnauthorized: !target.insecure,
  });
  await ready(socket, "secureConnect", opened);
  return { socket, protocol: socket.alpnProtocol === "h2" ? "h2" : "http/1.1" };
}

interface Address {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

function addressOf(url: string): Address {
  const { protocol, hostname, port } = new URL(url);
  const secure = protocol === "https:";
  return { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port || (secure ? 443 : 80)), secure };
}

/** A connection to the server that a proxy has made for us. A proxy may be one of the system's, or of ours. */
async function tunnelTo(server: Address, proxyUrl: string, ca: string | undefined, opened: Socket[]): Promise<Socket> {
  const proxy = addressOf(proxyUrl);
  const socket = proxy.secure
    ? await ready(
        connectTls({
          ...proxy,
          ...(isIP(proxy.host) === 0 && { servername: proxy.host }),
          ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
        }),
        "secureConnect",
        opened,
      )
    : await ready(tcpTo(proxy), "connect", opened);
  await askForTunnel(socket, server, proxyHeaders(proxyUrl));
  return socket;
}

function tcpTo({ host, port }: Address): Socket {
  return connectTcp({ host, port, autoSelectFamilyAttemptTimeout: ATTEMPT_TIMEOUT });
}

function ready<S extends Socket>(socket: S, event: "connect" | "secureConnect", opened: Socket[]): Promise<S> {
  opened.push(socket);
  socket.unref();
  // Whoever uses the connection learns of its end by other means; unheard, an error would end the process.
  socket.on("error", () => {});
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE);
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new Error("the server closed the connection"));
    socket.once("error", reject);
    socket.once("close", onClose);
    socket.once(event, () => {
      socket.off("error", reject);
      socket.off("close", onClose);
      resolve(socket);
    });
  });
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
