/** What the patch of a webhook makes of an object. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { clone, isObject, parseJson } from "#lib/json";
import { applyJsonPatch, type JsonPatchOperation, PatchError, parseJsonPatch } from "#lib/patch";
import { ApiError, internalError } from "../errors.ts";
import type { Resource, Subresource } from "../resource.ts";
import { normalize, typeOf } from "../types/index.ts";
import type { Hook } from "./configurations.ts";
import { HookFailure } from "./hook-call.ts";
import { isAboutObjects } from "./review-request.ts";

export interface WebhookPatch {
  readonly patch: { readonly text: string; readonly type: string };
  /** In the version of `resource`; absent when something is deleted. */
  readonly object: DynamicObject | undefined;
  readonly resource: Resource;
  readonly subresource: Subresource | undefined;
  readonly hook: Hook;
}

/** An object of its kind with its defaults; undefined when the patch is empty. Throws HookFailure and ApiError. */
export function patched({ patch, object, resource, subresource, hook }: WebhookPatch): DynamicObject | undefined {
  const operations = operationsIn(patch.text);
  if (operations.length === 0) return undefined;
  if (!object) {
    const name = JSON.stringify(hook.webhook.name);
    throw internalError(
      `admission webhook ${name} attempted to modify the object, which is not supported for this operation`,
    );
  }
  if (patch.type !== "JSONPatch") throw new HookFailure(`unsupported patch type ${JSON.stringify(patch.type)}`);
  try {
    return asKind(resource, subresource, sameKind(object, applyJsonPatch(object, operations)));
  } catch (error) {
    if (error instanceof PatchError) throw internalError(error.message);
    // What is wrong with it is the webhook's fault, not that of the client.
    if (error instanceof ApiError && error.code < 500) throw internalError(error.message);
    throw error;
  }
}

function operationsIn(text: string): JsonPatchOperation[] {
  try {
    return parseJsonPatch(parseJson(text));
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof PatchError)) throw error;
    const why = error instanceof PatchError ? error.message : "no JSON";
    throw new HookFailure(`received undecodable patch in webhook response: ${why}`);
  }
}

function sameKind(before: DynamicObject, after: unknown): DynamicObject {
  if (!isObject(after) || !isObject(after.metadata)) throw internalError("what the patch leaves is not an object");
  const { kind, apiVersion } = after;
  if (kind === before.kind && apiVersion === before.apiVersion) return after as DynamicObject;
  throw internalError(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
}

function asKind(resource: Resource, subresource: Subresource | undefined, object: DynamicObject): DynamicObject {
  if (!isAboutObjects({ resource, ...(subresource && { subresource }) })) {
    return asType(subresource?.responseKind ?? resource, object);
  }
  const { strategy } = resource;
  const draft = clone(strategy.decode(object).object);
  strategy.default(draft);
  return strategy.present(draft);
}

function asType({ group, version, kind }: Pick<Resource, "group" | "version" | "kind">, object: DynamicObject) {
  const typeKey = typeOf(group, version, kind);
  if (typeKey === undefined) throw new Error(`the type table has no ${kind} in ${apiVersionOf({ group, version })}`);
  return normalize(typeKey, object).object as DynamicObject;
}
