import { isObject } from "#lib/json";
import { field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { at, ensure, type Fields, fieldsAt, fill, fillText, numberAt, objectsAt } from "./fields.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/groups.ts";
import { webhookErrors } from "./webhook-validation.ts";

const WEBHOOK_SECONDS = 10;
const HTTPS = 443;

function webhookConfiguration(kind: string, plural: string, isMutating: boolean): Resource {
  return resource({
    group: "admissionregistration.k8s.io",
    version: "v1",
    kind,
    plural,
    namespaced: false,
    categories: ["api-extensions"],
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
