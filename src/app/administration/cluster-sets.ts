/** Sets of clusters: making them, filling them, and lending them to namespaces. */
import {
  ClusterLabel,
  ClusterSetName,
  ManagedCluster,
  ManagedClusterSet,
  ManagedClusterSetBinding,
} from "#api/cluster";
import { Namespace } from "#api/core";
import { type Client, isUnknownKind } from "#kube";
import { UserError } from "../user-error.ts";
import { notAHub } from "./acceptance.ts";
import { createOnce, find, listed, remove } from "./changes.ts";
import type { Change, Task } from "./task.ts";

export async function createClusterSet(task: Task, name: string): Promise<Change> {
  await setsOf(task.client);
  return createOnce(task, ManagedClusterSet, name, { metadata: { name }, spec: EXCLUSIVE });
}

const EXCLUSIVE = { clusterSelector: { selectorType: "ExclusiveClusterSetLabel" } } as const;

/** Refuses a set that the hub would make anew, and one that somebody uses. */
export async function deleteClusterSet(task: Task, name: string): Promise<Change> {
  const { client } = task;
  await setOf(client, name);
  if (name === ClusterSetName.default || name === ClusterSetName.global) {
    throw new UserError(`ManagedClusterSet ${name} cannot be deleted: the hub keeps it`);
  }
  const bound = (await listed(client, ManagedClusterSetBinding)).filter(({ metadata }) => metadata.name === name);
  const [first] = bound.map(({ metadata }) => metadata.namespace ?? "").sort();
  if (first !== undefined) {
    throw new UserError(
      `ManagedClusterSet ${name} is bound to Namespace ${first}${bound.length > 1 ? ` and ${bound.length - 1} more` : ""}; unbind it first with \`capstan clusterset unbind ${name} --namespace ${first}\``,
    );
  }
  const change = await remove(task, ManagedClusterSet, name);
  return change ?? { action: "keep", what: `ManagedClusterSet ${name}`, note: "gone already" };
}

export async function bindClusterSet(task: Task, name: string, namespace: string): Promise<Change> {
  const { client } = task;
  await setOf(client, name);
  if (!(await find(client, Namespace, namespace))) {
    throw new UserError(
      `there is no Namespace ${namespace} on ${client.server}; create it first with \`kubectl create namespace ${namespace}\``,
    );
  }
  const binding = { metadata: { name, namespace }, spec: { clusterSet: name } };
  return createOnce(task, ManagedClusterSetBinding, `${namespace}/${name}`, binding);
}

export async function unbindClusterSet(task: Task, name: string, namespace: string): Promise<Change> {
  const { client } = task;
  await setsOf(client);
  const change = await remove(task, ManagedClusterSetBinding, `${namespace}/${name}`);
  if (change) return change;
  const elsewhere = (await listed(client, ManagedClusterSetBinding))
    .filter(({ metadata }) => metadata.name === name)
    .map(({ metadata }) => metadata.namespace ?? "")
    .sort();
  throw new UserError(
    `ManagedClusterSet ${name} is not bound to Namespace ${namespace}; it is bound to ${elsewhere.join(", ") || "none"}`,
  );
}

export interface Membership {
  readonly cluster: string;
  /** The set that it was in. */
  readonly from: string | undefined;
  readonly change: Change;
}

/** Puts clusters into a set, out of the one that they were in. All must be there, or nothing is changed. */
export async function setClusters(task: Task, name: string, clusters: readonly string[]): Promise<Membership[]> {
  const { client, dryRun } = task;
  const set = await setOf(client, name);
  const { selectorType } = set.spec.clusterSelector;
  if (selectorType !== "ExclusiveClusterSetLabel") {
    throw new UserError(
      `ManagedClusterSet ${name} chooses its clusters by their labels (${selectorType}); label them as it asks in place of this`,
    );
  }
  const known = await listed(client, ManagedCluster);
  const missing = clusters.filter((cluster) => !known.some(({ metadata }) => metadata.name === cluster));
  if (missing.length > 0) {
    const names = known.map(({ metadata }) => metadata.name).sort();
    throw new UserError(
      `there is no ManagedCluster ${missing.join(", ")} on ${client.server} (there is ${names.join(", ") || "none"}); nothing was changed`,
    );
  }
  const memberships: Membership[] = [];
  for (const cluster of clusters) {
    const what = `ManagedCluster ${cluster}`;
    const from = known.find(({ metadata }) => metadata.name === cluster)?.metadata.labels?.[ClusterLabel.set];
    if (from === name) {
      memberships.push({ cluster, from, change: { action: "keep", what } });
      continue;
    }
    if (!dryRun) await client.patch(ManagedCluster, cluster, { metadata: { labels: { [ClusterLabel.set]: name } } });
    memberships.push({ cluster, from, change: { action: "change", what, note: `in the set ${name}` } });
  }
  return memberships;
}

/** Adds namespaces that the set manages on its clusters. */
export async function addManagedNamespaces(task: Task, name: string, namespaces: readonly string[]): Promise<Change> {
  const { client, dryRun } = task;
  const { spec } = await setOf(client, name);
  const before = spec.managedNamespaces ?? [];
  const added = namespaces.filter((namespace) => !before.some((each) => each.name === namespace));
  const what = `ManagedClusterSet ${name}`;
  if (added.length === 0) return { action: "keep", what };
  const managedNamespaces = [...before, ...added.map((namespace) => ({ name: namespace }))];
  if (!dryRun) await client.patch(ManagedClusterSet, name, { spec: { managedNamespaces } });
  return { action: "change", what, note: `manages ${added.join(", ")}` };
}

async function setsOf(client: Client): Promise<ManagedClusterSet[]> {
  const { items } = await client.list(ManagedClusterSet).catch((error: unknown) => {
    if (!isUnknownKind(error)) throw error;
    throw notAHub(client);
  });
  return items;
}

async function setOf(client: Client, name: string): Promise<ManagedClusterSet> {
  const sets = await setsOf(client);
  const set = sets.find(({ metadata }) => metadata.name === name);
  if (set) return set;
  const names = sets.map(({ metadata }) => metadata.name).sort();
  throw new UserError(
    `there is no ManagedClusterSet ${name} on ${client.server} (there is ${names.join(", ") || "none"}); create it with \`capstan create clusterset ${name}\``,
  );
}
