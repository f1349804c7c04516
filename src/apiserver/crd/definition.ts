/** CustomResourceDefinition as a resource of its own. */
import { CLEANUP_FINALIZER, CustomResourceDefinition } from "#api/apiextensions";
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { builtinVersion } from "../apply/index.ts";
import type { Resource, Strategy, TableLayout } from "../resource.ts";
import { normalize } from "../types/index.ts";
import { definitionErrors, storedVersionsErrors } from "./definition-validation.ts";
import { type BuiltinNames, establish } from "./establish.ts";
import { keepOnlyStatus } from "./status-only.ts";

export interface DefinitionDependencies {
  /** All definitions of the cluster as they are stored at this moment. */
  definitions(): readonly CustomResourceDefinition[];
  /** The resources that no definition brings; a Resource has these names. */
  builtins(): readonly BuiltinNames[];
}

const { group, version, kind, plural } = CustomResourceDefinition;

/** Its key in the table of built-in types. */
const DEFINITION = `${group}/${version}#${kind}`;

const WEBHOOK_PORT = 443;

/**
 * The resource of CustomResourceDefinitions. A definition is judged and established in the write that brings
 * it, so that its kind is served by the time the client has an answer.
 */
export function definitionResource(dependencies: DefinitionDependencies): Resource {
  const strategy = strategyFor(dependencies);
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    plural,
    singular: "customresourcedefinition",
    namespaced: false,
    shortNames: ["crd", "crds"],
    categories: ["api-extensions"],
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    storage: `${group}/${plural}`,
    builtin: true,
    strategy,
    fields: builtinVersion({ apiVersion: apiVersionOf({ group, version }), kind, typeKey: DEFINITION }),
    subresources: [
      {
        name: "status",
        responseKind: { group, version, kind },
        verbs: ["get", "patch", "update"],
        edit: {
          prepare: keepOnlyStatus,
          validate: (object) => storedVersionsErrors(asDefinition(object)),
        },
      },
    ],
    table,
  };
}

function strategyFor({ definitions, builtins }: DefinitionDependencies): Strategy {
  const settle = (draft: DynamicObject, now: Date) => {
    draft.status = establish(asDefinition(draft), definitions(), builtins(), now);
  };
  return {
    hasStatus: true,
    tracksGeneration: true,
    unconditionalUpdate: false,
    createOnUpdate: false,
    nameRule: "subdomain",
    defaultsOnRead: false,
    selectableFields: {},
    decode(body) {
      const { object, unknownFields } = normalize(DEFINITION, body);
      return { object: object as unknown as DynamicObject, unknownFields };
    },
    default: fillIn,
    prepareForCreate(draft, { now }) {
      delete draft.status;
      settle(draft, now);
    },
    prepareForUpdate(draft, current, { now }) {
      if (current.status === undefined) delete draft.status;
      else draft.status = clone(current.status);
      settle(draft, now);
    },
    prepareForDelete: hold,
    validateCreate: (object) => definitionErrors(asDefinition(object)),
    validateUpdate: (object, current) => definitionErrors(asDefinition(object), asDefinition(current)),
    present: (stored) => stored,
  };
}

/** The objects of the kind go before the definition does: without it nobody could find them. */
function hold({ metadata }: DynamicObject): void {
  const finalizers = metadata.finalizers ?? [];
  if (!finalizers.includes(CLEANUP_FINALIZER)) metadata.finalizers = [...finalizers, CLEANUP_FINALIZER];
}

function fillIn(draft: DynamicObject): void {
  const { spec } = asDefinition(draft);
  spec.versions ??= []; // Go writes null for a list that nobody set
  const { names } = spec;
  if (names.kind) {
    names.singular ||= names.kind.toLowerCase();
    names.listKind ||= `${names.kind}List`;
  }
  spec.conversion ??= { strategy: "None" };
  const service = spec.conversion.webhook?.clientConfig?.service;
  if (service) service.port ??= WEBHOOK_PORT;
}

const table: TableLayout = {
  columns: [
    {
      name: "Name",
      type: "string",
      format: "name",
      description: "Name of the definition: plural and group.",
      priority: 0,
    },
    {
      name: "Scope",
      type: "string",
      format: "",
      description: "Whether objects of the kind live in namespaces.",
      priority: 0,
    },
    { name: "Versions", type: "string", format: "", description: "Versions that are served.", priority: 0 },
    { name: "Created At", type: "date", format: "", description: "When the definition was created.", priority: 0 },
  ],
  row(object) {
    const { metadata, spec } = asDefinition(object);
    const served = spec.versions.filter((version) => version.served).map(({ name }) => name);
    return [metadata.name, spec.scope, served.join(","), metadata.creationTimestamp ?? null];
  },
};

/** Decoded and stored definitions have their type: `normalize` saw to it. */
function asDefinition(object: DynamicObject): CustomResourceDefinition {
  return object as unknown as CustomResourceDefinition;
}
