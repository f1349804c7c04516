/** What lets a cluster ask a hub to be let in: a service account whose tokens are short, or a bootstrap token that stays. */
import { randomInt } from "node:crypto";
import { CustomResourceDefinition } from "#api/apiextensions";
import { TokenRequest } from "#api/authentication";
import { managedClusterCrd } from "#api/cluster";
import { Secret, SecretType, ServiceAccount } from "#api/core";
import { apiVersionOf, type KubeObject } from "#api/meta";
import { clusterManagerCrd } from "#api/operator";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { Bootstrap, bootstrapObjects } from "#features/registration/hub";
import { type Client, isNotFound } from "#kube";
import { UserError } from "../user-error.ts";
import { applyAll, find, remove, wishesOf } from "./changes.ts";
import type { Change, Task } from "./task.ts";

/** The names are those of `clusteradm`, so that its `get token` and `delete token` find them too. */
export const BootstrapToken = {
  id: "ocmhub",
  secret: "bootstrap-token-ocmhub",
  namespace: "kube-system",
  user: "system:bootstrap:ocmhub",
  group: "system:bootstrappers:managedcluster",
  clusterRoleBinding: "open-cluster-management:bootstrap:managedcluster",
  label: { app: "cluster-manager" },
} as const;

/** A token of the service account is for joining now; a later join asks for a new one. */
const TOKEN_SECONDS = 3600;

export interface HubToken {
  readonly token: string;
  /** Undefined for a bootstrap token, which is good until it is deleted. */
  readonly expires?: Date;
}

/** The objects by which a cluster may ask; those of a bootstrap token without its secret, which is made once. */
export function identityObjects(useBootstrapToken: boolean): KubeObject[] {
  if (!useBootstrapToken) return bootstrapObjects();
  const role = bootstrapObjects().filter(({ kind }) => kind === ClusterRole.kind);
  const binding = {
    apiVersion: apiVersionOf(ClusterRoleBinding),
    kind: ClusterRoleBinding.kind,
    metadata: { name: BootstrapToken.clusterRoleBinding },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: Bootstrap.clusterRole },
    subjects: [{ kind: "Group", apiGroup: RBAC_GROUP, name: BootstrapToken.group }],
  };
  return [...role, binding];
}

/** A new bootstrap token, as the Secret that the API server knows it by. */
export function bootstrapTokenSecret(): Secret {
  return {
    apiVersion: apiVersionOf(Secret),
    kind: Secret.kind,
    metadata: {
      name: BootstrapToken.secret,
      namespace: BootstrapToken.namespace,
      labels: { ...BootstrapToken.label },
    },
    type: SecretType.bootstrapToken,
    stringData: {
      "token-id": BootstrapToken.id,
      "token-secret": letters(16),
      "usage-bootstrap-authentication": "true",
      "auth-extra-groups": BootstrapToken.group,
    },
  };
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

function letters(count: number): string {
  return Array.from({ length: count }, () => LETTERS[randomInt(LETTERS.length)]).join("");
}

/** Makes sure that tokens can be had; a bootstrap token that is there stays as it is. */
export async function ensureIdentity(task: Task, useBootstrapToken: boolean): Promise<Change[]> {
  await assertHub(task.client);
  const wishes = wishesOf(identityObjects(useBootstrapToken));
  if (!useBootstrapToken) return applyAll(task, wishes);
  const secret = bootstrapTokenSecret();
  return applyAll(task, [...wishes, ...wishesOf([secret]).map((wish) => ({ ...wish, strategy: CREATE_ONLY }))]);
}

const CREATE_ONLY = { type: "CreateOnly" } as const;

/** Throws UserError where no hub is, and none is being made. */
async function assertHub(client: Client): Promise<void> {
  const kinds = await Promise.all([
    find(client, CustomResourceDefinition, MANAGED_CLUSTERS),
    find(client, CustomResourceDefinition, MANAGERS),
  ]);
  if (kinds.every((kind) => kind === undefined)) {
    throw new UserError(
      `${client.server} is no hub: it knows neither ManagedClusters nor ClusterManagers; make it one with \`capstan init\`, or choose the hub with --context or --kubeconfig`,
    );
  }
}

const MANAGED_CLUSTERS = managedClusterCrd.metadata.name;
const MANAGERS = clusterManagerCrd.metadata.name;

/** A token with which a cluster can ask to be let in. */
export async function hubToken(hub: Client, useBootstrapToken: boolean): Promise<HubToken> {
  return useBootstrapToken ? bootstrapTokenOf(hub) : serviceAccountToken(hub);
}

async function bootstrapTokenOf(hub: Client): Promise<HubToken> {
  const secret = await find(hub, Secret, `${BootstrapToken.namespace}/${BootstrapToken.secret}`);
  const read = (key: string) => Buffer.from(secret?.data?.[key] ?? "", "base64").toString("utf8");
  const [id, word, expiration] = [read("token-id"), read("token-secret"), read("expiration")];
  if (!secret || id === "" || word === "") {
    throw new UserError(
      `there is no bootstrap token on ${hub.server}; make one with \`capstan init --use-bootstrap-token\``,
    );
  }
  return { token: `${id}.${word}`, ...(expiration !== "" && { expires: new Date(expiration) }) };
}

async function serviceAccountToken(hub: Client): Promise<HubToken> {
  const account = `${Bootstrap.namespace}/${Bootstrap.serviceAccount}`;
  try {
    const { status } = await hub.createSub<TokenRequest, ServiceAccount>(ServiceAccount, account, "token", {
      apiVersion: apiVersionOf(TokenRequest),
      kind: TokenRequest.kind,
      metadata: {},
      spec: { expirationSeconds: TOKEN_SECONDS },
    });
    if (!status) throw new UserError(`${hub.server} made no token for ServiceAccount ${account}; try again`);
    return { token: status.token, expires: new Date(status.expirationTimestamp) };
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new UserError(
      `ServiceAccount ${account} is not on ${hub.server}, so nobody can join; make it with \`capstan init\``,
    );
  }
}

/** Takes away by what clusters can ask; those that were let in stay. */
export async function removeIdentity(task: Task): Promise<Change[]> {
  const removed = [
    await remove(task, ClusterRoleBinding, Bootstrap.clusterRoleBinding),
    await remove(task, ClusterRoleBinding, BootstrapToken.clusterRoleBinding),
    await remove(task, ClusterRole, Bootstrap.clusterRole),
    await remove(task, Secret, `${BootstrapToken.namespace}/${BootstrapToken.secret}`),
    await remove(task, ServiceAccount, `${Bootstrap.namespace}/${Bootstrap.serviceAccount}`),
  ];
  return removed.filter((change) => change !== undefined);
}
