/** Letting a cluster ask a hub to be let in: the operator and the Klusterlet on the spoke, and the way to the hub. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ManagedCluster } from "#api/cluster";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import { apiVersionOf, type KubeObject } from "#api/meta";
import { Klusterlet, KlusterletCondition, klusterletCrd, OPERATOR_NAMESPACE, OperatorName } from "#api/operator";
import { ClusterRole, ClusterRoleBinding } from "#api/rbac";
import { klusterletInstallation } from "#features/operator/klusterlet";
import { type Client, type Connection, isForbidden, isUnauthorized, type Wish } from "#kube";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { UserError } from "../user-error.ts";
import { applyAll, find, listed, put, untilEstablished, wishesOf } from "./changes.ts";
import { clusterInfo, type Endpoint } from "./cluster-info.ts";
import type { HubAddress, HubContact } from "./hub-contact.ts";
import { isUpstream, operatorArguments, pullSecret, untilAvailable, withPullSecret } from "./hub-installation.ts";
import {
  agentObjects,
  bootstrapKubeconfigText,
  type KlusterletPlace,
  type KlusterletWish,
  klusterletWish,
  placeOf,
} from "./klusterlet-wish.ts";
import { assertAllowed, type Deed } from "./rights.ts";
import type { Change, Task } from "./task.ts";
import { named, until } from "./waiting.ts";
import { awaited } from "./words.ts";

export interface JoinWish extends Omit<KlusterletWish, "endpoint"> {
  readonly hub: HubAddress;
  readonly contact: HubContact;
  /** In hosted mode: the managed cluster, and the kubeconfig that its agents get. */
  readonly managed?: { readonly client: Client; readonly connection: Connection; readonly kubeconfig: string };
  /** How we reach the cluster that the agents run on. */
  readonly connection: Pick<Connection, "server" | "ca">;
  /** The spoke must say its own address in its cluster-info. */
  readonly internalEndpoint: boolean;
  readonly image: string;
  readonly imagePullCredential?: string;
  readonly createNamespace: boolean;
  readonly syncLabels: boolean;
}

export interface Joining {
  readonly changes: readonly Change[];
  /** Everything that was asked for, for files. */
  readonly objects: readonly KubeObject[];
  readonly klusterlet: string;
  /** What a person should know, though it is no failure. */
  readonly remarks: readonly string[];
}

/** Doing it again changes only what is wished otherwise. */
export async function joinCluster(task: Task, wish: JoinWish): Promise<Joining> {
  const place = placeOf(wish.clusterName, wish.mode);
  await preflight(task, wish, place);
  const operator = await operatorWishes(task, wish);
  const endpoint = await endpointOf(task, wish);
  const wishes = [...wishesOf([klusterletCrd]), ...operator.wishes, ...agentWishes(wish, place)];
  const changes = await applyAll(task, wishes);
  await untilEstablished(task, klusterletCrd);
  const existing = await find(task.client, Klusterlet, place.name);
  const klusterlet = klusterletWish(existing, place, { ...wish, endpoint });
  const change = await put(task, Klusterlet, place.name, () => klusterlet);
  const asked = { apiVersion: apiVersionOf(Klusterlet), kind: Klusterlet.kind, ...klusterlet } as KubeObject;
  return {
    changes: [...changes, change],
    objects: [...wishes.map(({ object }) => object as KubeObject), asked],
    klusterlet: place.name,
    remarks: operator.remarks,
  };
}

function deedsIn(agentNamespace: string): Deed[] {
  return [
    { verb: "create", kind: CustomResourceDefinition },
    { verb: "create", kind: Namespace },
    { verb: "create", kind: ClusterRole },
    { verb: "create", kind: ClusterRoleBinding },
    { verb: "create", kind: ServiceAccount, namespace: OPERATOR_NAMESPACE },
    { verb: "create", kind: Deployment, namespace: OPERATOR_NAMESPACE },
    { verb: "create", kind: Secret, namespace: agentNamespace },
    { verb: "create", kind: Klusterlet },
  ];
}

