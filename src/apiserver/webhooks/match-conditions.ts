/** Conditions in CEL under which a webhook is asked. */
import type { AdmissionRequest } from "#api/admission";
import type { MatchCondition } from "#api/admissionregistration";
import type { DynamicObject } from "#api/meta";
import {
  BOOL,
  CelError,
  createEnvironment,
  DYN,
  type Environment,
  formatType,
  listOf,
  mapOf,
  objectType,
  type Program,
  STRING,
} from "#lib/cel";
import { qualifiedName } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { UserInfo } from "../resource.ts";
import {
  type Authorize,
  AuthorizerType,
  authorizerLibrary,
  authorizerValue,
  ResourceCheckType,
  resourceCheck,
} from "./authorizer-library.ts";

/** What one condition may cost, and all conditions of a webhook together. */
const CALL_LIMIT = 1_000_000;
const BUDGET = 2_500_000;
const MOST_CONDITIONS = 64;

/** What conditions are about. */
export interface ConditionFacts {
  /** Without the objects, which have variables of their own. */
  readonly request: Omit<AdmissionRequest, "uid" | "object" | "oldObject">;
  readonly object: DynamicObject | undefined;
  readonly oldObject: DynamicObject | undefined;
  readonly user: UserInfo;
  readonly authorize: Authorize;
}

/** Whether all conditions hold. One that does not settles it; otherwise `errors` tells what could not be told. */
export interface ConditionVerdict {
  readonly holds: boolean;
  readonly errors: readonly string[];
}

export type Conditions = (facts: ConditionFacts) => ConditionVerdict;

/** Compiled when they are first asked: many configurations are stored, and few of them match. */
export function conditionsOf(conditions: readonly MatchCondition[]): Conditions {
  let compiled: readonly Compiled[] | undefined;
  return (facts) => {
    compiled ??= conditions.map(({ expression }) => compile(expression));
    return evaluateAll(compiled, bindingsOf(facts));
  };
}

/** What is wrong with conditions; those that were stored before were accepted once. */
export function conditionErrors(conditions: readonly MatchCondition[], path: string): FieldError[] {
  const names = new Set<string>();
  const errors = conditions.flatMap(({ name = "", expression = "" }, index) => {
    const at = `${path}[${index}]`;
    const found = [...expressionErrors(expression.trim(), `${at}.expression`), ...nameErrors(name, `${at}.name`)];
    if (name !== "" && names.has(name)) found.push(field.duplicate(`${at}.name`, name));
    names.add(name);
    return found;
  });
  const isTooMany = conditions.length > MOST_CONDITIONS;
  return isTooMany ? [field.tooMany(path, conditions.length, MOST_CONDITIONS), ...errors] : errors;
}

function nameErrors(name: string, path: string): FieldError[] {
  if (name === "") return [field.required(path)];
  return qualifiedName(name).map((why) => field.invalid(path, name, why));
}

function expressionErrors(expression: string, path: string): FieldError[] {
  if (expression === "") return [field.required(path)];
  const { error } = compile(expression);
  return error === undefined ? [] : [field.invalid(path, expression, error)];
}

interface Compiled {
  readonly expression: string;
  /** Absent when it could not be compiled; then `error` says why. */
  readonly program?: Program;
  readonly error?: string;
}

function compile(expression: string): Compiled {
  try {
    const program = environment().compile(expression);
    const type = formatType(program.resultType);
    if (type !== "bool") return { expression, error: `must evaluate to bool but got ${type}` };
    return { expression, program };
  } catch (error) {
    if (error instanceof CelError) return { expression, error: `compilation failed: ${error.message}` };
    throw error;
  }
}

let known: Environment | undefined;

/** Made with the first condition, because most servers never see one. */
function environment(): Environment {
  known ??= createEnvironment({
    variables: {
      object: DYN,
      oldObject: DYN,
      request: requestType(),
      namespaceObject: objectType("kubernetes.Namespace", { metadata: DYN, spec: DYN, status: DYN }),
      authorizer: AuthorizerType,
      "authorizer.requestResource": ResourceCheckType,
    },
    functions: authorizerLibrary,
    strict: true,
  });
  return known;
}

function requestType() {
  const kind = objectType("kubernetes.GroupVersionKind", { group: STRING, version: STRING, kind: STRING });
  const resource = objectType("kubernetes.GroupVersionResource", { group: STRING, version: STRING, resource: STRING });
  const userInfo = objectType("kubernetes.UserInfo", {
    username: STRING,
    uid: STRING,
    groups: listOf(STRING),
    extra: mapOf(STRING, listOf(STRING)),
  });
  return objectType("kubernetes.AdmissionRequest", {
    kind,
    resource,
    subResource: STRING,
    requestKind: kind,
    requestResource: resource,
    requestSubResource: STRING,
    name: STRING,
    namespace: STRING,
    operation: STRING,
    userInfo,
    dryRun: BOOL,
    options: DYN,
  });
}

function bindingsOf({ request, object, oldObject, user, authorize }: ConditionFacts): Record<string, unknown> {
  const authorizer = authorizerValue(user, authorize);
  const { requestResource, requestSubResource, namespace, name } = request;
  return {
    object: object ?? null,
    oldObject: oldObject ?? null,
    request,
    namespaceObject: null,
    authorizer,
    "authorizer.requestResource": resourceCheck(authorizer, {
      group: requestResource.group,
      resource: requestResource.resource,
      ...(requestSubResource !== undefined && { subresource: requestSubResource }),
      ...(namespace !== undefined && { namespace }),
      ...(name !== undefined && { name }),
    }),
  };
}

function evaluateAll(conditions: readonly Compiled[], bindings: Record<string, unknown>): ConditionVerdict {
  const errors: string[] = [];
  let budget = BUDGET;
  for (const { expression, program, error } of conditions) {
    if (!program) {
      errors.push(`compilation error: ${error}`);
      continue;
    }
    const { value, cost, flaw } = run(program, bindings);
    budget -= cost;
    if (budget < 0) {
      const spent = "validation failed due to running out of cost budget, no further validation rules will be run";
      return { holds: true, errors: [spent] };
    }
    if (value === false) return { holds: false, errors: [] };
    if (flaw !== undefined) errors.push(`expression '${expression}' resulted in error: ${flaw}`);
  }
  return { holds: true, errors };
}

function run(program: Program, bindings: Record<string, unknown>): { value?: unknown; cost: number; flaw?: string } {
  try {
    return program.run(bindings, { costLimit: CALL_LIMIT });
  } catch (error) {
    if (error instanceof CelError) return { cost: error.cost, flaw: error.message };
    throw error;
  }
}
