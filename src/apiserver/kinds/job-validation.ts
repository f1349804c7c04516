/** What is wrong with the wish for a Job, on its own or in a CronJob. */

import { IntervalSet, intervalsProblem } from "#lib/intervals";
import { equal, isObject } from "#lib/json";
import { dns1123Subdomain, qualifiedName } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import { at, type Fields, fieldsAt, isAbsent, listAt, numberAt, objectsAt, textAt } from "./fields.ts";
import { oneOf, validatePodTemplate } from "./pod-validation.ts";

const MOST_INDEXED_PODS = 100_000;
const MANY_COMPLETIONS = 100_000;
const MOST_WITH_MANY_COMPLETIONS = 10_000;
const MOST_RULES = 20;
const MOST_EXIT_CODES = 255;
const LONGEST_MANAGER = 63;
const LONGEST_INDEXES = 64 * 1024;
const RESTART_POLICIES = ["OnFailure", "Never"];

const COUNTS = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
];

/** All but the selector, which a Job gets when it is made and a template of Jobs never has. */
export function jobSpecErrors(spec: Fields, path: string): FieldError[] {
  return [
    ...COUNTS.flatMap((key) => countErrors(spec, key, path)),
    ...managerErrors(at(spec, "managedBy"), `${path}.managedBy`),
    ...(isAbsent(spec.completionMode) ? [] : oneOf(spec, "completionMode", ["NonIndexed", "Indexed"], path)),
    ...(spec.completionMode === "Indexed" ? indexedErrors(spec, path) : notIndexedErrors(spec, path)),
    ...failurePolicyErrors(spec, `${path}.podFailurePolicy.rules`),
    ...replacementErrors(spec, `${path}.podReplacementPolicy`),
    ...templateErrors(spec, `${path}.template`),
  ];
}

function countErrors(spec: Fields, key: string, path: string): FieldError[] {
  const count = numberAt(spec, key) ?? 0;
  return count < 0 ? [field.invalid(`${path}.${key}`, count, "must be greater than or equal to 0")] : [];
}

