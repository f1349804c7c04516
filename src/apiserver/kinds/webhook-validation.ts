/** What makes a configuration of webhooks acceptable. */
import type { MutatingWebhook, MutatingWebhookConfiguration, WebhookRule } from "#api/admissionregistration";
import type { DynamicObject } from "#api/meta";
import { dns1035Label, dns1123Subdomain } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import { clientConfigErrors, conditionErrors } from "../webhooks/index.ts";
import { isAbsent } from "./fields.ts";
import { validateLabelSelector } from "./validation.ts";

const LONGEST_SECONDS = 30;
const REVIEW_VERSIONS = ["v1", "v1beta1"];
const OPERATIONS = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES = ["*", "Cluster", "Namespaced"];

export function webhookErrors(configuration: DynamicObject): FieldError[] {
  const { webhooks = [] } = configuration as unknown as MutatingWebhookConfiguration;
  const names = new Set<string>();
  return webhooks.flatMap((webhook, index) => {
    const path = `webhooks[${index}]`;
    const errors = [
      ...errorsOf(webhook, path),
      ...reviewVersionErrors(webhook.admissionReviewVersions ?? [], `${path}.admissionReviewVersions`),
    ];
    if (webhook.name && names.has(webhook.name)) errors.push(field.duplicate(`${path}.name`, webhook.name));
    names.add(webhook.name);
    return errors;
  });
}

function errorsOf(webhook: MutatingWebhook, path: string): FieldError[] {
  const { rules = [], namespaceSelector, objectSelector, matchConditions = [] } = webhook;
  return [
    ...nameErrors(webhook.name ?? "", `${path}.name`),
    ...rules.flatMap((rule, index) => ruleErrors(rule, `${path}.rules[${index}]`)),
    ...oneOf(webhook.failurePolicy, ["Fail", "Ignore"], `${path}.failurePolicy`),
    ...oneOf(webhook.matchPolicy, ["Equivalent", "Exact"], `${path}.matchPolicy`),
    ...sideEffectErrors(webhook.sideEffects, `${path}.sideEffects`),
    ...timeoutErrors(webhook.timeoutSeconds, `${path}.timeoutSeconds`),
    ...validateLabelSelector(namespaceSelector, `${path}.namespaceSelector`),
    ...validateLabelSelector(objectSelector, `${path}.objectSelector`),
    ...oneOf(webhook.reinvocationPolicy, ["IfNeeded", "Never"], `${path}.reinvocationPolicy`),
    ...clientConfigErrors(webhook.clientConfig, `${path}.clientConfig`),
    ...conditionErrors(matchConditions, `${path}.matchConditions`),
  ];
}

function nameErrors(name: string, path: string): FieldError[] {
  if (name === "") return [field.required(path)];
  const problems = dns1123Subdomain(name);
  if (problems.length > 0) return [field.invalid(path, name, problems.join(","))];
  if (name.split(".").length >= 3) return [];
  return [field.invalid(path, name, "should be a domain with at least three segments separated by dots")];
}

function oneOf(value: string | undefined, allowed: readonly string[], path: string): FieldError[] {
  return value === undefined || allowed.includes(value) ? [] : [field.notSupported(path, value, allowed)];
}

/** What a configuration must say and does not is null. */
function sideEffectErrors(sideEffects: string | null | undefined, path: string): FieldError[] {
  const allowed = ["None", "NoneOnDryRun"];
  if (isAbsent(sideEffects)) return [field.required(path, `must specify one of ${allowed.join(", ")}`)];
  return oneOf(sideEffects, allowed, path);
}

function timeoutErrors(seconds: number | undefined, path: string): FieldError[] {
  if (seconds === undefined || (seconds >= 1 && seconds <= LONGEST_SECONDS)) return [];
  return [field.invalid(path, seconds, `the timeout value must be between 1 and ${LONGEST_SECONDS} seconds`)];
}

function reviewVersionErrors(versions: readonly string[], path: string): FieldError[] {
  if (versions.length === 0) return [field.required(path, `must specify one of ${REVIEW_VERSIONS.join(", ")}`)];
  const seen = new Set<string>();
  const errors = versions.flatMap((version, index) => {
    const at = `${path}[${index}]`;
    if (seen.has(version)) return [field.invalid(at, version, "duplicate version")];
    seen.add(version);
    return dns1035Label(version).map((problem) => field.invalid(at, version, problem));
  });
  if (versions.some((version) => REVIEW_VERSIONS.includes(version))) return errors;
  return [...errors, field.invalid(path, versions, `must include at least one of ${REVIEW_VERSIONS.join(", ")}`)];
}

function ruleErrors(rule: WebhookRule, path: string): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  return [
    ...listErrors(operations, `${path}.operations`, "operations"),
    ...operations.flatMap((operation, index) =>
      OPERATIONS.includes(operation) ? [] : [field.notSupported(`${path}.operations[${index}]`, operation, OPERATIONS)],
    ),
    ...listErrors(apiGroups, `${path}.apiGroups`, "API groups"),
    ...listErrors(apiVersions, `${path}.apiVersions`, "API versions"),
    ...apiVersions.flatMap((version, index) =>
      version === "" ? [field.required(`${path}.apiVersions[${index}]`)] : [],
    ),
    ...resourceErrors(resources, `${path}.resources`),
    ...oneOf(scope, SCOPES, `${path}.scope`),
  ];
}

/** A list must name something, and a star stands for everything. */
function listErrors(values: readonly string[], path: string, what: string): FieldError[] {
  if (values.length === 0) return [field.required(path)];
  if (values.length === 1 || !values.includes("*")) return [];
  return [field.invalid(path, values, `if '*' is present, must not specify other ${what}`)];
}

function resourceErrors(resources: readonly string[], path: string): FieldError[] {
  if (resources.length === 0) return [field.required(path)];
  const errors: FieldError[] = [];
  /** Resources that are named with all their parts, and parts that are named for all resources. */
  const whole = new Set<string>();
  const everywhere = new Set<string>();
  let isLastPlain = false;
  for (const [index, name] of resources.entries()) {
    const at = `${path}[${index}]`;
    const [resource = "", part] = splitOnce(name);
    if (name === "") errors.push(field.required(at));
    else if (part === undefined) isLastPlain = name !== "*";
    else {
      const stray = (pattern: string) =>
        errors.push(field.invalid(at, name, `if '${pattern}' is present, must not specify ${name}`));
      if (whole.has(resource)) stray(`${resource}/*`);
      if (everywhere.has(part)) stray(`*/${part}`);
      if (part === "*") whole.add(resource);
      if (resource === "*") everywhere.add(part);
    }
  }
  if (resources.length > 1 && resources.includes("*/*")) {
    errors.push(field.invalid(path, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes("*") && isLastPlain) {
    const flaw = "if '*' is present, must not specify other resources without subresources";
    errors.push(field.invalid(path, resources, flaw));
  }
  return errors;
}

function splitOnce(name: string): [resource: string, part?: string] {
  const slash = name.indexOf("/");
  return slash < 0 ? [name] : [name.slice(0, slash), name.slice(slash + 1)];
}
