/** Removing a namespace that was made for agents, unless somebody else has something in it. */
import { ClusterLabel } from "#api/cluster";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import { type Kind, type KubeObject, kind } from "#api/meta";
import { OperatorLabel, OperatorSecret } from "#api/operator";
import { isForbidden, isNotFound, isUnknownKind } from "#kube";
import { controllerOf, isDeleting, withLabels } from "#lib/meta";
import type { Cluster } from "#runtime";
import { GrantedAccess, ManagedSecret } from "./names.ts";
import { COPIED_FROM } from "./pull-secret.controller.ts";

/** What people put into namespaces and would miss. The rest comes and goes with these, or is made by the cluster itself. */
const LOOKED_FOR: readonly (readonly [group: string, version: string, kinds: readonly string[]])[] = [
  ["", "v1", ["Pod", "Service", "ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"]],
  ["apps", "v1", ["Deployment", "StatefulSet", "DaemonSet"]],
  ["batch", "v1", ["Job", "CronJob"]],
];

const KINDS: readonly Kind<KubeObject>[] = LOOKED_FOR.flatMap(([group, version, kinds]) =>
  kinds.map((name) =>
    kind<KubeObject>({ group, version, kind: name, plural: `${name.toLowerCase()}s`, namespaced: true }),
  ),
);

/** The rights to look, for the operator. */
export const LOOKED_FOR_RULES = LOOKED_FOR.map(([group, , kinds]) => ({
  apiGroups: [group],
  resources: kinds.map((name) => `${name.toLowerCase()}s`),
  verbs: ["list"],
}));

/** Secrets that go with the agents, whoever made them. */
export const AGENT_SECRETS: readonly string[] = [
  OperatorSecret.bootstrap,
  OperatorSecret.hub,
  OperatorSecret.managed,
  ManagedSecret.registration,
  ManagedSecret.work,
];

/** What every namespace has. */
const OF_THE_CLUSTER: ReadonlySet<string> = new Set([
  "ServiceAccount/default",
  "ConfigMap/kube-root-ca.crt",
  "ConfigMap/openshift-service-ca.crt",
]);

export interface NamespaceRemoval {
  /** It is still on its way out. */
  readonly isGoing: boolean;
  /** Why it stays, in a sentence. */
  readonly remark?: string;
}

const GONE: NamespaceRemoval = { isGoing: false };

/** `klusterlet` is whose agents were in it. What it stays for is left alone; what was the agents' goes in any case. */
export async function removeNamespace(
  cluster: Cluster,
  name: string,
  { klusterlet, signal }: { klusterlet: string; signal: AbortSignal },
): Promise<NamespaceRemoval> {
  const space = await find(cluster, Namespace, name, signal);
  if (!space) return GONE;
  if (isDeleting(space)) return { isGoing: true };
  const strangers = await strangersIn(cluster, name, { klusterlet, signal });
  if (strangers.length === 0) {
    await cluster.remove(Namespace, space);
    return { isGoing: true };
  }
  for (const secret of AGENT_SECRETS) {
    const own = await find(cluster, Secret, `${name}/${secret}`, signal);
    if (own) await cluster.remove(Secret, own);
  }
  const account = await find(cluster, ServiceAccount, `${name}/${GrantedAccess.account}`, signal);
  if (account && isOurs("ServiceAccount", account, klusterlet)) await cluster.remove(ServiceAccount, account);
  const marks = { [OperatorLabel.createdByKlusterlet]: undefined, [OperatorLabel.klusterlet]: undefined };
  await cluster.commit(Namespace, space, withLabels(space, marks));
  const shown = strangers.slice(0, 3).join(", ") + (strangers.length > 3 ? ` and ${strangers.length - 3} more` : "");
  return { isGoing: false, remark: `Namespace ${name} stays, because it has ${shown} of somebody else` };
}

async function strangersIn(
  cluster: Cluster,
  namespace: string,
  { klusterlet, signal }: { klusterlet: string; signal: AbortSignal },
): Promise<string[]> {
  const found = await Promise.all(
    KINDS.map(async (each) => {
      const objects = await listed(cluster, each, namespace, signal);
      return objects.filter((object) => !isOurs(each.kind, object, klusterlet)).map((object) => nameOf(each, object));
    }),
  );
  return found.flat().sort();
}

function isOurs(kindName: string, object: KubeObject, klusterlet: string): boolean {
  const { name, labels = {}, annotations = {} } = object.metadata;
  if (isDeleting(object) || controllerOf(object)) return true; // it goes, or goes with what it belongs to
  if (OF_THE_CLUSTER.has(`${kindName}/${name}`)) return true;
  if (labels[OperatorLabel.createdByKlusterlet] === klusterlet || Object.hasOwn(labels, COPIED_FROM)) return true;
  if (kindName === "ServiceAccount") return name === GrantedAccess.account && Object.hasOwn(labels, ClusterLabel.name);
  if (kindName !== "Secret") return false;
  return AGENT_SECRETS.includes(name) || Object.hasOwn(annotations, "kubernetes.io/service-account.name");
}

function nameOf({ kind: kindName }: Kind<KubeObject>, { metadata }: KubeObject): string {
  return `${kindName} ${metadata.name}`;
}

async function listed(
  { client }: Cluster,
  each: Kind<KubeObject>,
  namespace: string,
  signal: AbortSignal,
): Promise<KubeObject[]> {
  try {
    return (await client.list(each, { namespace, metadataOnly: true, signal })).items;
  } catch (error) {
    // What may not be looked at is no reason to keep the namespace for ever; who runs the operator decides that.
    if (isUnknownKind(error) || isForbidden(error)) return [];
    throw error;
  }
}

export async function find<T extends KubeObject>(
  { client }: Cluster,
  each: Kind<T>,
  key: string,
  signal: AbortSignal,
): Promise<T | undefined> {
  try {
    return await client.get(each, key, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