function managerErrors(manager: unknown, path: string): FieldError[] {
  if (isAbsent(manager)) return [];
  if (manager === "") return [field.required(path)];
  const [host = "", ...rest] = String(manager).split("/");
  const errors: FieldError[] = [];
  if (host === "" || rest.join("/") === "") {
    errors.push(field.invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")'));
  } else {
    errors.push(...dns1123Subdomain(host).map((problem) => field.invalid(path, host, problem)));
  }
  if (String(manager).length > LONGEST_MANAGER) errors.push(field.tooLong(path, LONGEST_MANAGER));
  return errors;
}

function indexedErrors(spec: Fields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const [completions, parallelism = 0, maxFailed] = ["completions", "parallelism", "maxFailedIndexes"].map((key) =>
    numberAt(spec, key),
  );
  const perIndex = !isAbsent(spec.backoffLimitPerIndex);
  const atMost = (key: string, value: number | undefined, most: number, when = "") => {
    if (value === undefined || value <= most) return;
    errors.push(field.invalid(`${path}.${key}`, value, `must be less than or equal to ${most}${when}`));
  };
  if (completions === undefined) {
    errors.push(field.required(`${path}.completions`, "when completion mode is Indexed"));
  }
  if (maxFailed !== undefined && !perIndex) {
    errors.push(field.required(`${path}.backoffLimitPerIndex`, "when maxFailedIndexes is specified"));
  }
  atMost("parallelism", parallelism, MOST_INDEXED_PODS, " when completion mode is Indexed");
  atMost("maxFailedIndexes", maxFailed, MOST_INDEXED_PODS);
  if (maxFailed !== undefined && completions !== undefined && maxFailed > completions) {
    errors.push(field.invalid(`${path}.maxFailedIndexes`, maxFailed, "must be less than or equal to completions"));
  }
  if (perIndex && completions !== undefined && completions > MANY_COMPLETIONS) {
    const when = ` when completions are above ${MANY_COMPLETIONS} and used with backoff limit per index`;
    if (maxFailed === undefined) {
      const problem = `must be specified when completions is above ${MANY_COMPLETIONS}`;
      errors.push(field.required(`${path}.maxFailedIndexes`, problem));
    }
    atMost("parallelism", parallelism, MOST_WITH_MANY_COMPLETIONS, when);
    atMost("maxFailedIndexes", maxFailed, MOST_WITH_MANY_COMPLETIONS, when);
  }
  return [...errors, ...successPolicyErrors(spec, completions ?? 0, `${path}.successPolicy.rules`)];
}

function notIndexedErrors(spec: Fields, path: string): FieldError[] {
  const errors = ["backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"].flatMap((key) =>
    isAbsent(spec[key]) ? [] : [field.invalid(`${path}.${key}`, spec[key], "requires indexed completion mode")],
  );
  if (!isAbsent(spec.maxFailedIndexes) && isAbsent(spec.backoffLimitPerIndex)) {
    errors.push(field.required(`${path}.backoffLimitPerIndex`, "when maxFailedIndexes is specified"));
  }
  return errors;
}

function successPolicyErrors(spec: Fields, completions: number, path: string): FieldError[] {
  if (!isObject(spec.successPolicy)) return [];
  const rules = objectsAt(spec.successPolicy, "rules");
  if (rules.length === 0) {
    return [field.required(path, "at least one rules must be specified when the successPolicy is specified")];
  }
  return [
    ...(rules.length > MOST_RULES ? [field.tooMany(path, rules.length, MOST_RULES)] : []),
    ...rules.flatMap((rule, index) => successRuleErrors(rule, completions, `${path}[${index}]`)),
  ];
}

function successRuleErrors(rule: Fields, completions: number, path: string): FieldError[] {
  const indexes = at(rule, "succeededIndexes");
  const count = numberAt(rule, "succeededCount");
  if (isAbsent(indexes) && count === undefined) {
    return [field.required(path, "at least one of succeededCount or succeededIndexes must be specified")];
  }
  const errors: FieldError[] = [];
  const atMost = (most: number, what: string) => {
    if (count === undefined || count <= most) return;
    const problem = `must be less than or equal to ${most} (${what})`;
    errors.push(field.invalid(`${path}.succeededCount`, count, problem));
  };
  if (typeof indexes === "string") {
    const where = `${path}.succeededIndexes`;
    if (indexes.length > LONGEST_INDEXES) errors.push(field.tooLong(where, LONGEST_INDEXES));
    const problem = intervalsProblem(indexes, completions);
    if (problem) errors.push(field.invalid(where, indexes, `error parsing succeededIndexes: ${problem}`));
    const total = problem ? 0 : IntervalSet.parse(indexes, completions).size;
    atMost(total, "the number of indexes in the specified succeededIndexes field");
  }
  if (count !== undefined && count < 0) {
    errors.push(field.invalid(`${path}.succeededCount`, count, "must be greater than or equal to 0"));
  }
  atMost(completions, "the number of specified completions");
  return errors;
}

const ACTIONS = ["Count", "FailIndex", "FailJob", "Ignore"];

function failurePolicyErrors(spec: Fields, path: string): FieldError[] {
  const rules = objectsAt(spec, "podFailurePolicy", "rules");
  return [
    ...(rules.length > MOST_RULES ? [field.tooMany(path, rules.length, MOST_RULES)] : []),
    ...rules.flatMap((rule, index) => failureRuleErrors(spec, rule, `${path}[${index}]`)),
  ];
}

function failureRuleErrors(spec: Fields, rule: Fields, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const conditions = objectsAt(rule, "onPodConditions");
  if (rule.action === "") {
    const quoted = ACTIONS.map((action) => `"${action}"`).join(" ");
    errors.push(field.required(`${path}.action`, `valid values: [${quoted}]`));
  } else if (!ACTIONS.includes(textAt(rule, "action"))) {
    errors.push(field.notSupported(`${path}.action`, rule.action, ACTIONS));
  } else if (rule.action === "FailIndex" && isAbsent(spec.backoffLimitPerIndex)) {
    errors.push(field.invalid(`${path}.action`, rule.action, "requires the backoffLimitPerIndex to be set"));
  }
  const hasCodes = isObject(rule.onExitCodes);
  if (hasCodes) errors.push(...exitCodeErrors(spec, fieldsAt(rule, "onExitCodes"), `${path}.onExitCodes`));
  errors.push(...conditionErrors(conditions, `${path}.onPodConditions`));
  if (hasCodes === conditions.length > 0) {
    const problem = hasCodes
      ? "specifying both OnExitCodes and OnPodConditions is not supported"
      : "specifying one of OnExitCodes and OnPodConditions is required";
    errors.push(field.invalid(path, null, problem));
  }
  return errors;
}

function exitCodeErrors(spec: Fields, rule: Fields, path: string): FieldError[] {
  const { operator } = rule;
  const errors = oneOf(rule, "operator", ["In", "NotIn"], path);
  const containers = ["containers", "initContainers"]
    .flatMap((list) => objectsAt(spec, "template", "spec", list))
    .map(({ name }) => name);
  if (!isAbsent(rule.containerName) && !containers.includes(rule.containerName)) {
    const problem = "must be one of the container or initContainer names in the pod template";
    errors.push(field.invalid(`${path}.containerName`, rule.containerName, problem));
  }
  const values = listAt(rule, "values").map(Number);
  const where = `${path}.values`;
  if (values.length === 0) errors.push(field.invalid(where, values, "at least one value is required"));
  if (values.length > MOST_EXIT_CODES) errors.push(field.tooMany(where, values.length, MOST_EXIT_CODES));
  values.forEach((value, index) => {
    if (operator === "In" && value === 0) {
      errors.push(field.invalid(`${where}[${index}]`, value, "must not be 0 for the In operator"));
    }
    if (values.indexOf(value) < index) errors.push(field.duplicate(`${where}[${index}]`, value));
  });
  const inOrder = values.toSorted((a, b) => a - b);
  if (!equal(values, inOrder)) errors.push(field.invalid(where, values, "must be ordered"));
  return errors;
}

function conditionErrors(patterns: readonly Fields[], path: string): FieldError[] {
  return [
    ...(patterns.length > MOST_RULES ? [field.tooMany(path, patterns.length, MOST_RULES)] : []),
    ...patterns.flatMap((pattern, index) => {
      const type = textAt(pattern, "type");
      return [
        ...qualifiedName(type).map((problem) => field.invalid(`${path}[${index}].type`, type, problem)),
        ...oneOf(pattern, "status", ["False", "True", "Unknown"], `${path}[${index}]`),
      ];
    }),
  ];
}

/** Whoever judges failures has to wait for them. */
function replacementErrors(spec: Fields, path: string): FieldError[] {
  const policy = at(spec, "podReplacementPolicy");
  const allowed = isObject(spec.podFailurePolicy) ? ["Failed"] : ["Failed", "TerminatingOrFailed"];
  return isAbsent(policy) || allowed.some((each) => each === policy) ? [] : [field.notSupported(path, policy, allowed)];
}

function templateErrors(spec: Fields, path: string): FieldError[] {
  const template = fieldsAt(spec, "template");
  const policy = textAt(template, "spec", "restartPolicy");
  const errors = validatePodTemplate(template, path, [...RESTART_POLICIES, "Always"]);
  const where = `${path}.spec.restartPolicy`;
  if (policy === "Always") {
    const quoted = RESTART_POLICIES.map((value) => `"${value}"`).join(", ");
    errors.push(field.required(where, `valid values: ${quoted}`));
  } else if (policy === "OnFailure" && isObject(spec.podFailurePolicy)) {
    errors.push(field.invalid(where, policy, 'only "Never" is supported when podFailurePolicy is specified'));
  }
  return errors;
}
