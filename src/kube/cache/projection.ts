/** How much of an object is kept: memory is spent on what somebody reads. */
import { apiVersionOf, type Kind, type KubeObject } from "#api/meta";
import { isObject } from "#lib/json";
import { SharedStrings } from "./shared-strings.ts";

/**
 * - `metadata`: names, labels, annotations, owners; the server sends no more than that
 * - fields by their paths, such as `spec.replicas` or `status.conditions`, beside the metadata
 */
export type Projection = "metadata" | readonly string[];

export interface KeptParts {
  /** Everything unless told. What is not kept is absent, whatever the type says. */
  readonly projection?: Projection;
  /** Whether managedFields are kept too, which nobody reads and which are often the larger part. */
  readonly managedFields?: boolean;
}

/** Of all caches of the process. */
const strings = new SharedStrings();

/** What is kept of an object, as one function for all of them. Unless it is frozen nobody else has it yet. */
export function keeping<T extends KubeObject>(
  kind: Kind<T>,
  { projection, managedFields = false }: KeptParts,
): (object: T) => T {
  const paths = projection === undefined || projection === "metadata" ? [] : projection.map((path) => path.split("."));
  const apiVersion = apiVersionOf(kind);
  const lean = (object: T): T => {
    if (managedFields || object.metadata.managedFields === undefined) return object;
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, metadata };
  };
  const shared = (object: T, kept: T): T => (Object.isFrozen(object) ? kept : strings.share(kept));
  if (projection === undefined) return (object) => shared(object, lean(object));
  return (object) => {
    const kept: Record<string, unknown> = { apiVersion, kind: kind.kind, metadata: lean(object).metadata };
    for (const path of paths) copyAt(object as unknown as Record<string, unknown>, kept, path);
    return shared(object, kept as unknown as T);
  };
}

/** Objects on the way are made where they are missing; a path that leads nowhere leaves no trace. */
function copyAt(from: Record<string, unknown>, to: Record<string, unknown>, [step = "", ...rest]: string[]): void {
  const value = from[step];
  if (value === undefined || !Object.hasOwn(from, step)) return;
  if (rest.length === 0) {
    to[step] = value;
    return;
  }
  if (!isObject(value)) return;
  const inner = isObject(to[step]) ? to[step] : {};
  to[step] = inner;
  copyAt(value, inner, rest);
}
