/** Which objects a list or a watch is about. */
import type { DynamicObject } from "#api/meta";
import { parseFieldSelector, parseLabelSelector, SelectorError } from "#lib/selectors";
import { badRequest } from "../errors.ts";
import type { Resource } from "../resource.ts";

export interface Selection {
  /** Whether everything matches: only then does a list know how many items remain. */
  readonly everything: boolean;
  matches(object: DynamicObject): boolean;
}

export function selectionOf(resource: Resource, labelSelector: string, fieldSelector: string): Selection {
  const labels = parsed(() => parseLabelSelector(labelSelector));
  const fields = parsed(() => parseFieldSelector(fieldSelector));
  const readers = new Map(fields.requirements.map(({ field }) => [field, fieldReader(resource, field)]));
  return {
    everything: labelSelector.trim() === "" && readers.size === 0,
    matches: (object) =>
      labels.matches(object.metadata.labels ?? {}) && fields.matches((field) => readers.get(field)?.(object) ?? ""),
  };
}

function fieldReader(resource: Resource, name: string): (object: DynamicObject) => string {
  if (name === "metadata.name") return ({ metadata }) => metadata.name;
  if (name === "metadata.namespace") return ({ metadata }) => metadata.namespace ?? "";
  const { selectableFields } = resource.strategy;
  const reader = Object.hasOwn(selectableFields, name) ? selectableFields[name] : undefined;
  if (!reader) throw badRequest(`field label not supported: ${name}`);
  return reader;
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}
