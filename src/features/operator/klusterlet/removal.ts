/** Taking the agents of a Klusterlet away, and all that was made for them, on one cluster or on two. */

import { Deployment } from "#api/apps";
import { Namespace, Pod, Secret } from "#api/core";
import { AGENT_ADDON_NAMESPACE, OperatorLabel, OperatorSecret } from "#api/operator";
import { ClusterRoleBinding } from "#api/rbac";
import { AppliedManifestWork, WorkFinalizer } from "#api/work";
import { isUnknownKind } from "#kube";
import { hasFinalizer, withoutFinalizer } from "#lib/meta";
import { type Cluster, forEach } from "#runtime";
import { hindrancesIn, type Site, sentenceOf } from "../kit/index.ts";
import { GrantedAccess } from "./names.ts";
import { find, removeNamespace } from "./namespace-removal.ts";
import { releaseDefinitions } from "./shared-objects.ts";

/** What there is of a Klusterlet that goes. */
export interface Departing {
  readonly name: string;
  readonly uid: string;
  /** On the managed cluster. */
  readonly namespace: string;
  readonly agentNamespace: string;
}

export interface RemovalStep {
  /** What has to pass before it goes on; nothing where the step is done. */
  readonly waitingFor?: string;
  /** What stays behind on purpose. */
  readonly remarks: readonly string[];
}

const DONE: RemovalStep = { remarks: [] };

/** First the agents: while one lives it would ask the hub for a new identity as soon as it misses the old one. */
export async function stopAgents(departing: Departing, site: Site, signal: AbortSignal): Promise<RemovalStep> {
  const { name, agentNamespace: namespace } = departing;
  const report = await site.remove({ signal, keep: ({ kind }) => kind !== Deployment.kind });
  const hindrances = hindrancesIn(report);
  if (hindrances.length > 0) return { waitingFor: sentenceOf(hindrances), remarks: [] };
  const labelSelector = `${OperatorLabel.createdByKlusterlet}=${name}`;
  const { items } = await site.cluster.client.list(Pod, { namespace, labelSelector, metadataOnly: true, signal });
  if (items.length === 0) return DONE;
  const names = items.map(({ metadata }) => metadata.name).sort();
  return { waitingFor: `Pods ${names.join(", ")} in namespace ${namespace} to end`, remarks: [] };
}

/** What is on the managed cluster. */
export async function clearManaged(departing: Departing, site: Site, signal: AbortSignal): Promise<RemovalStep> {
  const { cluster } = site;
  const { name, namespace } = departing;
  await releaseWorks(cluster, departing.uid, signal);
  await releaseDefinitions(cluster, name, signal);
  const binding = await find(cluster, ClusterRoleBinding, GrantedAccess.binding(namespace), signal);
  if (binding) await cluster.remove(ClusterRoleBinding, binding);
  const hindrances = hindrancesIn(await site.remove({ signal }));
  if (hindrances.length > 0) return { waitingFor: sentenceOf(hindrances), remarks: [] };

  const others = await cluster.client.list(Namespace, { labelSelector: OperatorLabel.klusterlet, signal });
  const isLast = others.items.every(({ metadata }) => metadata.labels?.[OperatorLabel.klusterlet] === name);
  return clearNamespaces(cluster, [namespace, ...(isLast ? [AGENT_ADDON_NAMESPACE] : [])], departing, signal);
}

/** What is where the agents ran, if that is another cluster than the managed one. */
export async function clearManagement(departing: Departing, site: Site, signal: AbortSignal): Promise<RemovalStep> {
  const { agentNamespace } = departing;
  const identity = await find(site.cluster, Secret, `${agentNamespace}/${OperatorSecret.hub}`, signal);
  if (identity) await site.cluster.remove(Secret, identity);
  const hindrances = hindrancesIn(await site.remove({ signal }));
  if (hindrances.length > 0) return { waitingFor: sentenceOf(hindrances), remarks: [] };
  return clearNamespaces(site.cluster, [agentNamespace], departing, signal);
}

async function clearNamespaces(
  cluster: Cluster,
  names: readonly string[],
  { name: klusterlet }: Departing,
  signal: AbortSignal,
): Promise<RemovalStep> {
  const going: string[] = [];
  const remarks: string[] = [];
  for (const name of names) {
    const { isGoing, remark } = await removeNamespace(cluster, name, { klusterlet, signal });
    if (isGoing) going.push(name);
    if (remark !== undefined) remarks.push(remark);
  }
  return { remarks, ...(going.length > 0 && { waitingFor: `namespace ${going.join(", ")} to be gone` }) };
}

/** What the hub had applied stays where it is; nobody is left who could clear it up, so nothing may wait for that. */
async function releaseWorks(managed: Cluster, agentId: string, signal: AbortSignal): Promise<void> {
  const works = await managed.client.list(AppliedManifestWork, { signal }).then(
    ({ items }) => items,
    (error: unknown) => {
      if (isUnknownKind(error)) return [];
      throw error;
    },
  );
  const held = works.filter((work) => work.spec?.agentID === agentId && hasFinalizer(work, WorkFinalizer.applied));
  await forEach(held, (work) =>
    managed.commit(AppliedManifestWork, work, withoutFinalizer(work, WorkFinalizer.applied), { signal }),
  );
}
