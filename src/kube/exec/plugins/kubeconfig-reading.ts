/** The credential in a kubeconfig that lies in a Secret. It is read, never acted upon: no file, no program. */
import { isObject } from "#lib/json";
import { KubeconfigError, type KubeconfigUser, type Material } from "../../config/model.ts";
import { parseKubeconfig } from "../../config/parse.ts";
import type { Credential } from "../../credentials.ts";
import { parseYaml } from "../../yaml.ts";
import { PluginError } from "./names.ts";

export interface KubeconfigPlace {
  readonly namespace: string;
  readonly name: string;
  /** Empty: the current one. */
  readonly context: string;
}

/** The token and the certificate of the context's user; server and authorities are the business of the profile. */
export function credentialOfKubeconfig(
  text: string,
  { namespace, name, context: wanted }: KubeconfigPlace,
): Credential {
  const config = parsed(text, `secret ${namespace}/${name}`);
  const contextName = wanted || config.current;
  if (!contextName) throw new PluginError("no context specified and no current-context in kubeconfig");
  const context = config.contexts.find((candidate) => candidate.name === contextName);
  if (!context) throw new PluginError(`context ${JSON.stringify(contextName)} not found in kubeconfig`);
  const user = config.users.find((candidate) => candidate.name === context.user);
  if (!user) throw new PluginError(`user ${JSON.stringify(context.user)} not found in kubeconfig`);
  return credentialOfUser(user);
}

function parsed(text: string, from: string) {
  try {
    const config = parseKubeconfig(text, from);
    const document = parseYaml(text);
    const extensions = isObject(document) ? document.extensions : undefined;
    if (Array.isArray(extensions) && extensions.length > 0) {
      throw new PluginError("kubeconfig extensions are not supported");
    }
    return config;
  } catch (error) {
    if (!(error instanceof KubeconfigError)) throw error;
    throw new PluginError(`failed to parse kubeconfig from ${from}: ${error.message}`, { cause: error });
  }
}

function credentialOfUser({ name, token, cert, key }: KubeconfigUser): Credential {
  const shown = JSON.stringify(name);
  if (key && !cert) throw new PluginError(`client-key-data found but no client-certificate-data in user ${shown}`);
  if (cert && !key) throw new PluginError(`client-certificate-data found but no client-key-data in user ${shown}`);
  if (!token && !cert) {
    throw new PluginError(
      `no authentication method found in user ${shown} (neither token nor client-certificate-data/client-key-data)`,
    );
  }
  return {
    ...(token && { token }),
    ...(cert && key && { cert: inline(cert, "client-certificate"), key: inline(key, "client-key") }),
  };
}

function inline(material: Material, field: string): string {
  if ("pem" in material) return material.pem;
  throw new PluginError(`${field} file path is not supported; use ${field}-data`);
}
