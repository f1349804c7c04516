/** What a work reports of an object: values that its feedback rules point at. */
import type { DynamicObject, Kind } from "#api/meta";
import { apiVersionOf } from "#api/meta";
import type { FeedbackRule, FeedbackValue } from "#api/work";
import { goJson } from "#lib/json";
import { compile } from "#lib/jsonpath";

export interface Feedback {
  readonly values: readonly FeedbackValue[];
  /** What could not be had, and why. */
  readonly errors: readonly string[];
}

export interface FeedbackOptions {
  /** Whether structures and fractions are reported as JSON; else they are an error. */
  readonly raw?: boolean;
  /** Characters of JSON that one value may have. */
  readonly maxRawLength?: number;
}

type Path = { readonly name: string; readonly path: string; readonly version?: string };

/** The most that the API takes. */
const LONGEST_RAW = 1024;

const WELL_KNOWN: Readonly<Record<string, readonly Path[]>> = {
  "apps/v1 Deployment": [
    { name: "ReadyReplicas", path: ".status.readyReplicas" },
    { name: "Replicas", path: ".status.replicas" },
    { name: "AvailableReplicas", path: ".status.availableReplicas" },
  ],
  "apps/v1 DaemonSet": [
    { name: "NumberReady", path: ".status.numberReady" },
    { name: "DesiredNumberScheduled", path: ".status.desiredNumberScheduled" },
    { name: "NumberAvailable", path: ".status.numberAvailable" },
  ],
  "batch/v1 Job": [
    { name: "JobComplete", path: '.status.conditions[?(@.type=="Complete")].status' },
    { name: "JobSucceeded", path: ".status.succeeded" },
  ],
  "v1 Pod": [
    { name: "PodReady", path: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "PodPhase", path: ".status.phase" },
  ],
};

/** The first value of a name counts, as the API allows only one. */
export function feedbackOf(
  rules: readonly FeedbackRule[],
  object: DynamicObject,
  kind: Kind,
  options: FeedbackOptions = {},
): Feedback {
  const values = new Map<string, FeedbackValue>();
  const errors: string[] = [];
  for (const rule of rules) {
    const paths = rule.type === "JSONPaths" ? (rule.jsonPaths ?? []) : WELL_KNOWN[`${apiVersionOf(kind)} ${kind.kind}`];
    if (!paths) {
      const what = `${kind.group}/${kind.version}, Kind=${kind.kind}`; // as upstream names kinds of no group too
      errors.push(`cannot find the wellknown statuses for resource with gvk ${what}`);
      continue;
    }
    for (const path of paths) {
      try {
        const value = valueAt(path, object, kind, options);
        if (value && !values.has(value.name)) values.set(value.name, value);
      } catch (error) {
        errors.push((error as Error).message);
      }
    }
  }
  return { values: [...values.values()], errors };
}

function valueAt(
  { name, path, version }: Path,
  object: DynamicObject,
  kind: Kind,
  { raw = false, maxRawLength = LONGEST_RAW }: FeedbackOptions,
): FeedbackValue | undefined {
  if (version && version !== kind.version) {
    throw new Error(`version of object is ${kind.version}, not ${version} as ${name} asks for`);
  }
  const found = compiled(name, path)(object);
  if (raw && found.length > 1) return rawValue(name, found, maxRawLength);
  const [first] = found;
  if (first === undefined || first === null) return undefined;
  if (typeof first === "string") return { name, fieldValue: { type: "String", string: first } };
  if (typeof first === "boolean") return { name, fieldValue: { type: "Boolean", boolean: first } };
  if (typeof first === "bigint" || Number.isSafeInteger(first)) {
    // An integer that no number holds stays exact on its way: the client writes it as it came.
    return { name, fieldValue: { type: "Integer", integer: first as number } };
  }
  if (raw) return rawValue(name, first, maxRawLength);
  throw new Error(`the type ${typeName(first)} of the value for ${name} is not found`);
}

function compiled(name: string, path: string): (value: unknown) => unknown[] {
  try {
    return compile(path);
  } catch (error) {
    throw new Error(`the path ${path} of ${name} cannot be read: ${(error as Error).message}`);
  }
}

function rawValue(name: string, value: unknown, longest: number): FeedbackValue {
  const jsonRaw = goJson(value);
  if (jsonRaw.length > longest) {
    throw new Error(`the value for ${name} has ${jsonRaw.length} characters, of which at most ${longest} are reported`);
  }
  return { name, fieldValue: { type: "JsonRaw", jsonRaw } };
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "list";
  return typeof value === "object" ? "object" : "float64";
}
