import { ApiError, forbidden } from "../errors.ts";
import { type Attributes, combinedResource } from "./attributes.ts";

/** The answer to a request that is not allowed; `reason` is what the authorizer had to say. */
export function accessDenied(attributes: Attributes, reason = ""): ApiError {
  const who = `User ${JSON.stringify(attributes.user.username)}`;
  const because = reason === "" ? "" : `: ${reason}`;
  if (attributes.resource === undefined) {
    const message = `forbidden: ${who} cannot ${attributes.verb} path ${JSON.stringify(attributes.path)}${because}`;
    return new ApiError(403, "Forbidden", message, {});
  }
  const { verb, group, resource, namespace, name } = attributes;
  const what = `${JSON.stringify(combinedResource(attributes))} in API group ${JSON.stringify(group)}`;
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : "at the cluster scope";
  return forbidden(
    { group, kind: resource, ...(name && { name }) },
    `${who} cannot ${verb} resource ${what} ${where}${because}`,
  );
}

/** The text of that answer alone. */
export function forbiddenMessage(attributes: Attributes, reason = ""): string {
  return accessDenied(attributes, reason).message;
}
