/** PUT and PATCH: the next state of an object, decided on its newest state and written once. */
import type { DynamicObject } from "#api/meta";
import { clone, isObject } from "#lib/json";
import { equalButTimes } from "../apply/index.ts";
import {
  ApiError,
  badRequest,
  type FieldError,
  field,
  forbidden,
  invalid,
  notFound,
  unsupportedMediaType,
} from "../errors.ts";
import { validateObjectMetaUpdate } from "../kinds/index.ts";
import { type DocumentPatch, patcher, resultRefusal } from "../patch/index.ts";
import type { RequestContext, Resource } from "../resource.ts";
import { createErrors, prepareCreate } from "./create.ts";
import { decodeFor, decodeView } from "./decoding.ts";
import { type ManagersOf, managersOfUpdate, requestedManagers, setManagers } from "./managed-fields.ts";
import { checkPreconditions, countGeneration, keepSystemMetadata, settleNamespace } from "./metadata.ts";
import type { FieldValidation } from "./options.ts";
import {
  kindSubjectOf,
  type NamedTarget,
  type RegistryDependencies,
  refuseForNamespace,
  storeKey,
  subjectOf,
} from "./target.ts";

export interface UpdateResult {
  readonly object: DynamicObject;
  readonly created: boolean;
}

export type UpdateContext = RequestContext & { fieldValidation: FieldValidation };

export async function update(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  body: DynamicObject,
  context: UpdateContext,
): Promise<UpdateResult> {
  const decoded = decode(target, body, context);
  if (!decoded.metadata.name && target.subresource?.view) decoded.metadata.name = target.name;
  requireName(decoded, target);
  settleNamespace(decoded, target);
  const requested = requestedManagers(body);
  return write(dependencies, target, context, (current) => {
    const managers = managersOfUpdate(dependencies, target, context, { current, requested });
    if (!current) return { draft: clone(decoded), managers };
    const draft = asObject(target, clone(decoded), current);
    checkPreconditions(draft, current, target);
    return { draft, managers };
  });
}

export type Patch = DocumentPatch;

/** By media type. */
const PATCH_TYPES: Readonly<Record<string, Patch["type"] | "apply">> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

export async function patch(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  change: Patch,
  context: UpdateContext,
): Promise<UpdateResult> {
  const { resource, subresource } = target;
  const apply = patcher(change, subresource?.responseKind ?? resource);
  return write(dependencies, target, context, (current) => {
    if (!current) throw notFound(subjectOf(target));
    const before = subresource?.view ? subresource.view.read(current) : resource.strategy.present(current);
    const patched = apply(before);
    const decoded = decodePatched(target, patched, change, context);
    settleNamespace(decoded, target);
    requireName(decoded, target);
    const draft = asObject(target, clone(decoded), current);
    const { uid } = draft.metadata;
    if (uid && uid !== current.metadata.uid) refuse(target, [field.invalid("metadata.uid", uid, "field is immutable")]);
    // A patch that leaves the resourceVersion alone was applied to the newest one, whatever that is, and agrees with it.
    checkPreconditions(draft, current, target);
    const requested = requestedManagers(patched);
    return { draft, managers: managersOfUpdate(dependencies, target, context, { current, requested }) };
  });
}

/** Like decode, with a body that nobody sent: what is wrong with it is the fault of the patch. */
function decodePatched(target: NamedTarget, after: unknown, change: Patch, context: UpdateContext): DynamicObject {
  try {
    if (!isObject(after)) throw badRequest("what is left is not an object");
    return decode(target, after as DynamicObject, context);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 400) throw error;
    throw resultRefusal(change, error.message.replace(/^.* cannot be handled as an? \w+: /s, ""));
  }
}

/** How to read a patch of that media type. Without a type in the table there is nothing strategic to know. */
export function patchTypeOf(contentType: string, { builtin }: Resource): Patch["type"] | "apply" {
  const accepted = Object.entries(PATCH_TYPES).filter(([, type]) => builtin || type !== "strategic");
  const found = accepted.find(([mediaType]) => mediaType === contentType);
  if (!found) throw unsupportedMediaType(accepted.map(([mediaType]) => mediaType));
  return found[1];
}

/** The name in the body must be the URL's. */
export function requireName({ metadata: { name } }: DynamicObject, target: NamedTarget): void {
  if (name === target.name) return;
  throw badRequest(`the name of the object (${name ?? ""}) does not match the name on the URL (${target.name})`);
}

function decode({ resource, subresource }: NamedTarget, body: DynamicObject, context: UpdateContext): DynamicObject {
  const { fieldValidation } = context;
  if (subresource?.view) return decodeView(subresource.responseKind, body, fieldValidation, context);
  return clone(decodeFor(resource, body, fieldValidation, context));
}

