import type { KubeObject } from "#api/meta";
import { isObject } from "#lib/json";
import { parseFieldSelector, parseLabelSelector } from "#lib/selectors";

export interface FakeScope {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** Whether an object lies in a scope. Every field can be selected by its path. */
export function inScope({ namespace, labelSelector = "", fieldSelector = "" }: FakeScope): (o: KubeObject) => boolean {
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    labels.matches(object.metadata.labels) &&
    fields.matches((path) => textAt(object, path));
}

function textAt(object: unknown, path: string): string {
  let value = object;
  for (const part of path.split(".")) value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  return value === undefined || value === null ? "" : String(value);
}
