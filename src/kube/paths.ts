/** Where the API server keeps things: paths and queries. */
import { type Kind, type KubeObject, splitKey } from "#api/meta";
import { KubeError } from "./errors.ts";

type AnyKind = Kind<KubeObject>;

/** The path of all objects of a kind, or of those in one namespace. */
export function collectionPath(kind: AnyKind, namespace?: string): string {
  const root = kind.group === "" ? "/api" : `/apis/${segment(kind.group, "group")}`;
  const inNamespace =
    kind.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace, "namespace")}` : "";
  return `${root}/${segment(kind.version, "version")}${inNamespace}/${segment(kind.plural, "resource")}`;
}

/** The path of one object, or of a subresource of it. */
export function objectPath(kind: AnyKind, key: string, subresource?: string): string {
  const { namespace, name } = splitKey(key);
  if (kind.namespaced && namespace === undefined) throw misuse(`${kind.kind} "${key}" needs a namespace`);
  if (!kind.namespaced && namespace !== undefined) throw misuse(`${kind.kind} "${key}" is in no namespace`);
  const below =
    subresource === undefined
      ? ""
      : `/${subresource
          .split("/")
          .map((part) => segment(part, "subresource"))
          .join("/")}`;
  return `${collectionPath(kind, namespace)}/${segment(name, "name")}${below}`;
}

/** The path under which a new object is created. */
export function creationPath(kind: AnyKind, namespace: string | undefined): string {
  if (kind.namespaced && !namespace) throw misuse(`a new ${kind.kind} needs a namespace`);
  return collectionPath(kind, namespace);
}

/** `?a=1&b=2` of what is set. */
export function query(parameters: Record<string, string | number | boolean | undefined>): string {
  const set = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) set.set(name, String(value));
  const text = set.toString();
  return text === "" ? "" : `?${text}`;
}

/** A name must stay one step of the path: nothing empty, nothing that leads elsewhere. */
function segment(value: string, what: string): string {
  if (value === "" || value === "." || value === "..") throw misuse(`"${value}" is no ${what}`);
  return encodeURIComponent(value);
}

function misuse(message: string): KubeError {
  return new KubeError("misuse", message);
}
