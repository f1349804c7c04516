/** Making a cluster a hub: the operator, the identity by which clusters ask to join, and the ClusterManager. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Namespace, Secret, ServiceAccount } from "#api/core";
import { apiVersionOf, type KubeObject } from "#api/meta";
import {
  ClusterManager,
  ClusterManagerCondition,
  type ClusterManagerSpec,
  clusterManagerCrd,
  type FeatureGate,
  OPERATOR_NAMESPACE,
  OperatorAnnotation,
  OperatorName,
  OperatorSecret,
  type ResourceRequirement,
} from "#api/operator";
import { ClusterRole, ClusterRoleBinding } from "#api/rbac";
import { clusterManagerInstallation } from "#features/operator/cluster-manager";
import { HubGates, HubWorkGates, withGates } from "#features/operator/kit";
import { Bootstrap } from "#features/registration/hub";
import type { Connection, Draft, Wish } from "#kube";
import { findCondition } from "#lib/conditions";
import { UserError } from "../user-error.ts";
import { applyAll, find, put, untilEstablished, wishesOf } from "./changes.ts";
import { authorityReaders, CLUSTER_INFO, clusterInfo, ownClusterInfo } from "./cluster-info.ts";
import { BootstrapToken, bootstrapTokenSecret, identityObjects } from "./hub-tokens.ts";
import { assertAllowed, type Deed } from "./rights.ts";
import type { Change, Task } from "./task.ts";
import { named, until } from "./waiting.ts";
import { awaited } from "./words.ts";

export interface HubWish {
  /** How we reach the hub: what others are told too. */
  readonly connection: Pick<Connection, "server" | "ca">;
  readonly image: string;
  readonly useBootstrapToken: boolean;
  /** What the flags say; undefined leaves what is there. */
  readonly featureGates?: readonly FeatureGate[];
  readonly autoApprovedIdentities?: readonly string[];
  readonly resources?: ResourceRequirement;
  /** Further arguments of the hub's programs. */
  readonly hubArguments?: readonly string[];
  /** The text of a Docker configuration, for a registry that asks who one is. */
  readonly imagePullCredential?: string;
  readonly createNamespace: boolean;
  readonly syncLabels: boolean;
  /** Skips what is looked at before anything is done. */
  readonly force: boolean;
}

export interface HubInstallation {
  readonly changes: readonly Change[];
  /** Everything that was asked for, for files. */
  readonly objects: readonly KubeObject[];
}

const DEEDS: readonly Deed[] = [
  { verb: "create", kind: CustomResourceDefinition },
  { verb: "create", kind: Namespace },
  { verb: "create", kind: ClusterRole },
  { verb: "create", kind: ClusterRoleBinding },
  { verb: "create", kind: ServiceAccount, namespace: OPERATOR_NAMESPACE },
  { verb: "create", kind: Deployment, namespace: OPERATOR_NAMESPACE },
  { verb: "create", kind: ClusterManager },
];

const CREATE_ONLY = { type: "CreateOnly" } as const;

/** Doing it again changes only what is wished otherwise. */
export async function installHub(task: Task, wish: HubWish): Promise<HubInstallation> {
  if (!wish.force) await preflight(task, wish);
  const wishes = await hubWishes(task, wish);
  const changes = await applyAll(task, wishes);
  await untilEstablished(task, clusterManagerCrd);
  const existing = await find(task.client, ClusterManager, OperatorName.clusterManager);
  const manager = clusterManagerWish(existing, wish);
  const change = await put(task, ClusterManager, OperatorName.clusterManager, () => manager);
  const asked = { apiVersion: apiVersionOf(ClusterManager), kind: ClusterManager.kind, ...manager } as KubeObject;
  return { changes: [...changes, change], objects: [...wishes.map(({ object }) => object as KubeObject), asked] };
}