/** For `/scale` and its like, the request is a view: its wish is written into the object it shows. */
export function asObject({ subresource }: NamedTarget, request: DynamicObject, current: DynamicObject): DynamicObject {
  if (!subresource?.view) return request;
  const draft = clone(current);
  subresource.view.write(draft, request);
  if (request.metadata.resourceVersion) draft.metadata.resourceVersion = request.metadata.resourceVersion;
  return draft;
}

/** What a request makes of an object, before the server adds what is its own. */
export interface Wish {
  readonly draft: DynamicObject;
  readonly managers: ManagersOf;
}

/** Writes what `next` makes of the newest state; it is asked again whenever that has changed meanwhile. */
export async function write(
  { store, admission, mayCreate }: RegistryDependencies,
  target: NamedTarget,
  context: UpdateContext,
  next: (current: DynamicObject | undefined) => Wish,
  { createsMissing = target.resource.strategy.createOnUpdate }: { createsMissing?: boolean } = {},
): Promise<UpdateResult> {
  const { resource } = target;
  const key = storeKey(target);
  let created = false;
  let answer: DynamicObject | undefined;
  let removed = false;

  const decide = (current: DynamicObject | undefined): DynamicObject | undefined => {
    const { draft, managers } = next(current);
    if (!current) {
      if (!createsMissing || target.subresource) throw notFound(subjectOf(target));
      if (!mayCreate(target, context)) throw forbidden(subjectOf(target), "creating it needs the right to create");
      created = true;
      const refused = refuseForNamespace(store, target);
      if (refused) throw refused;
      delete draft.metadata.resourceVersion;
      prepareCreate(resource, draft, managers, context);
      admission.admit(target, draft, undefined, context);
      refuse(target, createErrors(target, draft, context));
      answer = draft;
      return draft;
    }
    prepareUpdate(target, draft, current, managers, context);
    admission.admit(target, draft, current, context);
    refuse(target, updateErrors(target, draft, current, context));
    if (equalButTimes(draft, current)) {
      answer = current;
      return current;
    }
    answer = draft;
    // The last finalizer of a deleted object is gone: so is the object. The client still sees what it wrote.
    removed = isFinished(draft);
    return removed ? undefined : draft;
  };

  if (context.dryRun) {
    decide(store.head(resource.storage, key));
    return { object: answer as unknown as DynamicObject, created };
  }
  const stored = await store.write(resource.storage, key, decide);
  return { object: stored && !removed ? stored : (answer as unknown as DynamicObject), created };
}

function prepareUpdate(
  target: NamedTarget,
  draft: DynamicObject,
  current: DynamicObject,
  managers: ManagersOf,
  context: RequestContext,
): void {
  const { resource, subresource } = target;
  keepSystemMetadata(draft, current);
  resource.strategy.default(draft);
  const managedFields = managers(draft);
  if (subresource?.edit) subresource.edit.prepare(draft, current, context);
  else {
    if (resource.strategy.hasStatus) keepStatus(draft, current);
    resource.strategy.prepareForUpdate(draft, current, context);
  }
  setManagers(draft, managedFields);
  // `/status` and its like change no wish.
  if (!subresource?.edit) countGeneration(draft, current, resource);
}

function keepStatus(draft: DynamicObject, current: DynamicObject): void {
  if (current.status === undefined) delete draft.status;
  else draft.status = current.status;
}

function updateErrors(
  target: NamedTarget,
  draft: DynamicObject,
  current: DynamicObject,
  context: RequestContext,
): FieldError[] {
  const { resource, subresource } = target;
  const { strategy, namespaced, builtin } = resource;
  const own = subresource?.edit
    ? subresource.edit.validate(draft, current, context)
    : strategy.validateUpdate(draft, current, context);
  const rules = { namespaced, nameRule: strategy.nameRule, builtin };
  const flaws = validateObjectMetaUpdate(draft.metadata, current.metadata, rules);
  // Kubernetes 1.36 looks at metadata twice, for all kinds alike and with the kind, and tells both findings.
  return [...flaws, ...flaws, ...own];
}

/** What was found twice is twice among the causes, and once in the message. */
function refuse(target: NamedTarget, errors: FieldError[]): void {
  if (errors.length === 0) return;
  const { message } = invalid(kindSubjectOf(target), [...new Set(errors)]);
  const { details } = invalid(kindSubjectOf(target), errors).status;
  throw new ApiError(422, "Invalid", message, details ?? {});
}

/** Deleted, and nothing holds it any longer; Namespaces are also held by their spec. */
export function isFinished(object: DynamicObject): boolean {
  if (!object.metadata.deletionTimestamp || object.metadata.deletionGracePeriodSeconds) return false;
  if ((object.metadata.finalizers ?? []).length > 0) return false;
  const spec = object.spec as { finalizers?: unknown[] } | undefined;
  return object.kind !== "Namespace" || object.apiVersion !== "v1" || (spec?.finalizers ?? []).length === 0;
}
