/** API servers for tests: what a suite needs of one, and the embedded one. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCluster } from "#apiserver";
import { type Client, connectionOf, createClient, type Kubeconfig, kubeconfigFor } from "#kube";
import { type Clock, systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { startTestNodes, type TestNodesOptions } from "./nodes.ts";

export interface TestServer {
  readonly name: string;
  readonly url: string;
  /** PEM. */
  readonly authority: string;
  /** Of the administrator. */
  readonly kubeconfig: Kubeconfig;
  readonly client: Client;
  /** Of the administrator too, without a connection, where the server is in the same process. */
  readonly inside?: Client;
  /** The file to which it writes audit events, one a line. */
  readonly auditLog: string;
  close(): Promise<void>;
}

export interface ServerOptions {
  /** None unless told: then Pods wait. */
  readonly nodes?: TestNodesOptions;
}

export type StartServer = (name: string, options?: ServerOptions) => Promise<TestServer>;

export interface EmbeddedOptions extends ServerOptions {
  /** What it takes for the time, and signs by. */
  readonly clock?: Clock;
  /** How long certificates live that it signs; an hour unless told. */
  readonly signingDurationMs?: number;
}

/** An embedded cluster of its own, on a port of the system's choice. */
export const startEmbedded = async (name: string, options: EmbeddedOptions = {}): Promise<TestServer> => {
  const { nodes: wanted, clock = systemClock, signingDurationMs = 3_600_000 } = options;
  const dir = await mkdtemp(join(tmpdir(), `capstan-${name}-`));
  const cluster = await openCluster({
    name,
    dir,
    durability: "os",
    ports: [0],
    signingDurationMs,
    version: "0.0.0-test",
    clock,
    log: silentLog,
  });
  const { url, authority, administrator } = cluster;
  const kubeconfig = kubeconfigFor({
    name,
    server: url,
    ca: authority,
    cert: administrator.certificate,
    key: administrator.key,
  });
  const client = createClient({ connection: await connectionOf(kubeconfig) });
  const inside = createClient({ connection: { server: url }, direct: cluster.connect(administrator.certificate) });
  const nodes = wanted && (await startTestNodes(name, kubeconfig, wanted));
  return {
    name,
    url,
    authority,
    kubeconfig,
    client,
    inside,
    auditLog: join(dir, "audit.log"),
    async close() {
      await nodes?.stop();
      client.close();
      inside.close();
      await cluster.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
};
