/** Removing a namespace that was made for agents, unless somebody else has something in it. */
import { ClusterLabel } from "#api/cluster";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import type { Kind, KubeObject } from "#api/meta";
import { OperatorLabel, OperatorSecret } from "#api/operator";
import { isNotFound } from "#kube";
import { isDeleting, withLabels } from "#lib/meta";
import type { Cluster } from "#runtime";
import { type Stranger, strangersIn } from "../cluster-manager/strangers.ts";
import { GrantedAccess, ManagedSecret } from "./names.ts";
import { COPIED_FROM } from "./pull-secret.controller.ts";

/** Secrets that go with the agents, whoever made them. */
const AGENT_SECRETS: readonly string[] = [
  OperatorSecret.bootstrap,
  OperatorSecret.hub,
  OperatorSecret.managed,
  ManagedSecret.registration,
  ManagedSecret.work,
];

/** By which several of one agent agree on who works. */
const AGENT_LEASES: readonly string[] = ["agent-lock", "registration-agent-lock", "work-agent-lock"];

/** What every namespace has on some clusters. */
const OF_THE_CLUSTER =
  /^(ConfigMap\/openshift-service-ca\.crt|ServiceAccount\/(builder|deployer)|RoleBinding\/system:.*)$/;

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
  const isAgents = ({ kind, object }: Stranger) => isOurs(kind.kind, object, klusterlet);
  const because = (await strangersIn(new Set([name]), { cluster, isOurs: isAgents, signal })).get(name);
  if (because === undefined) {
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
  return { isGoing: false, remark: `Namespace ${name} stays, because it is not only the agents': ${because}` };
}

function isOurs(kindName: string, object: KubeObject, klusterlet: string): boolean {
  const { name, labels = {}, annotations = {} } = object.metadata;
  if (isDeleting(object) || OF_THE_CLUSTER.test(`${kindName}/${name}`)) return true;
  if (labels[OperatorLabel.createdByKlusterlet] === klusterlet || Object.hasOwn(labels, COPIED_FROM)) return true;
  switch (kindName) {
    case "ServiceAccount":
      return name === GrantedAccess.account && Object.hasOwn(labels, ClusterLabel.name);
    case "Secret":
      return AGENT_SECRETS.includes(name) || Object.hasOwn(annotations, "kubernetes.io/service-account.name");
    case "Lease":
      return AGENT_LEASES.includes(name);
    default:
      return false;
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
