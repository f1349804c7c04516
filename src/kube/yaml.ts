/** YAML as Kubernetes tools read it: the core schema, no timestamps, no tags, one document. */
import { CORE_SCHEMA, dump, load, YAMLException } from "js-yaml";

/** What is wrong with a YAML text, and where; it never quotes the text, which may hold secrets. */
export class YamlError extends Error {
  override readonly name = "YamlError";
}

/** Reads one YAML (or JSON) document; an empty text gives undefined. */
export function parseYaml(text: string): unknown {
  try {
    return load(text, { schema: CORE_SCHEMA });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line: unknown = error.mark?.line;
    throw new YamlError(typeof line === "number" ? `${error.reason} in line ${line + 1}` : error.reason);
  }
}

/** Writes YAML in block style; the same value always gives the same text. */
export function yamlText(value: unknown): string {
  return dump(value, { schema: CORE_SCHEMA, lineWidth: -1, noRefs: true });
}
