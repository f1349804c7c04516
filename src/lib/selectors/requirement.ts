import { labelValue, qualifiedName } from "#lib/names";
import { SelectorError } from "./error.ts";

export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

/** One thing that a selector asks of the labels. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  /** Sorted, each once. */
  readonly values: readonly string[];
}

type Labels = Readonly<Record<string, string>>;

/** Decides by labels. An object without labels has none of them. */
export interface LabelMatcher {
  /** All of them must be met; `undefined` matches no labels at all. */
  readonly requirements: readonly LabelRequirement[] | undefined;
  matches(labels: Labels | undefined): boolean;
  /** The text that `parseLabelSelector` reads; a matcher of nothing has none and throws. */
  toString(): string;
}

/** Checks and completes a requirement as Kubernetes does. */
export function requirement(key: string, operator: LabelOperator, given: Iterable<string>): LabelRequirement {
  const values = [...new Set(given)].sort();
  const problems = [...countProblems(operator, values)];
  const badKey = keyProblem(key, "key");
  if (badKey) problems.unshift(badKey);
  values.forEach((value, index) => {
    const why = labelValue(value);
    if (why.length > 0) problems.push(invalid(`values[${index}][${key}]`, JSON.stringify(value), why.join("; ")));
  });
  if (problems.length > 0) {
    const unique = [...new Set(problems)];
    throw new SelectorError(unique.length === 1 ? unique[0] : `[${unique.join(", ")}]`);
  }
  return { key, operator, values };
}

/** What is wrong with a key, said of the field where it stands. */
export function keyProblem(key: string, field: string): string | undefined {
  const why = qualifiedName(key);
  return why.length > 0 ? invalid(field, JSON.stringify(key), why.join("; ")) : undefined;
}

function countProblems(operator: LabelOperator, values: readonly string[]): string[] {
  const shown = `["${values.join('", "')}"]`;
  switch (operator) {
    case "in":
    case "notin":
      if (values.length > 0) return [];
      return [invalid("values", "[]", "for 'in', 'notin' operators, values set can't be empty")];
    case "exists":
    case "!":
      if (values.length === 0) return [];
      return [invalid("values", shown, "values set must be empty for exists and does not exist")];
    case "gt":
    case "lt":
      return values.flatMap((value, index) => {
        if (parseInt64(value) !== undefined) return [];
        const why = "for 'Gt', 'Lt' operators, the value must be an integer";
        return [invalid(`values[${index}]`, JSON.stringify(value), why)];
      });
    default:
      return [];
  }
}

function invalid(field: string, value: string, why: string): string {
  return `${field}: Invalid value: ${value}: ${why}`;
}

/** The matcher that asks for all of the requirements; `undefined` is the one that nothing matches. */
export function matcher(requirements: readonly LabelRequirement[] | undefined): LabelMatcher {
  if (!requirements) {
    return {
      requirements,
      matches: () => false,
      toString() {
        throw new SelectorError("a selector that matches nothing cannot be written as text");
      },
    };
  }
  const tests = requirements.map(test);
  return {
    requirements,
    matches: (labels = {}) => tests.every((met) => met(labels)),
    toString: () => requirements.map(format).join(","),
  };
}

function test({ key, operator, values }: LabelRequirement): (labels: Labels) => boolean {
  const has = (labels: Labels) => Object.hasOwn(labels, key);
  const wanted = new Set(values);
  const isWanted = (labels: Labels) => has(labels) && wanted.has(labels[key] ?? "");
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return isWanted;
    case "!=":
    case "notin":
      return (labels) => !isWanted(labels);
    case "exists":
      return has;
    case "!":
      return (labels) => !has(labels);
    case "gt":
    case "lt": {
      const bound = parseInt64(values[0] ?? "") ?? 0n;
      return (labels) => {
        const value = has(labels) ? parseInt64(labels[key] ?? "") : undefined;
        return value !== undefined && (operator === "gt" ? value > bound : value < bound);
      };
    }
  }
}

function format({ key, operator, values }: LabelRequirement): string {
  const [first = ""] = values;
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${values.join(",") || ","})`;
    case "gt":
      return `${key}>${first}`;
    case "lt":
      return `${key}<${first}`;
    default:
      return `${key}${operator}${first}`;
  }
}

function parseInt64(text: string): bigint | undefined {
  // A label value has at most 63 characters, so that this stays cheap.
  if (text.length > 63 || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^\+/, ""));
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
