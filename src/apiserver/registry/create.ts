/** POST: a new object, whole or not at all. */
import type { DynamicObject } from "#api/meta";
import { clone } from "#lib/json";
import { ApiError, alreadyExists, badRequest, type FieldError, invalid, methodNotAllowed } from "../errors.ts";
import { validateObjectMeta } from "../kinds/index.ts";
import type { RequestContext } from "../resource.ts";
import { decodeFor } from "./decoding.ts";
import { type ManagersOf, managersOfUpdate, requestedManagers, setManagers } from "./managed-fields.ts";
import { fillForCreate, generatedName, settleNamespace } from "./metadata.ts";
import type { FieldValidation } from "./options.ts";
import {
  kindSubjectOf,
  type RegistryDependencies,
  refuseForNamespace,
  storeKey,
  subjectOf,
  type Target,
} from "./target.ts";

/** A generated name may be taken; so often another one is tried. */
const NAME_ATTEMPTS = 8;

export async function create(
  dependencies: RegistryDependencies,
  target: Target,
  body: DynamicObject,
  context: RequestContext & { fieldValidation: FieldValidation },
): Promise<DynamicObject> {
  const { resource } = target;
  if (resource.namespaced && target.namespace === undefined) throw methodNotAllowed();
  const draft = clone(decodeFor(resource, body, context.fieldValidation, context));
  settleNamespace(draft, target);
  if (target.name !== undefined && draft.metadata.name !== target.name) {
    throw badRequest(
      `the name of the object (${draft.metadata.name}) does not match the name on the URL (${target.name})`,
    );
  }

  const requested = requestedManagers(body);
  const managers = managersOfUpdate(dependencies, target, context, { current: undefined, requested });
  const { name, generateName } = draft.metadata;
  if (name || !generateName) return createNamed(dependencies, target, draft, managers, context);
  for (let attempt = 1; ; attempt++) {
    const named = clone(draft);
    named.metadata.name = generatedName(generateName);
    try {
      return await createNamed(dependencies, target, named, managers, context);
    } catch (error) {
      if (!(error instanceof ApiError && error.status.reason === "AlreadyExists") || attempt === NAME_ATTEMPTS)
        throw error;
    }
  }
}

async function createNamed(
  { store, admission }: RegistryDependencies,
  { resource, namespace }: Target,
  draft: DynamicObject,
  managers: ManagersOf,
  context: RequestContext,
): Promise<DynamicObject> {
  const target: Target = { resource, ...(namespace !== undefined && { namespace }), name: draft.metadata.name ?? "" };
  const key = storeKey(target);
  const refused = refuseForNamespace(store, target);
  if (refused) throw refused;

  prepareCreate(resource, draft, managers, context);
  admission.admit(target, draft, undefined, context);
  const errors = createErrors(target, draft, context);
  if (errors.length > 0) throw invalid(kindSubjectOf(target), errors);
  if (store.head(resource.storage, key)) throw alreadyExists(subjectOf(target));
  if (context.dryRun) return draft;

  const stored = await store.write(resource.storage, key, (current) => {
    if (current) throw alreadyExists(subjectOf(target));
    const gone = refuseForNamespace(store, target);
    if (gone) throw gone;
    return draft;
  });
  return stored ?? draft;
}

/** Fills in what a new object gets from the server and from its kind. */
export function prepareCreate(
  resource: Target["resource"],
  draft: DynamicObject,
  managers: ManagersOf,
  context: RequestContext,
): void {
  fillForCreate(draft, resource, context.now);
  resource.strategy.default(draft);
  const managedFields = managers(draft);
  resource.strategy.prepareForCreate(draft, context);
  setManagers(draft, managedFields);
}

export function createErrors({ resource }: Target, draft: DynamicObject, context: RequestContext): FieldError[] {
  const { namespaced, strategy } = resource;
  return [
    ...validateObjectMeta(draft.metadata, { namespaced, nameRule: strategy.nameRule, builtin: resource.builtin }),
    ...strategy.validateCreate(draft, context),
  ];
}
