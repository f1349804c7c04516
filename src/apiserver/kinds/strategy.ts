/** Builds the strategy and the resource of a built-in kind from the few things in which it differs from the rest. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { builtinVersion } from "../apply/index.ts";
import type { FieldError } from "../errors.ts";
import type {
  Answer,
  GroupVersionKind,
  NameRule,
  RequestContext,
  Resource,
  Strategy,
  Subresource,
  TableLayout,
  Verb,
} from "../resource.ts";
import { normalize, typeOf } from "../types/index.ts";
import { type Fields, fieldsAt } from "./fields.ts";
import { nameAndCreation } from "./tables/layout.ts";

/** The ways in which a kind differs; what is left out is as most kinds have it. */
export interface Particulars {
  /** Whether status belongs to `/status`; a new object gets an empty one with `initialStatus` in it. */
  hasStatus?: boolean;
  initialStatus?(draft: DynamicObject): Fields;
  tracksGeneration?: boolean;
  unconditionalUpdate?: boolean;
  createOnUpdate?: boolean;
  nameRule?: NameRule;
  /** Turns the version of the request into the one that is stored. */
  toStored?(object: DynamicObject): DynamicObject;
  /** The way back. */
  present?(stored: DynamicObject): DynamicObject;
  default?(draft: DynamicObject): void;
  admit?(draft: DynamicObject): void;
  prepareForCreate?(draft: DynamicObject, context: RequestContext): void;
  prepareForUpdate?(draft: DynamicObject, current: DynamicObject, context: RequestContext): void;
  prepareForDelete?(draft: DynamicObject): void;
  graceFor?(current: DynamicObject, asked: number | undefined): number;
  dependents?: Strategy["dependents"];
  orphanWarning?: string;
  showsDeleted?: boolean;
  /** Runs on creates and updates. */
  validate?(object: DynamicObject, context: RequestContext): FieldError[];
  /** Runs on updates, after `validate`. */
  validateChange?(object: DynamicObject, current: DynamicObject, context: RequestContext): FieldError[];
  selectableFields?: Strategy["selectableFields"];
}

/** The strategy of a kind of the type table. */
export function strategy(kind: GroupVersionKind, own: Particulars = {}): Strategy {
  const hasStatus = own.hasStatus ?? false;
  const typeKey = typeKeyOf(kind);
  return {
    hasStatus,
    tracksGeneration: own.tracksGeneration ?? false,
    unconditionalUpdate: own.unconditionalUpdate ?? true,
    createOnUpdate: own.createOnUpdate ?? false,
    nameRule: own.nameRule ?? "subdomain",
    decode(body) {
      const { object, unknownFields } = normalizeAs(typeKey, body);
      return { object: own.toStored ? own.toStored(object) : object, unknownFields };
    },
    default: (draft) => own.default?.(draft),
    defaultsOnRead: false,
    ...(own.admit && { admit: own.admit }),
    prepareForCreate(draft, context) {
      if (hasStatus)
        draft.status = { ...fieldsAt(normalizeAs(typeKey, {}).object, "status"), ...own.initialStatus?.(draft) };
      own.prepareForCreate?.(draft, context);
    },
    prepareForUpdate: (draft, current, context) => own.prepareForUpdate?.(draft, current, context),
    prepareForDelete: (draft) => own.prepareForDelete?.(draft),
    ...(own.graceFor && { graceFor: own.graceFor }),
    ...(own.dependents && { dependents: own.dependents }),
    ...(own.orphanWarning !== undefined && { orphanWarning: own.orphanWarning }),
    showsDeleted: own.showsDeleted ?? false,
    validateCreate: (object, context) => own.validate?.(object, context) ?? [],
    validateUpdate: (object, current, context) => [
      ...(own.validate?.(object, context) ?? []),
      ...(own.validateChange?.(object, current, context) ?? []),
    ],
    present: own.present ?? ((stored) => stored),
    selectableFields: own.selectableFields ?? {},
  };
}

function normalizeAs(typeKey: string, value: unknown): { object: DynamicObject; unknownFields: string[] } {
  const { object, unknownFields } = normalize(typeKey, value);
  return { object: object as DynamicObject, unknownFields };
}

/** A body in the form of a built-in kind, with what the kind does not know left out. Throws ApiError 400. */
export function bodyOf(kind: GroupVersionKind, body: unknown): DynamicObject {
  return normalizeAs(typeKeyOf(kind), body).object;
}

function typeKeyOf({ group, version, kind }: GroupVersionKind): string {
  const key = typeOf(group, version, kind);
  if (key === undefined) throw new Error(`the type table has no ${kind} in ${group || "core"}/${version}`);
  return key;
}

/** How a kind is served, beside its particulars. */
export interface Declaration extends GroupVersionKind, Particulars {
  plural: string;
  namespaced: boolean;
  singular?: string;
  shortNames?: readonly string[];
  categories?: readonly string[];
  verbs?: readonly Verb[];
  storage?: string;
  subresources?: readonly Subresource[];
  table?: TableLayout;
  answer?: Answer;
  /** What every answer warns of. */
  deprecation?: string;
}

export const ALL_VERBS: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** The resource of a built-in kind. */
export function resource(declared: Declaration): Resource {
  const { group, version, kind, plural, namespaced } = declared;
  const served = strategy(declared, declared);
  return {
    group,
    version,
    kind,
    listKind: `${kind}List`,
    plural,
    singular: declared.singular ?? kind.toLowerCase(),
    namespaced,
    shortNames: declared.shortNames ?? [],
    categories: declared.categories ?? [],
    verbs: declared.verbs ?? ALL_VERBS,
    storage: declared.storage ?? storageOf(group, plural),
    builtin: true,
    strategy: served,
    ...(!declared.answer && {
      fields: builtinVersion({
        apiVersion: apiVersionOf(declared),
        kind,
        typeKey: typeKeyOf(declared),
        present: served.present,
        ...(declared.toStored && { toStored: declared.toStored }),
      }),
    }),
    subresources: declared.subresources ?? [],
    table: declared.table ?? nameAndCreation,
    ...(declared.answer && { answer: declared.answer }),
    ...(declared.deprecation !== undefined && { deprecation: declared.deprecation }),
  };
}

/** `core/configmaps`, `apps/deployments`: where the objects of a built-in kind are kept. */
export function storageOf(group: string, plural: string): string {
  return `${group || "core"}/${plural}`;
}
