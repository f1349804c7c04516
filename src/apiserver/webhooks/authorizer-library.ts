/** What conditions may ask of permissions: `authorizer.group('apps').resource('deployments').check('get').allowed()`. */
import { CelError, declare, type FunctionDeclaration, Opaque, opaque, overload } from "#lib/cel";
import { dns1123Label, dns1123Subdomain } from "#lib/names";
import type { Attributes, Decision } from "../auth/index.ts";
import type { UserInfo } from "../resource.ts";

export type Authorize = (attributes: Attributes) => Decision;

const AUTHORIZER = "kubernetes.authorization.Authorizer";
const PATH_CHECK = "kubernetes.authorization.PathCheck";
const GROUP_CHECK = "kubernetes.authorization.GroupCheck";
const RESOURCE_CHECK = "kubernetes.authorization.ResourceCheck";
const DECISION = "kubernetes.authorization.Decision";

export const AuthorizerType = opaque(AUTHORIZER);
export const ResourceCheckType = opaque(RESOURCE_CHECK);

/** A value of this library: asked, and never compared. */
class Asked<T> extends Opaque {
  readonly typeName: string;
  readonly content: T;

  constructor(typeName: string, content: T) {
    super();
    this.typeName = typeName;
    this.content = content;
  }

  equals(other: Opaque): boolean {
    return this === other;
  }
}

interface Somebody {
  readonly user: UserInfo;
  readonly authorize: Authorize;
}

export interface CheckedResource {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

type AuthorizerValue = Asked<Somebody>;
type PathCheck = Asked<{ readonly who: Somebody; readonly path: string }>;
type GroupCheck = Asked<{ readonly who: Somebody; readonly group: string }>;
type ResourceCheck = Asked<{ readonly who: Somebody; readonly resource: CheckedResource }>;
type DecisionValue = Asked<Decision>;

/** Somebody whose permissions can be asked for. */
export function authorizerValue(user: UserInfo, authorize: Authorize): AuthorizerValue {
  return new Asked(AUTHORIZER, { user, authorize });
}

/** A resource that somebody may or may not touch. */
export function resourceCheck({ content: who }: AuthorizerValue, resource: CheckedResource): ResourceCheck {
  return new Asked(RESOURCE_CHECK, { who, resource });
}

function narrowed({ content: { who, resource } }: ResourceCheck, more: Partial<CheckedResource>): ResourceCheck {
  return new Asked(RESOURCE_CHECK, { who, resource: { ...resource, ...more } });
}

function decided(who: Somebody, attributes: Attributes): DecisionValue {
  return new Asked(DECISION, who.authorize(attributes));
}

/** A service account as it would come. */
function serviceAccount(namespace: string, name: string): UserInfo {
  if (dns1123Subdomain(name).length > 0) throw failure("Invalid service account name");
  if (dns1123Label(namespace).length > 0) throw failure("Invalid service account namespace");
  return {
    username: `system:serviceaccount:${namespace}:${name}`,
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
  };
}

function failure(message: string): CelError {
  return new CelError("evaluation", message);
}

function given(what: string, text: string): string {
  if (text.trim() === "") throw failure(`${what} must not be empty`);
  return text;
}

const onAuthorizer = (result: string) => `${AUTHORIZER}.(string) -> ${result}`;
const onResource = `${RESOURCE_CHECK}.(string) -> ${RESOURCE_CHECK}`;

export const authorizerLibrary: readonly FunctionDeclaration[] = [
  declare(
    "path",
    overload(
      "authorizer_path",
      onAuthorizer(PATH_CHECK),
      ({ content: who }: AuthorizerValue, path: string) => new Asked(PATH_CHECK, { who, path: given("path", path) }),
    ),
  ),
  declare(
    "group",
    overload(
      "authorizer_group",
      onAuthorizer(GROUP_CHECK),
      ({ content: who }: AuthorizerValue, group: string) => new Asked(GROUP_CHECK, { who, group }),
    ),
  ),
  declare(
    "serviceAccount",
    overload(
      "authorizer_serviceaccount",
      `${AUTHORIZER}.(string, string) -> ${AUTHORIZER}`,
      ({ content: { authorize } }: AuthorizerValue, namespace: string, name: string) =>
        authorizerValue(serviceAccount(namespace, name), authorize),
    ),
  ),
  declare(
    "resource",
    overload(
      "groupcheck_resource",
      `${GROUP_CHECK}.(string) -> ${RESOURCE_CHECK}`,
      ({ content: { who, group } }: GroupCheck, resource: string) =>
        new Asked(RESOURCE_CHECK, { who, resource: { group, resource: given("resource", resource) } }),
    ),
  ),
  declare(
    "subresource",
    overload("resourcecheck_subresource", onResource, (check: ResourceCheck, subresource: string) =>
      narrowed(check, { subresource }),
    ),
  ),
  declare(
    "namespace",
    overload("resourcecheck_namespace", onResource, (check: ResourceCheck, namespace: string) =>
      narrowed(check, { namespace }),
    ),
  ),
  declare(
    "name",
    overload("resourcecheck_name", onResource, (check: ResourceCheck, name: string) => narrowed(check, { name })),
  ),
  // Roles know nothing of selectors: asking with one is asking without.
  declare(
    "fieldSelector",
    overload("authorizer_fieldselector", onResource, (check: ResourceCheck) => check),
  ),
  declare(
    "labelSelector",
    overload("authorizer_labelselector", onResource, (check: ResourceCheck) => check),
  ),
  declare(
    "check",
    overload(
      "pathcheck_check",
      `${PATH_CHECK}.(string) -> ${DECISION}`,
      ({ content: { who, path } }: PathCheck, verb: string) => decided(who, { user: who.user, verb, path }),
    ),
    overload(
      "resourcecheck_check",
      `${RESOURCE_CHECK}.(string) -> ${DECISION}`,
      ({ content: { who, resource } }: ResourceCheck, verb: string) =>
        decided(who, { user: who.user, verb, ...resource }),
    ),
  ),
  declare(
    "allowed",
    overload("decision_allowed", `${DECISION}.() -> bool`, ({ content }: DecisionValue) => content.allowed),
  ),
  declare(
    "reason",
    overload("decision_reason", `${DECISION}.() -> string`, ({ content }: DecisionValue) => content.reason),
  ),
  declare(
    "errored",
    overload("decision_errored", `${DECISION}.() -> bool`, () => false),
  ),
  declare(
    "error",
    overload("decision_error", `${DECISION}.() -> string`, () => ""),
  ),
];
