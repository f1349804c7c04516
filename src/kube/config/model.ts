/** A kubeconfig in memory: flat entries with their names, PEM instead of base64, paths made absolute. */

/** A certificate or key: PEM text, or the absolute path of a file that holds it. */
export type Material = { readonly pem: string } | { readonly file: string };

export interface KubeconfigCluster {
  name: string;
  server: string;
  ca?: Material;
  insecure?: boolean;
  /** The name that the server's certificate must carry, where it differs from the host of `server`. */
  serverName?: string;
  proxyUrl?: string;
  disableCompression?: boolean;
  /** What the entry says to exec plugins, from its extension `client.authentication.k8s.io/exec`. */
  forExec?: unknown;
  /** The file that the entry came from. */
  file?: string;
}

export interface KubeconfigUser {
  name: string;
  cert?: Material;
  key?: Material;
  token?: string;
  /** Absolute path of a file with a token; it wins over `token` and may change at any time. */
  tokenFile?: string;
  /** The exec section as it stands; only a path of its command was made absolute. */
  exec?: Record<string, unknown>;
  /** Ways to authenticate that the file names and Capstan does not have. */
  unsupported?: readonly string[];
  file?: string;
}

export interface KubeconfigContext {
  name: string;
  cluster: string;
  user: string;
  namespace?: string;
  file?: string;
}

export interface Kubeconfig {
  clusters: KubeconfigCluster[];
  users: KubeconfigUser[];
  contexts: KubeconfigContext[];
  /** The name of the context that is meant when none is named. */
  current?: string;
  /** The files that were read, for messages. */
  files?: readonly string[];
}

/** What is wrong with a kubeconfig: the message names the file, the entry, the cause and what to do. */
export class KubeconfigError extends Error {
  override readonly name = "KubeconfigError";
}

/** Merges as kubectl does: of entries with the same name, and of current contexts, the first one counts. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const current = configs.find((config) => config.current)?.current;
  return {
    clusters: firstOfEachName(configs.flatMap(({ clusters }) => clusters)),
    users: firstOfEachName(configs.flatMap(({ users }) => users)),
    contexts: firstOfEachName(configs.flatMap(({ contexts }) => contexts)),
    ...(current !== undefined && { current }),
    files: configs.flatMap(({ files = [] }) => files),
  };
}

function firstOfEachName<E extends { name: string }>(entries: readonly E[]): E[] {
  const byName = new Map<string, E>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}

/** The kubeconfig of one identity on one server; cluster, user and context share a name. */
export function kubeconfigFor(access: {
  name: string;
  server: string;
  ca?: string;
  cert?: string;
  key?: string;
  token?: string;
  namespace?: string;
}): Kubeconfig {
  const { name, server, ca, cert, key, token, namespace } = access;
  return {
    clusters: [{ name, server, ...(ca !== undefined && { ca: { pem: ca } }) }],
    users: [
      {
        name,
        ...(cert !== undefined && { cert: { pem: cert } }),
        ...(key !== undefined && { key: { pem: key } }),
        ...(token !== undefined && { token }),
      },
    ],
    contexts: [{ name, cluster: name, user: name, ...(namespace !== undefined && { namespace }) }],
    current: name,
  };
}
