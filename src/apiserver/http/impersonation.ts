/** Acting as somebody else: who may, and who it is then. */
import { badRequest, forbidden } from "../errors.ts";
import type { UserInfo } from "../resource.ts";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** Whether `user` may impersonate; `group` is the API group that the resource is looked up in. */
export type MayImpersonate = (
  user: UserInfo,
  what: { group: string; resource: string; name: string; namespace?: string; subresource?: string },
) => boolean;

const EXTRA = "impersonate-extra-";
const SERVICE_ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** The user that the request acts as: the caller, or whom its Impersonate headers name. */
export function impersonated(user: UserInfo, headers: Headers, mayImpersonate: MayImpersonate): UserInfo {
  const username = one(headers["impersonate-user"]);
  const groups = many(headers["impersonate-group"]);
  const uid = one(headers["impersonate-uid"]);
  const extra = extraOf(headers);
  if (username === undefined) {
    if (groups.length > 0 || uid !== undefined || extra.size > 0) {
      throw badRequest("requested impersonation without impersonating a user");
    }
    return user;
  }

  const require = (
    resource: string,
    name: string,
    more: { group?: string; namespace?: string; subresource?: string } = {},
  ) => {
    const { group = "", ...rest } = more;
    if (mayImpersonate(user, { group, resource, name, ...rest })) return;
    throw forbidden(
      { group, kind: resource, name },
      `User ${JSON.stringify(user.username)} cannot impersonate resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)} at the cluster scope`,
    );
  };

  const account = SERVICE_ACCOUNT.exec(username);
  if (account?.[1] && account[2]) require("serviceaccounts", account[2], { namespace: account[1] });
  else require("users", username);
  for (const group of groups) require("groups", group);
  if (uid !== undefined) require("uids", uid, { group: "authentication.k8s.io" });
  for (const [key, values] of extra) {
    for (const value of values) require("userextras", value, { group: "authentication.k8s.io", subresource: key });
  }

  return {
    username,
    groups: groupsOf(username, groups, account?.[1]),
    ...(uid !== undefined && { uid }),
    ...(extra.size > 0 && { extra: Object.fromEntries(extra) }),
  };
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
