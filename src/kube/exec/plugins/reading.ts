/**
 * What each plugin reads: which Secret holds the credential of a cluster, and where in it. Pure, so that a plugin
 * started by somebody else and a built-in provider that watches the Secret mean the same.
 */
import type { Secret } from "#api/core";
import { isObject } from "#lib/json";
import type { Credential } from "../../credentials.ts";
import { credentialOfKubeconfig } from "./kubeconfig-reading.ts";
import { PluginError, type PluginName } from "./names.ts";

export interface Reading {
  readonly namespace: string;
  readonly name: string;
  /** What stands before `namespace/name` when the Secret cannot be read. */
  readonly called: string;
  /** The credential in the Secret; throws a PluginError. */
  credential(secret: Secret): Credential;
}

export interface ReadingOptions {
  /** Where Secrets are when the cluster's own words do not say it. */
  readonly namespace: string;
  /** Only for `cp-creds`. */
  readonly managedServiceAccount?: string;
}

type ClusterConfig = Readonly<Record<string, unknown>>;

/** `config` is what the cluster's entry says to plugins. Throws a PluginError where it does not say enough. */
export function readingOf(plugin: PluginName, config: unknown, options: ReadingOptions): Reading {
  if (config === undefined || config === null) throw new PluginError("missing ExecCredential.Spec.Cluster.Config");
  if (!isObject(config)) throw new PluginError("invalid ExecCredential.Spec.Cluster.Config: it is not an object");
  return READINGS[plugin](config, options);
}

const READINGS: Record<PluginName, (config: ClusterConfig, options: ReadingOptions) => Reading> = {
  secretreader(config, { namespace }) {
    const name = required(config, "clusterName");
    return tokenIn({ namespace, name, key: "token" });
  },

  "kubeconfig-secretreader"(config, options) {
    const name = required(config, "name");
    const key = required(config, "key");
    const namespace = text(config, "namespace") || options.namespace;
    const context = text(config, "context");
    return {
      namespace,
      name,
      called: "secret",
      credential: (secret) =>
        credentialOfKubeconfig(valueIn(secret, { namespace, name, key }), { namespace, name, context }),
    };
  },

  "token-secretreader"(config) {
    const name = text(config, "secretName").trim();
    const namespace = text(config, "secretNamespace").trim();
    const key = text(config, "key").trim();
    if (!name || !namespace || !key) {
      throw new PluginError("extensions must include secretName, secretNamespace and key");
    }
    return tokenIn({ namespace, name, key });
  },

  "cp-creds"(config, { namespace, managedServiceAccount }) {
    if (!managedServiceAccount) throw new PluginError("managed-serviceaccount name is required");
    const name = `${required(config, "clusterName")}-${managedServiceAccount}`;
    return {
      ...tokenIn({ namespace, name, key: "token", missing: "missing or empty" }),
      called: "synced credential secret",
    };
  },
};

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
  /** How it is said that the key is not there. */
  readonly missing?: string;
}

function tokenIn(place: Place): Reading {
  const { namespace, name } = place;
  return { namespace, name, called: "secret", credential: (secret) => ({ token: valueIn(secret, place) }) };
}

function valueIn(secret: Secret, { namespace, name, key, missing = "missing" }: Place): string {
  const value = Buffer.from(secret.data?.[key] ?? "", "base64").toString("utf8");
  if (value === "") throw new PluginError(`secret ${namespace}/${name} ${missing} ${JSON.stringify(key)} key`);
  return value;
}

function required(config: ClusterConfig, field: string): string {
  const value = text(config, field);
  if (value === "") throw new PluginError(`missing ${field} in ExecCredential.Spec.Cluster.Config`);
  return value;
}

function text(config: ClusterConfig, field: string): string {
  const value = config[field] ?? "";
  if (typeof value !== "string") {
    throw new PluginError(`invalid ExecCredential.Spec.Cluster.Config: ${field} is not a string`);
  }
  return value;
}
