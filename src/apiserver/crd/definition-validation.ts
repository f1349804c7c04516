/** What makes a CustomResourceDefinition acceptable. */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
  CustomResourceNames,
} from "#api/apiextensions";
import { DefinitionCondition } from "#api/apiextensions";
import { equal } from "#lib/json";
import { compile, fieldNames } from "#lib/jsonpath";
import { dns1035Label, dns1123Subdomain } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import { clientConfigErrors, isPem } from "../webhooks/index.ts";
import { approvalErrors } from "./approval.ts";
import { isTrue } from "./establish.ts";
import { childPath, indexPath, type Path } from "./path.ts";
import { structuralErrors } from "./structural.ts";

const COLUMN_TYPES = ["integer", "number", "string", "boolean", "date"];
const COLUMN_FORMATS = ["int32", "int64", "float", "double", "byte", "date", "date-time", "password"];
const MOST_SELECTABLE_FIELDS = 8;
const LONGEST_WARNING = 256;

/** What is wrong with a definition; `current` is the stored one on an update. */
export function definitionErrors(
  definition: CustomResourceDefinition,
  current?: CustomResourceDefinition,
): FieldError[] {
  return [
    ...nameErrors(definition),
    ...groupErrors(definition),
    ...namesErrors(definition.spec.names, "spec.names"),
    ...versionsErrors(definition, current),
    ...conversionErrors(definition, current),
    ...(current ? updateErrors(definition, current) : []),
    ...storedVersionsErrors(definition),
    ...approvalErrors(definition, current),
  ];
}

/** Every version that objects were ever stored in must remain, or they could not be read. */
export function storedVersionsErrors({ spec, status }: CustomResourceDefinition): FieldError[] {
  const names = new Set(spec.versions.map(({ name }) => name));
  const stored = status?.storedVersions ?? [];
  const errors = stored.flatMap((name, index) =>
    names.has(name) ? [] : [field.invalid(`status.storedVersions[${index}]`, name, "missing from spec.versions")],
  );
  const storage = spec.versions.find((version) => version.storage)?.name;
  if (stored.length > 0 && storage !== undefined && !stored.includes(storage)) {
    errors.push(field.invalid("status.storedVersions", stored, `must have the storage version ${storage}`));
  }
  return errors;
}

function nameErrors({ metadata, spec }: CustomResourceDefinition): FieldError[] {
  const expected = `${spec.names.plural}.${spec.group}`;
  if (metadata.name === expected) return [];
  return [field.invalid("metadata.name", metadata.name, `must be spec.names.plural+"."+spec.group`)];
}

function groupErrors({ spec: { group, scope, preserveUnknownFields } }: CustomResourceDefinition): FieldError[] {
  const errors: FieldError[] = [];
  if (!group) errors.push(field.required("spec.group"));
  else if (dns1123Subdomain(group).length > 0)
    errors.push(...invalidEach("spec.group", group, dns1123Subdomain(group)));
  else if (!group.includes("."))
    errors.push(field.invalid("spec.group", group, "should be a domain with at least one dot"));
  if (!scope) errors.push(field.required("spec.scope"));
  else if (scope !== "Cluster" && scope !== "Namespaced") {
    errors.push(field.notSupported("spec.scope", scope, ["Cluster", "Namespaced"]));
  }
  if (preserveUnknownFields) {
    errors.push(
      field.invalid(
        "spec.preserveUnknownFields",
        true,
        "must be false; set x-kubernetes-preserve-unknown-fields in the schema instead",
      ),
    );
  }
  return errors;
}

function namesErrors(names: CustomResourceNames, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  const label = (at: Path, name: string | undefined) => {
    if (!name) errors.push(field.required(at));
    else errors.push(...invalidEach(at, name, dns1035Label(name)));
  };
  label(childPath(path, "plural"), names.plural);
  label(childPath(path, "singular"), names.singular);
  for (const [index, name] of (names.shortNames ?? []).entries()) label(`${path}.shortNames[${index}]`, name);
  for (const [index, name] of (names.categories ?? []).entries()) label(`${path}.categories[${index}]`, name);
  label(childPath(path, "kind"), names.kind.toLowerCase());
  label(childPath(path, "listKind"), names.listKind?.toLowerCase());
  if (names.kind && names.kind === names.listKind) {
    errors.push(field.invalid(childPath(path, "listKind"), names.listKind, "kind and listKind may not be the same"));
  }
  return errors;
}

function versionsErrors({ spec }: CustomResourceDefinition, current?: CustomResourceDefinition): FieldError[] {
  const path = "spec.versions";
  const { versions } = spec;
  const errors: FieldError[] = [];
  if (versions.length === 0) return [field.required(path, "must have at least one version")];
  const storages = versions.filter(({ storage }) => storage).length;
  if (storages !== 1) {
    errors.push(
      field.invalid(
        path,
        versions.map(({ name }) => name),
        "must have exactly one version marked as storage version",
      ),
    );
  }
  const shared = sharedParts(versions);
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const at = indexPath(path, index);
    if (seen.has(version.name)) errors.push(field.duplicate(childPath(at, "name"), version.name));
    seen.add(version.name);
    const before = current?.spec.versions.find(({ name }) => name === version.name);
    const pathOf = (part: SharedPart) => (shared.has(part) ? SHARED_PATHS[part] : childPath(at, part));
    // What all versions share has one place, and is judged once.
    const judges = (part: SharedPart) => index === 0 || !shared.has(part);
    errors.push(...versionErrors({ version, path: at, before, pathOf, judges }));
  }
  return errors;
}

