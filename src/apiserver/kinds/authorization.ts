/** The authorization group: questions about what someone may do. */
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import type { Attributes } from "../auth/index.ts";
import { badRequest, type FieldError, field, invalid } from "../errors.ts";
import type { Answer, RequestContext, Resource, UserInfo } from "../resource.ts";
import type { KindDependencies } from "./dependencies.ts";
import { at, fieldsAt, textAt, textsAt } from "./fields.ts";
import { resource } from "./strategy.ts";

const GROUP = "authorization.k8s.io";

export function authorizationResources(dependencies: Pick<KindDependencies, "authorize" | "rulesReview">): Resource[] {
  const { authorize, rulesReview } = dependencies;
  const question = { group: GROUP, version: "v1", verbs: ["create"] } as const;

  const review =
    (kind: string, userOf: (body: DynamicObject, context: RequestContext) => UserInfo): Answer =>
    async (body, context) => {
      const errors = reviewErrors(body, kind);
      if (errors.length > 0) throw invalid({ group: GROUP, kind }, errors);
      const { allowed, reason } = authorize(attributesOf(body, userOf(body, context)));
      return answered(body, kind, { allowed, ...(reason && { reason }) });
    };

  return [
    resource({
      ...question,
      kind: "SubjectAccessReview",
      plural: "subjectaccessreviews",
      namespaced: false,
      answer: review("SubjectAccessReview", namedUser),
    }),
    resource({
      ...question,
      kind: "SelfSubjectAccessReview",
      plural: "selfsubjectaccessreviews",
      namespaced: false,
      answer: review("SelfSubjectAccessReview", (_, { user }) => user),
    }),
    resource({
      ...question,
      kind: "LocalSubjectAccessReview",
      plural: "localsubjectaccessreviews",
      namespaced: true,
      answer: review("LocalSubjectAccessReview", namedUser),
    }),
    resource({
      ...question,
      kind: "SelfSubjectRulesReview",
      plural: "selfsubjectrulesreviews",
      namespaced: false,
      answer: async (body, { user }) => {
        const namespace = textAt(body, "spec", "namespace");
        if (!namespace) throw badRequest("no namespace on request");
        // Answered without its question: that is how real servers do it.
        return answered({ ...body, spec: {} }, "SelfSubjectRulesReview", rulesReview(user, namespace));
      },
    }),
  ];
}

function answered({ metadata, spec }: DynamicObject, kind: string, status: unknown): DynamicObject {
  return { apiVersion: `${GROUP}/v1`, kind, metadata, spec, status };
}

/** The user that a review names. */
function namedUser({ spec }: DynamicObject): UserInfo {
  const uid = textAt(spec, "uid");
  const extra = Object.entries(fieldsAt(spec, "extra")).map(
    ([key, values]) => [key, textsAt({ values }, "values")] as const,
  );
  return {
    username: textAt(spec, "user"),
    groups: textsAt(spec, "groups"),
    ...(uid && { uid }),
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  };
}

function attributesOf(body: DynamicObject, user: UserInfo): Attributes {
  const asked = at(body, "spec", "resourceAttributes");
  if (!isObject(asked)) {
    const { path, verb } = fieldsAt(body, "spec", "nonResourceAttributes");
    return { user, verb: String(verb ?? ""), path: String(path ?? "") };
  }
  return {
    user,
    verb: textAt(asked, "verb"),
    group: textAt(asked, "group"),
    version: textAt(asked, "version"),
    resource: textAt(asked, "resource"),
    subresource: textAt(asked, "subresource"),
    namespace: textAt(asked, "namespace"),
    name: textAt(asked, "name"),
  };
}

function reviewErrors(body: DynamicObject, kind: string): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = fieldsAt(body, "spec");
  const isLocal = kind === "LocalSubjectAccessReview";
  const errors: FieldError[] = [];
  if (resourceAttributes && nonResourceAttributes) {
    const problem = "cannot be specified in combination with resourceAttributes";
    errors.push(field.invalid("spec.nonResourceAttributes", nonResourceAttributes, problem));
  } else if (!resourceAttributes && !nonResourceAttributes) {
    const problem = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.push(field.invalid("spec.resourceAttributes", null, problem));
  }
  const { user } = fieldsAt(body, "spec");
  if (kind !== "SelfSubjectAccessReview" && !user && textsAt(body, "spec", "groups").length === 0) {
    errors.push(field.invalid("spec.user", user ?? "", "at least one of user or group must be specified"));
  }
  if (!isLocal) return errors;
  const said = textAt(resourceAttributes, "namespace");
  if (nonResourceAttributes) {
    errors.push(
      field.invalid("spec.nonResourceAttributes", nonResourceAttributes, "disallowed on this kind of request"),
    );
  } else if (said !== (body.metadata.namespace ?? "")) {
    errors.push(field.invalid("spec.resourceAttributes.namespace", said, "must match metadata.namespace"));
  }
  return errors;
}
