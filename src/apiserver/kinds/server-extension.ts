/** The groups through which others extend the server: webhooks, further API services, and its own limits. */
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { dns1123Subdomain } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import {
  at,
  ensure,
  type Fields,
  fieldsAt,
  fill,
  fillText,
  isAbsent,
  listAt,
  numberAt,
  objectsAt,
  textAt,
} from "./fields.ts";
import { oneOf } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/groups.ts";

const WEBHOOK_SECONDS = 10;
const LONGEST_WEBHOOK_SECONDS = 30;
const HTTPS = 443;

function webhookConfiguration(kind: string, plural: string, isMutating: boolean): Resource {
  return resource({
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind,
    plural,
    namespaced: false,
    table: tables.webhookConfigurations,
    tracksGeneration: true,
    unconditionalUpdate: false,
    default: (draft) => {
      for (const webhook of objectsAt(draft, "webhooks")) defaultWebhook(webhook, isMutating);
    },
    validate: webhookErrors,
  });
}

function defaultWebhook(webhook: Fields, isMutating: boolean): void {
  fillText(webhook, { failurePolicy: "Fail", matchPolicy: "Equivalent" });
  fill(webhook, { namespaceSelector: {}, objectSelector: {}, timeoutSeconds: WEBHOOK_SECONDS });
  if (isMutating) fillText(webhook, { reinvocationPolicy: "Never" });
  for (const rule of objectsAt(webhook, "rules")) fillText(rule, { scope: "*" });
  const service = at(webhook, "clientConfig", "service");
  if (isObject(service)) fill(service, { port: HTTPS });
}

function webhookErrors(configuration: DynamicObject): FieldError[] {
  const names = new Set<string>();
  return objectsAt(configuration, "webhooks").flatMap((webhook, index) => {
    const path = `webhooks[${index}]`;
    const name = textAt(webhook, "name");
    const errors = nameErrors(name, `${path}.name`);
    if (names.has(name)) errors.push(field.duplicate(`${path}.name`, name));
    names.add(name);

    if (isAbsent(webhook.sideEffects))
      errors.push(field.required(`${path}.sideEffects`, "must specify one of None, NoneOnDryRun"));
    else errors.push(...oneOf(webhook, "sideEffects", ["None", "NoneOnDryRun"], path));
    if (listAt(webhook, "admissionReviewVersions").length === 0) {
      errors.push(field.required(`${path}.admissionReviewVersions`, "must specify one of v1, v1beta1"));
    }
    const seconds = numberAt(webhook, "timeoutSeconds");
    if (seconds !== undefined && (seconds < 1 || seconds > LONGEST_WEBHOOK_SECONDS)) {
      errors.push(
        field.invalid(`${path}.timeoutSeconds`, seconds, "the timeout value must be between 1 and 30 seconds"),
      );
    }
    errors.push(...oneOf(webhook, "failurePolicy", ["Fail", "Ignore"], path));
    errors.push(...oneOf(webhook, "matchPolicy", ["Equivalent", "Exact"], path));
    const { url, service } = fieldsAt(webhook, "clientConfig");
    if (isAbsent(url) === isAbsent(service)) {
      errors.push(field.required(`${path}.clientConfig`, "exactly one of url or service is required"));
    }
    return errors;
  });
}

function nameErrors(name: string, path: string): FieldError[] {
  if (name === "") return [field.required(path)];
  const problems = dns1123Subdomain(name);
  if (name.split(".").length < 3) problems.push("should be a domain with at least three segments separated by dots");
  return problems.map((problem) => field.invalid(path, name, problem));
}

const API_SERVICE: GroupVersionKind = { group: "apiregistration.k8s.io", version: "v1", kind: "APIService" };

const apiServices = resource({
  ...API_SERVICE,
  plural: "apiservices",
  namespaced: false,
  categories: ["api-extensions"],
  table: tables.apiServices,
  hasStatus: true,
  unconditionalUpdate: false,
  default(draft) {
    const service = at(draft, "spec", "service");
    if (isObject(service)) fill(service, { port: HTTPS });
  },
  validate(object) {
    const { group, version } = fieldsAt(object, "spec");
    const expected = `${version ?? ""}.${group ?? ""}`;
    const { name } = object.metadata;
    return name === expected
      ? []
      : [field.invalid("metadata.name", name, `must be \`spec.version+"."+spec.group\`: "${expected}"`)];
  },
  subresources: [statusOf(API_SERVICE)],
});

const flowcontrol = (kind: string): GroupVersionKind => ({
  group: "flowcontrol.apiserver.k8s.io",
  version: "v1",
  kind,
});

const flowSchemas = resource({
  ...flowcontrol("FlowSchema"),
  plural: "flowschemas",
  namespaced: false,
  table: tables.flowSchemas,
  hasStatus: true,
  tracksGeneration: true,
  default(draft) {
    const spec = ensure(draft, "spec");
    if (!numberAt(spec, "matchingPrecedence")) spec.matchingPrecedence = 1000;
  },
  subresources: [statusOf(flowcontrol("FlowSchema"))],
});

const priorityLevels = resource({
  ...flowcontrol("PriorityLevelConfiguration"),
  plural: "prioritylevelconfigurations",
  namespaced: false,
  table: tables.priorityLevels,
  hasStatus: true,
  tracksGeneration: true,
  default(draft) {
    const { limited, exempt } = ensure(draft, "spec");
    if (isObject(limited)) {
      fill(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 });
      const queuing = at(limited, "limitResponse", "queuing");
      if (isObject(queuing)) fill(queuing, { queues: 64, handSize: 8, queueLengthLimit: 50 });
    }
    if (isObject(exempt)) fill(exempt, { nominalConcurrencyShares: 0, lendablePercent: 0 });
  },
  subresources: [statusOf(flowcontrol("PriorityLevelConfiguration"))],
});

export const serverExtensionResources: readonly Resource[] = [
  webhookConfiguration("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", true),
  webhookConfiguration("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false),
  apiServices,
  flowSchemas,
  priorityLevels,
];
