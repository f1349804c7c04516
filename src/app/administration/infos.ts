/** What is installed on a hub or a spoke, for people who want to see it in one place. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import {
  ClusterSetCondition,
  ManagedCluster,
  ManagedClusterSet,
  ManagedClusterSetBinding,
  selectorOfSet,
} from "#api/cluster";
import { type Condition, type Kind, type KubeObject, keyOf } from "#api/meta";
import { ClusterManager, Klusterlet, OPERATOR_NAMESPACE, OperatorName, type RelatedResource } from "#api/operator";
import { type Client, isUnknownKind } from "#kube";
import { findCondition } from "#lib/conditions";
import { labelSelector } from "#lib/selectors";
import { UserError } from "../user-error.ts";
import { notAHub } from "./acceptance.ts";
import { find, listed } from "./changes.ts";

export interface DeploymentInfo {
  readonly name: string;
  readonly image: string;
  readonly ready: string;
  readonly isThere: boolean;
}

export interface InstallationInfo {
  readonly server: string;
  readonly operator: DeploymentInfo;
  /** ClusterManagers on a hub, Klusterlets on a spoke. */
  readonly objects: readonly ObjectInfo[];
}

interface ObjectInfo {
  readonly kind: string;
  readonly name: string;
  readonly clusterName?: string;
  readonly mode: string;
  readonly conditions: readonly Condition[];
  readonly deployments: readonly DeploymentInfo[];
  readonly definitions: readonly string[];
}

export async function hubInfo(client: Client): Promise<InstallationInfo> {
  const managers = await listed(client, ClusterManager);
  if (managers.length === 0) {
    throw new UserError(
      `${client.server} is no hub: it has no ClusterManager; make it one with \`capstan init\`, or choose the hub with --context`,
    );
  }
  return infoOf(client, ClusterManager, OperatorName.clusterManager, managers);
}

export async function klusterletInfo(client: Client): Promise<InstallationInfo> {
  const klusterlets = await listed(client, Klusterlet);
  if (klusterlets.length === 0) {
    throw new UserError(
      `${client.server} has no Klusterlet: it has not joined a hub; let it join with \`capstan join\`, or choose the spoke with --context`,
    );
  }
  return infoOf(client, Klusterlet, OperatorName.klusterlet, klusterlets);
}

async function infoOf<T extends ClusterManager | Klusterlet>(
  client: Client,
  kind: Kind<T>,
  operator: string,
  objects: readonly T[],
): Promise<InstallationInfo> {
  return {
    server: client.server,
    operator: await deploymentInfo(client, `${OPERATOR_NAMESPACE}/${operator}`),
    objects: await Promise.all(objects.map((object) => objectInfo(client, kind, object))),
  };
}

async function objectInfo<T extends ClusterManager | Klusterlet>(
  client: Client,
  kind: Kind<T>,
  { metadata, spec, status }: T,
): Promise<ObjectInfo> {
  const related = status?.relatedResources ?? [];
  const clusterName = spec && "clusterName" in spec ? spec.clusterName : undefined;
  return {
    kind: kind.kind,
    name: metadata.name,
    ...(clusterName !== undefined && { clusterName }),
    mode: spec?.deployOption?.mode ?? "Default",
    conditions: status?.conditions ?? [],
    deployments: await Promise.all(
      related.filter(isOf(Deployment)).map(({ namespace, name }) => deploymentInfo(client, `${namespace}/${name}`)),
    ),
    definitions: related.filter(isOf(CustomResourceDefinition)).map(({ name }) => name),
  };
}

function isOf(kind: Kind<KubeObject>): (resource: RelatedResource) => boolean {
  return ({ group, resource }) => group === kind.group && resource === kind.plural;
}

async function deploymentInfo(client: Client, key: string): Promise<DeploymentInfo> {
  const found = await find(client, Deployment, key);
  const wished = found?.spec.replicas ?? 1;
  return {
    name: key,
    image: found?.spec.template.spec.containers[0]?.image ?? "",
    ready: found ? `${found.status?.readyReplicas ?? 0}/${wished}` : "",
    isThere: found !== undefined,
  };
}

export interface ClusterSetInfo {
  readonly name: string;
  readonly boundNamespaces: readonly string[];
  readonly status: string;
  readonly managedNamespaces: readonly string[];
  readonly clusters: readonly string[];
}

export async function clusterSetInfos(client: Client): Promise<ClusterSetInfo[]> {
  const sets = await client.list(ManagedClusterSet).catch((error: unknown) => {
    if (!isUnknownKind(error)) throw error;
    throw notAHub(client);
  });
  const [bindings, clusters] = await Promise.all([
    listed(client, ManagedClusterSetBinding),
    listed(client, ManagedCluster),
  ]);
  return sets.items
    .map((set) => ({
      name: set.metadata.name,
      boundNamespaces: bindings
        .filter(({ spec }) => spec?.clusterSet === set.metadata.name)
        .map(({ metadata }) => metadata.namespace ?? "")
        .sort(),
      status: findCondition(set.status?.conditions, ClusterSetCondition.Empty)?.message ?? "",
      managedNamespaces: (set.spec.managedNamespaces ?? []).map(({ name }) => name),
      clusters: clusters
        .filter((cluster) => isIn(set, cluster))
        .map(keyOf)
        .sort(),
    }))
    .sort((a, b) => a.name.localeCompare(b.name));
}

function isIn(set: ManagedClusterSet, { metadata }: ManagedCluster): boolean {
  const selector = selectorOfSet(set);
  return selector !== undefined && labelSelector(selector).matches(metadata.labels);
}
