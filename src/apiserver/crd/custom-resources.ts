/** The resources that a CustomResourceDefinition brings. */
import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionVersion,
  type CustomResourceNames,
  DefinitionCondition,
} from "#api/apiextensions";
import { apiVersionOf, type DynamicObject } from "#api/meta";
import type { OpenApiSchema } from "#api/schema";
import { clone, isObject } from "#lib/json";
import { compile } from "#lib/jsonpath";
import { customVersions, type Versions } from "../apply/index.ts";
import { type FieldError, field } from "../errors.ts";
import type { Conversion, Resource, Strategy, Subresource, Verb } from "../resource.ts";
import { convertedVersions } from "./conversion.ts";
import type { Converter } from "./converter.ts";
import { fill } from "./defaults.ts";
import { isTrue } from "./establish.ts";
import { decodeMetadata } from "./metadata.ts";
import { compileSchema, type Node } from "./node.ts";
import { setOwn } from "./own.ts";
import { prune } from "./prune.ts";
import { ruleValidators } from "./rule-validator.ts";
import { scaleErrors, scaleSubresource } from "./scale.ts";
import { keepOnlyStatus } from "./status-only.ts";
import { tableOf } from "./table.ts";
import { validate } from "./validate.ts";

/** Checks a whole object beyond its schema; `current` is what it replaces. */
export type ObjectValidator = (object: DynamicObject, current?: DynamicObject) => FieldError[];

export interface CustomResourceOptions {
  /**
   * Gives the validators that run only on objects that are well formed; without them, the schema's own rules
   * (`x-kubernetes-validations`) do.
   */
  readonly validators?: (schema: OpenApiSchema) => readonly ObjectValidator[];
  /** Converts between versions that differ in more than their name. */
  readonly converter?: Converter | undefined;
}

const VERBS: readonly Verb[] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/** The resources of a definition, one per served version; none before its names were accepted. */
export function customResources(definition: CustomResourceDefinition, options: CustomResourceOptions = {}): Resource[] {
  if (!isTrue(definition, DefinitionCondition.Established)) return [];
  const shared = sharedParts(definition, options);
  return definition.spec.versions
    .filter(({ served }) => served)
    .map((version) => resourceOf(definition, version, shared, options));
}

/** What the resources of all versions have in common. */
interface SharedParts {
  readonly storedAs: string;
  readonly fields: Versions;
  conversionOf?(apiVersion: string): Conversion;
}

function sharedParts({ spec, status }: CustomResourceDefinition, { converter }: CustomResourceOptions): SharedParts {
  const { group, versions } = spec;
  const { kind } = status?.acceptedNames ?? spec.names;
  const storage = versions.find((version) => version.storage) ?? versions[0];
  const storedAs = apiVersionOf({ group, version: storage?.name ?? "" });
  const typed = versions.map((version) => ({
    apiVersion: apiVersionOf({ group, version: version.name }),
    schema: schemaOf(version),
  }));
  if (!converter) return { storedAs, fields: customVersions(kind, typed) };
  const { toVersion, conversionOf } = convertedVersions({
    converter,
    storedAs,
    nodes: new Map(typed.map(({ apiVersion, schema }) => [apiVersion, rootNode(schema)])),
  });
  return { storedAs, fields: customVersions(kind, typed, toVersion), conversionOf };
}

function resourceOf(
  definition: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  { storedAs, fields, conversionOf }: SharedParts,
  { validators = ruleValidators }: CustomResourceOptions,
): Resource {
  const { group, scope } = definition.spec;
  const names = definition.status?.acceptedNames ?? definition.spec.names;
  const schema = schemaOf(version);
  const where = { group, version: version.name, kind: names.kind };
  const apiVersion = apiVersionOf(where);
  const { strategy, validateObject } = strategyFor({
    version,
    node: rootNode(schema),
    apiVersion,
    // What somebody else converts stays what it is until then.
    preparedApiVersion: conversionOf ? apiVersion : storedAs,
    validators: validators(schema),
  });
  const deprecation = deprecationOf(group, version, names);
  return {
    ...where,
    listKind: names.listKind ?? `${names.kind}List`,
    plural: names.plural,
    singular: names.singular ?? names.kind.toLowerCase(),
    namespaced: scope === "Namespaced",
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    // Objects of a kind that is going away may lose their finalizers, but there will be no new ones.
    verbs: definition.metadata.deletionTimestamp ? VERBS.filter((verb) => verb !== "create") : VERBS,
    storage: `${group}/${names.plural}`,
    builtin: false,
    strategy,
    subresources: subresourcesOf(version, where, validateObject),
    table: tableOf(version.additionalPrinterColumns),
    schema,
    fields,
    storedAs,
    ...(conversionOf && { conversion: conversionOf(apiVersion) }),
    ...(deprecation !== undefined && { deprecation }),
  };
}

