/** Runs the rules of a schema over objects. */
import type { DynamicObject } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";
import { CelError, type CelType, Optional, type Program, typeFromSchema } from "#lib/cel";
import { equal, isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import { childPath, indexPath, keyPath, type Path } from "./path.ts";
import { type CompiledRule, compileRules, hasRules } from "./rule-compiler.ts";

/** What one rule may cost, and all rules of one object together. */
const CALL_LIMIT = 1_000_000;
const OBJECT_BUDGET = 10_000_000;
const LONGEST_MESSAGE = 5 * 1024;

/** The name of the whole object where a field's path is expected. */
const ROOT = "<nil>";

/** What checks objects against the rules anywhere in their schema; none where there are no rules. */
export function ruleValidators(
  schema: OpenApiSchema,
): readonly ((object: DynamicObject, current?: DynamicObject) => FieldError[])[] {
  if (!hasRules(schema)) return [];
  // Compiled with the first object: many definitions are served, and few are written to.
  let root: RuleNode | undefined;
  return [
    (object, current) => {
      root ??= new RuleNode(schema, true);
      const run = new Run();
      run.visit(root, { value: object, old: current, aboveIsKept: () => false }, "");
      return run.errors;
    },
  ];
}

/** A schema with rules in it or below it. */
class RuleNode {
  readonly schema: OpenApiSchema;
  readonly rules: readonly CompiledRule[];
  readonly properties = new Map<string, RuleNode>();
  readonly additional: RuleNode | undefined;
  readonly items: RuleNode | undefined;

  constructor(schema: OpenApiSchema, isResource: boolean) {
    this.schema = schema;
    this.rules = schema["x-kubernetes-validations"]?.length ? compileRules(schema, typeOf(schema, isResource)) : [];
    for (const [name, part] of Object.entries(schema.properties ?? {})) {
      const node = nodeOf(part);
      if (node) this.properties.set(name, node);
    }
    const { additionalProperties } = schema;
    this.additional = typeof additionalProperties === "object" ? nodeOf(additionalProperties) : undefined;
    this.items = schema.items && nodeOf(schema.items);
  }
}

function nodeOf(schema: OpenApiSchema): RuleNode | undefined {
  return hasRules(schema) ? new RuleNode(schema, schema["x-kubernetes-embedded-resource"] === true) : undefined;
}

function typeOf(schema: OpenApiSchema, isResource: boolean): CelType {
  return typeFromSchema(schema, { name: "self", isResource }) ?? { kind: "dyn" };
}

/** A value and what it replaces, if that can be told. */
interface Place {
  readonly value: unknown;
  readonly old: unknown;
  /** Whether what lies above is what it was; then this is too. */
  readonly aboveIsKept: () => boolean;
}

/** One object's check: what was found, and what is left to spend. */
class Run {
  readonly errors: FieldError[] = [];
  #budget = OBJECT_BUDGET;
  #isSpent = false;

  visit(node: RuleNode, { value, old, aboveIsKept }: Place, path: Path): void {
    if (this.#isSpent || value === null || value === undefined) return;
    const isKept = once(() => aboveIsKept() || (old !== undefined && equal(value, old)));
    this.#apply(node, value, old ?? undefined, isKept, path);

    const below = (inner: unknown, before: unknown): Place => ({ value: inner, old: before, aboveIsKept: isKept });
    if (Array.isArray(value) && node.items) {
      const before = byKeys(node.schema, old);
      for (const [index, item] of value.entries())
        this.visit(node.items, below(item, before(item)), indexPath(path, index));
    } else if (isObject(value)) {
      const before = isObject(old) ? old : {};
      for (const key of Object.keys(value)) {
        const named = node.properties.get(key);
        const child = named ?? node.additional;
        if (!child) continue;
        const at = named ? childPath(path, key) : keyPath(path, key);
        this.visit(child, below(value[key], Object.hasOwn(before, key) ? before[key] : undefined), at);
      }
    }
  }

  #apply(node: RuleNode, self: unknown, old: unknown, isKept: () => boolean, path: Path): void {
    for (const compiled of node.rules) {
      if (this.#isSpent) return;
      const { rule, program, error, usesOldSelf } = compiled;
      const at = path === "" ? ROOT : path;
      if (error !== undefined) this.errors.push(field.invalid(at, node.schema.type, `rule compile error: ${error}`));
      if (!program || (usesOldSelf && old === undefined && !rule.optionalOldSelf)) continue;
      if (this.#budget <= 0) {
        this.#stop(
          at,
          node,
          "validation failed due to running out of cost budget, no further validation rules will be run",
        );
        return;
      }
      const bindings = bindingsOf(compiled, self, old);
      const holds = this.#evaluate(program, bindings, node, compiled, at);
      if (holds !== false) continue;
      const found = this.#failure(compiled, bindings, self, node, path);
      // What did not change was accepted once; only rules about change look at it again.
      if (found && (usesOldSelf || !isKept())) this.errors.push(found);
    }
  }

  /** Whether the rule holds; undefined where it could not be told, which is reported. */
  #evaluate(
    program: Program,
    bindings: Record<string, unknown>,
    node: RuleNode,
    { rule }: CompiledRule,
    at: Path,
  ): boolean | undefined {
    try {
      const { value, cost } = program.run(bindings, { costLimit: CALL_LIMIT });
      this.#budget -= cost;
      return value === true;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      this.#budget -= error.cost;
      const text = shortened(rule);
      if (error.kind === "cost") {
        this.#stop(
          at,
          node,
          `'${error.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${text}`,
        );
      } else if (error.message.startsWith("no such overload")) {
        const detail = `'${error.message}': call arguments did not match a supported operator, function or macro signature for rule: ${text}`;
        this.errors.push(field.invalid(at, node.schema.type, detail));
      } else {
        this.errors.push(field.invalid(at, node.schema.type, `${error.message} evaluating rule: ${text}`));
      }
      return undefined;
    }
  }

  #stop(at: Path, node: RuleNode, detail: string): void {
    this.errors.push(field.invalid(at, node.schema.type, detail));
    this.#isSpent = true;
  }

  #failure(
    compiled: CompiledRule,
    bindings: Record<string, unknown>,
    self: unknown,
    node: RuleNode,
    path: Path,
  ): FieldError | undefined {
    const { rule, fieldPath } = compiled;
    const at = joined(path, fieldPath);
    const detail =
      this.#message(compiled, bindings, node, at) ?? (rule.message?.trim() || `failed rule: ${rule.rule.trim()}`);
    if (this.#isSpent) return undefined;
    const { type } = node.schema;
    const hasShape = type === "object" || type === "array";
    switch (rule.reason) {
      case "FieldValueForbidden":
        return field.forbidden(at, detail);
      case "FieldValueRequired":
        return field.required(at, detail);
      case "FieldValueDuplicate":
        return hasShape
          ? { reason: "FieldValueDuplicate", field: at, message: "Duplicate value" }
          : field.duplicate(at, self);
      default:
        // Objects and lists are not repeated: they may be long, and may hold what errors should not.
        return hasShape
          ? { reason: "FieldValueInvalid", field: at, message: `Invalid value: ${detail}` }
          : field.invalid(at, self, detail);
    }
  }

  /** What the rule's own expression says about a failure; undefined where it fails or says nothing usable. */
  #message(
    { message, rule }: CompiledRule,
    bindings: Record<string, unknown>,
    node: RuleNode,
    at: Path,
  ): string | undefined {
    if (!message) return undefined;
    try {
      const { value, cost } = message.run(bindings, { costLimit: CALL_LIMIT });
      if (cost > this.#budget) {
        this.#stop(
          at,
          node,
          "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run",
        );
        return undefined;
      }
      this.#budget -= cost;
      const text = typeof value === "string" ? value.trim() : "";
      return text === "" || text.includes("\n") || text.length > LONGEST_MESSAGE ? undefined : text;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      this.#budget -= error.cost;
      if (error.kind === "cost") {
        this.#stop(
          at,
          node,
          `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`,
        );
      }
      return undefined;
    }
  }
}

