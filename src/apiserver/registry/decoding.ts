/** From a decoded body to an object of the kind that the URL names. */
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { badRequest } from "../errors.ts";
import type { RequestContext, Resource } from "../resource.ts";
import type { FieldValidation } from "./options.ts";

/**
 * Checks apiVersion and kind against the URL, removes what the schema does not know, and treats unknown fields
 * as the request asks: refuse, warn or keep silent.
 */
export function decodeFor(
  resource: Resource,
  body: DynamicObject,
  validation: FieldValidation,
  context: RequestContext,
): DynamicObject {
  const { object, unknownFields } = resource.strategy.decode(withTypeMeta(resource, body));
  if (unknownFields.length > 0 && validation !== "Ignore") {
    const texts = unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`);
    if (validation === "Strict") {
      throw badRequest(
        `${resource.kind} in version ${JSON.stringify(resource.version)} cannot be handled as a ${resource.kind}: strict decoding error: ${texts.join(", ")}`,
      );
    }
    for (const text of texts) context.warn(text);
  }
  return object;
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
    const said = { apiVersion: body.apiVersion || apiVersion, kind: body.kind || resource.kind };
    if (said.kind !== resource.kind) {
      throw badRequest(
        `${said.kind} in version ${JSON.stringify(versionOf(said.apiVersion))} cannot be handled as a ${resource.kind}: converting (${said.kind}) to (${resource.kind}): unknown conversion`,
      );
    }
    if (said.apiVersion !== apiVersion) {
      throw badRequest(
        `${resource.kind} in version ${JSON.stringify(versionOf(said.apiVersion))} cannot be handled as a ${resource.kind}: no kind ${JSON.stringify(resource.kind)} is registered for version ${JSON.stringify(said.apiVersion)}`,
      );
    }
  } else {
    if (!body.kind) throw badRequest(`Object 'Kind' is missing in the body of the request`);
    if (body.kind !== resource.kind || body.apiVersion !== apiVersion) {
      throw badRequest(
        `the API version in the data (${body.apiVersion ?? ""}) and kind (${body.kind}) does not match the expected API version (${apiVersion}) and kind (${resource.kind})`,
      );
    }
  }
  return { ...body, apiVersion, kind: resource.kind, metadata } as DynamicObject;
}

function versionOf(apiVersion: string): string {
  return apiVersion.slice(apiVersion.indexOf("/") + 1);
}
