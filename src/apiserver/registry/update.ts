/** PUT and PATCH: what a request makes of an object. */
import type { DynamicObject } from "#api/meta";
import { clone, isObject } from "#lib/json";
import { ApiError, badRequest, field, notFound, unsupportedMediaType } from "../errors.ts";
import { type DocumentPatch, patcher, resultRefusal } from "../patch/index.ts";
import type { Resource } from "../resource.ts";
import { decodeFor, decodeView } from "./decoding.ts";
import { managersOfUpdate, requestedManagers } from "./managed-fields.ts";
import { checkPreconditions, settleNamespace } from "./metadata.ts";
import { type NamedTarget, type RegistryDependencies, subjectOf } from "./target.ts";
import { refuse, type UpdateContext, type UpdateResult, write } from "./write.ts";

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
