/** What is run to get a credential, as kubeconfigs and provider files describe it. */
import { isObject } from "#lib/json";
import { ExecError } from "./error.ts";

const GROUP = "client.authentication.k8s.io";

export const EXEC_V1 = `${GROUP}/v1`;
export const EXEC_V1BETA1 = `${GROUP}/v1beta1`;
export type ExecVersion = typeof EXEC_V1 | typeof EXEC_V1BETA1;

/** The extension of a cluster entry that tells plugins about that cluster. */
export const EXEC_EXTENSION = `${GROUP}/exec`;

export type InteractiveMode = "Never" | "IfAvailable" | "Always";

export interface EnvironmentVariable {
  readonly name: string;
  readonly value: string;
}

export interface ExecConfig {
  readonly apiVersion: ExecVersion;
  /** An absolute path, or a bare name to be found in PATH. */
  readonly command: string;
  readonly args: readonly string[];
  readonly env: readonly EnvironmentVariable[];
  /** What to tell a person who does not have the program. */
  readonly installHint?: string;
  /** Whether the plugin is told which cluster the credential is for. */
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: InteractiveMode;
}

/** What a plugin can be told of the cluster, in the spelling of the wire. */
export interface ExecCluster {
  readonly server: string;
  readonly "tls-server-name"?: string;
  readonly "insecure-skip-tls-verify"?: boolean;
  /** Base64 of PEM. */
  readonly "certificate-authority-data"?: string;
  readonly "proxy-url"?: string;
  readonly "disable-compression"?: boolean;
  /** The cluster's own words for the plugin, from the extension of that name. */
  readonly config?: unknown;
}

/** Reads an exec section; throws an ExecError that begins with `where`. */
export function execConfigOf(section: unknown, where: string): ExecConfig {
  const fields = new ExecFields(section, where);
  const apiVersion = fields.text("apiVersion");
  if (apiVersion !== EXEC_V1 && apiVersion !== EXEC_V1BETA1) {
    throw new ExecError("misconfigured", `${where}: exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`);
  }
  const command = fields.text("command");
  if (command === "") throw fields.wrong("command", "must be specified to use an exec plugin");
  const installHint = fields.text("installHint");
  return {
    apiVersion,
    command,
    args: fields.list("args").map((arg) => textOf(arg, () => fields.wrong("args", "must be a list of strings"))),
    env: fields.list("env").map((entry) => variableOf(entry, fields)),
    ...(installHint !== "" && { installHint }),
    provideClusterInfo: fields.flag("provideClusterInfo"),
    interactiveMode: interactiveModeOf(fields, apiVersion),
  };
}

/** The older version asks a person where it can; the newer one wants to be told. */
function interactiveModeOf(fields: ExecFields, apiVersion: ExecVersion): InteractiveMode {
  const mode = fields.text("interactiveMode");
  if (mode === "Never" || mode === "IfAvailable" || mode === "Always") return mode;
  if (mode !== "") throw fields.wrong("interactiveMode", "must be Never, IfAvailable or Always");
  if (apiVersion === EXEC_V1BETA1) return "IfAvailable";
  throw fields.wrong("interactiveMode", `must be specified with ${EXEC_V1}: Never, IfAvailable or Always`);
}

function variableOf(entry: unknown, fields: ExecFields): EnvironmentVariable {
  const wrong = () => fields.wrong("env", "must be a list of entries with name and value");
  if (!isObject(entry)) throw wrong();
  const name = textOf(entry.name, wrong);
  if (name === "") throw fields.wrong("env", "has an entry without a name");
  return { name, value: textOf(entry.value ?? "", wrong) };
}

function textOf(value: unknown, wrong: () => ExecError): string {
  if (typeof value !== "string") throw wrong();
  return value;
}

class ExecFields {
  readonly #fields: Record<string, unknown>;
  readonly #where: string;

  constructor(section: unknown, where: string) {
    if (!isObject(section)) throw new ExecError("misconfigured", `${where}: exec must be an object`);
    this.#fields = section;
    this.#where = where;
  }

  text(name: string): string {
    return textOf(this.#fields[name] ?? "", () => this.wrong(name, "must be a string"));
  }

  flag(name: string): boolean {
    const value = this.#fields[name] ?? false;
    if (typeof value !== "boolean") throw this.wrong(name, "must be true or false");
    return value;
  }

  list(name: string): unknown[] {
    const value = this.#fields[name] ?? [];
    if (!Array.isArray(value)) throw this.wrong(name, "must be a list");
    return value;
  }

  /** Values are never quoted: arguments and variables may hold secrets. */
  wrong(name: string, what: string): ExecError {
    return new ExecError("misconfigured", `${this.#where}: exec.${name} ${what}`);
  }
}