/** Parts that Kubernetes moves to the definition itself when they are the same in all versions. */
const SHARED_PATHS = {
  schema: "spec.validation",
  subresources: "spec.subresources",
  additionalPrinterColumns: "spec.additionalPrinterColumns",
  selectableFields: "spec.selectableFields",
} as const;
type SharedPart = keyof typeof SHARED_PATHS;

function sharedParts([first, ...others]: readonly CustomResourceDefinitionVersion[]): Set<SharedPart> {
  const parts = Object.keys(SHARED_PATHS) as SharedPart[];
  return new Set(parts.filter((part) => others.every((other) => equal(other[part], first?.[part]))));
}

interface VersionPlace {
  readonly version: CustomResourceDefinitionVersion;
  readonly path: Path;
  readonly before: CustomResourceDefinitionVersion | undefined;
  pathOf(part: SharedPart): Path;
  judges(part: SharedPart): boolean;
}

function versionErrors({ version, path, before, pathOf, judges }: VersionPlace): FieldError[] {
  const errors: FieldError[] = [];
  const nameAt = childPath(path, "name");
  if (!version.name) errors.push(field.required(nameAt));
  else errors.push(...invalidEach(nameAt, version.name, dns1035Label(version.name)));

  if (version.deprecationWarning !== undefined) {
    const at = childPath(path, "deprecationWarning");
    const { deprecationWarning: warning } = version;
    if (!version.deprecated) errors.push(field.invalid(at, warning, "can only be set for deprecated versions"));
    if (warning.length === 0 || warning.length > LONGEST_WARNING) {
      errors.push(field.invalid(at, warning, `must have 1 to ${LONGEST_WARNING} characters`));
    }
  }

  const schema = version.schema?.openAPIV3Schema;
  if (!schema) errors.push(field.required(childPath(path, "schema.openAPIV3Schema"), "schemas are required"));
  // A stored schema was accepted once, perhaps under laxer rules: only a new one is judged.
  else if (judges("schema") && !equal(schema, before?.schema?.openAPIV3Schema)) {
    errors.push(...structuralErrors(schema, childPath(pathOf("schema"), "openAPIV3Schema")));
  }
  if (judges("subresources")) errors.push(...subresourceErrors(version, pathOf("subresources")));
  if (judges("additionalPrinterColumns")) errors.push(...columnErrors(version, pathOf("additionalPrinterColumns")));
  if (judges("selectableFields")) errors.push(...selectableFieldErrors(version, pathOf("selectableFields")));
  return errors;
}

function subresourceErrors({ subresources }: CustomResourceDefinitionVersion, path: Path): FieldError[] {
  const scale = subresources?.scale;
  if (!scale) return [];
  const errors: FieldError[] = [];
  const check = (name: keyof typeof scale, roots: readonly string[], isRequired: boolean) => {
    const at = childPath(path, `scale.${name}`);
    const text = scale[name];
    if (!text) {
      if (isRequired) errors.push(field.required(at));
    } else {
      const root = simplePath(text)?.[0];
      if (root === undefined) errors.push(field.invalid(at, text, "must be a simple json path"));
      else if (!roots.includes(root))
        errors.push(field.invalid(at, text, `must lie under ${roots.map((name) => `.${name}`).join(" or ")}`));
    }
  };
  check("specReplicasPath", ["spec"], true);
  check("statusReplicasPath", ["status"], true);
  check("labelSelectorPath", ["spec", "status"], false);
  return errors;
}

function columnErrors({ additionalPrinterColumns = [] }: CustomResourceDefinitionVersion, path: Path): FieldError[] {
  return additionalPrinterColumns.flatMap(({ name, type, format, jsonPath }, index) => {
    const at = indexPath(path, index);
    const errors: FieldError[] = [];
    if (!name) errors.push(field.required(childPath(at, "name")));
    if (!type) errors.push(field.required(childPath(at, "type"), `must be one of ${COLUMN_TYPES.join(",")}`));
    else if (!COLUMN_TYPES.includes(type))
      errors.push(field.invalid(childPath(at, "type"), type, `must be one of ${COLUMN_TYPES.join(",")}`));
    if (format && !COLUMN_FORMATS.includes(format)) {
      errors.push(field.invalid(childPath(at, "format"), format, `must be one of ${COLUMN_FORMATS.join(",")}`));
    }
    const pathAt = childPath(at, "JSONPath"); // the name that the field had before v1
    const wrong = jsonPath ? complaintAbout(jsonPath) : undefined;
    if (!jsonPath) errors.push(field.required(pathAt));
    else if (wrong) errors.push(field.invalid(pathAt, jsonPath, wrong));
    return errors;
  });
}

