/** What is wrong with the rules that a definition's schema brings: they must compile, and stay within budgets. */
import type { OpenApiSchema, ValidationRule } from "#api/schema";
import { type CelType, LARGEST_REQUEST, typeFromSchema } from "#lib/cel";
import { type FieldError, field } from "../errors.ts";
import { childPath, indexPath, keyPath, type Path } from "./path.ts";
import { type CompiledRule, compileRules, hasRules } from "./rule-compiler.ts";
import { fieldPathOf } from "./rule-path.ts";

/** The most that one rule may cost in the worst case, and all rules of a schema together. */
const RULE_LIMIT = 10_000_000;
const SCHEMA_LIMIT = 100_000_000;
/** Of what exceeds the limit of a schema, the worst are named. */
const MOST_NAMED = 4;

const REASONS = ["FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired", "FieldValueDuplicate"];

/** The complaints about all rules of a schema that is structural. */
export function ruleErrors(schema: OpenApiSchema, path: Path): FieldError[] {
  if (!hasRules(schema)) return [];
  const check = new RuleCheck();
  check.visit(schema, path, { copies: 1, isResource: true });
  return [...check.errors, ...check.totalErrors(path)];
}

interface Where {
  /** How many values of this schema an object can have; undefined where nothing bounds them. */
  readonly copies: number | undefined;
  readonly isResource: boolean;
  /** The list above whose items cannot be told apart, so that none has an old value. */
  readonly uncorrelatable?: Path;
}

class RuleCheck {
  readonly errors: FieldError[] = [];
  readonly #costs: { path: Path; cost: number }[] = [];

  visit(schema: OpenApiSchema, path: Path, where: Where): void {
    if (!hasRules(schema)) return;
    const inner = (isEmbedded: boolean | undefined): Where => ({
      ...where,
      copies: product(where.copies, mostElements(schema)),
      isResource: isEmbedded === true,
    });
    const { properties = {}, additionalProperties, items } = schema;
    for (const [name, part] of Object.entries(properties)) {
      this.visit(part, keyPath(childPath(path, "properties"), name), inner(part["x-kubernetes-embedded-resource"]));
    }
    if (typeof additionalProperties === "object") {
      const at = childPath(path, "additionalProperties");
      this.visit(additionalProperties, at, inner(additionalProperties["x-kubernetes-embedded-resource"]));
    }
    if (items) {
      const isMap = schema["x-kubernetes-list-type"] === "map";
      this.visit(items, childPath(path, "items"), {
        ...inner(items["x-kubernetes-embedded-resource"]),
        ...(!isMap && where.uncorrelatable === undefined && { uncorrelatable: path }),
      });
    }
    this.#rules(schema, childPath(path, "x-kubernetes-validations"), where);
  }

  totalErrors(path: Path): FieldError[] {
    const total = this.#costs.reduce((sum, { cost }) => sum + cost, 0);
    if (total <= SCHEMA_LIMIT) return [];
    const worst = this.#costs
      .filter(({ cost }) => cost >= SCHEMA_LIMIT / 100)
      .sort((a, b) => b.cost - a.cost)
      .slice(0, MOST_NAMED);
    const part = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    const what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
    return [
      ...worst.map(({ path: at }) => field.forbidden(at, part)),
      field.forbidden(path, costText(what, total, SCHEMA_LIMIT)),
    ];
  }

