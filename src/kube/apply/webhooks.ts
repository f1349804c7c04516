/** What webhook configurations, aggregated APIs and conversions stand on, and whom they judge. */
import type { DynamicObject, Kind } from "#api/meta";
import { isObject } from "#lib/json";
import { groupKindOf, idOf } from "./identity.ts";

export interface ServiceRef {
  readonly namespace: string;
  readonly name: string;
}

const CONFIGURATIONS = new Set([
  "MutatingWebhookConfiguration.admissionregistration.k8s.io",
  "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
]);
const AGGREGATED = "APIService.apiregistration.k8s.io";

export function isWebhookConfiguration(object: DynamicObject): boolean {
  return CONFIGURATIONS.has(groupKindOf(idOf(object)));
}

/** The Services that must answer before the object may go in, for whoever it concerns would be refused until then. */
export function servicesBehind(object: DynamicObject): readonly ServiceRef[] {
  if (isWebhookConfiguration(object)) return unique(webhooksOf(object).flatMap((hook) => serviceOf(hook.clientConfig)));
  if (groupKindOf(idOf(object)) === AGGREGATED) return serviceOf(object.spec);
  return [];
}

/** The Service that converts the objects of a definition, if one does. */
export function conversionService({ spec }: DynamicObject): readonly ServiceRef[] {
  const conversion = isObject(spec) ? spec.conversion : undefined;
  if (!isObject(conversion) || conversion.strategy !== "Webhook" || !isObject(conversion.webhook)) return [];
  return serviceOf(conversion.webhook.clientConfig);
}

/** `group/version` that an APIService brings. */
export function groupVersionBrought(object: DynamicObject): string | undefined {
  const { spec } = object;
  if (groupKindOf(idOf(object)) !== AGGREGATED || !isObject(spec)) return undefined;
  return `${String(spec.group)}/${String(spec.version)}`;
}

/** Whether the configuration has a say about writes of this kind. Selectors are not looked at: waiting is the safe side. */
export function judges(configuration: DynamicObject, kind: Kind): boolean {
  return webhooksOf(configuration).some(({ rules }) =>
    listOf(rules).some(
      ({ apiGroups, apiVersions, resources, operations }) =>
        names(apiGroups, kind.group) &&
        names(apiVersions, kind.version) &&
        (names(resources, kind.plural) || names(resources, "*/*")) &&
        ["CREATE", "UPDATE"].some((operation) => names(operations, operation)),
    ),
  );
}

function names(list: unknown, value: string): boolean {
  return Array.isArray(list) && list.some((each) => each === "*" || each === value);
}

function webhooksOf({ webhooks }: DynamicObject): readonly Record<string, unknown>[] {
  return listOf(webhooks);
}

/** The objects of a list; no server has looked at them yet. */
function listOf(value: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function serviceOf(holder: unknown): readonly ServiceRef[] {
  const service = isObject(holder) ? holder.service : undefined;
  if (!isObject(service) || typeof service.name !== "string" || typeof service.namespace !== "string") return [];
  return [{ namespace: service.namespace, name: service.name }];
}

function unique(services: readonly ServiceRef[]): readonly ServiceRef[] {
  return [...new Map(services.map((service) => [`${service.namespace}/${service.name}`, service])).values()];
}
