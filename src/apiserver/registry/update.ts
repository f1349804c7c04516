/** PUT and PATCH: the next state of an object, decided on its newest state and written once. */
import type { DynamicObject } from "#api/meta";
import { clone, equal, isObject } from "#lib/json";
import { applyJsonPatch, applyMergePatch, PatchError } from "#lib/patch";
import {
  ApiError,
  badRequest,
  type FieldError,
  forbidden,
  invalid,
  notFound,
  unsupportedMediaType,
} from "../errors.ts";
import { validateObjectMetaUpdate } from "../kinds/index.ts";
import type { RequestContext } from "../resource.ts";
import { createErrors, prepareCreate } from "./create.ts";
import { decodeFor } from "./decoding.ts";
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

type UpdateContext = RequestContext & { fieldValidation: FieldValidation };

export async function update(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  body: DynamicObject,
  context: UpdateContext,
): Promise<UpdateResult> {
  const decoded = decodeView(target, body, context);
  if (!decoded.metadata.name && target.subresource?.view) decoded.metadata.name = target.name;
  if (decoded.metadata.name !== target.name) {
    throw badRequest(
      `the name of the object (${decoded.metadata.name ?? ""}) does not match the name on the URL (${target.name})`,
    );
  }
  settleNamespace(decoded, target);
  return write(dependencies, target, context, (current) => {
    if (!current) return clone(decoded);
    const draft = asObject(target, clone(decoded), current);
    checkPreconditions(draft, current, target);
    return draft;
  });
}

export type Patch = { type: "merge"; patch: unknown } | { type: "json"; patch: unknown };

export const PATCH_TYPES: Readonly<Record<string, Patch["type"]>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
};

/** As kube-apiserver: more operations than this are refused before they are tried. */
const MOST_OPERATIONS = 10_000;

export async function patch(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  { type, patch: change }: Patch,
  context: UpdateContext,
): Promise<UpdateResult> {
  const apply = type === "json" ? jsonPatcher(change) : mergePatcher(change);
  return write(dependencies, target, context, (current) => {
    if (!current) throw notFound(subjectOf(target));
    const before = target.subresource?.view
      ? target.subresource.view.read(current)
      : target.resource.strategy.present(current);
    const after = apply(before);
    if (!isObject(after)) throw badRequest("the patch does not leave an object");
    const decoded = decodeView(target, after as DynamicObject, context);
    settleNamespace(decoded, target);
    const draft = asObject(target, clone(decoded), current);
    if (draft.metadata.name !== target.name) {
      throw badRequest(
        `the name of the object (${draft.metadata.name ?? ""}) does not match the name on the URL (${target.name})`,
      );
    }
    // A patch that leaves the resourceVersion alone is about the newest state, whatever that is.
    draft.metadata.resourceVersion ||= current.metadata.resourceVersion ?? "";
    checkPreconditions(draft, current, target);
    return draft;
  });
}

function jsonPatcher(change: unknown): (value: unknown) => unknown {
  if (!Array.isArray(change)) throw badRequest("error decoding patch: a JSON patch is a list of operations");
  if (change.length > MOST_OPERATIONS) {
    throw new ApiError(
      413,
      "RequestEntityTooLarge",
      `The allowed maximum operations in a JSON patch is ${MOST_OPERATIONS}, got ${change.length}`,
    );
  }
  return (value) => {
    try {
      return applyJsonPatch(value, change);
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      throw new ApiError(
        422,
        "Invalid",
        `the server rejected our request due to an error in our request: ${error.message}`,
        {},
      );
    }
  };
}

function mergePatcher(change: unknown): (value: unknown) => unknown {
  if (!isObject(change)) throw badRequest("invalid JSON patch: a merge patch is an object");
  return (value) => applyMergePatch(value, change);
}

