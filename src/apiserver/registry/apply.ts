/** PATCH with an apply configuration: what a manager wants of an object, created when there is none. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { clone, isObject } from "#lib/json";
import { badRequest, conflict, notFound } from "../errors.ts";
import type { GroupVersionKind } from "../resource.ts";
import { decodeFor, decodeView } from "./decoding.ts";
import { appliedTo } from "./managed-fields.ts";
import { checkPreconditions, settleNamespace } from "./metadata.ts";
import { type NamedTarget, type RegistryDependencies, subjectOf } from "./target.ts";
import { asObject, requireName } from "./update.ts";
import { type UpdateContext, type UpdateResult, write } from "./write.ts";

/** `config` is the decoded body. */
export async function apply(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  config: unknown,
  context: UpdateContext & { readonly force: boolean },
): Promise<UpdateResult> {
  const { resource, subresource } = target;
  return write(
    dependencies,
    target,
    context,
    (current) => {
      if (!current && subresource) throw notFound(subjectOf(target));
      const checked = configuration(config, subresource?.responseKind ?? resource);
      const { object, managedFields } = appliedTo(dependencies, target, context, { current, config: checked });
      const decoded = subresource?.view
        ? decodeView(subresource.responseKind, object, "Ignore", context)
        : clone(decodeFor(resource, object, "Ignore", context));
      requireIdentity(decoded, current, target);
      settleNamespace(decoded, target);
      const draft = current ? asObject(target, decoded, current) : decoded;
      if (current) checkPreconditions(draft, current, target);
      return { draft, managers: () => managedFields };
    },
    { createsMissing: true },
  );
}

function configuration(config: unknown, expected: GroupVersionKind): DynamicObject {
  const { apiVersion = "", kind = "", metadata } = isObject(config) ? config : {};
  if (apiVersion !== apiVersionOf(expected) || kind !== expected.kind) {
    const groupVersion = String(apiVersion).includes("/") ? apiVersion : `/${apiVersion}`;
    throw badRequest(`invalid object type: ${groupVersion}, Kind=${kind}`);
  }
  if (isObject(metadata) && Array.isArray(metadata.managedFields))
    throw badRequest("metadata.managedFields must be nil");
  return config as DynamicObject;
}

function requireIdentity(decoded: DynamicObject, current: DynamicObject | undefined, target: NamedTarget): void {
  const { name, uid } = decoded.metadata;
  if (uid && !current) {
    throw conflict(
      subjectOf(target),
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    );
  }
  if (!name)
    throw badRequest(`the name of the object (${target.name} based on URL) was undeterminable: name must be provided`);
  requireName(decoded, target);
}
