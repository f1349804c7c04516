/**
 * The JSONPath dialect of Kubernetes: what printer columns, selectable fields, scale paths, feedback rules
 * and `kubectl -o jsonpath` write. A path is compiled once; running it is linear in the size of the value.
 */
import { evaluate } from "./evaluate.ts";
import { parse } from "./parse.ts";

export type JsonPath = (value: unknown) => unknown[];

/** Reads a path such as `.status.conditions[?(@.type=="Ready")].status`. Throws SyntaxError. */
export function compile(text: string): JsonPath {
  const steps = parse(text);
  return (value) => evaluate(steps, value);
}

/** The field names of a path that only walks down fields (`.spec.replicas`); undefined for any other. */
export function fieldNames(text: string): string[] | undefined {
  const names: string[] = [];
  for (const step of parse(text)) {
    if (step.type !== "fields" || step.names.length !== 1) return undefined;
    names.push(...step.names);
  }
  return names.length > 0 ? names : undefined;
}
