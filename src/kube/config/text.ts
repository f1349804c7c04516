/** Kubeconfigs as files: deterministic text, written so that a reader never meets half a file. */
import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { EXEC_EXTENSION } from "../exec/config.ts";
import { yamlText } from "../yaml.ts";
import type { Kubeconfig, KubeconfigCluster, KubeconfigContext, KubeconfigUser, Material } from "./model.ts";

/** The kubeconfig as YAML; equal kubeconfigs give equal bytes. */
export function kubeconfigText(config: Kubeconfig): string {
  return yamlText({
    apiVersion: "v1",
    kind: "Config",
    clusters: config.clusters.map((cluster) => ({ name: cluster.name, cluster: clusterFields(cluster) })),
    contexts: config.contexts.map((context) => ({ name: context.name, context: contextFields(context) })),
    "current-context": config.current ?? "",
    users: config.users.map((user) => ({ name: user.name, user: userFields(user) })),
  });
}

/** Writes the kubeconfig for its owner only (mode 0600), all at once. */
export async function writeKubeconfig(path: string, config: Kubeconfig): Promise<void> {
  const aside = `${path}.${randomUUID()}`;
  try {
    await writeFile(aside, kubeconfigText(config), { mode: 0o600, flag: "wx" });
    await rename(aside, path);
  } catch (error) {
    await rm(aside, { force: true });
    throw new Error(`write kubeconfig ${path}: ${(error as Error).message}`, { cause: error });
  }
}

function clusterFields(cluster: KubeconfigCluster): Record<string, unknown> {
  const { server, ca, insecure, serverName, proxyUrl, disableCompression, forExec } = cluster;
  return {
    ...material("certificate-authority", ca),
    ...(disableCompression && { "disable-compression": true }),
    ...(forExec !== undefined && { extensions: [{ name: EXEC_EXTENSION, extension: forExec }] }),
    ...(insecure && { "insecure-skip-tls-verify": true }),
    ...(proxyUrl !== undefined && { "proxy-url": proxyUrl }),
    server,
    ...(serverName !== undefined && { "tls-server-name": serverName }),
  };
}

function contextFields({ cluster, namespace, user }: KubeconfigContext): Record<string, unknown> {
  return { cluster, ...(namespace !== undefined && { namespace }), user };
}

function userFields({ cert, key, exec, token, tokenFile }: KubeconfigUser): Record<string, unknown> {
  return {
    ...material("client-certificate", cert),
    ...material("client-key", key),
    ...(exec && { exec }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && { tokenFile }),
  };
}

function material(field: string, value: Material | undefined): Record<string, string> {
  if (!value) return {};
  if ("file" in value) return { [field]: value.file };
  return { [`${field}-data`]: Buffer.from(value.pem, "utf8").toString("base64") };
}
