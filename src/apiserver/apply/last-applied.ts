/** What client-side apply left behind, so that whoever used it can go on with server-side apply. */
import type { DynamicObject } from "#api/meta";
import { isObject, parseJson } from "#lib/json";
import { typeErrorsOf } from "./check.ts";
import { compareValues } from "./compare.ts";
import { fieldsOf } from "./fields-of.ts";
import { jsonOf } from "./path-element.ts";
import { difference, type PathSet, union } from "./path-set.ts";
import type { ValueType } from "./value-type.ts";

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** As validation has it: all annotations of an object together. */
const LARGEST_ANNOTATIONS = 256 * 1024;

/** The fields that the object still has as client-side apply set them: whoever set them may take them over. */
export function allowedByLastApplied(type: ValueType, live: DynamicObject, apiVersion: string): PathSet | undefined {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  if (!text) return undefined;
  const applied = parsed(text);
  if (!isObject(applied) || applied.apiVersion !== apiVersion || typeErrorsOf(type, applied) !== undefined)
    return undefined;
  const { added, modified, removed } = compareValues(type, applied, live);
  return difference(fieldsOf(type, applied), union(union(modified, added), removed));
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return undefined; // whatever it is, it allows nothing
  }
}

/** The object with its annotation made equal to what was just applied, if it has one. */
export function syncLastApplied(object: DynamicObject, config: DynamicObject): DynamicObject {
  const { metadata } = object;
  if (!metadata.annotations?.[LAST_APPLIED]) return object;
  const annotations: Record<string, string> = {
    ...metadata.annotations,
    [LAST_APPLIED]: `${sortedJson(withoutAnnotation(config))}\n`,
  };
  const size = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  if (size > LARGEST_ANNOTATIONS) delete annotations[LAST_APPLIED];
  return { ...object, metadata: { ...metadata, annotations } };
}

function withoutAnnotation(config: DynamicObject): DynamicObject {
  const { metadata } = config;
  if (!metadata?.annotations) return config;
  const { [LAST_APPLIED]: _, ...annotations } = metadata.annotations;
  return { ...config, metadata: { ...metadata, annotations } };
}

/** JSON as kubectl writes it: keys in their order. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (!isObject(value)) return jsonOf(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${jsonOf(key)}:${sortedJson(value[key])}`).join(",")}}`;
}
