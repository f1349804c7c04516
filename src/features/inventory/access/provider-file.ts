/** The provider file: how this consumer of the inventory gets into clusters, one entry per kind of access. */
import { resolve } from "node:path";
import {
  EXEC_V1,
  type ExecConfig,
  ExecError,
  execConfigOf,
  isPluginName,
  type PluginName,
  parseYaml,
  YamlError,
} from "#kube";
import { isObject } from "#lib/json";

/** Whether a profile may add arguments to the plugin's. */
export const ARGS_POLICIES = ["Ignore", "Append"] as const;
export type ArgsPolicy = (typeof ARGS_POLICIES)[number];

/** Whether a profile may set variables of the plugin, and who wins where both do. */
export const ENV_POLICIES = ["Ignore", "AppendIfNotExists", "Replace"] as const;
export type EnvPolicy = (typeof ENV_POLICIES)[number];

export interface Provider {
  /** What profiles call it. */
  readonly name: string;
  readonly exec?: ExecConfig;
  /** Instead of a program: one of our own plugins, without a process. */
  readonly builtin?: PluginName;
  /** For the built-in `cp-creds`. */
  readonly managedServiceAccount?: string;
  readonly argsPolicy: ArgsPolicy;
  readonly envPolicy: EnvPolicy;
}

export interface ProviderFile {
  readonly providers: readonly Provider[];
  /** What the file holds that means nothing to us. */
  readonly warnings: readonly string[];
}

/** What is wrong with a provider file; it names the file and the entry. */
export class ProviderFileError extends Error {
  override readonly name = "ProviderFileError";
}

export interface ProviderFileOptions {
  /** How messages call the file. */
  readonly file: string;
  /** Where commands with a relative path are meant from, as consumers in Go mean them: where we were started. */
  readonly cwd: string;
}

/** Reads the file, JSON or YAML. Throws a ProviderFileError. */
export function parseProviderFile(text: string, { file, cwd }: ProviderFileOptions): ProviderFile {
  const warnings: string[] = [];
  const reader = new Reader(file, cwd, warnings);
  const entries = reader.fields(documentOf(text, file), ["providers"], "the file").providers ?? [];
  if (!Array.isArray(entries)) throw reader.wrong("providers must be a list");
  const providers = entries.map((entry, index) => reader.provider(entry, index));
  const twice = providers.find(({ name }, index) => providers.findIndex((other) => other.name === name) !== index);
  if (twice) throw reader.wrong(`provider ${JSON.stringify(twice.name)} is there twice; remove one`);
  return { providers, warnings };
}

/** An empty file is one that somebody is just writing. */
function documentOf(text: string, file: string): unknown {
  if (text.trim() === "") throw new ProviderFileError(`provider file ${file} is empty`);
  try {
    return parseYaml(text);
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new ProviderFileError(`provider file ${file} is neither JSON nor YAML: ${error.message}`, { cause: error });
  }
}

const PROVIDER_FIELDS = [
  "name",
  "execConfig",
  "builtin",
  "managedServiceAccount",
  "profileSourcedCLIArgsPolicy",
  "profileSourcedEnvVarsPolicy",
] as const;

const EXEC_FIELDS = [
  "apiVersion",
  "command",
  "args",
  "env",
  "installHint",
  "provideClusterInfo",
  "interactiveMode",
] as const;

class Reader {
  readonly #file: string;
  readonly #cwd: string;
  readonly #warnings: string[];

  constructor(file: string, cwd: string, warnings: string[]) {
    this.#file = file;
    this.#cwd = cwd;
    this.#warnings = warnings;
  }

  provider(entry: unknown, index: number): Provider {
    const fields = this.fields(entry, PROVIDER_FIELDS, `providers[${index}]`);
    const { name } = fields;
    if (typeof name !== "string" || name === "") throw this.wrong(`providers[${index}] needs a name`);
    const where = `provider ${JSON.stringify(name)}`;
    const exec = fields.execConfig == null ? undefined : this.#exec(fields.execConfig, where);
    const builtin = this.#builtin(fields.builtin, where);
    if (exec && builtin) throw this.wrong(`${where} has both execConfig and builtin; remove one`);
    const managedServiceAccount = this.#text(fields.managedServiceAccount, `${where}: managedServiceAccount`);
    return {
      name,
      ...(exec && { exec }),
      ...(builtin && { builtin }),
      ...(managedServiceAccount !== "" && { managedServiceAccount }),
      argsPolicy: this.#policy(ARGS_POLICIES, fields.profileSourcedCLIArgsPolicy, "ProfileSourcedCLIArgsPolicy", where),
      envPolicy: this.#policy(ENV_POLICIES, fields.profileSourcedEnvVarsPolicy, "ProfileSourcedEnvVarsPolicy", where),
    };
  }

