/** YAML as Kubernetes reads it: dates stay the text they are, and a key that comes twice may be overlooked. */
import { CORE_SCHEMA, load, YAMLException } from "js-yaml";

export interface Yaml {
  readonly value: unknown;
  /** The first key that comes for the second time, and in which line; the last one counts. */
  readonly repetition?: string;
}

const OPTIONS = { schema: CORE_SCHEMA };

/** Throws YAMLException. */
export function parseYaml(text: string): Yaml {
  try {
    return { value: load(text, OPTIONS) };
  } catch (error) {
    if (!(error instanceof YAMLException) || error.reason !== "duplicated mapping key") throw error;
    return { value: load(text, { ...OPTIONS, json: true }), repetition: repetitionIn(text, error) };
  }
}

/** In the words that clients look for. */
function repetitionIn(text: string, { mark: { line, position } }: YAMLException): string {
  const key = /^(?:"([^"]*)"|'([^']*)'|([^:\s]+))/.exec(text.slice(position));
  const name = key?.[1] ?? key?.[2] ?? key?.[3] ?? "";
  return `line ${line + 1}: key ${JSON.stringify(name)} already set in map`;
}