export function patchTypeOf(contentType: string): Patch["type"] {
  const type = Object.hasOwn(PATCH_TYPES, contentType) ? PATCH_TYPES[contentType] : undefined;
  if (!type) throw unsupportedMediaType(Object.keys(PATCH_TYPES));
  return type;
}

function decodeView(target: NamedTarget, body: DynamicObject, context: UpdateContext): DynamicObject {
  const { resource, subresource } = target;
  if (subresource?.view) return { ...body, metadata: { ...body.metadata } } as DynamicObject;
  return clone(decodeFor(resource, body, context.fieldValidation, context));
}

/** For `/scale` and its like, the request is a view: its wish is written into the object it shows. */
function asObject({ subresource }: NamedTarget, request: DynamicObject, current: DynamicObject): DynamicObject {
  if (!subresource?.view) return request;
  const draft = clone(current);
  subresource.view.write(draft, request);
  if (request.metadata.resourceVersion) draft.metadata.resourceVersion = request.metadata.resourceVersion;
  return draft;
}

async function write(
  { store, admission, mayCreate }: RegistryDependencies,
  target: NamedTarget,
  context: UpdateContext,
  next: (current: DynamicObject | undefined) => DynamicObject,
): Promise<UpdateResult> {
  const { resource } = target;
  const key = storeKey(target);
  let created = false;
  let answer: DynamicObject | undefined;

  const decide = (current: DynamicObject | undefined): DynamicObject | undefined => {
    const draft = next(current);
    if (!current) {
      if (!resource.strategy.createOnUpdate || target.subresource) throw notFound(subjectOf(target));
      if (!mayCreate(target, context)) throw forbidden(subjectOf(target), "creating it needs the right to create");
      created = true;
      const refused = refuseForNamespace(store, target);
      if (refused) throw refused;
      delete draft.metadata.resourceVersion;
      prepareCreate(resource, draft, context);
      admission.admit(target, draft, undefined, context);
      refuse(target, createErrors(target, draft, context));
      answer = draft;
      return draft;
    }
    prepareUpdate(target, draft, current, context);
    admission.admit(target, draft, current, context);
    refuse(target, updateErrors(target, draft, current, context));
    answer = draft;
    if (equal(draft, current)) return current;
    // The last finalizer of a deleted object is gone: so is the object.
    return isFinished(draft) ? undefined : draft;
  };

  if (context.dryRun) {
    decide(store.head(resource.storage, key));
    return { object: answer as unknown as DynamicObject, created };
  }
  const stored = await store.write(resource.storage, key, decide);
  return { object: stored ?? (answer as unknown as DynamicObject), created };
}

function prepareUpdate(
  target: NamedTarget,
  draft: DynamicObject,
  current: DynamicObject,
  context: RequestContext,
): void {
  const { resource, subresource } = target;
  keepSystemMetadata(draft, current);
  resource.strategy.default(draft);
  if (subresource?.edit) subresource.edit.prepare(draft, current, context);
  else {
    if (resource.strategy.hasStatus) keepStatus(draft, current);
    resource.strategy.prepareForUpdate(draft, current, context);
  }
  countGeneration(draft, current, resource);
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
  return [
    ...validateObjectMetaUpdate(draft.metadata, current.metadata, { namespaced, nameRule: strategy.nameRule, builtin }),
    ...own,
  ];
}

function refuse(target: NamedTarget, errors: FieldError[]): void {
  if (errors.length > 0) throw invalid(kindSubjectOf(target), errors);
}

/** Deleted, and nothing holds it any longer; Namespaces are also held by their spec. */
export function isFinished(object: DynamicObject): boolean {
  if (!object.metadata.deletionTimestamp || object.metadata.deletionGracePeriodSeconds) return false;
  if ((object.metadata.finalizers ?? []).length > 0) return false;
  const spec = object.spec as { finalizers?: unknown[] } | undefined;
  return object.kind !== "Namespace" || object.apiVersion !== "v1" || (spec?.finalizers ?? []).length === 0;
}
