/**
 * Acting as somebody else: who may, and who it is then. There are several ways, each with a verb of its own; the
 * constrained ones also ask whether the caller may do with it what the request does. The last is the old one, which
 * asks only whom.
 */
import { type Attributes, accessDenied, Extra, Group, type ResourceAttributes } from "../auth/index.ts";
import { type ApiError, badRequest } from "../errors.ts";
import type { UserInfo } from "../resource.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Whom the headers name. */
interface Wanted {
  readonly username: string;
  readonly groups: readonly string[];
  readonly uid: string | undefined;
  readonly extra: ReadonlyMap<string, readonly string[]>;
  readonly serviceAccount: { readonly namespace: string; readonly name: string } | undefined;
  readonly node: string | undefined;
}

export interface ImpersonationOptions {
  readonly headers: Headers;
  /** What the request does; its user is who really asks. */
  readonly request: Attributes;
  isAllowed(attributes: Attributes): boolean;
}

const EXTRA = "impersonate-extra-";
const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;
const NODE = /^system:node:([a-z0-9]([-a-z0-9.]*[a-z0-9])?)$/;
const AUTHENTICATION = "authentication.k8s.io";

/** The user that the request acts as: the caller, or whom its Impersonate headers name. */
export function impersonated({ headers, request, isAllowed }: ImpersonationOptions): UserInfo {
  const wanted = wantedOf(headers);
  if (!wanted) return request.user;
  const refusalOf = (attributes: Attributes) => (isAllowed(attributes) ? undefined : accessDenied(attributes));
  let refusal: ApiError | undefined;
  for (const mode of constrainedModes(wanted, request.user)) {
    const checks = [
      { ...request, verb: `impersonate-on:${mode}:${request.verb}` },
      ...identityChecks(wanted, request.user, `impersonate:${mode}`, AUTHENTICATION),
    ];
    const found = firstOf(checks, refusalOf) ?? unconstrainable(wanted, request.user, mode);
    if (!found) return userOf(wanted, wanted.node === undefined ? wanted.groups : [Group.nodes]);
    refusal ??= found;
  }
  const found = firstOf(identityChecks(wanted, request.user, "impersonate", ""), refusalOf);
  if (found) throw refusal ?? found;
  return userOf(wanted, wanted.groups);
}

function wantedOf(headers: Headers): Wanted | undefined {
  if (!speaksOfOthers(headers)) return undefined;
  const username = one(headers["impersonate-user"]);
  const groups = many(headers["impersonate-group"]);
  const uid = one(headers["impersonate-uid"]);
  const extra = extraOf(headers);
  if (username === undefined) {
    if (groups.length === 0 && uid === undefined && extra.size === 0) return undefined;
    throw badRequest("requested impersonation without impersonating a user");
  }
  const [, namespace, name] = SERVICE_ACCOUNT.exec(username) ?? [];
  const serviceAccount = namespace && name ? { namespace, name } : undefined;
  return { username, groups, uid, extra, serviceAccount, node: NODE.exec(username)?.[1] };
}

/** Nodes and service accounts are what the server knows them to be: only their name can be asked for. */
function constrainedModes({ groups, uid, extra, serviceAccount, node }: Wanted, caller: UserInfo): string[] {
  if (node === undefined && !serviceAccount) return ["user-info"];
  if (groups.length > 0 || uid !== undefined || extra.size > 0) return [];
  if (serviceAccount) return ["serviceaccount"];
  const ownNode = SERVICE_ACCOUNT.test(caller.username) ? caller.extra?.[Extra.nodeName] : undefined;
  const isOwn = ownNode?.length === 1 && ownNode[0] === node;
  return isOwn ? ["associated-node", "arbitrary-node"] : ["arbitrary-node"];
}

/** One question for every part of the identity. */
function identityChecks(wanted: Wanted, user: UserInfo, verb: string, group: string): ResourceAttributes[] {
  const { username, groups, uid, extra, serviceAccount, node } = wanted;
  const check = (resource: string, name: string, more: Partial<ResourceAttributes> = {}): ResourceAttributes => ({
    user,
    verb,
    group,
    version: "v1",
    resource,
    name,
    ...more,
  });
  const isConstrained = group === AUTHENTICATION;
  const who = serviceAccount
    ? check("serviceaccounts", serviceAccount.name, { namespace: serviceAccount.namespace })
    : node !== undefined && isConstrained
      ? check("nodes", verb === "impersonate:associated-node" ? "*" : node)
      : check("users", username);
  return [
    who,
    ...(uid === undefined ? [] : [check("uids", uid, { group: AUTHENTICATION })]),
    ...groups.map((each) => check("groups", each)),
    ...[...extra].flatMap(([key, values]) =>
      values.map((value) => check("userextras", value, { group: AUTHENTICATION, subresource: key })),
    ),
  ];
}

/** Who stands above all rules cannot be reached by a rule that constrains. */
function unconstrainable({ groups }: Wanted, user: UserInfo, mode: string): ApiError | undefined {
  if (!groups.includes(Group.masters)) return undefined;
  const attributes = { user, verb: `impersonate:${mode}`, group: AUTHENTICATION, version: "v1" };
  return accessDenied(
    { ...attributes, resource: "groups", name: Group.masters },
    "impersonating the system:masters group is not allowed",
  );
}

function firstOf<T, R>(items: readonly T[], find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

function userOf({ username, uid, extra, serviceAccount }: Wanted, groups: readonly string[]): UserInfo {
  return {
    username,
    groups: groupsOf(username, [...groups], serviceAccount?.namespace),
    ...(uid !== undefined && { uid }),
    ...(extra.size > 0 && { extra: Object.fromEntries([...extra].map(([key, values]) => [key, [...values]])) }),
  };
}

/** Asked first and without a copy of the headers, because hardly any request impersonates. */
function speaksOfOthers(headers: Headers): boolean {
  for (const name in headers) if (name.startsWith("impersonate-")) return true;
  return false;
}

function groupsOf(username: string, groups: string[], serviceAccountNamespace: string | undefined): string[] {
  const all = [...groups];
  if (serviceAccountNamespace && groups.length === 0) {
    all.push("system:serviceaccounts", `system:serviceaccounts:${serviceAccountNamespace}`);
  }
  const anonymous = username === "system:anonymous";
  const marker = anonymous ? "system:unauthenticated" : "system:authenticated";
  if (!all.includes("system:authenticated") && !all.includes("system:unauthenticated")) all.push(marker);
  return all;
}

function extraOf(headers: Headers): Map<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(EXTRA)) continue;
    let key = name.slice(EXTRA.length);
    try {
      key = decodeURIComponent(key);
    } catch {
      // not percent-encoded: taken as it is
    }
    extra.set(key.toLowerCase(), many(value));
  }
  return extra;
}

function one(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

/** A repeated header comes joined by commas over HTTP/1.1 and HTTP/2 alike. */
function many(value: string | string[] | undefined): string[] {
  if (value === undefined) return [];
  return (Array.isArray(value) ? value : value.split(",")).map((part) => part.trim()).filter((part) => part !== "");
}
