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

/** Values of this library are asked and never compared. */
abstract class Asked extends Opaque {
  equals(other: Opaque): boolean {
    return this === other;
  }
}

/** Somebody whose permissions can be asked for. */
export class AuthorizerValue extends Asked {
  readonly typeName = AUTHORIZER;
  readonly user: UserInfo;
  readonly authorize: Authorize;

  constructor(user: UserInfo, authorize: Authorize) {
    super();
    this.user = user;
    this.authorize = authorize;
  }
}

class PathCheck extends Asked {
  readonly typeName = PATH_CHECK;
  readonly who: AuthorizerValue;
  readonly path: string;

  constructor(who: AuthorizerValue, path: string) {
    super();
    this.who = who;
    this.path = path;
  }
}

class GroupCheck extends Asked {
  readonly typeName = GROUP_CHECK;
  readonly who: AuthorizerValue;
  readonly group: string;

  constructor(who: AuthorizerValue, group: string) {
    super();
    this.who = who;
    this.group = group;
  }
}

export interface CheckedResource {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** A resource that somebody may or may not touch. */
export class ResourceCheck extends Asked {
  readonly typeName = RESOURCE_CHECK;
  readonly who: AuthorizerValue;
  readonly resource: CheckedResource;

  constructor(who: AuthorizerValue, resource: CheckedResource) {
    super();
    this.who = who;
    this.resource = resource;
  }

  with(more: Partial<CheckedResource>): ResourceCheck {
    return new ResourceCheck(this.who, { ...this.resource, ...more });
  }
}

class DecisionValue extends Asked {
  readonly typeName = DECISION;
  readonly decision: Decision;

  constructor(decision: Decision) {
    super();
    this.decision = decision;
  }
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
      (who: AuthorizerValue, path: string) => new PathCheck(who, given("path", path)),
    ),
  ),
  declare(
    "group",
    overload(
      "authorizer_group",
      onAuthorizer(GROUP_CHECK),
      (who: AuthorizerValue, group: string) => new GroupCheck(who, group),
    ),
  ),
  declare(
    "serviceAccount",
    overload(
      "authorizer_serviceaccount",
      `${AUTHORIZER}.(string, string) -> ${AUTHORIZER}`,
      ({ authorize }: AuthorizerValue, namespace: string, name: string) =>
        new AuthorizerValue(serviceAccount(namespace, name), authorize),
    ),
  ),
  declare(
    "resource",
    overload(
      "groupcheck_resource",
      `${GROUP_CHECK}.(string) -> ${RESOURCE_CHECK}`,
      ({ who, group }: GroupCheck, resource: string) =>
        new ResourceCheck(who, { group, resource: given("resource", resource) }),
    ),
  ),
  declare(
    "subresource",
    overload("resourcecheck_subresource", onResource, (check: ResourceCheck, subresource: string) =>
      check.with({ subresource }),
    ),
  ),
  declare(
    "namespace",
    overload("resourcecheck_namespace", onResource, (check: ResourceCheck, namespace: string) =>
      check.with({ namespace }),
    ),
  ),
  declare(
    "name",
    overload("resourcecheck_name", onResource, (check: ResourceCheck, name: string) => check.with({ name })),
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
      ({ who, path }: PathCheck, verb: string) => new DecisionValue(who.authorize({ user: who.user, verb, path })),
    ),
    overload(
      "resourcecheck_check",
      `${RESOURCE_CHECK}.(string) -> ${DECISION}`,
      ({ who, resource }: ResourceCheck, verb: string) =>
        new DecisionValue(who.authorize({ user: who.user, verb, ...resource })),
    ),
  ),
  declare(
    "allowed",
    overload("decision_allowed", `${DECISION}.() -> bool`, ({ decision }: DecisionValue) => decision.allowed),
  ),
  declare(
    "reason",
    overload("decision_reason", `${DECISION}.() -> string`, ({ decision }: DecisionValue) => decision.reason),
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
