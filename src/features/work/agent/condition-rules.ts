/** Conditions of a manifest that the work itself defines: by expressions, or by what is known of a kind. */
import { apiVersionOf, type DynamicObject, type Kind } from "#api/meta";
import { type ConditionRule, WorkCondition } from "#api/work";
import {
  BOOL,
  type CelValue,
  createEnvironment,
  DYN,
  declare,
  type Environment,
  MapValue,
  overload,
  type Program,
} from "#lib/cel";
import type { ConditionClaim } from "#lib/conditions";
import { isObject } from "#lib/json";
import { RuleReason } from "./reasons.ts";

/** What one expression may cost, and all of one manifest together; upstream's numbers. */
const COST_PER_CALL = 1_000_000;
const COST_PER_MANIFEST = 10_000_000;

const hasConditions = declare(
  "hasConditions",
  overload("has_conditions", "(dyn) -> bool", (value: CelValue) => {
    const conditions = value instanceof MapValue ? value.get("conditions") : undefined;
    return Array.isArray(conditions) && conditions.length > 0;
  }),
);
const RESULT = createEnvironment({ variables: { object: DYN }, functions: [hasConditions] });
const MESSAGE = createEnvironment({ variables: { object: DYN, result: BOOL }, functions: [hasConditions] });

/** What the rules say of an object. A rule of a kind that nothing is known of says nothing. */
export function ruledConditions(rules: readonly ConditionRule[], object: DynamicObject, kind: Kind): ConditionClaim[] {
  const purse = { left: COST_PER_MANIFEST };
  return rules.flatMap((rule) => {
    switch (rule.type) {
      case "CEL":
        return [byExpressions(rule, object, purse)];
      case "WellKnownConditions":
        return byKnowledge(rule, object, kind, purse) ?? [];
      default:
        return [
          {
            type: (rule as ConditionRule).condition,
            status: "Unknown" as const,
            reason: RuleReason.invalid,
            message: `unknown condition rule type ${String((rule as ConditionRule).type)}`,
          },
        ];
    }
  });
}

interface Purse {
  left: number;
}

function byExpressions(rule: ConditionRule, object: DynamicObject, purse: Purse): ConditionClaim {
  try {
    // The first that does not hold settles it.
    const holds = (rule.celExpressions ?? []).every((source) => isHolding(source, object, purse));
    return evaluated(rule, holds, object, purse);
  } catch (error) {
    return {
      type: rule.condition,
      status: "False",
      reason: RuleReason.expressionError,
      message: (error as Error).message,
    };
  }
}

function isHolding(source: string, object: DynamicObject, purse: Purse): boolean {
  const value = spend(programOf(RESULT, source), { object }, purse);
  if (typeof value !== "boolean") throw new Error(`${source} must be true or false, and is neither`);
  return value;
}

function evaluated(
  rule: ConditionRule,
  result: boolean,
  object: DynamicObject,
  purse: Purse,
  fallback = `Manifest is ${result ? "" : "not "}${rule.condition}`,
): ConditionClaim {
  return {
    type: rule.condition,
    status: result ? "True" : "False",
    reason: RuleReason.evaluated,
    message: messageOf(rule, result, object, purse) || rule.message || fallback,
  };
}

function messageOf({ messageExpression }: ConditionRule, result: boolean, object: DynamicObject, purse: Purse): string {
  if (!messageExpression) return "";
  const value = spend(programOf(MESSAGE, messageExpression), { object, result }, purse);
  if (typeof value !== "string") throw new Error(`${messageExpression} must be a text, and is none`);
  return value;
}

function spend(program: Program, bindings: Readonly<Record<string, unknown>>, purse: Purse): CelValue {
  const { value, cost } = program.run(bindings, { costLimit: Math.min(COST_PER_CALL, purse.left) });
  purse.left -= cost;
  return value;
}

/** Compiling costs more than running, and the same expressions come with every change of an object. */
const programs = new Map<Environment, Map<string, Program>>();
const MOST_PROGRAMS = 1_000;

function programOf(environment: Environment, source: string): Program {
  const known = programs.get(environment) ?? new Map<string, Program>();
  programs.set(environment, known);
  const found = known.get(source);
  if (found) return found;
  const program = environment.compile(source);
  const [oldest] = known.keys();
  if (known.size >= MOST_PROGRAMS && oldest !== undefined) known.delete(oldest);
  known.set(source, program);
  return program;
}

interface Finding {
  readonly holds: boolean;
  readonly message: string;
}

const KNOWN: Readonly<Record<string, (object: DynamicObject) => Finding>> = {
  [`batch/v1 Job ${WorkCondition.Complete}`]: ({ status }) => {
    const conditions = isObject(status) && Array.isArray(status.conditions) ? status.conditions.filter(isObject) : [];
    const holds = conditions.some(
      ({ type, status: is }) => (type === "Complete" || type === "Failed") && is === "True",
    );
    return { holds, message: holds ? "Job is finished" : "Job is not finished" };
  },
  [`v1 Pod ${WorkCondition.Complete}`]: ({ status }) => {
    const phase = isObject(status) && typeof status.phase === "string" ? status.phase : "";
    return { holds: phase === "Succeeded" || phase === "Failed", message: `Pod is in phase ${phase}` };
  },
};

function byKnowledge(rule: ConditionRule, object: DynamicObject, kind: Kind, purse: Purse): ConditionClaim | undefined {
  const known = KNOWN[`${apiVersionOf(kind)} ${kind.kind} ${rule.condition}`];
  if (!known) return undefined;
  const { holds, message } = known(object);
  try {
    return evaluated(rule, holds, object, purse, message);
  } catch (error) {
    const reason = RuleReason.expressionError;
    return { type: rule.condition, status: "False", reason, message: (error as Error).message };
  }
}
