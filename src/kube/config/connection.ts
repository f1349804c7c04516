/** What it takes to reach one API server as one identity, whatever it was read from. */
import { isIPv6 } from "node:net";
import { type Clock, systemClock } from "#lib/clock";
import { type ReadText, readTextFile } from "./load.ts";
import {
  type Kubeconfig,
  type KubeconfigContext,
  KubeconfigError,
  type KubeconfigUser,
  type Material,
} from "./model.ts";

/** Gives the token to call with. `fresh` is asked for when the server refused the last one. */
export type TokenSource = (fresh: boolean) => Promise<string>;

export interface Connection {
  /** `https://host:port`, possibly with a path, without a trailing slash. */
  server: string;
  /** PEM of the authorities that the server's certificate may come from; the system's where absent. */
  ca?: string;
  /** PEM of the client certificate and of its key. */
  cert?: string;
  key?: string;
  token?: string;
  tokenSource?: TokenSource;
  /** The name to ask for and to expect in the server's certificate, if not the host of `server`. */
  serverName?: string;
  /** Trust any certificate. */
  insecure?: boolean;
  /** The namespace that is meant when none is named. */
  namespace?: string;
}

export interface ConnectionOptions {
  read?: ReadText;
  clock?: Clock;
}

/** The connection that a context describes; the current context unless one is named. */
export async function connectionOf(
  config: Kubeconfig,
  contextName?: string,
  { read = readTextFile, clock = systemClock }: ConnectionOptions = {},
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
  if (cluster.proxyUrl) {
    throw new KubeconfigError(`${clusterWhere} names a proxy-url; proxies are not supported yet`);
  }
  const userWhere = user && `user ${user.name} in ${fileOf(user, config)}`;
  if (user && userWhere) refuseUnsupported(user, userWhere);

  const [ca, cert, key] = await Promise.all([
    pemOf(cluster.ca, `certificate authority of ${clusterWhere}`, read),
    pemOf(user?.cert, `client certificate of ${userWhere}`, read),
    pemOf(user?.key, `client key of ${userWhere}`, read),
  ]);
  return {
    server: serverUrl(cluster.server, clusterWhere),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(user?.tokenFile !== undefined && { tokenSource: fileToken(user.tokenFile, { read, clock }) }),
    ...(user?.tokenFile === undefined && user?.token !== undefined && { token: user.token }),
    ...(cluster.serverName !== undefined && { serverName: cluster.serverName }),
    ...(cluster.insecure && { insecure: true }),
    ...(context.namespace !== undefined && { namespace: context.namespace }),
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

function refuseUnsupported(user: KubeconfigUser, where: string): void {
  const { exec, unsupported = [], cert, key } = user;
  if (exec) {
    const command = typeof exec.command === "string" ? ` (${exec.command})` : "";
    throw new KubeconfigError(
      `${where} gets its credentials from a program${command}; exec credential plugins are not supported yet: use a client certificate or a token`,
    );
  }
  if (unsupported.length > 0) {
    const fields = unsupported.join(", ");
    throw new KubeconfigError(`${where} uses ${fields}, not supported: use a client certificate or a token`);
  }
  if (cert && !key) throw new KubeconfigError(`${where} has a client certificate but no client key`);
  if (key && !cert) throw new KubeconfigError(`${where} has a client key but no client certificate`);
}

async function pemOf(material: Material | undefined, what: string, read: ReadText): Promise<string | undefined> {
  if (!material) return undefined;
  if ("pem" in material) return material.pem;
  try {
    return await read(material.file);
  } catch (error) {
    const { message } = error as Error;
    throw new KubeconfigError(`${what}: ${material.file} cannot be read: ${message}`, { cause: error });
  }
}

function serverUrl(server: string, where: string): string {
  if (server === "") throw new KubeconfigError(`${where} names no server`);
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (!url || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new KubeconfigError(`${where} has server ${server}; it must be a URL such as https://host:6443`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/** Projected tokens are replaced long before they end, so a minute's delay does no harm. */
const TOKEN_KEPT = 60_000;

/** The token in a file, read again after a minute and when the server refuses it. */
export function fileToken(
  file: string,
  { read = readTextFile, clock = systemClock }: ConnectionOptions = {},
): TokenSource {
  let kept: { token: string; until: number } | undefined;
  return async (fresh) => {
    const now = clock.now().getTime();
    if (kept && !fresh && now < kept.until) return kept.token;
    const token = (await read(file)).trim();
    if (token === "") throw new Error(`token file ${file} is empty`);
    kept = { token, until: now + TOKEN_KEPT };
    return token;
  };
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
    tokenSource: fileToken(`${SERVICE_ACCOUNT}/token`, { read, clock }),
    namespace: namespace.trim(),
  };
}