async function preflight({ client }: Task, wish: JoinWish, place: KlusterletPlace): Promise<void> {
  await assertAllowed(client, deedsIn(place.agentNamespace));
  const { clusterName, mode } = wish;
  const klusterlets = await listed(client, Klusterlet);
  const same = klusterlets.find(({ metadata }) => metadata.name === place.name);
  if (same && isDeleting(same)) {
    throw new UserError(
      `Klusterlet ${place.name} on ${client.server} is being removed; wait until it is gone: \`capstan unjoin --cluster-name ${same.spec?.clusterName ?? clusterName}\``,
    );
  }
  const joined = same?.spec?.clusterName;
  if (joined !== undefined && joined !== clusterName) {
    throw new UserError(
      `${client.server} has joined as ${joined} already; take it out first with \`capstan unjoin --cluster-name ${joined}\``,
    );
  }
  const elsewhere = klusterlets.find(
    ({ metadata, spec }) => metadata.name !== place.name && spec?.clusterName === clusterName,
  );
  if (elsewhere) {
    throw new UserError(
      `Klusterlet ${elsewhere.metadata.name} on ${client.server} is ${clusterName} already, in another mode than ${mode}; take it out first with \`capstan unjoin --cluster-name ${clusterName}\``,
    );
  }
  if (!wish.createNamespace && !(await find(client, Namespace, OPERATOR_NAMESPACE))) {
    throw new UserError(
      `Namespace ${OPERATOR_NAMESPACE} is not on ${client.server}; create it, or leave --create-namespace=false out`,
    );
  }
}

/** An operator of upstream's that works is left to do it: it serves the same Klusterlet. */
async function operatorWishes(
  { client }: Task,
  { image, syncLabels, createNamespace, imagePullCredential }: JoinWish,
): Promise<{ wishes: Wish[]; remarks: string[] }> {
  const key = `${OPERATOR_NAMESPACE}/${OperatorName.klusterlet}`;
  const there = await find(client, Deployment, key);
  const current = there?.spec.template.spec.containers[0]?.image ?? "";
  if (isUpstream(current) && (there?.status?.availableReplicas ?? 0) > 0) {
    return { wishes: [], remarks: [`Deployment ${key} runs ${current} and stays as it is.`] };
  }
  const pull = imagePullCredential === undefined ? [] : [pullSecret(imagePullCredential)];
  const installation = klusterletInstallation({ image, args: operatorArguments({ syncLabels }) })
    .filter(({ kind }) => createNamespace || kind !== Namespace.kind)
    .map(withPullSecret(pull.length > 0));
  return { wishes: wishesOf([...installation, ...pull]), remarks: [] };
}

function agentWishes({ hub, contact, managed }: JoinWish, place: KlusterletPlace): Wish[] {
  const { internal, ca } = contact;
  const bootstrap = bootstrapKubeconfigText({
    server: internal?.server ?? hub.server,
    token: hub.token,
    ...(ca !== undefined && { ca }),
    ...(hub.proxyUrl !== undefined && { proxyUrl: hub.proxyUrl }),
  });
  return wishesOf(agentObjects(place, { bootstrap, ...(managed && { managed: managed.kubeconfig }) }));
}

/** What the spoke says of itself, else how we reach it. */
async function endpointOf({ client }: Task, wish: JoinWish): Promise<Endpoint | undefined> {
  const spoke = wish.managed?.client ?? client;
  const { server, ca } = wish.managed?.connection ?? wish.connection;
  const said = await clusterInfo(spoke).catch((error: unknown) => {
    if (wish.internalEndpoint || !(error instanceof UserError || isForbidden(error) || isUnauthorized(error)))
      throw error;
    return undefined;
  });
  if (said) return said;
  if (wish.internalEndpoint) {
    throw new UserError(
      `${spoke.server} has no ConfigMap kube-public/cluster-info, so its internal address is not known; leave --force-internal-endpoint-lookup-managed out`,
    );
  }
  return { server, ...(ca !== undefined && { ca }) };
}

/** Waits until the operator and the agents run, and then until the hub has heard of the cluster. */
export async function untilJoining(task: Task, klusterlet: string, hub: Client, clusterName: string): Promise<void> {
  await untilAvailable(task, `${OPERATOR_NAMESPACE}/${OperatorName.klusterlet}`);
  await until(task.client, Klusterlet, named(klusterlet), ([found]) => agentHindrance(found, klusterlet), task);
  const missing = (clusters: readonly ManagedCluster[]) =>
    clusters.length > 0 ? undefined : `ManagedCluster ${clusterName} to be created on the hub`;
  await until(hub, ManagedCluster, named(clusterName), missing, task);
}

/** What keeps agents from working, in words; undefined when nothing does. */
function agentHindrance(klusterlet: Klusterlet | undefined, name: string): string | undefined {
  if (!klusterlet) return `Klusterlet ${name} to be there`;
  const { status, metadata } = klusterlet;
  const applied = findCondition(status?.conditions, KlusterletCondition.Applied);
  if (applied?.status === "False") return awaited(`Klusterlet ${name}`, applied, "");
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 1)) return `Klusterlet ${name} to be looked at`;
  for (const type of [KlusterletCondition.RegistrationDesiredDegraded, KlusterletCondition.WorkDesiredDegraded]) {
    const degraded = findCondition(status?.conditions, type);
    if (degraded?.status !== "False") return awaited(`Klusterlet ${name}`, degraded, "its agents start");
  }
  return undefined;
}
