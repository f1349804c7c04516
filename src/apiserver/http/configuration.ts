/** The body of an apply: YAML, of which JSON is a part. */
import { CORE_SCHEMA, load as loadYaml, YAMLException } from "js-yaml";
import { parseJson } from "#lib/json";
import { badRequest } from "../errors.ts";
import { refuseDepth, textOf } from "./body.ts";

export interface Configuration {
  readonly value: unknown;
  /** What is wrong with it that can be overlooked: a key that comes twice. */
  readonly flaw?: string;
}

/** Dates stay the text they are, as in every Kubernetes manifest. */
const OPTIONS = { schema: CORE_SCHEMA };

/** Deeper, or by its aliases wider, than any configuration that a person writes. */
const DEEPEST = 500;
const MOST_VALUES = 1_000_000;

/** Throws ApiError 400. */
export function parseConfiguration(body: Buffer): Configuration {
  const text = textOf(body);
  if (/^\s*\{/.test(text)) {
    refuseDepth(text);
    try {
      return { value: parseJson(text) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error; // flow YAML begins like JSON
    }
  }
  try {
    return { value: bounded(loadYaml(text, OPTIONS)) };
  } catch (error) {
    const flaw = messageOf(error);
    if (!flaw.startsWith("duplicated mapping key"))
      throw badRequest(`error decoding YAML: error converting YAML to JSON: yaml: ${flaw}`);
    return { value: bounded(loadYaml(text, { ...OPTIONS, json: true })), flaw };
  }
}

/** A few aliases can stand for more values than there is memory for. */
function bounded(value: unknown): unknown {
  let count = 0;
  const visit = (inner: unknown, depth: number): void => {
    if (typeof inner !== "object" || inner === null) return;
    const values = Object.values(inner);
    count += values.length;
    if (depth > DEEPEST || count > MOST_VALUES) throw new Error("the configuration is nested too deeply, or too large");
    for (const each of values) visit(each, depth + 1);
  };
  visit(value, 0);
  return value;
}

function messageOf(error: unknown): string {
  if (error instanceof YAMLException) return error.reason;
  return error instanceof Error ? error.message : String(error);
}
