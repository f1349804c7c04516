/** The variables and arguments of a container. */
import type { Container, EnvVarSource, Pod } from "#api/core";
import { fieldOf } from "./fields.ts";

export type Variables = Readonly<Record<string, string>>;

/** The contents of a ConfigMap or Secret by key, as text; undefined where there is no such object. */
export interface Contents {
  configMap(name: string): Readonly<Record<string, string>> | undefined;
  secret(name: string): Readonly<Record<string, string>> | undefined;
}

/** A thing that the container needs is not there: a sentence that names it. */
export class Unfulfilled extends Error {
  override readonly name = "Unfulfilled";
}

export interface Wanted {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

/** What the variables of a container are read from. */
export function wantedBy({ env = [], envFrom = [] }: Container): Wanted {
  const configMaps = [
    ...envFrom.map(({ configMapRef }) => configMapRef?.name),
    ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef?.name),
  ];
  const secrets = [
    ...envFrom.map(({ secretRef }) => secretRef?.name),
    ...env.map(({ valueFrom }) => valueFrom?.secretKeyRef?.name),
  ];
  return { configMaps: named(configMaps), secrets: named(secrets) };
}

function named(names: readonly (string | undefined)[]): Set<string> {
  return new Set(names.filter((name) => name !== undefined));
}

/** All variables of a container; `given` are those that every one has. Throws Unfulfilled. */
export function variablesOf(pod: Pod, container: Container, contents: Contents, given: Variables): Variables {
  const variables: Record<string, string> = { ...given };
  for (const { prefix = "", configMapRef, secretRef } of container.envFrom ?? []) {
    const reference = configMapRef ?? secretRef;
    const { name = "", optional = false } = reference ?? {};
    const values = configMapRef ? contents.configMap(name) : contents.secret(name);
    if (!values && !optional) throw new Unfulfilled(`${configMapRef ? "configmap" : "secret"} "${name}" not found`);
    for (const [key, value] of Object.entries(values ?? {})) variables[`${prefix}${key}`] = value;
  }
  for (const { name, value, valueFrom } of container.env ?? []) {
    const found = valueFrom ? valueFromSource(pod, valueFrom, contents) : expanded(value ?? "", variables);
    if (found !== undefined) variables[name] = found;
  }
  return variables;
}

/** Undefined for what is optional and not there. */
function valueFromSource(pod: Pod, source: EnvVarSource, contents: Contents): string | undefined {
  const { fieldRef, configMapKeyRef, secretKeyRef } = source;
  const { namespace } = pod.metadata;
  if (fieldRef) {
    const found = fieldOf(pod, fieldRef.fieldPath ?? "");
    if (found === undefined) throw new Unfulfilled(`unsupported fieldPath: ${fieldRef.fieldPath}`);
    return found;
  }
  const reference = configMapKeyRef ?? secretKeyRef;
  if (!reference) {
    throw new Unfulfilled(`a variable comes from ${Object.keys(source).join(", ")}, which this node does not offer`);
  }
  const { name = "", key, optional = false } = reference;
  const values = configMapKeyRef ? contents.configMap(name) : contents.secret(name);
  const found = values && Object.hasOwn(values, key) ? values[key] : undefined;
  if (found !== undefined || optional) return found;
  if (!values) throw new Unfulfilled(`${configMapKeyRef ? "configmap" : "secret"} "${name}" not found`);
  throw new Unfulfilled(`couldn't find key ${key} in ${configMapKeyRef ? "ConfigMap" : "Secret"} ${namespace}/${name}`);
}

/** `$(NAME)` becomes the value of the variable, if there is one; `$$` is one `$` and begins nothing. */
export function expanded(text: string, variables: Variables): string {
  return text.replace(/\$(\$|\(([^()]*)\))/g, (all, what: string, name: string) => {
    if (what === "$") return "$";
    return Object.hasOwn(variables, name) ? (variables[name] ?? all) : all;
  });
}

/** The name of the program in the image; a container that names it means what one that names none means. */
const ENTRYPOINT = /^(.*\/)?capstan$/;

/** The words that follow the name of the program. Throws Unfulfilled for another program. */
export function argumentsOf({ command = [], args = [] }: Container, variables: Variables): string[] {
  const [program, ...more] = command.map((word) => expanded(word, variables));
  if (program !== undefined && !ENTRYPOINT.test(program)) {
    throw new Unfulfilled(
      `exec: "${program}": executable file not found: this node has nothing but capstan in this image; leave the command out`,
    );
  }
  return [...more, ...args.map((word) => expanded(word, variables))];
}
