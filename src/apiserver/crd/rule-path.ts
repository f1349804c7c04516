/** The `fieldPath` of a rule: a JSON path of fields and keys, such as `.spec.x` or `['a.b']`. */
import type { OpenApiSchema } from "#api/schema";
import { childPath, keyPath, type Path } from "./path.ts";

const STEP = /\.([^.[\]]+)|\['((?:[^'\\]|\\.)*)'\]/y;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["'", "'"],
  ["\\", "\\"],
]);

/** The path as errors name it; undefined where it does not lead to a field of the schema. */
export function fieldPathOf(text: string, schema: OpenApiSchema): Path | undefined {
  let path: Path = "";
  let current: OpenApiSchema | undefined = schema;
  let at = 0;
  while (at < text.length) {
    STEP.lastIndex = at;
    const found = STEP.exec(text);
    if (!found || !current) return undefined;
    at = STEP.lastIndex;
    const name = found[1] ?? unescaped(found[2] ?? "");
    if (name === undefined) return undefined;
    const { properties, additionalProperties }: OpenApiSchema = current;
    if (properties) {
      path = childPath(path, name);
      current = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (!current) return undefined;
    } else if (additionalProperties) {
      path = keyPath(path, name);
      current = typeof additionalProperties === "object" ? additionalProperties : undefined;
    } else return undefined;
  }
  return path === "" ? undefined : path;
}

function unescaped(text: string): string | undefined {
  let isValid = true;
  const plain = text.replace(/\\(.)/g, (_, letter: string) => {
    const char = ESCAPES.get(letter);
    if (char === undefined) isValid = false;
    return char ?? "";
  });
  return isValid ? plain : undefined;
}
