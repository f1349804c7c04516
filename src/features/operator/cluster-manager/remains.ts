/** What was made for clusters while there was a hub, and the namespaces that are empty without it. */
import { CertificateSigningRequest } from "#api/certificates";
import { CLUSTER_ACCESS, CLUSTER_LEASE, ClusterFinalizer, ClusterLabel } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Namespace, Secret } from "#api/core";
import { ClusterProfile, INVENTORY_GROUP, ProfileLabel } from "#api/inventory";
import { type Kind, type KubeObject, keyOf } from "#api/meta";
import { HUB_NAMESPACE, OperatorLabel } from "#api/operator";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/rbac";
import { DETACH_LEDGER } from "#api/work";
import { isNotFound, isUnknownKind, type ListOptions } from "#kube";
import type { Logger } from "#lib/log";
import { isDeleting, withoutFinalizer } from "#lib/meta";
import { type Cluster, forEach } from "#runtime";
import { KnativeController, RegistrationController } from "./names.ts";
import { type Stranger, strangersIn } from "./strangers.ts";

export interface RemainsOptions {
  readonly cluster: Cluster;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Selects what belongs to clusters, leaving what belongs to their add-ons to the add-ons. */
const CLUSTER_OBJECTS = `${ClusterLabel.name},!${ClusterLabel.addon}`;
/** Under this name our inventory keeps its profiles. */
const MANAGER = "open-cluster-management";

type Sought = readonly [kind: Kind<KubeObject>, where: ListOptions];

/** Rights first, so that no agent makes anew what is about to go. */
const REMAINS = [
  [ClusterRoleBinding, { labelSelector: CLUSTER_OBJECTS }],
  [RoleBinding, { labelSelector: CLUSTER_OBJECTS }],
  [ClusterRole, { labelSelector: CLUSTER_OBJECTS }],
  [Role, { labelSelector: CLUSTER_OBJECTS }],
  [Secret, { fieldSelector: `metadata.name=${CLUSTER_ACCESS.secret}` }],
  [ConfigMap, { fieldSelector: `metadata.name=${DETACH_LEDGER}` }],
  [Lease, { fieldSelector: `metadata.name=${CLUSTER_LEASE}` }],
  [CertificateSigningRequest, { labelSelector: CLUSTER_OBJECTS }],
  [ClusterProfile, { labelSelector: `${ProfileLabel.manager}=${MANAGER}` }],
] as unknown as readonly Sought[];

export async function removeClusterRemains(options: RemainsOptions): Promise<void> {
  for (const [kind, where] of REMAINS) {
    const found = await listed(options, kind, where);
    await forEach(found, async (object) => {
      await options.cluster.remove(kind, object);
      if (object.metadata.finalizers?.includes(ClusterFinalizer.workBinding)) await released(options, kind, object);
    });
  }
}

/** Who would have removed it has been ended. */
async function released(
  { cluster, signal }: RemainsOptions,
  kind: Kind<KubeObject>,
  object: KubeObject,
): Promise<void> {
  const { finalizers } = withoutFinalizer(object, ClusterFinalizer.workBinding).metadata;
  const patch = { metadata: { finalizers: finalizers ?? null } };
  try {
    await cluster.client.patch(kind, keyOf(object), patch, { type: "merge", signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/**
 * Removes the namespaces of clusters, and that of the hub, in which nobody else has anything; the answer is what is
 * waited for. The others only lose our labels.
 */
export async function namespacesLeft(options: RemainsOptions): Promise<string | undefined> {
  const { cluster, log } = options;
  const all = await ourNamespaces(options);
  const going = all.filter(isDeleting);
  const standing = all.filter((each) => !isDeleting(each));
  if (standing.length > 0) {
    const names = new Set(standing.map(({ metadata }) => metadata.name));
    const strangers = await strangersIn(names, { ...options, isOurs });
    await forEach(standing, async (namespace) => {
      const { name } = namespace.metadata;
      const why = strangers.get(name) ?? (isMarked(namespace) ? "somebody has labelled or annotated it" : undefined);
      if (why === undefined) return cluster.remove(Namespace, namespace);
      log.info("a namespace stays, because it is not only ours", { namespace: name, because: why });
      await disowned(options, namespace);
    });
    return namespacesLeft(options);
  }
  if (going.length === 0) return undefined;
  const named = going.map(({ metadata }) => metadata.name).sort();
  return `Waiting for namespaces to be gone: ${named.slice(0, NAMED).join(", ")}${named.length > NAMED ? ", …" : ""}`;
}

const NAMED = 5;
const OUR_LABELS: ReadonlySet<string> = new Set([ClusterLabel.name, OperatorLabel.createdByClusterManager]);

async function ourNamespaces(options: RemainsOptions): Promise<Namespace[]> {
  const ofClusters = await listed(options, Namespace, { labelSelector: ClusterLabel.name });
  const ofHub = await listed(options, Namespace, { labelSelector: OperatorLabel.createdByClusterManager });
  const hub = ofHub.filter(({ metadata }) => metadata.name === HUB_NAMESPACE);
  return [...hub, ...ofClusters.filter(({ metadata }) => metadata.labels?.[ClusterLabel.name] === metadata.name)];
}

/** Whoever marks a namespace has something in mind for it. What servers put on every namespace does not count. */
function isMarked({ metadata }: Namespace): boolean {
  const keys = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})];
  return keys.some((key) => !OUR_LABELS.has(key) && !EVERYBODYS.test(key));
}

const EVERYBODYS = /^(kubernetes\.io\/metadata\.name$|([a-z-]+\.)?openshift\.io\/|hash\.apply\.capstan\.dev\/)/;

async function disowned({ cluster, signal }: RemainsOptions, { metadata }: Namespace): Promise<void> {
  const labels = Object.fromEntries([...OUR_LABELS].map((key) => [key, null]));
  await cluster.client.patch(Namespace, metadata.name, { metadata: { labels } }, { type: "merge", signal });
}

/** What the hub's programs leave in namespaces without marking it. */
const LEASES: ReadonlySet<string> = new Set([
  CLUSTER_LEASE,
  ...[RegistrationController.lease, KnativeController.lease].map(String),
]);

function isOurs({ kind, object }: Stranger): boolean {
  const { labels = {}, name } = object.metadata;
  if (labels[OperatorLabel.createdByClusterManager] !== undefined) return true;
  if (kind.group === INVENTORY_GROUP) return labels[ProfileLabel.manager] === MANAGER;
  return kind.plural === Lease.plural && LEASES.has(name);
}

async function listed<T extends KubeObject>(
  { cluster, signal }: Pick<RemainsOptions, "cluster" | "signal">,
  kind: Kind<T>,
  where: ListOptions,
): Promise<T[]> {
  try {
    return (await cluster.client.list(kind, { ...where, metadataOnly: true, signal })).items;
  } catch (error) {
    if (isNotFound(error) || isUnknownKind(error)) return [];
    throw error;
  }
}