function selectableFieldErrors({ selectableFields = [] }: CustomResourceDefinitionVersion, path: Path): FieldError[] {
  const errors: FieldError[] = [];
  if (selectableFields.length > MOST_SELECTABLE_FIELDS) {
    errors.push(field.tooMany(path, selectableFields.length, MOST_SELECTABLE_FIELDS));
  }
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of selectableFields.entries()) {
    const at = childPath(indexPath(path, index), "jsonPath");
    const root = jsonPath ? simplePath(jsonPath)?.[0] : undefined;
    if (!jsonPath) errors.push(field.required(at));
    else if (root === undefined) errors.push(field.invalid(at, jsonPath, "must be a simple json path"));
    else if (root === "metadata") errors.push(field.invalid(at, jsonPath, "must not lie under .metadata"));
    if (seen.has(jsonPath)) errors.push(field.duplicate(at, jsonPath));
    seen.add(jsonPath);
  }
  return errors;
}

const REVIEW_VERSIONS = ["v1", "v1beta1"];

/** Errors name the fields as they were called before v1. */
function conversionErrors({ spec }: CustomResourceDefinition, current?: CustomResourceDefinition): FieldError[] {
  const { conversion } = spec;
  if (!conversion) return [];
  const path = "spec.conversion";
  const clientAt = childPath(path, "webhookClientConfig");
  const versionsAt = childPath(path, "conversionReviewVersions");
  const { strategy, webhook } = conversion;
  const { clientConfig } = webhook ?? {};
  const conversionReviewVersions = webhook?.conversionReviewVersions ?? []; // Go writes null for a list that nobody set
  if (!strategy) return [field.required(childPath(path, "strategy"))];
  if (strategy === "Webhook") {
    return [
      ...(clientConfig
        ? clientConfigErrors(clientConfig, clientAt)
        : [field.required(clientAt, "required when strategy is set to Webhook")]),
      ...bundleErrors(clientConfig?.caBundle, childPath(clientAt, "caBundle"), current),
      ...reviewVersionErrors(conversionReviewVersions, versionsAt),
    ];
  }
  const errors: FieldError[] = [];
  const stray = "should not be set when strategy is not set to Webhook";
  if (strategy !== "None") errors.push(field.notSupported(childPath(path, "strategy"), strategy, ["None", "Webhook"]));
  if (clientConfig) errors.push(field.forbidden(clientAt, stray));
  if (conversionReviewVersions.length > 0) errors.push(field.forbidden(versionsAt, stray));
  return errors;
}

/** Many manifests leave a place for what somebody puts in later; once it is good it may not become bad. */
function bundleErrors(caBundle: string | undefined, path: Path, current?: CustomResourceDefinition): FieldError[] {
  const before = current?.spec.conversion?.webhook?.clientConfig?.caBundle;
  if (!current || !isTrue(current, DefinitionCondition.Established) || !isBundle(before) || isBundle(caBundle))
    return [];
  const flaw = "unable to load root certificates: unable to parse bytes as PEM block";
  return [field.invalid(path, caBundle, flaw)];
}

function isBundle(caBundle = ""): boolean {
  const text = Buffer.from(caBundle, "base64").toString("utf8");
  return text.trim() === "" || isPem(text);
}

function reviewVersionErrors(versions: readonly string[], path: Path): FieldError[] {
  if (versions.length === 0) return [field.required(path)];
  const seen = new Set<string>();
  const errors = versions.flatMap((version, index) => {
    const at = indexPath(path, index);
    if (seen.has(version)) return [field.invalid(at, version, "duplicate version")];
    seen.add(version);
    return invalidEach(at, version, dns1035Label(version));
  });
  const isKnown = versions.some((version) => REVIEW_VERSIONS.includes(version));
  const missing = `must include at least one of ${REVIEW_VERSIONS.join(", ")}`;
  return isKnown ? errors : [...errors, field.invalid(path, versions, missing)];
}

function updateErrors({ spec }: CustomResourceDefinition, current: CustomResourceDefinition): FieldError[] {
  const errors: FieldError[] = [];
  const fixed = (at: Path, now: string, before: string) => {
    if (now !== before) errors.push(field.invalid(at, now, "field is immutable"));
  };
  fixed("spec.group", spec.group, current.spec.group);
  fixed("spec.names.plural", spec.names.plural, current.spec.names.plural);
  if (isTrue(current, DefinitionCondition.Established)) {
    fixed("spec.scope", spec.scope, current.spec.scope);
    fixed("spec.names.kind", spec.names.kind, current.spec.names.kind);
  }
  return errors;
}

/** The names on a path that starts with a dot and only walks down fields. */
function simplePath(text: string): string[] | undefined {
  try {
    return text.startsWith(".") ? fieldNames(text) : undefined;
  } catch {
    return undefined;
  }
}

function complaintAbout(jsonPath: string): string | undefined {
  if (!jsonPath.startsWith(".")) return "must be a json path that starts with a dot";
  try {
    compile(jsonPath);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function invalidEach(path: Path, value: string, details: readonly string[]): FieldError[] {
  return details.map((detail) => field.invalid(path, value, detail));
}