async function preflight(task: Task, { createNamespace }: HubWish): Promise<void> {
  const { client } = task;
  await assertAllowed(client, DEEDS);
  await clusterInfo(client);
  await refuseStranger(task);
  if (!createNamespace && !(await find(client, Namespace, OPERATOR_NAMESPACE))) {
    throw new UserError(
      `Namespace ${OPERATOR_NAMESPACE} is not on ${client.server}; create it, or leave --create-namespace=false out`,
    );
  }
}

/** Upstream's operator works on the same objects: two of them would never come to rest. */
async function refuseStranger({ client }: Task): Promise<void> {
  const key = `${OPERATOR_NAMESPACE}/${OperatorName.clusterManager}`;
  const image = (await find(client, Deployment, key))?.spec.template.spec.containers[0]?.image ?? "";
  if (!isUpstream(image)) return;
  throw new UserError(
    `Deployment ${key} on ${client.server} runs ${image}, the operator of Open Cluster Management; --force puts Capstan's in its place`,
  );
}

export function isUpstream(image: string): boolean {
  return image.startsWith("quay.io/open-cluster-management/");
}

async function hubWishes({ client }: Task, wish: HubWish): Promise<Wish[]> {
  const installation = clusterManagerInstallation({ image: wish.image, args: operatorArguments(wish) });
  const own = [...installation, ...identityObjects(wish.useBootstrapToken), ...authorityReaders()];
  const namespaced = own.filter(({ kind }) => wish.createNamespace || kind !== Namespace.kind);
  const pull = wish.imagePullCredential === undefined ? [] : [pullSecret(wish.imagePullCredential)];
  const hasInfo = (await find(client, ConfigMap, CLUSTER_INFO)) !== undefined;
  return [
    ...wishesOf([clusterManagerCrd, ...oncePerObject(namespaced).map(withPullSecret(pull.length > 0)), ...pull]),
    ...createOnly(wish.useBootstrapToken ? [bootstrapTokenSecret()] : []),
    ...createOnly(hasInfo ? [] : [ownClusterInfo(wish.connection)]),
  ];
}

/** What both operators are told beside their image. */
export function operatorArguments({ syncLabels }: { readonly syncLabels: boolean }): string[] {
  return syncLabels ? ["--enable-sync-labels"] : [];
}

function createOnly(objects: readonly KubeObject[]): Wish[] {
  return wishesOf(objects).map((wish) => ({ ...wish, strategy: CREATE_ONLY }));
}

/** The operator and the identity live in the same namespace, and both bring it. */
function oncePerObject(objects: readonly KubeObject[]): KubeObject[] {
  const byName = new Map<string, KubeObject>();
  for (const object of objects) {
    const { namespace = "", name } = object.metadata;
    const key = `${object.kind}|${namespace}|${name}`;
    if (!byName.has(key)) byName.set(key, object);
  }
  return [...byName.values()];
}

/** The Secret by which Pods get images from a registry that asks who one is. */
export function pullSecret(dockerConfig: string, namespace: string = OPERATOR_NAMESPACE): Secret {
  return {
    apiVersion: apiVersionOf(Secret),
    kind: Secret.kind,
    metadata: { name: OperatorSecret.imagePull, namespace },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(dockerConfig, "utf8").toString("base64") },
  };
}

/** The operator's own account shows the credential too; it copies it to where its Pods run. */
export function withPullSecret(isWanted: boolean): (object: KubeObject) => KubeObject {
  return (object) =>
    isWanted && object.kind === ServiceAccount.kind
      ? ({ ...object, imagePullSecrets: [{ name: OperatorSecret.imagePull }] } as KubeObject)
      : object;
}

