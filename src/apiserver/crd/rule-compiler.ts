/** The rules of a schema (`x-kubernetes-validations`), compiled. */
import type { OpenApiSchema, ValidationRule } from "#api/schema";
import { CelError, type CelType, createEnvironment, formatType, optionalOf, type Program } from "#lib/cel";
import { fieldPathOf } from "./rule-path.ts";

export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Undefined where the rule is empty or could not be compiled; then `error` says why. */
  readonly program?: Program;
  readonly error?: string;
  readonly message?: Program;
  readonly messageError?: string;
  /** A rule about change: there must be an old value. */
  readonly usesOldSelf: boolean;
  /** Where failures are reported, below the rule's own place. */
  readonly fieldPath: string;
}

/** Compiles the rules of one schema, whose values have the given type. */
export function compileRules(schema: OpenApiSchema, type: CelType): CompiledRule[] {
  const rules = schema["x-kubernetes-validations"] ?? [];
  const environment = (oldSelf: CelType) => createEnvironment({ variables: { self: type, oldSelf }, strict: true });
  return rules.map((rule) => {
    const fieldPath = (rule.fieldPath && fieldPathOf(rule.fieldPath, schema)) || "";
    const empty = { rule, usesOldSelf: false, fieldPath };
    if (rule.rule.trim() === "") return empty;
    const env = environment(rule.optionalOldSelf ? optionalOf(type) : type);
    const compiled = attempt(() => env.compile(rule.rule));
    if (typeof compiled === "string") return { ...empty, error: `compilation failed: ${compiled}` };
    if (formatType(compiled.resultType) !== "bool") {
      return { ...empty, error: "cel expression must evaluate to a bool" };
    }
    const usesOldSelf = compiled.references.some(({ name }) => name === "oldSelf");
    return { ...empty, program: compiled, usesOldSelf, ...messageOf(rule, env.compile) };
  });
}

function messageOf(
  { messageExpression }: ValidationRule,
  compile: (source: string) => Program,
): { message?: Program; messageError?: string } {
  if (!messageExpression) return {};
  const compiled = attempt(() => compile(messageExpression));
  if (typeof compiled === "string") return { messageError: `messageExpression compilation failed: ${compiled}` };
  if (formatType(compiled.resultType) !== "string") {
    return { messageError: "messageExpression must evaluate to a string" };
  }
  return { message: compiled };
}

/** What was compiled, or the complaint. */
function attempt(compile: () => Program): Program | string {
  try {
    return compile();
  } catch (error) {
    if (error instanceof CelError) return error.message;
    throw error;
  }
}

/** Whether there are rules in a schema, or anywhere inside it. */
export function hasRules(schema: OpenApiSchema): boolean {
  if (schema["x-kubernetes-validations"]?.length) return true;
  return innerSchemas(schema).some(hasRules);
}

function innerSchemas({ properties, additionalProperties, items }: OpenApiSchema): OpenApiSchema[] {
  return [
    ...Object.values(properties ?? {}),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
    ...(items ? [items] : []),
  ];
}
