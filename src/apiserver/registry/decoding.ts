/** From a decoded body to an object of the kind that the URL names. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { badRequest, field, invalid } from "../errors.ts";
import type { GroupVersionKind, RequestContext, Resource } from "../resource.ts";
import { normalize, typeOf } from "../types/index.ts";
import type { FieldValidation } from "./options.ts";

/**
 * Checks apiVersion and kind against the URL, removes what the schema does not know, and treats unknown and
 * repeated fields as the request asks: refuse, warn or keep silent.
 */
export function decodeFor(
  resource: Resource,
  body: DynamicObject,
  validation: FieldValidation,
  context: RequestContext,
): DynamicObject {
  const { object, unknownFields } = resource.strategy.decode(withTypeMeta(resource, body));
  reportStray(unknownFields, resource, validation, context);
  return object;
}

/** The same for a view that has a kind of its own, such as `/scale`. */
export function decodeView(
  kind: GroupVersionKind,
  body: DynamicObject,
  validation: FieldValidation,
  context: RequestContext,
): DynamicObject {
  const typeKey = typeOf(kind.group, kind.version, kind.kind);
  if (typeKey === undefined) throw new Error(`the type table has no ${kind.kind}`);
  refuseOther(kind, body);
  const { object, unknownFields } = normalize(typeKey, body);
  reportStray(unknownFields, kind, validation, context);
  return object as DynamicObject;
}

function reportStray(
  paths: readonly string[],
  { kind, version }: GroupVersionKind,
  validation: FieldValidation,
  context: RequestContext,
): void {
  const texts = [...paths.map((path) => `unknown field ${JSON.stringify(path)}`), ...(context.repeatedFields ?? [])];
  if (texts.length === 0 || validation === "Ignore") return;
  if (validation === "Strict") {
    throw badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: strict decoding error: ${texts.join(", ")}`,
    );
  }
  for (const text of texts) context.warn(text);
}

function withTypeMeta(resource: Resource, body: DynamicObject): DynamicObject {
  const apiVersion = apiVersionOf(resource);
  const metadata = isObject(body.metadata) ? body.metadata : {};
  if (body.metadata !== undefined && body.metadata !== null && !isObject(body.metadata)) {
    throw badRequest(
      `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: metadata must be an object`,
    );
  }
  if (resource.builtin) {
    refuseOther(resource, body);
  } else {
    if (!body.kind) throw badRequest(`Object 'Kind' is missing in the body of the request`);
    if (body.apiVersion !== apiVersion) {
      throw badRequest(
        `the API version in the data (${body.apiVersion ?? ""}) does not match the expected API version (${apiVersion})`,
      );
    }
    if (body.kind !== resource.kind) {
      throw invalid(
        { group: resource.group, kind: String(body.kind), name: String((metadata as { name?: unknown }).name ?? "") },
        [field.invalid("kind", body.kind, `must be ${resource.kind}`)],
      );
    }
  }
  return { ...body, apiVersion, kind: resource.kind, metadata } as DynamicObject;
}

/** Of built-in kinds, a body may leave out what it is, but not say otherwise. */
function refuseOther(wanted: GroupVersionKind, body: DynamicObject): void {
  const apiVersion = apiVersionOf(wanted);
  const said = { apiVersion: String(body.apiVersion || apiVersion), kind: String(body.kind || wanted.kind) };
  const as = `in version ${JSON.stringify(versionOf(said.apiVersion))} cannot be handled as a ${wanted.kind}`;
  if (said.kind !== wanted.kind) {
    throw badRequest(`${said.kind} ${as}: converting (${said.kind}) to (${wanted.kind}): unknown conversion`);
  }
  if (said.apiVersion !== apiVersion) {
    throw badRequest(
      `${wanted.kind} ${as}: no kind ${JSON.stringify(wanted.kind)} is registered for version ${JSON.stringify(said.apiVersion)}`,
    );
  }
}

function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}