/** A definition that was stored without a schema keeps everything. */
const OPEN: OpenApiSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

function schemaOf({ schema }: CustomResourceDefinitionVersion): OpenApiSchema {
  return schema?.openAPIV3Schema ?? OPEN;
}

function deprecationOf(
  group: string,
  { name, deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
  { kind }: CustomResourceNames,
): string | undefined {
  return deprecated ? (deprecationWarning ?? `${group}/${name} ${kind} is deprecated`) : undefined;
}

function subresourcesOf(
  { subresources }: CustomResourceDefinitionVersion,
  responseKind: { group: string; version: string; kind: string },
  validateObject: ObjectValidator,
): Subresource[] {
  const found: Subresource[] = [];
  if (subresources?.status) {
    found.push({
      name: "status",
      responseKind,
      verbs: ["get", "patch", "update"],
      edit: { prepare: keepOnlyStatus, validate: (object, current) => validateObject(object, current) },
    });
  }
  if (subresources?.scale) found.push(scaleSubresource(subresources.scale));
  return found;
}

interface StrategyParts {
  version: CustomResourceDefinitionVersion;
  node: Node;
  apiVersion: string;
  /** What drafts are called when they are ready. */
  preparedApiVersion: string;
  validators: readonly ObjectValidator[];
}

function strategyFor({ version, node, apiVersion, preparedApiVersion, validators }: StrategyParts): {
  strategy: Strategy;
  validateObject: ObjectValidator;
} {
  const hasStatus = version.subresources?.status !== undefined;
  const validateObject: ObjectValidator = (object, current) => {
    const errors = validate(node, object, "", current);
    const { scale } = version.subresources ?? {};
    if (scale) errors.push(...scaleErrors(scale, object));
    if (validators.length === 0) return errors;
    if (errors.some(({ reason }) => BLOCKING.has(reason))) return [...errors, UNCHECKED];
    return [...errors, ...validators.flatMap((validator) => validator(object, current))];
  };
  const strategy: Strategy = {
    hasStatus,
    tracksGeneration: true,
    unconditionalUpdate: false,
    createOnUpdate: false,
    nameRule: "subdomain",
    defaultsOnRead: true,
    selectableFields: selectableFieldsOf(version),
    decode(body) {
      const unknownFields: string[] = [];
      const metadata = decodeMetadata(body.metadata ?? {}, "metadata", unknownFields);
      const pruned = prune(node, { ...body, metadata: {} }, "", unknownFields) as DynamicObject;
      return { object: { ...pruned, metadata } as unknown as DynamicObject, unknownFields };
    },
    default(draft) {
      const filled = fill(node, draft) as DynamicObject;
      if (filled === draft) return;
      for (const key of Object.keys(draft)) if (!Object.hasOwn(filled, key)) delete draft[key];
      for (const [key, value] of Object.entries(filled)) setOwn(draft, key, value);
    },
    prepareForCreate(draft) {
      if (hasStatus) delete draft.status;
      draft.apiVersion = preparedApiVersion;
    },
    prepareForUpdate(draft, current) {
      draft.apiVersion = preparedApiVersion;
      if (!hasStatus) return;
      if (current.status === undefined) delete draft.status;
      else draft.status = clone(current.status);
    },
    validateCreate: (object) => validateObject(object),
    validateUpdate: (object, current) => validateObject(object, current),
    present(stored) {
      const filled = fill(node, stored) as DynamicObject;
      return filled.apiVersion === apiVersion ? filled : { ...filled, apiVersion };
    },
  };
  return { strategy, validateObject };
}

/** After these the object may not have the types that rules are written for. */
const BLOCKING: ReadonlySet<string> = new Set([
  "FieldValueRequired",
  "FieldValueNotSupported",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

const UNCHECKED = field.invalid(
  "<nil>",
  null,
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
);

/**
 * The schema of the whole object. apiVersion, kind and metadata are the server's and need not be named; of
 * metadata only the rules about names are the schema's, everything else is kept.
 */
function rootNode(schema: OpenApiSchema): Node {
  const { apiVersion, kind, metadata } = schema.properties ?? {};
  const names = isObject(metadata?.properties) ? metadata.properties : {};
  return compileSchema({
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: { ...apiVersion, type: "string" },
      kind: { ...kind, type: "string" },
      metadata: { type: "object", properties: names, "x-kubernetes-preserve-unknown-fields": true },
    },
  });
}

function selectableFieldsOf({ selectableFields = [] }: CustomResourceDefinitionVersion): Strategy["selectableFields"] {
  return Object.fromEntries(
    selectableFields.map(({ jsonPath }) => {
      const find = compile(jsonPath);
      return [jsonPath.replace(/^\./, ""), (object: DynamicObject) => selectable(find(object)[0])];
    }),
  );
}

function selectable(value: unknown): string {
  return value === undefined || value === null || typeof value === "object" ? "" : String(value);
}
