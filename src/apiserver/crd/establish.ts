/** Which names a definition gets, and whether its kind is served. */
import {
  type CustomResourceDefinition,
  type CustomResourceDefinitionCondition,
  type CustomResourceDefinitionStatus,
  type CustomResourceNames,
  DefinitionCondition,
} from "#api/apiextensions";
import { timestamp } from "#lib/clock";
import type { Resource } from "../resource.ts";
import { approvalOf } from "./approval.ts";

/** The names of a built-in resource; a Resource is one. */
export type BuiltinNames = Pick<Resource, "group" | "plural" | "singular" | "shortNames" | "kind" | "listKind">;

/**
 * The status that a definition has once its names have been looked at. Names are granted one by one: a name
 * that another kind of the group has stays what it was, and the kind is served only after all were granted.
 */
export function establish(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  builtins: readonly BuiltinNames[],
  now: Date,
): CustomResourceDefinitionStatus {
  const { status = {} } = definition;
  const taken = takenNames(definition, others, builtins);
  const { acceptedNames, conflict } = grant(definition.spec.names, status.acceptedNames, taken);

  let conditions = set(status.conditions ?? [], namesAccepted(conflict), now);
  conditions = set(conditions, established(conditions, conflict !== undefined), now);
  const approval = approvalOf(definition);
  if (approval) conditions = set(conditions, { type: DefinitionCondition.ApprovalPolicyConformant, ...approval }, now);
  else conditions = conditions.filter(({ type }) => type !== DefinitionCondition.ApprovalPolicyConformant);

  return { ...status, conditions, acceptedNames, storedVersions: storedVersions(definition) };
}

/** Whether a condition of the definition is True. */
export function isTrue({ status }: CustomResourceDefinition, type: string): boolean {
  return status?.conditions?.some((condition) => condition.type === type && condition.status === "True") ?? false;
}

interface TakenNames {
  /** Plurals, singulars and short names share the place where users type them. */
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

function takenNames(
  { spec, metadata }: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  builtins: readonly BuiltinNames[],
): TakenNames {
  const holders: Partial<CustomResourceNames | BuiltinNames>[] = [
    ...others
      .filter((other) => other.spec.group === spec.group && other.metadata.name !== metadata.name)
      .map((other) => other.status?.acceptedNames ?? {}),
    ...builtins.filter(({ group }) => group === spec.group),
  ];
  const names = (of: (string | undefined)[]) => new Set(of.filter((name): name is string => Boolean(name)));
  return {
    resources: names(holders.flatMap(({ plural, singular, shortNames = [] }) => [plural, singular, ...shortNames])),
    kinds: names(holders.flatMap(({ kind, listKind }) => [kind, listKind])),
  };
}

interface Conflict {
  readonly reason: string;
  readonly name: string;
}

function grant(
  wanted: CustomResourceNames,
  had: CustomResourceNames | undefined,
  { resources, kinds }: TakenNames,
): { acceptedNames: CustomResourceNames; conflict: Conflict | undefined } {
  let conflict: Conflict | undefined;
  /** The name wished for, or the one held so far where that is taken. The last conflict is the one told. */
  const granted = <T>(value: T, previous: T, takenName: string | undefined, reason: string): T => {
    if (takenName === undefined) return value;
    conflict = { reason, name: takenName };
    return previous;
  };
  const among = (taken: ReadonlySet<string>, name: string | undefined) => (name && taken.has(name) ? name : undefined);

  const { plural, singular, shortNames = [], kind, listKind, categories } = wanted;
  const takenShortName = shortNames.find((name) => resources.has(name));
  const names = {
    plural: granted(plural, had?.plural ?? "", among(resources, plural), "PluralConflict"),
    singular: granted(singular, had?.singular, among(resources, singular), "SingularConflict"),
    shortNames: granted(shortNames, had?.shortNames ?? [], takenShortName, "ShortNamesConflict"),
    kind: granted(kind, had?.kind ?? "", among(kinds, kind), "KindConflict"),
    listKind: granted(listKind, had?.listKind, among(kinds, listKind), "ListKindConflict"),
  };
  const acceptedNames: CustomResourceNames = {
    plural: names.plural,
    ...(names.singular && { singular: names.singular }),
    ...(names.shortNames.length > 0 && { shortNames: [...names.shortNames] }),
    kind: names.kind,
    ...(names.listKind && { listKind: names.listKind }),
    ...(categories && categories.length > 0 && { categories: [...categories] }),
  };
  return { acceptedNames, conflict };
}

function namesAccepted(conflict: Conflict | undefined): CustomResourceDefinitionCondition {
  const { NamesAccepted: type } = DefinitionCondition;
  if (conflict)
    return { type, status: "False", reason: conflict.reason, message: `"${conflict.name}" is already in use` };
  return { type, status: "True", reason: "NoConflicts", message: "no conflicts found" };
}

/** A kind that is served stays served: a later conflict only keeps it from getting its new names. */
function established(
  conditions: readonly CustomResourceDefinitionCondition[],
  hasConflict: boolean,
): CustomResourceDefinitionCondition {
  const { Established: type } = DefinitionCondition;
  const existing = conditions.find((condition) => condition.type === type);
  if (existing?.status === "True") return existing;
  if (hasConflict) return { type, status: "False", reason: "NotAccepted", message: "not all names are accepted" };
  return { type, status: "True", reason: "InitialNamesAccepted", message: "the initial names have been accepted" };
}

function set(
  conditions: readonly CustomResourceDefinitionCondition[],
  condition: CustomResourceDefinitionCondition,
  now: Date,
): CustomResourceDefinitionCondition[] {
  const at = conditions.findIndex(({ type }) => type === condition.type);
  const before = conditions[at];
  const since = before?.status === condition.status ? before.lastTransitionTime : undefined;
  const { type, status, ...why } = condition;
  const next = { type, status, lastTransitionTime: since ?? timestamp(now), ...why };
  return before ? conditions.with(at, next) : [...conditions, next];
}

function storedVersions({ spec, status }: CustomResourceDefinition): string[] {
  const stored = status?.storedVersions ?? [];
  const storage = spec.versions.find((version) => version.storage)?.name;
  return storage === undefined || stored.includes(storage) ? [...stored] : [...stored, storage];
}
