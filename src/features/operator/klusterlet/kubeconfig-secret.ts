/** Kubeconfigs in Secrets: what they name as files are other keys of the same Secret, and nothing else is read. */
import { basename } from "node:path";
import type { Secret } from "#api/core";
import { keyOf } from "#api/meta";
import { type Connection, connectionOf, type Kubeconfig, KubeconfigError, parseKubeconfig } from "#kube";

const KUBECONFIG = "kubeconfig";

/** What a key holds; nothing for one that is not there. */
export function textIn(secret: Secret | undefined, key: string): string {
  return Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");
}

export function hasKubeconfig(secret: Secret): boolean {
  return textIn(secret, KUBECONFIG) !== "";
}

/** Throws KubeconfigError, which names the Secret and holds nothing of it. */
function kubeconfigIn(secret: Secret): Kubeconfig {
  const where = `Secret ${keyOf(secret)}`;
  const text = textIn(secret, KUBECONFIG);
  if (text === "") throw new KubeconfigError(`${where} has no key ${KUBECONFIG} with a kubeconfig`);
  return parseKubeconfig(text, where);
}

/** Programs that the kubeconfig names are not run: whoever may write the Secret could have us run anything. */
export async function connectionIn(secret: Secret): Promise<Connection> {
  const config = kubeconfigIn(secret);
  const read = async (path: string) => {
    const key = basename(path);
    const text = textIn(secret, key);
    if (text === "") throw new Error(`the Secret has no key ${key}`);
    return text;
  };
  return connectionOf(config, undefined, { read });
}
