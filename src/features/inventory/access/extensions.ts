/** What a profile may say to the plugin of its provider, as far as the provider file allows it. */
import { type EnvironmentVariable, EXEC_EXTENSION, type ExecConfig } from "#kube";
import { isObject } from "#lib/json";
import type { Provider } from "./provider-file.ts";

const ADDITIONAL_ARGS = "clusterprofiles.multicluster.x-k8s.io/exec/additional-args";
const ADDITIONAL_ENVS = "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs";

export interface Extension {
  readonly name: string;
  readonly extension: unknown;
}

/** An extension that cannot be taken as it is. */
export class ExtensionError extends Error {
  override readonly name = "ExtensionError";
}

/** What the cluster's entry says to plugins: the `config` that they are told. */
export function configFor(extensions: readonly Extension[]): unknown {
  return extensionNamed(extensions, EXEC_EXTENSION);
}

/** The provider's program with what the profile adds. Always made anew, so that nothing of one cluster gets into another's. */
export function execFor(exec: ExecConfig, provider: Provider, extensions: readonly Extension[]): ExecConfig {
  const { argsPolicy, envPolicy } = provider;
  const args = argsPolicy === "Append" ? argsOf(extensionNamed(extensions, ADDITIONAL_ARGS)) : [];
  const added = envPolicy === "Ignore" ? [] : variablesOf(extensionNamed(extensions, ADDITIONAL_ENVS));
  const winners = new Map((envPolicy === "Replace" ? added : []).map(({ name, value }) => [name, value]));
  const own = exec.env.map(({ name, value }) => ({ name, value: winners.get(name) ?? value }));
  const names = new Set(own.map(({ name }) => name));
  return { ...exec, args: [...exec.args, ...args], env: [...own, ...added.filter(({ name }) => !names.has(name))] };
}

function extensionNamed(extensions: readonly Extension[], name: string): unknown {
  const named = extensions.filter((candidate) => candidate.name === name);
  if (named.length > 1) throw new ExtensionError(`the extension ${name} is there twice; remove one`);
  return named[0]?.extension ?? undefined;
}

/** The list itself, or an object that holds it: an API server stores no list in this place. */
function argsOf(value: unknown): string[] {
  const list = isObject(value) ? value.args : value;
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list) || !list.every((arg) => typeof arg === "string")) {
    throw new ExtensionError("failed to unmarshal additional CLI args extension: it must be a list of strings");
  }
  return list;
}

/** In the order of their names, so that the same profile always gives the same environment. */
function variablesOf(value: unknown): EnvironmentVariable[] {
  if (value === undefined) return [];
  const entries = isObject(value) ? Object.entries(value) : undefined;
  if (!entries?.every((entry): entry is [string, string] => typeof entry[1] === "string")) {
    throw new ExtensionError("failed to unmarshal additional env vars extension: it must be a map of strings");
  }
  const forbidden = entries.map(([name]) => name).find((name) => RUNS_CODE.test(name));
  if (forbidden !== undefined) {
    throw new ExtensionError(`a profile may not set ${forbidden}, because it decides what program runs`);
  }
  return entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => ({ name, value }));
}

/** Variables by which somebody who may only write a profile could run code of theirs as us. */
const RUNS_CODE =
  /^(PATH|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHON.*|PERL5.*|RUBY.*|BASH_ENV|ENV|SHELLOPTS|JAVA_TOOL_OPTIONS|KUBERNETES_EXEC_INFO)$/;
