/** KUBERNETES_EXEC_INFO as a plugin reads it. */
import { isObject, parseJson } from "#lib/json";
import { EXEC_V1, EXEC_V1BETA1, type ExecVersion } from "../config.ts";
import { PluginError } from "./names.ts";

export interface PluginInput {
  /** The version to answer in. */
  readonly apiVersion: ExecVersion;
  /** What the cluster's entry says to plugins. */
  readonly config: unknown;
}

/** Throws a PluginError where the variable does not say which cluster is meant. */
export function pluginInput(info: string | undefined): PluginInput {
  const { apiVersion, spec } = execCredential(info);
  const cluster = isObject(spec) ? spec.cluster : undefined;
  if (!isObject(cluster)) {
    throw unreadable("ExecCredential does not contain cluster information; set provideClusterInfo: true");
  }
  const server = typeof cluster.server === "string" ? cluster.server.trim() : "";
  if (server === "" || server === "null") {
    throw new PluginError("spec.cluster.server is missing in KUBERNETES_EXEC_INFO");
  }
  return { apiVersion, config: cluster.config };
}

function execCredential(info: string | undefined): { apiVersion: ExecVersion; spec: unknown } {
  if (!info) throw unreadable("KUBERNETES_EXEC_INFO env var is unset or empty");
  let object: unknown;
  try {
    object = parseJson(info);
  } catch {
    throw unreadable("decode: it is not JSON");
  }
  if (!isObject(object) || object.kind !== "ExecCredential") throw unreadable("decode: it is not an ExecCredential");
  const { apiVersion, spec } = object;
  if (apiVersion === EXEC_V1 || apiVersion === EXEC_V1BETA1) return { apiVersion, spec };
  throw new PluginError(`unexpected ExecCredential type (expect v1), got ${JSON.stringify(apiVersion)}`);
}

function unreadable(why: string): PluginError {
  return new PluginError(`failed to read KUBERNETES_EXEC_INFO: ${why}`);
}
