/** The rules of metadata, which are the same for every kind, built in or custom. */
import type { LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference } from "#api/meta";
import { equal } from "#lib/json";
import { dns1035Label, dns1123Label, dns1123Subdomain, labelValue, pathSegment, qualifiedName } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import type { NameRule } from "../resource.ts";

export interface MetadataRules {
  readonly namespaced: boolean;
  readonly nameRule: NameRule;
  /** Built-in kinds refuse a finalizer without a domain; custom ones have always taken any. */
  readonly builtin: boolean;
}

const IMMUTABLE = "field is immutable";
const ANNOTATIONS_SIZE = 256 * 1024;
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set([
  "kubernetes",
  "orphan",
  "foregroundDeletion",
  "customresourcecleanup.apiextensions.k8s.io", // put on definitions by the server itself
]);

const NAME_RULES: Readonly<Record<NameRule, (name: string) => string[]>> = {
  subdomain: dns1123Subdomain,
  label: dns1123Label,
  label1035: dns1035Label,
  "path-segment": pathSegment,
};

/** What is wrong with the metadata of a new object, whose name has been generated where it was asked for. */
export function validateObjectMeta(metadata: ObjectMeta, rules: MetadataRules): FieldError[] {
  return [...nameErrors(metadata, rules), ...namespaceErrors(metadata, rules), ...commonErrors(metadata, rules)];
}

/** What is wrong with the metadata of an update. That the resourceVersion fits is checked elsewhere. */
export function validateObjectMetaUpdate(next: ObjectMeta, current: ObjectMeta, rules: MetadataRules): FieldError[] {
  const errors: FieldError[] = [];
  if (current.deletionTimestamp) {
    const before = new Set(current.finalizers);
    const added = (next.finalizers ?? []).filter((finalizer) => !before.has(finalizer)).sort();
    if (added.length > 0) {
      const shown = added.map((finalizer) => JSON.stringify(finalizer)).join(", ");
      errors.push(
        field.forbidden(
          "metadata.finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${shown}}`,
        ),
      );
    }
  }
  if ((next.generation ?? 0) < (current.generation ?? 0)) {
    errors.push(field.invalid("metadata.generation", next.generation ?? 0, "must not be decremented"));
  }
  const fixed = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
  ] as const;
  for (const key of fixed) {
    if (next[key] !== current[key]) errors.push(field.invalid(`metadata.${key}`, next[key] ?? null, IMMUTABLE));
  }
  return [...errors, ...commonErrors(next, rules)];
}

/** Says that a field may not change once the object exists. */
export function immutable(path: string, next: unknown, current: unknown): FieldError[] {
  return equal(next, current) ? [] : [field.invalid(path, next ?? null, IMMUTABLE)];
}

/** Labels as metadata, pod templates and selectors carry them. */
export function validateLabels(labels: Readonly<Record<string, string>>, path: string): FieldError[] {
  return Object.entries(labels).flatMap(([key, value]) => [
    ...qualifiedName(key).map((problem) => field.invalid(path, key, problem)),
    ...labelValue(value).map((problem) => field.invalid(path, value, problem)),
  ]);
}

/** A selector by labels, wherever one is written; a missing one is for others to miss. */
export function validateLabelSelector(selector: LabelSelector | undefined, path: string): FieldError[] {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return [
    ...validateLabels(matchLabels, `${path}.matchLabels`),
    ...matchExpressions.flatMap((requirement, index) =>
      requirementErrors(requirement, `${path}.matchExpressions[${index}]`),
    ),
  ];
}

