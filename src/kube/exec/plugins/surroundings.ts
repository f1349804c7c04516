/** Where a plugin runs: how it reaches the hub, and the namespace that it means when nobody names one. */
import { type Connection, connectionOf, inClusterConnection } from "../../config/connection.ts";
import { loadKubeconfig, type ReadText, readTextFile } from "../../config/load.ts";
import { type Kubeconfig, KubeconfigError } from "../../config/model.ts";
import type { Environment } from "../environment.ts";
import { PluginError, type PluginName } from "./names.ts";

export interface Surroundings {
  readonly env: Environment;
  /** The user's home, for `.kube/config`. */
  readonly home?: string;
  readonly read?: ReadText;
}

/** In a Pod its service account, else the kubeconfig. Throws a PluginError. */
export async function hubConnection({ env, home, read = readTextFile }: Surroundings): Promise<Connection> {
  const inPod = await inClusterConnection({ env, read }).catch(() => undefined); // a Pod may have no service account
  if (inPod) return inPod;
  try {
    // Programs are not run for this: the kubeconfig that names this plugin may be the one that is read here.
    return await connectionOf(
      await loadKubeconfig(sourceOf({ env, read, ...(home !== undefined && { home }) })),
      undefined,
      { read },
    );
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new PluginError(`failed to build kube client config: ${error.message}`, { cause: error });
  }
}

/** The namespace of Secrets: every plugin infers it in an order of its own. */
export async function inferredNamespace(plugin: PluginName, surroundings: Surroundings): Promise<string> {
  const { env } = surroundings;
  const fromPod = () => podNamespace(surroundings);
  const fromKubeconfig = () => contextNamespace(surroundings);
  const sources =
    plugin === "cp-creds"
      ? [async () => env.NAMESPACE, fromPod, fromKubeconfig]
      : [fromKubeconfig, async () => (env.KUBERNETES_SERVICE_HOST ? env.POD_NAMESPACE || fromPod() : undefined)];
  for (const source of sources) {
    const namespace = (await source())?.trim();
    if (namespace) return namespace;
  }
  return "default";
}

const NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

function podNamespace({ read = readTextFile }: Surroundings): Promise<string | undefined> {
  return read(NAMESPACE_FILE).catch(() => undefined);
}

async function contextNamespace(surroundings: Surroundings): Promise<string | undefined> {
  const config = await loadKubeconfig(sourceOf(surroundings)).catch(() => undefined);
  return config && currentContext(config)?.namespace;
}

function currentContext({ contexts, current }: Kubeconfig) {
  return contexts.find(({ name }) => name === current);
}

function sourceOf({ env, home, read }: Surroundings) {
  return {
    ...(env.KUBECONFIG !== undefined && { variable: env.KUBECONFIG }),
    ...(home !== undefined && { home }),
    ...(read && { read }),
  };
}
