/** Which objects a list or a watch is about. */
import type { DynamicObject } from "#api/meta";
import { type LabelMatcher, parseFieldSelector, parseLabelSelector, SelectorError } from "#lib/selectors";
import { badRequest } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { storeKey, type Target } from "./target.ts";

export interface Selection {
  /** Whether everything matches: only then does a list know how many items remain. */
  readonly everything: boolean;
  matches(object: DynamicObject): boolean;
  /** The name that an object must have, if there is one. */
  readonly name?: string;
  /** A label that an object must have, with its value, if there is one. */
  readonly label?: { readonly label: string; readonly value: string };
}

export function selectionOf(resource: Resource, labelSelector: string, fieldSelector: string): Selection {
  const labels = parsed(() => parseLabelSelector(labelSelector));
  const fields = parsed(() => parseFieldSelector(fieldSelector));
  const readers = new Map(fields.requirements.map(({ field }) => [field, fieldReader(resource, field)]));
  const name = fields.exact("metadata.name");
  const label = requiredLabel(labels);
  return {
    ...(name !== undefined && { name }),
    ...(label && { label }),
    everything: labelSelector.trim() === "" && readers.size === 0,
    matches: (object) =>
      labels.matches(object.metadata.labels ?? {}) && fields.matches((field) => readers.get(field)?.(object) ?? ""),
  };
}

function requiredLabel({ requirements = [] }: LabelMatcher): Selection["label"] {
  for (const { key, operator, values } of requirements) {
    const [value] = values;
    const isExact = operator === "=" || operator === "==" || (operator === "in" && values.length === 1);
    if (isExact && value !== undefined) return { label: key, value };
  }
  return undefined;
}

function fieldReader(resource: Resource, name: string): (object: DynamicObject) => string {
  if (name === "metadata.name") return ({ metadata }) => metadata.name;
  if (name === "metadata.namespace") return ({ metadata }) => metadata.namespace ?? "";
  const { selectableFields } = resource.strategy;
  const reader = Object.hasOwn(selectableFields, name) ? selectableFields[name] : undefined;
  if (!reader) throw badRequest(`field label not supported: ${name}`);
  return reader;
}

/** The store's key of the only object that can be meant, if it is clear which. */
export function keyOfOne({ resource, namespace, name }: Target, selection: Selection): string | undefined {
  const only = name ?? selection.name;
  if (only === undefined || (resource.namespaced && namespace === undefined)) return undefined;
  return storeKey({ name: only, ...(namespace !== undefined && { namespace }) });
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}
