/** Taking an installation away again: what both ends of a fleet have in common. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Namespace, Secret, Service, ServiceAccount } from "#api/core";
import { type DynamicObject, type Kind, type KubeObject, keyOf } from "#api/meta";
import { OPERATOR_NAMESPACE, OperatorFinalizer, OperatorLabel, OperatorSecret } from "#api/operator";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/rbac";
import type { Client } from "#kube";
import { UserError } from "../user-error.ts";
import { find, listed, remove } from "./changes.ts";
import { removeNamespace } from "./namespaces.ts";
import type { Change, Task } from "./task.ts";

export interface Removal {
  readonly changes: readonly Change[];
  /** What stays, and why. */
  readonly remarks: readonly string[];
}

const KINDS: ReadonlyMap<string, Kind<KubeObject>> = new Map(
  [
    Deployment,
    ServiceAccount,
    ClusterRole,
    ClusterRoleBinding,
    Role,
    RoleBinding,
    ConfigMap,
    Secret,
    Service,
    CustomResourceDefinition,
    Namespace,
  ].map((each) => [each.kind, each as Kind<KubeObject>]),
);

/** Of the objects that an installation has; an unknown one is a fault of ours. */
export function kindOfInstalled({ kind }: KubeObject): Kind<KubeObject> {
  const known = KINDS.get(kind);
  if (!known) throw new Error(`an installation has a ${kind}, and nobody says how it is removed`);
  return known;
}

/** Removes what an operator was installed with: it first, then its rights. Namespaces and kinds are left to others. */
export async function removeInstalled(task: Task, installation: readonly KubeObject[]): Promise<Change[]> {
  const changes: Change[] = [];
  const objects = installation.filter(({ kind }) => kind !== Namespace.kind && kind !== CustomResourceDefinition.kind);
  for (const object of objects.toReversed()) {
    const change = await remove(task, kindOfInstalled(object), keyOf(object));
    if (change) changes.push(change);
  }
  return changes;
}

export async function removeDefinition(task: Task, { metadata }: CustomResourceDefinition): Promise<Change[]> {
  const change = await remove(task, CustomResourceDefinition, metadata.name);
  return change ? [change] : [];
}

/**
 * The namespace of the operators, in which a hub that is its own spoke has both. What was installed does not count,
 * because a dry run has removed nothing of it yet.
 */
export async function removeOperatorNamespace(task: Task, installed: readonly KubeObject[]): Promise<Removal> {
  const known = new Set(installed.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
  const isOurs = (object: DynamicObject) =>
    known.has(`${object.kind}/${object.metadata.name}`) || isMadeByOperators(object) || isPullSecret(object);
  return removeOrExplain(task, OPERATOR_NAMESPACE, isOurs);
}

export async function removeOrExplain(
  task: Task,
  namespace: string,
  isOurs: (object: DynamicObject) => boolean,
): Promise<Removal> {
  const { change, foreign } = await removeNamespace(task, namespace, isOurs);
  const [first, ...more] = foreign;
  const others = more.length > 0 ? ` and ${more.length} more` : "";
  return {
    changes: change ? [change] : [],
    remarks: first === undefined ? [] : [`Namespace ${namespace} stays: others have ${first}${others} in it.`],
  };
}

function isPullSecret({ kind, metadata }: DynamicObject): boolean {
  return kind === Secret.kind && metadata.name === OperatorSecret.imagePull;
}

/** What an operator made carries the name of the object that it was made for. */
export function isMadeByOperators({ metadata: { labels = {} } }: DynamicObject): boolean {
  return OperatorLabel.createdByClusterManager in labels || OperatorLabel.createdByKlusterlet in labels;
}

export interface OperatorsShare<T> {
  /** The operator. */
  readonly deployment: string;
  readonly force: boolean;
  /** What to do where it does not run. */
  readonly mend: string;
  /** What holds the object, in words. */
  readonly holds: (object: T) => string;
}

/** Whether an object waits for an operator that does not run. Throws UserError then, unless forced. */
export async function isAbandoned<T extends KubeObject>(
  { client }: Task,
  kind: Kind<T>,
  { metadata }: T,
  { deployment, force, mend }: Omit<OperatorsShare<T>, "holds">,
): Promise<boolean> {
  if (!(metadata.finalizers ?? []).some(isOperatorFinalizer) || (await isAvailable(client, deployment))) return false;
  if (force) return true;
  throw new UserError(
    `Deployment ${deployment} on ${client.server} does not run, so nobody cleans up after ${kind.kind} ${metadata.name}; ${mend}`,
  );
}

/**
 * Removes an object that an operator cleans up after. Where it does not run and that is forced, the finalizers are
 * taken off, and what it would have removed is left to us.
 */
export async function removeByOperator<T extends KubeObject>(
  task: Task,
  kind: Kind<T>,
  object: T,
  share: OperatorsShare<T>,
): Promise<{ change: Change | undefined; isForced: boolean }> {
  const isForced = await isAbandoned(task, kind, object, share);
  if (isForced && !task.dryRun) {
    const rest = (object.metadata.finalizers ?? []).filter((each) => !isOperatorFinalizer(each));
    await task.client.patch(kind, object.metadata.name, { metadata: { finalizers: rest } });
  }
  return { change: await remove(task, kind, object.metadata.name, share.holds), isForced };
}

function isOperatorFinalizer(finalizer: string): boolean {
  return Object.values(OperatorFinalizer).includes(finalizer as (typeof OperatorFinalizer)["klusterlet"]);
}

async function isAvailable(client: Client, deployment: string): Promise<boolean> {
  return ((await find(client, Deployment, deployment))?.status?.availableReplicas ?? 0) > 0;
}

/** Removes the rights of the whole cluster that carry a label. */
export async function sweepRights(task: Task, labelSelector: string): Promise<Change[]> {
  const changes: Change[] = [];
  for (const kind of [ClusterRoleBinding, ClusterRole] as readonly Kind<KubeObject>[]) {
    for (const object of await listed(task.client, kind, { labelSelector })) {
      const change = await remove(task, kind, object.metadata.name);
      if (change) changes.push(change);
    }
  }
  return changes;
}

/** What an object that is being removed says of itself; else which finalizers hold it. */
export function holdsOf(
  {
    metadata,
    status,
  }: KubeObject & { status?: { conditions?: readonly { type: string; status: string; message: string }[] } },
  type: string,
): string {
  const said = (status?.conditions ?? []).find((condition) => condition.type === type && condition.status === "False");
  if (said?.message) return said.message.replace(/^Waiting for /, "it waits for ");
  const { finalizers = [] } = metadata;
  return finalizers.length > 0 ? `its operator cleans up (${finalizers.join(", ")})` : "it is being removed";
}
