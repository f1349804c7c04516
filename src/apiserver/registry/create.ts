/** POST: a new object, whole or not at all. */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { clone } from "#lib/json";
import { ApiError, alreadyExists, badRequest, type FieldError, invalid, methodNotAllowed } from "../errors.ts";
import { validateObjectMeta } from "../kinds/index.ts";
import type { RequestContext } from "../resource.ts";
import { mutated, validated } from "./asking.ts";
import { decodeFor } from "./decoding.ts";
import { managersOfUpdate, requestedManagers, setManagers } from "./managed-fields.ts";
import { fillForCreate, generatedName, settleNamespace, wipeForCreate } from "./metadata.ts";
import type { FieldValidation } from "./options.ts";
import {
  type AdmissionWebhooks,
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
  const refused = refuseForNamespace(dependencies.store, named(target, draft));
  if (refused) throw refused;

  const requested = requestedManagers(body);
  const managers = managersOfUpdate(dependencies, target, context, { current: undefined, requested });
  wipeForCreate(draft);
  resource.strategy.default(draft);
  const { conversion } = resource;
  beginCreate(target, draft, conversion ? await conversion.settled(() => managers(draft)) : managers(draft));

  const webhooks = dependencies.admission.webhooks(target, "CREATE");
  const wish = webhooks ? await mutated(webhooks, { target, draft, current: undefined, context }) : draft;
  return createWished(dependencies, target, wish, webhooks, context);
}

/** Under the name that the object has by now, or under one that nobody has. */
async function createWished(
  dependencies: RegistryDependencies,
  target: Target,
  wish: DynamicObject,
  webhooks: AdmissionWebhooks | undefined,
  context: RequestContext,
): Promise<DynamicObject> {
  const { name, generateName } = wish.metadata;
  if (name || !generateName) return createNamed(dependencies, target, wish, webhooks, context);
  for (let attempt = 1; ; attempt++) {
    const draft = clone(wish);
    draft.metadata.name = generatedName(generateName);
    try {
      return await createNamed(dependencies, target, draft, webhooks, context);
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
  webhooks: AdmissionWebhooks | undefined,
  context: RequestContext,
): Promise<DynamicObject> {
  const target = named({ resource, ...(namespace !== undefined && { namespace }) }, draft);
  const key = storeKey(target);
  finishCreate(target, draft, context);
  admission.admit(target, draft, undefined, context);
  const errors = createErrors(target, draft, context);
  if (errors.length > 0) throw invalid(kindSubjectOf(target), errors);
  if (webhooks) await validated(webhooks, { target, draft, current: undefined, context });
  if (store.head(resource.storage, key)) throw alreadyExists(subjectOf(target));
  if (context.dryRun) return draft;

  const next = resource.conversion ? await resource.conversion.toStorage(draft) : draft;
  const stored = await store.write(resource.storage, key, (current) => {
    if (current) throw alreadyExists(subjectOf(target));
    const gone = refuseForNamespace(store, target);
    if (gone) throw gone;
    return next;
  });
  return stored ?? draft;
}

function named(target: Target, { metadata }: DynamicObject): Target {
  return { ...target, name: metadata.name ?? "" };
}

/** A new object that has its defaults, before anybody outside sees it. */
export function beginCreate(
  { resource }: Target,
  draft: DynamicObject,
  managedFields: ManagedFieldsEntry[] | undefined,
): void {
  setManagers(draft, managedFields);
  resource.strategy.admit?.(draft);
}

/** Fills in what a new object gets from the server and from its kind, whatever others made of it. */
export function finishCreate({ resource }: Target, draft: DynamicObject, context: RequestContext): void {
  fillForCreate(draft, resource, context.now);
  const { managedFields } = draft.metadata;
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
