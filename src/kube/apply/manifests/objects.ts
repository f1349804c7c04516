/** From the documents of a file to objects that can be applied, or to what is wrong with them. */
import type { DynamicObject } from "#api/meta";
import { isObject, stringifyJson } from "#lib/json";
import { parseDocuments } from "./yaml.ts";

/** An object, and where somebody wrote it. */
export interface Manifest {
  readonly object: DynamicObject;
  /** `web.yaml, document 2, line 14` */
  readonly source: string;
}

export interface Manifests {
  readonly manifests: readonly Manifest[];
  /** Each names the file, the document and the line. */
  readonly problems: readonly string[];
}

/** No API server takes a larger body. */
const LARGEST_OBJECT = 3 * 1024 * 1024;
/** Lists within lists; nobody writes more. */
const DEEPEST_LIST = 8;

export interface ManifestOptions {
  /** Whether an object may have only a generateName, because somebody names it before it is applied. */
  readonly generatedNames?: boolean;
}

/** The objects in a text; lists stand for what they hold. */
export function manifestsIn(text: string, file: string, options: ManifestOptions = {}): Manifests {
  const manifests: Manifest[] = [];
  const problems: string[] = [];
  for (const [index, { line, value, problem }] of parseDocuments(text).entries()) {
    const source = `${file}, document ${index + 1}, line ${line}`;
    if (problem !== undefined) problems.push(`${source}: ${problem}`);
    else collect(value, source, { manifests, problems, options }, 0);
  }
  return { manifests, problems };
}

function collect(
  value: unknown,
  source: string,
  into: { manifests: Manifest[]; problems: string[]; options: ManifestOptions },
  depth: number,
): void {
  if (isObject(value) && isList(value)) {
    if (depth >= DEEPEST_LIST) {
      into.problems.push(`${source}: lists within lists, ${DEEPEST_LIST} deep`);
      return;
    }
    for (const [index, item] of value.items.entries()) {
      collect(withKindOf(value, item), `${source}, item ${index + 1}`, into, depth + 1);
    }
    return;
  }
  const object = value as DynamicObject;
  const size = stringifyJson(value).length;
  const problem = problemOf(value, into.options) ?? (size > LARGEST_OBJECT ? tooLarge(object, size) : undefined);
  if (problem !== undefined) into.problems.push(`${source}: ${problem}`);
  else into.manifests.push({ object, source });
}

type ListLike = Record<string, unknown> & { kind: string; items: unknown[] };

function isList(value: Record<string, unknown>): value is ListLike {
  return typeof value.kind === "string" && value.kind.endsWith("List") && Array.isArray(value.items);
}

/** A list of one kind need not repeat the kind on its items. */
function withKindOf({ apiVersion, kind }: ListLike, item: unknown): unknown {
  if (kind === "List" || !isObject(item)) return item;
  return { apiVersion, kind: kind.slice(0, -"List".length), ...item };
}

/** Why a value is no object that can be applied; undefined when it is one. */
export function problemOf(value: unknown, { generatedNames = false }: ManifestOptions = {}): string | undefined {
  if (!isObject(value)) return "it is no object";
  const { apiVersion, kind, metadata } = value;
  if (typeof kind !== "string" || kind === "") return "it has no kind";
  if (typeof apiVersion !== "string" || !/^(?:[^/\s]+\/)?[^/\s]+$/.test(apiVersion)) return `${kind} has no apiVersion`;
  if (!isObject(metadata)) return `${kind} has no metadata`;
  const { name, generateName, namespace } = metadata;
  const isGenerated = generatedNames && typeof generateName === "string" && generateName !== "" && name === undefined;
  if (!isGenerated && (typeof name !== "string" || name === "")) {
    return generateName === undefined
      ? `${kind} has no name`
      : `${kind} has only a generateName (${String(generateName)}); what is applied again and again needs a name`;
  }
  if (namespace !== undefined && namespace !== null && typeof namespace !== "string") {
    return `${kind} ${String(name ?? generateName)} has a namespace that is no text`;
  }
  const odd = oddField(metadata);
  return odd === undefined ? undefined : `${kind} ${String(name ?? generateName)} has ${odd}`;
}

/** Fields of the metadata that are read here before a server has checked them. */
function oddField({ labels, annotations, finalizers, ownerReferences }: Record<string, unknown>): string | undefined {
  for (const [name, value] of Object.entries({ labels, annotations })) {
    if (value !== undefined && value !== null && !isObject(value)) return `${name} that are no map`;
  }
  for (const [name, value] of Object.entries({ finalizers, ownerReferences })) {
    if (value !== undefined && value !== null && !Array.isArray(value)) return `${name} that are no list`;
  }
  const owners = Array.isArray(ownerReferences) ? ownerReferences : [];
  return owners.every((owner) => isObject(owner) && typeof owner.apiVersion === "string")
    ? undefined
    : "ownerReferences without an apiVersion";
}

function tooLarge({ kind, metadata }: DynamicObject, size: number): string {
  return `${kind} ${metadata.name} has ${size} bytes, and no server takes more than ${LARGEST_OBJECT}`;
}
