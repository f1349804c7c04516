/** From the text of a kubeconfig file to its entries. */
import { dirname, resolve } from "node:path";
import { isObject } from "#lib/json";
import { EXEC_EXTENSION } from "../exec/config.ts";
import { parseYaml, YamlError } from "../yaml.ts";
import {
  type Kubeconfig,
  type KubeconfigCluster,
  type KubeconfigContext,
  KubeconfigError,
  type KubeconfigUser,
  type Material,
} from "./model.ts";

/** Reads the text of a kubeconfig; paths in it are meant relative to the folder of `file`. */
export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const document = documentOf(text, file);
  const current = new Fields(document, "the file", file).text("current-context");
  return {
    clusters: entriesOf(document, "clusters", "cluster", file, clusterOf),
    users: entriesOf(document, "users", "user", file, userOf),
    contexts: entriesOf(document, "contexts", "context", file, contextOf),
    ...(current !== undefined && { current }),
    files: [file],
  };
}

function documentOf(text: string, file: string): Record<string, unknown> {
  let document: unknown;
  try {
    document = parseYaml(text) ?? {};
  } catch (error) {
    if (!(error instanceof YamlError)) throw error;
    throw new KubeconfigError(`kubeconfig ${file} is not valid YAML: ${error.message}`, { cause: error });
  }
  if (!isObject(document))
    throw new KubeconfigError(`kubeconfig ${file} does not hold an object; is it the right file?`);
  if (document.kind !== undefined && document.kind !== "Config") {
    throw new KubeconfigError(
      `kubeconfig ${file} is of kind ${String(document.kind)}, not Config; is it the right file?`,
    );
  }
  return document;
}

/** The entries of one list, each `{ name, <inner>: {…} }`. */
function entriesOf<E extends { name: string }>(
  document: Record<string, unknown>,
  list: string,
  inner: string,
  file: string,
  read: (name: string, fields: Fields, file: string) => E,
): E[] {
  const items = document[list] ?? [];
  if (!Array.isArray(items)) throw new KubeconfigError(`kubeconfig ${file}: ${list} must be a list`);
  const entries: E[] = [];
  const names = new Set<string>();
  for (const [index, item] of items.entries()) {
    const name: unknown = isObject(item) ? item.name : undefined;
    if (!isObject(item) || typeof name !== "string" || name === "") {
      throw new KubeconfigError(`kubeconfig ${file}: ${list}[${index}] needs a name`);
    }
    if (names.has(name)) throw new KubeconfigError(`kubeconfig ${file} has two ${list} called ${name}; remove one`);
    names.add(name);
    const content = item[inner] ?? {};
    if (!isObject(content)) throw new KubeconfigError(`kubeconfig ${file}: ${inner} ${name} must be an object`);
    entries.push(read(name, new Fields(content, `${inner} ${name}`, file), file));
  }
  return entries;
}

function clusterOf(name: string, fields: Fields, file: string): KubeconfigCluster {
  const ca = fields.material("certificate-authority");
  const serverName = fields.text("tls-server-name");
  const proxyUrl = fields.text("proxy-url");
  const forExec = fields.extension(EXEC_EXTENSION);
  return {
    name,
    server: fields.text("server") ?? "",
    ...(ca && { ca }),
    ...(fields.flag("insecure-skip-tls-verify") && { insecure: true }),
    ...(serverName !== undefined && { serverName }),
    ...(proxyUrl !== undefined && { proxyUrl }),
    ...(fields.flag("disable-compression") && { disableCompression: true }),
    ...(forExec !== undefined && { forExec }),
    file,
  };
}

/** Sections that change who a request comes from: to pass over them would be to act as somebody else. */
const UNSUPPORTED = ["auth-provider", "username", "password", "as", "as-uid", "as-groups", "as-user-extra"];

function userOf(name: string, fields: Fields, file: string): KubeconfigUser {
  const cert = fields.material("client-certificate");
  const key = fields.material("client-key");
  const token = fields.text("token");
  const tokenFile = fields.path("tokenFile");
  const exec = fields.exec();
  const unsupported = UNSUPPORTED.filter((field) => fields.has(field));
  return {
    name,
    ...(cert && { cert }),
    ...(key && { key }),
    ...(token !== undefined && { token }),
    ...(tokenFile !== undefined && { tokenFile }),
    ...(exec && { exec }),
    ...(unsupported.length > 0 && { unsupported }),
    file,
  };
}

function contextOf(name: string, fields: Fields, file: string): KubeconfigContext {
  const namespace = fields.text("namespace");
  return {
    name,
    cluster: fields.text("cluster") ?? "",
    user: fields.text("user") ?? "",
    ...(namespace !== undefined && { namespace }),
    file,
  };
}

/** The fields of one entry, read with checks; an empty string counts as absent, as in kubectl. */
class Fields {
  readonly #fields: Record<string, unknown>;
  readonly #entry: string;
  readonly #file: string;

  constructor(fields: Record<string, unknown>, entry: string, file: string) {
    this.#fields = fields;
    this.#entry = entry;
    this.#file = file;
  }

  has(name: string): boolean {
    const value = this.#fields[name];
    return value !== undefined && value !== null && value !== "";
  }

  text(name: string): string | undefined {
    const value = this.#fields[name];
    if (!this.has(name)) return undefined;
    if (typeof value !== "string") throw this.#wrong(name, "must be a string");
    return value;
  }

  flag(name: string): boolean {
    const value = this.#fields[name] ?? false;
    if (typeof value !== "boolean") throw this.#wrong(name, "must be true or false");
    return value;
  }

  section(name: string): Record<string, unknown> | undefined {
    const value = this.#fields[name];
    if (!this.has(name)) return undefined;
    if (!isObject(value)) throw this.#wrong(name, "must be an object");
    return value;
  }

  path(name: string): string | undefined {
    const value = this.text(name);
    return value === undefined ? undefined : this.#absolute(value);
  }

  /** A command with a slash is meant from the folder of the file, one without is looked for in PATH. */
  exec(): Record<string, unknown> | undefined {
    const exec = this.section("exec");
    const command = exec?.command;
    return typeof command === "string" && command.includes("/") ? { ...exec, command: this.#absolute(command) } : exec;
  }

  extension(name: string): unknown {
    const extensions = this.#fields.extensions ?? [];
    if (!Array.isArray(extensions)) throw this.#wrong("extensions", "must be a list");
    const named = extensions.filter((candidate) => isObject(candidate) && candidate.name === name);
    if (named.length > 1) throw this.#wrong("extensions", `has ${name} twice; remove one`);
    return isObject(named[0]) ? (named[0].extension ?? undefined) : undefined;
  }

  #absolute(path: string): string {
    return resolve(dirname(this.#file), path);
  }

  /** Inline data wins over a path. */
  material(name: string): Material | undefined {
    const data = this.text(`${name}-data`);
    if (data === undefined) {
      const file = this.path(name);
      return file === undefined ? undefined : { file };
    }
    const pem = Buffer.from(data, "base64").toString("utf8");
    if (!pem.includes("-----BEGIN ")) throw this.#wrong(`${name}-data`, "must be PEM, encoded as base64");
    return { pem };
  }

  #wrong(name: string, what: string): KubeconfigError {
    return new KubeconfigError(`kubeconfig ${this.#file}: ${name} of ${this.#entry} ${what}`);
  }
}
