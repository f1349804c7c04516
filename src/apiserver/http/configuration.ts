/** The body of an apply: YAML, of which JSON is a part. */
import { YAMLException } from "js-yaml";
import { parseJson } from "#lib/json";
import { badRequest } from "../errors.ts";
import { refuseDepth, textOf } from "./body.ts";
import { repeatedFields } from "./repeated-fields.ts";
import { parseYaml } from "./yaml.ts";

export interface Configuration {
  readonly value: unknown;
  /** What is wrong with it that can be overlooked: a key that comes twice. */
  readonly flaw?: string;
}

/** Deeper, or by its aliases wider, than any configuration that a person writes. */
const DEEPEST = 500;
const MOST_VALUES = 1_000_000;

/** Throws ApiError 400. */
export function parseConfiguration(body: Buffer): Configuration {
  const text = textOf(body);
  if (/^\s*\{/.test(text)) {
    refuseDepth(text);
    try {
      const value = parseJson(text);
      if (repeatedFields(text).length === 0) return { value };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error; // flow YAML begins like JSON
    }
  }
  try {
    const { value, repetition } = parseYaml(text);
    return { value: bounded(value), ...(repetition !== undefined && { flaw: repetition }) };
  } catch (error) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: yaml: ${messageOf(error)}`);
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