  /** Consumers in Go read keys in any case; what we do not know they pass over, and we say so. */
  fields<F extends string>(value: unknown, known: readonly F[], where: string): Partial<Record<F, unknown>> {
    if (!isObject(value)) throw this.wrong(`${where} must be an object`);
    const fields: Partial<Record<F, unknown>> = {};
    for (const [key, inner] of Object.entries(value)) {
      const field = known.find((name) => name.toLowerCase() === key.toLowerCase());
      if (field === undefined) this.#warnings.push(`provider file ${this.#file}: ${where} has an unknown field ${key}`);
      else fields[field] = inner;
    }
    return fields;
  }

  /** Nobody sits at a consumer's terminal, so plugins never ask a person, whatever the file says. */
  #exec(section: unknown, where: string): ExecConfig {
    const fields = this.fields(section, EXEC_FIELDS, `${where}: execConfig`);
    try {
      const exec = execConfigOf({ ...fields, interactiveMode: "Never" }, where);
      return exec.command.includes("/") ? { ...exec, command: resolve(this.#cwd, exec.command) } : exec;
    } catch (error) {
      if (!(error instanceof ExecError)) throw error;
      throw new ProviderFileError(`provider file ${this.#file}: ${error.message}`, { cause: error });
    }
  }

  #builtin(value: unknown, where: string): PluginName | undefined {
    const name = this.#text(value, `${where}: builtin`);
    if (name === "") return undefined;
    if (!isPluginName(name)) throw this.wrong(`${where}: there is no built-in provider ${JSON.stringify(name)}`);
    return name;
  }

  #policy<P extends string>(known: readonly P[], value: unknown, field: string, where: string): P {
    const text = this.#text(value, `${where}: ${field}`) || "Ignore";
    const policy = known.find((candidate) => candidate === text);
    if (policy === undefined) throw this.wrong(`${where}: unsupported ${field}: ${JSON.stringify(text)}`);
    return policy;
  }

  #text(value: unknown, what: string): string {
    if (typeof (value ?? "") !== "string") throw this.wrong(`${what} must be a string`);
    return typeof value === "string" ? value : "";
  }

  wrong(what: string): ProviderFileError {
    return new ProviderFileError(`provider file ${this.#file}: ${what}`);
  }
}

export interface OwnProvider {
  /** The plugin; profiles call the provider by the same name. */
  readonly plugin: PluginName;
  /** The words that start Capstan, the first of them an absolute path. */
  readonly capstan: readonly [string, ...string[]];
  /** How the plugin reaches the hub. */
  readonly kubeconfig: string;
  readonly managedServiceAccount?: string;
}

/** A provider whose plugin is Capstan itself, for this and for every other consumer. */
export function ownProvider({ plugin, capstan, kubeconfig, managedServiceAccount }: OwnProvider): Provider {
  const [command, ...args] = capstan;
  const flags = managedServiceAccount === undefined ? [] : [`--managed-serviceaccount=${managedServiceAccount}`];
  return {
    name: plugin,
    exec: {
      apiVersion: EXEC_V1,
      command,
      args: [...args, "plugin", plugin, ...flags],
      env: [{ name: "KUBECONFIG", value: kubeconfig }],
      provideClusterInfo: true,
      interactiveMode: "Never",
    },
    argsPolicy: "Ignore",
    envPolicy: "Ignore",
  };
}

/** The text of a provider file as every consumer reads it; equal providers give equal bytes. */
export function providerFileText(providers: readonly Provider[]): string {
  return `${JSON.stringify({ providers: providers.map(providerFields) }, undefined, 2)}\n`;
}

function providerFields(provider: Provider): object {
  const { name, exec, builtin, managedServiceAccount, argsPolicy, envPolicy } = provider;
  return {
    name,
    ...(exec && { execConfig: exec }),
    ...(builtin && { builtin }),
    ...(managedServiceAccount !== undefined && { managedServiceAccount }),
    ...(argsPolicy !== "Ignore" && { profileSourcedCLIArgsPolicy: argsPolicy }),
    ...(envPolicy !== "Ignore" && { profileSourcedEnvVarsPolicy: envPolicy }),
  };
}
