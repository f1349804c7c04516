/** The cluster that is meant when nobody names one. */
import { homedir } from "node:os";
import { type Connection, type ConnectionOptions, connectionOf, inClusterConnection } from "./connection.ts";
import { loadKubeconfig, readTextFile } from "./load.ts";

export interface DefaultConnectionOptions extends ConnectionOptions {
  /** The file that the user named; it alone is asked then. */
  readonly kubeconfig?: string;
  /** Of the kubeconfig; the current one unless told. Naming one keeps what a Pod is given from being used. */
  readonly context?: string;
  /** Where KUBECONFIG and the variables of a Pod are looked for; the environment of this process unless told. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where `.kube/config` is looked for; the user's home unless told. */
  readonly home?: string;
}

/**
 * How the usual cluster is reached: by the kubeconfig that is named, else by those of KUBECONFIG, else as a Pod
 * reaches its own cluster, else by kubectl's default file. Programs that the kubeconfig names are run only if `exec`
 * is given.
 */
export async function defaultConnection(options: DefaultConnectionOptions = {}): Promise<Connection> {
  const { kubeconfig, context, env = process.env, home = homedir(), read = readTextFile, ...rest } = options;
  const variable = env.KUBECONFIG ?? "";
  if (kubeconfig === undefined && context === undefined && variable === "") {
    const own = await inClusterConnection({ ...rest, env, read });
    if (own) return own;
  }
  const config = await loadKubeconfig({ home, variable, read, ...(kubeconfig !== undefined && { path: kubeconfig }) });
  return connectionOf(config, context, { ...rest, read });
}
