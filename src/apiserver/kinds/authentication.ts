/** The authentication group: questions about who someone is. */
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import type { Resource, UserInfo } from "../resource.ts";
import type { KindDependencies } from "./dependencies.ts";
import { resource } from "./strategy.ts";

const GROUP = "authentication.k8s.io";

export function authenticationResources({ reviewToken }: Pick<KindDependencies, "reviewToken">): Resource[] {
  const question = { group: GROUP, version: "v1", namespaced: false, verbs: ["create"] } as const;
  return [
    resource({
      ...question,
      kind: "TokenReview",
      plural: "tokenreviews",
      answer: (body, context) => reviewToken({ ...body, apiVersion: `${GROUP}/v1`, kind: "TokenReview" }, context),
    }),
    resource({
      ...question,
      kind: "SelfSubjectReview",
      plural: "selfsubjectreviews",
      answer: async ({ metadata }, { user, now }) => ({
        apiVersion: `${GROUP}/v1`,
        kind: "SelfSubjectReview",
        metadata: { ...metadata, creationTimestamp: timestamp(now) },
        status: { userInfo: shownUser(user) },
      }),
    }),
  ];
}

function shownUser({ username, uid, groups, extra }: UserInfo): Partial<DynamicObject> {
  return {
    username,
    ...(uid && { uid }),
    ...(groups.length > 0 && { groups: [...groups] }),
    ...(extra && Object.keys(extra).length > 0 && { extra }),
  };
}
