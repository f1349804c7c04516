/** Fields that a server-side apply leaves to the spoke. */
import type { DynamicObject } from "#api/meta";
import type { IgnoreFields } from "#api/work";
import { clone, isObject } from "#lib/json";
import { compile } from "#lib/jsonpath";
import { applyJsonPatch, PatchError } from "#lib/patch";
import { without } from "./jq/index.ts";

/**
 * What is sent to an object that exists. What is ignored when the spoke changes it is still sent, but only when the
 * manifest has changed: the engine sees to that. Throws with words for the user.
 */
export function withoutIgnored(manifest: DynamicObject, ignored: readonly IgnoreFields[]): DynamicObject {
  const present = ignored.filter(({ condition }) => condition === "OnSpokePresent");
  return present.reduce(withoutOne, manifest);
}

function withoutOne(manifest: DynamicObject, fields: IgnoreFields): DynamicObject {
  let rest = clone(manifest);
  for (const path of fields.jsonPaths ?? []) removeAtPath(rest, path);
  for (const pointer of fields.jsonPointers ?? []) rest = withoutPointer(rest, pointer);
  for (const expression of fields.jqPathExpressions ?? []) rest = withoutExpression(rest, expression);
  return rest;
}

/** The last name is taken from all that the path before it leads to. Paths that cannot be read lead nowhere. */
function removeAtPath(object: DynamicObject, path: string): void {
  const dot = path.lastIndexOf(".");
  const [parent, name] = [path.slice(0, Math.max(dot, 0)), path.slice(dot + 1)];
  if (name === "") return;
  for (const found of foundAt(object, parent)) if (isObject(found)) delete found[name];
}

function foundAt(object: DynamicObject, path: string): unknown[] {
  if (path === "" || path === "$") return [object];
  try {
    return compile(path)(object);
  } catch {
    return [];
  }
}

function withoutPointer(object: DynamicObject, pointer: string): DynamicObject {
  try {
    return applyJsonPatch(object, [{ op: "remove", path: pointer }]) as DynamicObject;
  } catch (error) {
    if (error instanceof PatchError && error.failure === "MissingPath") return object;
    throw new Error(`JSON Pointer error in '${pointer}': ${(error as Error).message}`);
  }
}

function withoutExpression(object: DynamicObject, expression: string): DynamicObject {
  try {
    const rest = without(object, expression);
    if (!isObject(rest)) throw new Error("nothing would be left of the object");
    return rest as DynamicObject;
  } catch (error) {
    throw new Error(`JQ expression error in '${expression}': ${(error as Error).message}`);
  }
}