function bindingsOf({ rule, usesOldSelf }: CompiledRule, self: unknown, old: unknown): Record<string, unknown> {
  if (!usesOldSelf) return { self };
  if (!rule.optionalOldSelf) return { self, oldSelf: old };
  return { self, oldSelf: old === undefined ? Optional.none : old };
}

function shortened({ message, rule }: { message?: string; rule: string }): string {
  return (message || rule).trim();
}

function joined(path: Path, below: Path): Path {
  if (below === "") return path === "" ? ROOT : path;
  return path === "" || below.startsWith("[") ? `${path}${below}` : `${path}.${below}`;
}

/** Computes when first asked: most objects break no rule, and need not be compared. */
function once(compute: () => boolean): () => boolean {
  let known: boolean | undefined;
  return () => {
    known ??= compute();
    return known;
  };
}

/** Finds the item that another replaces: only lists that are maps can tell. */
function byKeys(schema: OpenApiSchema, old: unknown): (item: unknown) => unknown {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (schema["x-kubernetes-list-type"] !== "map" || !Array.isArray(old)) return () => undefined;
  const identity = (item: unknown) =>
    JSON.stringify(keys.map((key) => (isObject(item) && Object.hasOwn(item, key) ? String(item[key]) : null)));
  const known = new Map(old.map((item) => [identity(item), item]));
  return (item) => known.get(identity(item));
}