  #rules(schema: OpenApiSchema, path: Path, where: Where): void {
    const rules = schema["x-kubernetes-validations"] ?? [];
    if (rules.length === 0) return;
    const wrong = rules.flatMap((rule, index) => shapeErrors(rule, schema, indexPath(path, index)));
    this.errors.push(...wrong);
    // Rules about a schema that is wrong would be complained about for reasons that are not theirs.
    if (wrong.length > 0) return;
    const type = typeFromSchema(schema, { name: "self", isResource: where.isResource });
    if (!type) {
      this.errors.push(field.invalid(path, schema.type, "rules cannot be written for values without a type"));
      return;
    }
    const copies = where.copies ?? Math.floor(LARGEST_REQUEST / (smallest(type) + 1));
    for (const [index, compiled] of compileRules(schema, type).entries()) {
      this.#rule(compiled, indexPath(path, index), copies, where.uncorrelatable);
    }
  }

  #rule(compiled: CompiledRule, path: Path, copies: number, uncorrelatable: Path | undefined): void {
    const { rule, program, error, message, messageError, usesOldSelf } = compiled;
    const ruleAt = childPath(path, "rule");
    const messageAt = childPath(path, "messageExpression");
    if (program) this.#cost(ruleAt, "estimated rule cost", program.estimatedCost.max * copies);
    if (error !== undefined) this.errors.push(invalidRule(ruleAt, rule, error));
    if (messageError !== undefined) this.errors.push(invalidRule(messageAt, rule, messageError));
    if (message) this.#cost(messageAt, "estimated messageExpression cost", message.estimatedCost.max);
    if (usesOldSelf && uncorrelatable !== undefined) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelatable}`;
      this.errors.push(field.invalid(ruleAt, rule.rule, detail));
    }
    if (!usesOldSelf && rule.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      this.errors.push(field.invalid(childPath(path, "optionalOldSelf"), rule.optionalOldSelf, detail));
    }
  }

  #cost(path: Path, what: string, cost: number): void {
    this.#costs.push({ path, cost });
    if (cost > RULE_LIMIT) this.errors.push(field.forbidden(path, costText(what, cost, RULE_LIMIT)));
  }
}

/** An error that repeats the rule, with everything it could say, as Go writes JSON. */
function invalidRule(path: Path, given: ValidationRule, detail: string): FieldError {
  const { rule, message = "", messageExpression = "", reason = null, fieldPath = "", optionalOldSelf = null } = given;
  const shown = JSON.stringify({
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf,
  }).replace(/[<>&]/g, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
  return { reason: "FieldValueInvalid", field: path, message: `Invalid value: ${shown}: ${detail}` };
}

/** What is wrong with a rule before its expressions are looked at. */
function shapeErrors(rule: ValidationRule, schema: OpenApiSchema, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const at = (name: string) => childPath(path, name);
  const { message = "", messageExpression = "", fieldPath = "" } = rule;
  const hasBreak = (text: string) => /[\n\r]/.test(text);
  if (rule.rule.trim() === "") errors.push(field.required(at("rule"), "rule is not specified"));
  else if (message !== "" && message.trim() === "") {
    errors.push(field.invalid(at("message"), message, "must be non-empty if specified"));
  } else if (hasBreak(message.trim())) {
    errors.push(field.invalid(at("message"), message, "must not contain line breaks"));
  } else if (hasBreak(rule.rule.trim()) && message.trim() === "") {
    errors.push(field.required(at("message"), "message must be specified if rule contains line breaks"));
  }
  if (messageExpression !== "" && messageExpression.trim() === "") {
    errors.push(field.required(at("messageExpression"), "messageExpression must be non-empty if specified"));
  }
  if (rule.reason !== undefined && !REASONS.includes(rule.reason)) {
    errors.push(field.notSupported(at("reason"), rule.reason, [...REASONS].sort()));
  }
  if (fieldPath === "") return errors;
  if (fieldPath.trim() === "") errors.push(field.invalid(at("fieldPath"), fieldPath, "must be non-empty if specified"));
  if (hasBreak(fieldPath)) errors.push(field.invalid(at("fieldPath"), fieldPath, "must not contain line breaks"));
  if (fieldPathOf(fieldPath, schema) === undefined) {
    errors.push(field.invalid(at("fieldPath"), fieldPath, "must be a valid path"));
  }
  return errors;
}

/** By how much a schema multiplies the values below it; undefined where nothing bounds it. */
function mostElements({ type, additionalProperties, maxProperties, maxItems }: OpenApiSchema): number | undefined {
  if (type === "object" && additionalProperties) return maxProperties;
  return type === "array" ? maxItems : 1;
}

function product(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? undefined : left * Math.max(0, right);
}

function smallest({ sizes }: CelType): number {
  return sizes?.smallestJson ?? 1;
}

function costText(what: string, cost: number, limit: number): string {
  const factor = cost / limit;
  const shown = factor > 100 ? "more than 100x" : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`;
}