function requirementErrors({ key, operator, values = [] }: LabelSelectorRequirement, path: string): FieldError[] {
  const asksValues = operator === "In" || operator === "NotIn";
  const errors: FieldError[] = [];
  if (asksValues && values.length === 0) {
    errors.push(field.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    const flaw = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    if (values.length > 0) errors.push(field.forbidden(`${path}.values`, flaw));
  } else if (!asksValues) errors.push(field.invalid(`${path}.operator`, operator, "not a valid selector operator"));
  errors.push(...qualifiedName(key).map((problem) => field.invalid(`${path}.key`, key, problem)));
  for (const [index, value] of values.entries()) {
    errors.push(...labelValue(value).map((problem) => field.invalid(`${path}.values[${index}]`, value, problem)));
  }
  return errors;
}

function nameErrors({ name, generateName }: ObjectMeta, { nameRule }: MetadataRules): FieldError[] {
  const rule = NAME_RULES[nameRule];
  const errors: FieldError[] = [];
  if (generateName) {
    // What follows the prefix begins with a letter or digit, so a dash at its end is fine.
    const prefix = generateName.endsWith("-") ? `${generateName.slice(0, -1)}a` : generateName;
    errors.push(...rule(prefix).map((problem) => field.invalid("metadata.generateName", generateName, problem)));
  }
  if (!name) errors.push(field.required("metadata.name", "name or generateName is required"));
  else errors.push(...rule(name).map((problem) => field.invalid("metadata.name", name, problem)));
  return errors;
}

function namespaceErrors({ namespace }: ObjectMeta, { namespaced }: MetadataRules): FieldError[] {
  if (!namespaced) return namespace ? [field.forbidden("metadata.namespace", "not allowed on this type")] : [];
  if (!namespace) return [field.required("metadata.namespace")];
  return dns1123Label(namespace).map((problem) => field.invalid("metadata.namespace", namespace, problem));
}

function commonErrors(metadata: ObjectMeta, { builtin }: MetadataRules): FieldError[] {
  return [
    ...validateLabels(metadata.labels ?? {}, "metadata.labels"),
    ...validateAnnotations(metadata.annotations ?? {}),
    ...ownerErrors(metadata.ownerReferences ?? []),
    ...finalizerErrors(metadata.finalizers ?? [], builtin),
  ];
}

/** Annotations may say anything under a proper key, up to a limit for all of them. */
export function validateAnnotations(annotations: Readonly<Record<string, string>>): FieldError[] {
  const path = "metadata.annotations";
  const errors: FieldError[] = [];
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    errors.push(...qualifiedName(key.toLowerCase()).map((problem) => field.invalid(path, key, problem)));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > ANNOTATIONS_SIZE) errors.push(field.tooLong(path, ANNOTATIONS_SIZE));
  return errors;
}

function ownerErrors(owners: readonly OwnerReference[]): FieldError[] {
  const path = "metadata.ownerReferences";
  const errors: FieldError[] = [];
  for (const owner of owners) {
    const version = owner.apiVersion?.split("/").at(-1);
    if (!version) errors.push(field.invalid(`${path}.apiVersion`, owner.apiVersion ?? "", "version must not be empty"));
    for (const key of ["kind", "name", "uid"] as const) {
      if (!owner[key]) errors.push(field.invalid(`${path}.${key}`, owner[key] ?? "", "must not be empty"));
    }
    if (owner.apiVersion === "v1" && owner.kind === "Event") {
      errors.push(field.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner"));
    }
  }
  const [first, ...others] = owners.filter(({ controller }) => controller).map(({ kind, name }) => `${kind}/${name}`);
  for (const other of others) {
    errors.push(
      field.invalid(
        path,
        owners,
        `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${other}`,
      ),
    );
  }
  return errors;
}

function finalizerErrors(finalizers: readonly string[], builtin: boolean): FieldError[] {
  const path = "metadata.finalizers";
  const errors = finalizers.flatMap((finalizer, index) => {
    const problems = qualifiedName(finalizer);
    if (problems.length > 0) return problems.map((problem) => field.invalid(path, finalizer, problem));
    if (!builtin || finalizer.includes("/") || STANDARD_FINALIZERS.has(finalizer)) return [];
    const problem = "name is neither a standard finalizer name nor is it fully qualified";
    return [field.invalid(`${path}[${index}]`, finalizer, problem)];
  });
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    errors.push(field.invalid(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"));
  }
  return errors;
}
