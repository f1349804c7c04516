/** What it takes to reach one API server as one identity, whatever it was read from. */
import { isIPv6 } from "node:net";
import { type Clock, systemClock } from "#lib/clock";
import type { Credentials } from "../credentials.ts";
import type { ExecCluster } from "../exec/config.ts";
import type { ExecEngine } from "../exec/engine.ts";
import { fileToken, identityOf } from "./identity.ts";
import { pemOf, type ReadText, readTextFile } from "./load.ts";
import { type Kubeconfig, type KubeconfigCluster, type KubeconfigContext, KubeconfigError } from "./model.ts";

export interface Connection {
  /** `https://host:port`, possibly with a path, without a trailing slash. */
  server: string;
  /** The same, letter by letter as it was written, for those who make names of it; absent where that is no other text. */
  writtenServer?: string;
  /** PEM of the authorities that the server's certificate may come from; the system's where absent. */
  ca?: string;
  /** PEM of the client certificate and of its key. */
  cert?: string;
  key?: string;
  token?: string;
  /** Where who we are may change while we are connected: then certificate, key and token come from here. */
  credentials?: Credentials;
  /** The name to ask for and to expect in the server's certificate, if not the host of `server`. */
  serverName?: string;
  /** Trust any certificate. */
  insecure?: boolean;
  /** The URL of an HTTP proxy on the way to the server. The environment's proxies are not asked. */
  proxy?: string;
  /** The namespace that is meant when none is named. */
  namespace?: string;
}

export interface ConnectionOptions {
  read?: ReadText;
  clock?: Clock;
  /**
   * Runs the programs that kubeconfigs name as sources of credentials. Without it such users are refused: whoever
   * writes a kubeconfig could otherwise have us run anything.
   */
  exec?: ExecEngine;
}

/** The connection that a context describes; the current context unless one is named. */
export async function connectionOf(
  config: Kubeconfig,
  contextName?: string,
  { read = readTextFile, clock = systemClock, exec }: ConnectionOptions = {},
): Promise<Connection> {
  const context = contextOf(config, contextName);
  const where = `context ${context.name} in ${fileOf(context, config)}`;
  const cluster = config.clusters.find(({ name }) => name === context.cluster);
  const user = config.users.find(({ name }) => name === context.user);
  if (!cluster) throw missing("cluster", context.cluster, where, config.clusters);
  if (!user && context.user !== "") throw missing("user", context.user, where, config.users);

  const clusterWhere = `cluster ${cluster.name} in ${fileOf(cluster, config)}`;
  if (cluster.insecure && cluster.ca) {
    throw new KubeconfigError(`${clusterWhere} has a certificate authority and skips verification; remove one of them`);
  }
  const ca = await pemOf(cluster.ca, `certificate authority of ${clusterWhere}`, read);
  const server = serverUrl(cluster.server, clusterWhere);
  const proxy = proxyUrl(cluster.proxyUrl, clusterWhere);
  const options = { read, clock, exec, cluster: execClusterOf(cluster, ca) };
  const identity = user ? await identityOf(user, `user ${user.name} in ${fileOf(user, config)}`, options) : {};
  return {
    server,
    ...(cluster.server !== server && { writtenServer: cluster.server }),
    ...(ca !== undefined && { ca }),
    ...identity,
    ...(cluster.serverName !== undefined && { serverName: cluster.serverName }),
    ...(cluster.insecure && { insecure: true }),
    ...(proxy !== undefined && { proxy }),
    ...(context.namespace !== undefined && { namespace: context.namespace }),
  };
}

/** What plugins are told of a cluster; authorities in files are read for them. */
function execClusterOf(cluster: KubeconfigCluster, ca: string | undefined): ExecCluster {
  const { server, serverName, insecure, proxyUrl, disableCompression, forExec } = cluster;
  return {
    server,
    ...(serverName !== undefined && { "tls-server-name": serverName }),
    ...(insecure && { "insecure-skip-tls-verify": true }),
    ...(ca !== undefined && { "certificate-authority-data": Buffer.from(ca, "utf8").toString("base64") }),
    ...(proxyUrl !== undefined && { "proxy-url": proxyUrl }),
    ...(disableCompression && { "disable-compression": true }),
    ...(forExec !== undefined && { config: forExec }),
  };
}

function contextOf(config: Kubeconfig, wanted: string | undefined): KubeconfigContext {
  const name = wanted ?? config.current;
  const files = config.files?.join(", ") || "the kubeconfig";
  const known = namesOf(config.contexts);
  if (!name) throw new KubeconfigError(`${files} has no current context; name one (it has: ${known})`);
  const context = config.contexts.find((candidate) => candidate.name === name);
  if (!context) throw new KubeconfigError(`no such context ${name} in ${files}; it has: ${known}`);
  return context;
}

function missing(what: string, name: string, where: string, entries: readonly { name: string }[]): KubeconfigError {
  const has = `it has: ${namesOf(entries)}`;
  if (name === "") return new KubeconfigError(`${where} names no ${what}; ${has}`);
  return new KubeconfigError(`${where} names ${what} ${name}, which is not there; ${has}`);
}

function namesOf(entries: readonly { name: string }[]): string {
  return entries.map(({ name }) => name).join(", ") || "none";
}

function fileOf(entry: { file?: string }, config: Kubeconfig): string {
  return entry.file ?? (config.files?.join(", ") || "the kubeconfig");
}

function serverUrl(server: string, where: string): string {
  if (server === "") throw new KubeconfigError(`${where} names no server`);
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new KubeconfigError(`${where} has server ${server}; it must be a URL such as https://host:6443`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Only the host of a proxy is repeated: its URL may hold a password. */
function proxyUrl(proxy: string | undefined, where: string): string | undefined {
  if (proxy === undefined) return undefined;
  const url = URL.canParse(proxy) ? new URL(proxy) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return proxy;
  const shown = url ? `a proxy-url of scheme ${url.protocol.slice(0, -1)}` : "a proxy-url that is no URL";
  throw new KubeconfigError(`${where} has ${shown}; it must be a URL such as http://host:3128`);
}

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** The connection of a program that runs in a Pod, or undefined where `env` does not come from one. */
export async function inClusterConnection({
  env,
  read = readTextFile,
  clock = systemClock,
}: ConnectionOptions & { env: Readonly<Record<string, string | undefined>> }): Promise<Connection | undefined> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env;
  if (!host || !port) return undefined;
  const readPart = async (name: string) => {
    try {
      return await read(`${SERVICE_ACCOUNT}/${name}`);
    } catch (error) {
      const { message } = error as Error;
      throw new KubeconfigError(
        `in-cluster ${name} cannot be read: ${message}; does the Pod mount its service account?`,
        {
          cause: error,
        },
      );
    }
  };
  const [ca, namespace] = await Promise.all([readPart("ca.crt"), readPart("namespace"), readPart("token")]);
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    ca,
    credentials: fileToken(`${SERVICE_ACCOUNT}/token`, { read, clock }),
    namespace: namespace.trim(),
  };
}
