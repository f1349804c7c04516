/** The hub as an agent sees it: by the Secrets that lie beside it on its spoke. */
import type { Secret } from "#api/core";
import { type Client, connectionOf, createClient, type Kubeconfig, KubeconfigError, parseKubeconfig } from "#kube";

export function textIn(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");
}

/** The kubeconfig of a Secret; undefined where it holds none that makes sense. */
export function kubeconfigIn(secret: Secret): Kubeconfig | undefined {
  try {
    return parseKubeconfig(textIn(secret, "kubeconfig"), `Secret ${secret.metadata.namespace}/${secret.metadata.name}`);
  } catch (error) {
    if (error instanceof KubeconfigError) return undefined;
    throw error;
  }
}

/** A client of the hub. Certificates lie beside the kubeconfig that names them, in the same Secret. */
export async function hubClient(config: Kubeconfig, secret: Secret | undefined): Promise<Client> {
  const read = async (path: string) => textIn(secret, path.split("/").at(-1) ?? "");
  return createClient({ connection: await connectionOf(config, undefined, { read }) });
}
