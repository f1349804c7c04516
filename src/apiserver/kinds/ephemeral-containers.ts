/** `pods/NAME/ephemeralcontainers`: adds containers to a Pod that runs, to look at it; they stay as long as it does. */
import type { DynamicObject } from "#api/meta";
import { clone, equal } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Subresource } from "../resource.ts";
import { at, ensure, type Fields, fieldsAt, isAbsent, objectsAt, textAt } from "./fields.ts";
import { EDIT_VERBS } from "./subresources.ts";

const LIST = "ephemeralContainers";
const PATH = `spec.${LIST}`;

/** What a container that is only there to look needs not and may not have. */
const FORBIDDEN = ["lifecycle", "livenessProbe", "ports", "readinessProbe", "startupProbe"] as const;

export function ephemeralContainers(kind: GroupVersionKind): Subresource {
  return {
    name: "ephemeralcontainers",
    responseKind: { group: kind.group, version: kind.version, kind: kind.kind },
    verbs: EDIT_VERBS,
    edit: { prepare: keepAllButThem, validate },
  };
}

function keepAllButThem(draft: DynamicObject, current: DynamicObject): void {
  const wished = objectsAt(draft, "spec", LIST);
  const { resourceVersion } = draft.metadata;
  for (const key of Object.keys(draft)) delete draft[key];
  Object.assign(draft, clone(current));
  if (resourceVersion !== undefined) draft.metadata.resourceVersion = resourceVersion;
  const spec = ensure(draft, "spec");
  if (wished.length > 0) spec[LIST] = wished;
  else delete spec[LIST];
  // Unlike other subresources this one changes the wish, and wishes are counted.
  if (!equal(spec, current.spec)) draft.metadata.generation = (current.metadata.generation ?? 0) + 1;
}

function validate(pod: DynamicObject, current: DynamicObject): FieldError[] {
  const containers = objectsAt(pod, "spec", LIST);
  const others = ["initContainers", "containers"].flatMap((list) => objectsAt(pod, "spec", list));
  const names = new Set(others.map((container) => textAt(container, "name")));
  const targets = new Set(names);
  return [
    ...containers.flatMap((container, index) => validateOne(container, `${PATH}[${index}]`, names, targets)),
    ...objectsAt(current, "spec", LIST).flatMap((known) => validateKept(known, containers)),
  ];
}

function validateOne(container: Fields, path: string, names: Set<string>, targets: ReadonlySet<string>): FieldError[] {
  const name = textAt(container, "name");
  const target = textAt(container, "targetContainerName");
  const errors = [
    ...(name === "" ? [field.required(`${path}.name`)] : []),
    ...(names.has(name) ? [field.duplicate(`${path}.name`, name)] : []),
    ...(textAt(container, "image") === "" ? [field.required(`${path}.image`)] : []),
    ...(target === "" || targets.has(target) ? [] : [field.notFound(`${path}.targetContainerName`, target)]),
    ...FORBIDDEN.filter((key) => !isAbsent(at(container, key))).map((key) =>
      field.forbidden(`${path}.${key}`, "cannot be set for an Ephemeral Container"),
    ),
    ...(Object.keys(fieldsAt(container, "resources")).length > 0
      ? [field.forbidden(`${path}.resources`, "cannot be set for an Ephemeral Container")]
      : []),
  ];
  names.add(name);
  return errors;
}

function validateKept(known: Fields, containers: readonly Fields[]): FieldError[] {
  const name = textAt(known, "name");
  const kept = containers.find((container) => textAt(container, "name") === name);
  if (!kept) return [field.forbidden(PATH, `existing ephemeral containers "${name}" may not be removed`)];
  return equal(kept, known)
    ? []
    : [field.forbidden(PATH, `existing ephemeral containers "${name}" may not be changed`)];
}