/** What the flags do not speak of stays as it is. */
export function clusterManagerWish(existing: ClusterManager | undefined, wish: HubWish): Draft<ClusterManager> {
  const { featureGates, autoApprovedIdentities, resources, hubArguments } = wish;
  const before: ClusterManagerSpec = existing?.spec ?? {};
  const registration = before.registrationConfiguration ?? {};
  const known = registration.featureGates ?? (existing ? [] : DEFAULT_ON);
  const gates = withGates(HubGates, known.length > 0 ? known : DEFAULT_ON, featureGates) ?? known;
  const workGates = withGates(HubWorkGates, before.workConfiguration?.featureGates ?? [], featureGates);
  const users = existing ? registration.autoApproveUsers : [bootstrapUser(wish)];
  const annotations = {
    ...existing?.metadata.annotations,
    ...(hubArguments && { [OperatorAnnotation.hubArguments]: JSON.stringify(hubArguments) }),
  };
  const drivers = [{ authType: "csr" as const, csr: { autoApprovedIdentities: [...(autoApprovedIdentities ?? [])] } }];
  const configuration = {
    ...registration,
    ...(users && { autoApproveUsers: users }),
    ...(gates.length > 0 && { featureGates: [...gates] }),
    ...(autoApprovedIdentities && { registrationDrivers: drivers }),
  };
  return {
    ...existing,
    metadata: {
      ...existing?.metadata,
      name: OperatorName.clusterManager,
      ...(Object.keys(annotations).length > 0 && { annotations }),
    },
    spec: {
      ...before,
      ...(!existing && { deployOption: { mode: "Default" } }),
      ...(resources && { resourceRequirement: resources }),
      ...(Object.keys(configuration).length > 0 && { registrationConfiguration: configuration }),
      ...(workGates && { workConfiguration: { ...before.workConfiguration, featureGates: workGates } }),
    },
  };
}

/** Written out, as `clusteradm` does, so that people see what they can turn off. */
const DEFAULT_ON: FeatureGate[] = Object.entries(HubGates)
  .filter(([, isOn]) => isOn)
  .map(([feature]) => ({ feature, mode: "Enable" }));

/** Whose first requests are approved without a person, once the gate for that is open. */
function bootstrapUser({ useBootstrapToken }: HubWish): string {
  return useBootstrapToken ? BootstrapToken.user : Bootstrap.user;
}

/** Waits until the operator runs, and then until the hub's own programs do. */
export async function untilHubWorks(task: Task): Promise<void> {
  await untilAvailable(task, `${OPERATOR_NAMESPACE}/${OperatorName.clusterManager}`);
  await until(
    task.client,
    ClusterManager,
    named(OperatorName.clusterManager),
    ([manager]) => hubHindrance(manager),
    task,
  );
}

/** What keeps a hub from working, in words; undefined when nothing does. */
function hubHindrance(manager: ClusterManager | undefined): string | undefined {
  if (!manager) return `ClusterManager ${OperatorName.clusterManager} to be there`;
  const { status, metadata } = manager;
  const what = `ClusterManager ${metadata.name}`;
  const applied = findCondition(status?.conditions, ClusterManagerCondition.Applied);
  if (!applied || (status?.observedGeneration ?? 0) < (metadata.generation ?? 1)) return `${what} to be looked at`;
  if (applied.status !== "True") return awaited(what, applied, "");
  const progressing = findCondition(status?.conditions, ClusterManagerCondition.Progressing);
  if (progressing?.status !== "False") return awaited(what, progressing, "its Deployments roll out");
  const degraded = findCondition(status?.conditions, ClusterManagerCondition.HubRegistrationDegraded);
  if (degraded?.status !== "False") return awaited(what, degraded, "its registration controller starts");
  return undefined;
}

/** Waits until a Deployment has a Pod that works. */
export async function untilAvailable(task: Task, key: string): Promise<void> {
  await until(task.client, Deployment, named(key), ([found]) => deploymentHindrance(found, key), task);
}

function deploymentHindrance(deployment: Deployment | undefined, key: string): string | undefined {
  const { replicas = 1 } = deployment?.spec ?? {};
  const { availableReplicas = 0 } = deployment?.status ?? {};
  return availableReplicas > 0 ? undefined : `Deployment ${key}: 0 of ${replicas} Pods are available`;
}
