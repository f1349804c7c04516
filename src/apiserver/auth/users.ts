import type { UserInfo } from "../resource.ts";

export const Group = {
  masters: "system:masters",
  authenticated: "system:authenticated",
  unauthenticated: "system:unauthenticated",
  serviceAccounts: "system:serviceaccounts",
  bootstrappers: "system:bootstrappers",
  nodes: "system:nodes",
} as const;

export const Extra = {
  credentialId: "authentication.kubernetes.io/credential-id",
  podName: "authentication.kubernetes.io/pod-name",
  podUid: "authentication.kubernetes.io/pod-uid",
  nodeName: "authentication.kubernetes.io/node-name",
  nodeUid: "authentication.kubernetes.io/node-uid",
} as const;

/** Who asks without showing any credentials. */
export const ANONYMOUS: UserInfo = { username: "system:anonymous", groups: [Group.unauthenticated] };

const SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:";

export function serviceAccountName(namespace: string, name: string): string {
  return `${SERVICE_ACCOUNT_PREFIX}${namespace}:${name}`;
}

/** Namespace and name of the service account that a username stands for. */
export function splitServiceAccountName(username: string): { namespace: string; name: string } | undefined {
  if (!username.startsWith(SERVICE_ACCOUNT_PREFIX)) return undefined;
  const [namespace, name, ...more] = username.slice(SERVICE_ACCOUNT_PREFIX.length).split(":");
  return namespace && name && more.length === 0 ? { namespace, name } : undefined;
}

/** The groups of every service account of a namespace. */
export function serviceAccountGroups(namespace: string): string[] {
  return [Group.serviceAccounts, `${Group.serviceAccounts}:${namespace}`];
}

/** The user as one who has proven who it is. */
export function authenticated(user: UserInfo): UserInfo {
  return user.groups.includes(Group.authenticated) ? user : { ...user, groups: [...user.groups, Group.authenticated] };
}
