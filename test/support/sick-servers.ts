/**
 * Clusters that are ill, each in a way of its own, for tests and benchmarks of what that does to healthy ones. All
 * listen on ports of the system's choice on this machine, and stay as ill as they are until they are stopped.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Connection } from "#kube";
import { createCertificateAuthority } from "#lib/pki";
import { CERTIFICATE, type Script, scriptedServer } from "../../src/kube/testing/scripted-server.ts";
import { type SmallServer, type SmallServerOptions, smallServer } from "./small-server.ts";

export interface SickServer {
  readonly sickness: Sickness;
  readonly connection: Connection;
  /** Open connections. */
  open(): number;
  stop(): Promise<void>;
}

/** One of each kind, or of those that are named. */
export async function sickServers(sicknesses: readonly Sickness[] = SICKNESSES): Promise<SickServer[]> {
  return Promise.all(sicknesses.map((sickness) => sickServer(sickness)));
}

export async function sickServer(sickness: Sickness): Promise<SickServer> {
  return { sickness, ...(await WAYS[sickness]()) };
}

type Ill = Omit<SickServer, "sickness">;

const WATCHED = "/api/v1/configmaps";
const IDENTITY = "/api/v1/namespaces/kube-system";

/**
 * Before they can be connected:
 * - `hanging`: accepts connections and says nothing
 * - `refusing`: nobody listens
 * - `resetting`: breaks every connection at once
 * - `untrusted`: shows a certificate that nobody vouches for
 * - `mute`: makes connections and answers no request
 * - `halting`: breaks the connection in the middle of every answer
 * - `busy`: answers 429, and wishes to be asked again in a second
 * - `broken`: answers 500
 * - `garbled`: answers what is no JSON
 *
 * After they have been connected and their objects have been seen:
 * - `stalling`: keeps its watches open and answers nothing more
 * - `silent`: its watches say nothing, not even at the beginning
 * - `flapping`: breaks the connection whenever it is watched, and every second new one at once
 * - `impostor`: breaks off and comes back with another certificate
 */
const WAYS = {
  hanging: () => tcp(() => {}),
  refusing: async () => ({ connection: { server: "https://127.0.0.1:1" }, open: () => 0, stop: async () => {} }),
  resetting: () => tcp((socket) => socket.resetAndDestroy()),
  untrusted: async () => tls(await tlsServer(stranger())),
  mute: () => answering(() => {}),
  halting,
  busy: () => answering((request) => request.reply(429, "too many", { "retry-after": "1" })),
  broken: () => answering((request) => request.reply(500, "out of order")),
  garbled: () => answering((request) => request.reply(200, "{ this is not")),
  stalling: () => small((request) => request.path !== IDENTITY && request.query.get("watch") !== "true"),
  silent,
  flapping,
  impostor,
} as const satisfies Record<string, () => Promise<Ill>>;

export type Sickness = keyof typeof WAYS;

/** All there are. */
export const SICKNESSES = Object.keys(WAYS) as readonly Sickness[];

/** A small server that leaves some requests without an answer. */
function small(intercept: NonNullable<SmallServerOptions["intercept"]>): Promise<SmallServer> {
  return smallServer({ uid: "sick", intercept });
}

async function answering(script: Script): Promise<Ill> {
  return scriptedServer(script);
}

async function halting(): Promise<Ill> {
  const server = await scriptedServer((request) => {
    request.stream();
    request.write('{"apiVersion":"v1","kind":"Name');
    setImmediate(() => server.drop());
  });
  return server;
}

function silent(): Promise<Ill> {
  return small((request) => {
    if (request.path !== WATCHED || request.query.get("watch") !== "true") return false;
    request.stream();
    return true;
  });
}

async function flapping(): Promise<Ill> {
  const server = await small((request, self) => {
    if (request.path === WATCHED) setImmediate(() => self.drop());
    return false;
  });
  let connections = 0;
  const relay = await relayed(() => (connections++ % 2 === 0 ? server.port : undefined));
  return through(relay, [server]);
}

async function impostor(): Promise<Ill> {
  const other = await tlsServer(stranger());
  let port = 0;
  const server = await small((request) => {
    if (request.path === WATCHED) {
      port = other.port;
      setImmediate(() => relay.drop());
    }
    return false;
  });
  port = server.port;
  const relay = await relayed(() => port);
  return through(relay, [server, other]);
}

/** A certificate that is as good as any, but for who signed it. */
function stranger(): { cert: string; key: string } {
  const { certificate, key } = createCertificateAuthority({ commonName: "stranger", now: new Date() });
  return { cert: certificate, key };
}

interface Listening {
  readonly port: number;
  open(): number;
  drop(): void;
  stop(): Promise<void>;
}

async function tcp(onConnection: (socket: Socket) => void): Promise<Ill> {
  const listening = await listen(createServer(onConnection));
  return { ...listening, connection: { server: `https://127.0.0.1:${listening.port}` } };
}

async function tlsServer(identity: { cert: string; key: string }): Promise<Listening> {
  const server = createTlsServer({ ...identity, ALPNProtocols: ["h2"] });
  server.on("tlsClientError", () => {});
  return listen(server);
}

function tls(listening: Listening): Ill {
  return { ...listening, connection: { server: `https://127.0.0.1:${listening.port}`, ca: CERTIFICATE } };
}

/** A wire to whichever port there is at the moment; a connection for which there is none is broken at once. */
function relayed(portNow: () => number | undefined): Promise<Listening> {
  return listen(
    createServer((near) => {
      const port = portNow();
      if (port === undefined) {
        near.resetAndDestroy();
        return;
      }
      const far = connect(port, "127.0.0.1");
      far.on("error", () => {});
      far.on("close", () => near.destroy());
      near.on("close", () => far.destroy());
      near.pipe(far).pipe(near);
    }),
  );
}

function through(relay: Listening, behind: readonly { stop(): Promise<void> }[]): Ill {
  return {
    ...tls(relay),
    async stop() {
      await relay.stop();
      await Promise.all(behind.map((server) => server.stop()));
    },
  };
}

async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port, // it listens on a port, so it has such an address
    open: () => sockets.size,
    drop,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        drop();
      }),
  };
}
