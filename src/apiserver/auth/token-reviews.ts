import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { badRequest } from "../errors.ts";
import type { Authenticator } from "./authentication.ts";

/** The answer to a TokenReview: a token that proves nothing is an answer too, not a failure of the request. */
export async function tokenReview({
  authenticator,
  body,
}: {
  readonly authenticator: Authenticator;
  readonly body: DynamicObject;
}): Promise<DynamicObject> {
  const spec = isObject(body.spec) ? body.spec : {};
  const { token } = spec;
  if (typeof token !== "string" || token === "") {
    throw badRequest("token is required for TokenReview in authentication");
  }
  const audiences = Array.isArray(spec.audiences) ? spec.audiences.filter((each) => typeof each === "string") : [];
  const result = await authenticator.reviewToken(token, audiences);
  const status = result.user
    ? { authenticated: true, user: result.user, audiences: result.audiences }
    : { user: {}, ...(result.error !== undefined && { error: result.error }) };
  return { ...body, status };
}
