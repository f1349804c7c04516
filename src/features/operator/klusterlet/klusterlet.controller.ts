/**
 * Keeps the agents of a Klusterlet running as it says, with all that they need on the cluster that they manage and on
 * the one that they run on, and clears both when the Klusterlet goes.
 *
 * Key     Klusterlet name
 * Reads   Klusterlet, Node; Secret external-managed-kubeconfig; CustomResourceDefinition, Namespace (managed cluster);
 *         all that carries the label of the Klusterlet, on both clusters
 * Writes  Klusterlet: finalizers, one annotation, status; definitions, namespaces, accounts, roles (managed cluster);
 *         Deployments, roles, and in hosted mode accounts and Secrets (where the agents run)
 * Twin    ocm:pkg/operator/operators/klusterlet/controllers/{klusterletcontroller,statuscontroller}
 */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { Namespace, Secret, ServiceAccount } from "#api/core";
import type { DynamicObject } from "#api/meta";
import {
  AGENT_NAMESPACE,
  Klusterlet,
  KlusterletCondition,
  KlusterletReason,
  OperatorFinalizer,
  OperatorLabel,
  OperatorSecret,
  type OperatorStatus,
} from "#api/operator";
import { identityOf, idOf, isAlreadyExists } from "#kube";
import { type Clock, timestamp } from "#lib/clock";
import type { ConditionClaim } from "#lib/conditions";
import { hasFinalizer, isDeleting, withFinalizer, withoutFinalizer } from "#lib/meta";
import {
  again,
  type Cluster,
  type Controller,
  done,
  type Fleet,
  isUnreachable,
  type Outcome,
  type ReconcileContext,
  type Unreachable,
} from "#runtime";
import {
  definitionVersion,
  gateCondition,
  generationsOf,
  handedOn,
  hindrancesIn,
  relatedResources,
  replicaChoice,
  type Site,
  Sites,
} from "../kit/index.ts";
import { agentDeployments, managementObjects } from "./agents.ts";
import { evictionOf, withEviction } from "./eviction.ts";
import { type HostedSecrets, hostedSecrets } from "./hosted-secrets.ts";
import { connectionIn } from "./kubeconfig-secret.ts";
import { klusterletOf, managedClusterName } from "./managed-clusters.ts";
import { managedObjects } from "./managed-objects.ts";
import { find, removeNamespace } from "./namespace-removal.ts";
import { clearManaged, clearManagement, type Departing, type RemovalStep, stopAgents } from "./removal.ts";
import { DEFINITION_NAMES, type SharedState, sharedObjects } from "./shared-objects.ts";
import {
  agentClaims,
  appliedClaim,
  hasIdentity,
  type Placed,
  preparedClaim,
  refusedClaim,
  withClaims,
} from "./status.ts";
import { agentNamespaceOf, isHosted, isRefused, type KlusterletWish, wishOf } from "./wish.ts";

export interface KlusterletControllerOptions {
  /** Where the operator and the agents run. */
  readonly cluster: Cluster;
  /** The managed clusters of hosted Klusterlets. */
  readonly managed: Pick<Fleet, "reach" | "keyedBy" | "cache">;
  /** Our own image. */
  readonly image: string;
  /** How many Pods each agent has; by the nodes of the control plane unless told. */
  readonly replicas?: number;
  /** Whether all that is made carries the labels of the Klusterlet too. */
  readonly syncLabels?: boolean;
  /** Milliseconds for which the end of a Klusterlet is held up by what does not go, or by a lost cluster. */
  readonly removalPatience?: number;
  readonly clock: Clock;
}

const FIELD_MANAGER = "klusterlet-operator";
const REMOVAL_PATIENCE_MS = 5 * 60_000;
/** Such as a namespace that is still being deleted. */
const PATIENCE_MS = 5_000;
/** What may pass by itself, and nobody tells of, is looked at again so soon. */
const LOOK_AGAIN_MS = 10_000;
/** What is waited for at the end of a Klusterlet is not watched. */
const REMOVAL_LOOK_MS = 500;
/** A day at least, so that a machine that slept does not miss the time. */
const LONGEST_WAIT = 24 * 3_600_000;

export function klusterletController(options: KlusterletControllerOptions): Controller {
  const { cluster, managed: fleet, image, syncLabels = false, clock } = options;
  const version = definitionVersion(image);
  const patience = options.removalPatience ?? REMOVAL_PATIENCE_MS;
  const klusterlets = cluster.cache(Klusterlet);
  const definitions = cluster.cache(CustomResourceDefinition, { projection: "metadata" });
  const namespaces = cluster.cache(Namespace, { projection: "metadata" });
  const managedDefinitions = fleet.cache(CustomResourceDefinition, { projection: "metadata" });
  const managedNamespaces = fleet.cache(Namespace, { projection: "metadata" });
  const waysIn = cluster.cache(Secret, { fieldSelector: `metadata.name=${OperatorSecret.managed}` });
  const replicas = replicaChoice({ cluster, ...(options.replicas !== undefined && { asked: options.replicas }) });
  const sites = new Sites({ clock, fieldManager: FIELD_MANAGER, label: OperatorLabel.createdByKlusterlet });
  const all = () => klusterlets.list().map(({ metadata }) => metadata.name);

  return {
    name: "klusterlet",
    triggers: [
      klusterlets.keyedBy(({ metadata }) => metadata.name),
      // One that goes, or changes its namespace, may make room for another.
      klusterlets.keyedBy(() => all(), { when: (before, after) => placeOf(before) !== placeOf(after) }),
      definitions.keyedBy(({ metadata }) => (DEFINITION_NAMES.has(metadata.name) ? all() : undefined)),
      waysIn.keyedBy(({ metadata }) => metadata.namespace),
      fleet.keyedBy(klusterletOf, { after: [managedDefinitions, managedNamespaces] }),
      ...replicas.keyedBy(all),
      sites.trigger,
    ],
    reads: [namespaces, managedDefinitions, managedNamespaces],
    // A managed cluster that does not answer holds up nobody else's.
    concurrency: 4,

    async reconcile(name, context) {
      const klusterlet = klusterlets.get(name);
      if (!klusterlet) {
        sites.leave(name);
        return done;
      }
      if (isDeleting(klusterlet)) return uninstall(klusterlet, context);
      const wish = wishOf(klusterlet);
      if (isRefused(wish)) return say(klusterlet, [refusedClaim(wish.refusal)]);
      const rival = rivalOf(klusterlet);
      if (rival !== undefined) return say(klusterlet, [refusedClaim(rival)]);
      // Nothing is made before the finalizer is there to have it removed.
      const kept = await withFinalizers(klusterlet, [OperatorFinalizer.klusterlet]);
      return install(kept, wish, context);
    },
  };

  /** Two in one namespace would share Secrets, and each would think the other's identity its own. */
  function rivalOf(klusterlet: Klusterlet): string | undefined {
    const place = agentNamespaceOf(klusterlet);
    const rival = klusterlets
      .list()
      .filter((other) => other.metadata.name !== klusterlet.metadata.name && agentNamespaceOf(other) === place)
      .find((other) => hasFinalizer(other, OperatorFinalizer.klusterlet) && isBefore(other, klusterlet));
    return (
      rival && `Klusterlet ${rival.metadata.name} has its agents in namespace ${place}; choose another spec.namespace`
    );
  }

  async function install(klusterlet: Klusterlet, wish: KlusterletWish, context: ReconcileContext): Promise<Outcome> {
    const gateClaim = gateCondition({
      "spec.registrationConfiguration.featureGates": wish.gates.registration,
      "spec.workConfiguration.featureGates": wish.gates.work,
    });
    const ground = await groundFor(wish);
    if (isUnreachable(ground)) {
      await ensureAgentNamespace(wish);
      const claims = [preparedClaim(ground.message), gateClaim, ...(await deploymentClaims(wish, context))];
      return say(klusterlet, claims);
    }
    const ready = wish.isHosted ? await withFinalizers(klusterlet, [OperatorFinalizer.klusterletHosted]) : klusterlet;
    const { placed, wishes, secrets } = await place(ready, wish, ground, context);
    // Where both clusters are one, accounts have just been made whose tokens the agents need.
    if (secrets?.isIncomplete) return again(0);
    const managedIds = new Set(managedObjects(wish).map((object) => identityOf(idOf(object))));
    const applied = appliedClaim(placed, ({ id }) => managedIds.has(identityOf(id)));
    const hindered = placed.some(({ report }) => hindrancesIn(report).length > 0);
    if (!hindered) await leaveFormerNamespaces(wish, ground, context);
    const site = sites.at(wish.name, cluster);
    const deployments = await site.list(Deployment, context.signal);
    const claims = [...(wish.isHosted ? [preparedClaim()] : []), applied, gateClaim, ...agentClaims(wish, deployments)];
    // What could not be applied says nothing new about what there is.
    const known = hindered
      ? {}
      : { generations: generationsOf(deployments), relatedResources: relatedResources(wishes) };
    await say(ready, claims, known);
    if (hindered) return again(LOOK_AGAIN_MS);
    return secrets ? again(Math.min(secrets.renewIn, LONGEST_WAIT)) : done;
  }

  /** Puts everything where it belongs: first on the managed cluster, then where the agents run. */
  async function place(
    klusterlet: Klusterlet,
    wish: KlusterletWish,
    { managed, state, isOne }: Ground,
    { signal }: ReconcileContext,
  ) {
    const home = sites.at(wish.name, cluster);
    const there = isOne ? home : sites.at(wish.name, managed);
    const labels = syncLabels ? handedOn(klusterlet.metadata.labels) : {};
    const shared = sharedObjects(wish, { state, version, labels, isOther: (other) => isOther(wish, other) });
    const onManaged = labelled([...shared, ...managedObjects(wish)], labels);
    const run = { signal, patience: PATIENCE_MS };
    const placed: Placed[] = [];
    if (!isOne) placed.push({ on: "managed", report: await there.apply(onManaged, run) });
    const secrets = wish.isHosted ? await secretsFor(wish, { home, there, managed, signal }) : undefined;
    const deployed = agentDeployments(wish, {
      image,
      replicas: wish.isHosted ? 1 : replicas.count(),
      hasIdentity: hasIdentity(klusterlet),
      labels: { ...labels, [OperatorLabel.createdByKlusterlet]: wish.name },
    });
    const onManagement = labelled([...managementObjects(wish), ...(secrets?.objects ?? []), ...deployed], labels);
    const here = isOne ? [...onManaged, ...onManagement] : onManagement;
    // Agents that cannot show who they are would only fail, and what stands is better than nothing.
    const isWhole = placed.every(({ report }) => hindrancesIn(report).length === 0);
    if (isWhole) placed.push({ on: "management", report: await home.apply(here, run) });
    return { placed, wishes: isOne ? here : [...onManaged, ...onManagement], secrets };
  }

  async function secretsFor(
    wish: KlusterletWish,
    { home, there, managed, signal }: { home: Site; there: Site; managed: Cluster; signal: AbortSignal },
  ): Promise<HostedSecrets | undefined> {
    const way = waysIn.get(`${wish.name}/${OperatorSecret.managed}`);
    if (!way) return undefined; // it has just gone, which the fleet will tell
    return hostedSecrets(wish, {
      managed,
      connection: await connectionIn(way),
      // The copies may not have heard yet of what was made a moment ago.
      account: async (key) =>
        (await there.get(ServiceAccount, key, signal)) ?? find(managed, ServiceAccount, key, signal),
      existing: (key) => home.get(Secret, key, signal),
      now: clock.now(),
      signal,
    });
  }

  /** The managed cluster, and what is known of it. */
  async function groundFor(wish: KlusterletWish): Promise<Ground | Unreachable> {
    if (!wish.isHosted) return { managed: cluster, state: { definitions, namespaces }, isOne: true };
    const name = managedClusterName(wish.name);
    const managed = await fleet.reach(name);
    if (isUnreachable(managed)) return managed;
    const there = { definitions: managedDefinitions.on(name), namespaces: managedNamespaces.on(name) };
    if (!there.definitions || !there.namespaces) {
      return { reason: KlusterletReason.prepareFailed, message: "The managed cluster is being looked at" };
    }
    const state = { definitions: there.definitions, namespaces: there.namespaces };
    return { managed, state, isOne: uidOf(state.namespaces) === uidOf(namespaces) };
  }

  /** Where somebody is to put the way to the managed cluster. */
  async function ensureAgentNamespace({ name, agentNamespace }: KlusterletWish): Promise<void> {
    if (namespaces.get(agentNamespace)) return;
    const metadata = { name: agentNamespace, labels: { [OperatorLabel.createdByKlusterlet]: name } };
    await cluster.client.create(Namespace, { metadata }).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }

  async function deploymentClaims(wish: KlusterletWish, { signal }: ReconcileContext): Promise<ConditionClaim[]> {
    const deployments = await sites.at(wish.name, cluster).list(Deployment, signal);
    return deployments.length > 0 ? agentClaims(wish, deployments) : [];
  }

  /** Namespaces that the Klusterlet had before somebody gave it another. */
  async function leaveFormerNamespaces(
    wish: KlusterletWish,
    { managed, state }: Ground,
    { signal, log }: ReconcileContext,
  ): Promise<void> {
    const former = state.namespaces
      .list()
      .filter(({ metadata }) => metadata.labels?.[OperatorLabel.klusterlet] === wish.name)
      .filter((space) => space.metadata.name !== wish.namespace && !isDeleting(space));
    for (const { metadata } of former) {
      const { remark } = await removeNamespace(managed, metadata.name, { klusterlet: wish.name, signal });
      if (remark !== undefined) log.warn(remark);
    }
  }

  /** Whether another Klusterlet of the managed cluster keeps what all of them share. Of strangers' nobody knows here. */
  function isOther(wish: KlusterletWish, name: string): boolean {
    const other = klusterlets.get(name);
    return wish.isHosted || (other !== undefined && !isDeleting(other) && !isHosted(other));
  }

  async function uninstall(klusterlet: Klusterlet, context: ReconcileContext): Promise<Outcome> {
    const finalizers = [OperatorFinalizer.klusterlet, OperatorFinalizer.klusterletHosted];
    if (!finalizers.some((finalizer) => hasFinalizer(klusterlet, finalizer))) return done;
    const managed = await managedOf(klusterlet);
    const noted = isUnreachable(managed) ? await withEvictionNoted(klusterlet) : klusterlet;
    const { waitingFor, remarks } = await removeAll(noted, managed, context);
    if (waitingFor !== undefined) {
      await say(noted, [removingClaim(`Waiting for ${waitingFor}`)]);
      return again(REMOVAL_LOOK_MS);
    }
    for (const remark of remarks) context.log.warn(remark);
    // Whoever follows the Klusterlet reads here what stays behind, before it is gone.
    const told = remarks.length > 0 ? await said(noted, [removingClaim(remarks.join("; "))]) : noted;
    await cluster.commit(Klusterlet, told, finalizers.reduce(withoutFinalizer, told));
    sites.leave(klusterlet.metadata.name);
    return done;
  }

  /** One step after the other; after a long time none of them is waited for any more, but each is begun. */
  async function removeAll(
    klusterlet: Klusterlet,
    managed: Cluster | Unreachable,
    { signal }: ReconcileContext,
  ): Promise<RemovalStep> {
    const departing = departingOf(klusterlet);
    const home = sites.at(departing.name, cluster);
    const there = managed === cluster ? home : undefined;
    const steps = [
      () => stopAgents(departing, home, signal),
      () =>
        isUnreachable(managed)
          ? forsaken(klusterlet, managed)
          : afterwards(klusterlet, clearManaged(departing, there ?? sites.at(departing.name, managed), signal)),
      ...(isHosted(klusterlet) ? [() => clearManagement(departing, home, signal)] : []),
    ];
    const isOver = clock.now().getTime() >= Date.parse(klusterlet.metadata.deletionTimestamp ?? "") + 2 * patience;
    const remarks: string[] = [];
    for (const step of steps) {
      const { waitingFor, remarks: further } = await step();
      if (waitingFor !== undefined && !isOver) return { waitingFor, remarks };
      remarks.push(...further);
      if (waitingFor !== undefined) remarks.push(`nobody waits any longer for ${waitingFor}`);
    }
    return { remarks };
  }

  /** A managed cluster that is cleared is not asked again: the way to it goes with the namespace of the agents. */
  async function afterwards(klusterlet: Klusterlet, clearing: Promise<RemovalStep>): Promise<RemovalStep> {
    const step = await clearing;
    const cleared = withoutFinalizer(klusterlet, OperatorFinalizer.klusterletHosted);
    if (step.waitingFor === undefined && isHosted(klusterlet)) await cluster.commit(Klusterlet, klusterlet, cleared);
    return step;
  }

  async function managedOf(klusterlet: Klusterlet): Promise<Cluster | Unreachable> {
    return isHosted(klusterlet) ? fleet.reach(managedClusterName(klusterlet.metadata.name)) : cluster;
  }

  /** A managed cluster that cannot be reached is waited for, but not for ever. */
  function forsaken(klusterlet: Klusterlet, { message }: Unreachable): RemovalStep {
    if (!hasFinalizer(klusterlet, OperatorFinalizer.klusterletHosted)) return { remarks: [] }; // nothing was ever there
    const why = `the managed cluster cannot be reached (${message})`;
    const since = evictionOf(klusterlet)?.getTime() ?? Number.POSITIVE_INFINITY;
    if (clock.now().getTime() >= since + patience) return { remarks: [`${why}; what the Klusterlet has there stays`] };
    return { remarks: [], waitingFor: `the managed cluster, up to ${patience / 1000} s: ${why}` };
  }

  async function withEvictionNoted(klusterlet: Klusterlet): Promise<Klusterlet> {
    if (evictionOf(klusterlet)) return klusterlet;
    return cluster.commit(Klusterlet, klusterlet, withEviction(klusterlet, timestamp(clock.now())));
  }

  async function withFinalizers(klusterlet: Klusterlet, finalizers: readonly string[]): Promise<Klusterlet> {
    return cluster.commit(Klusterlet, klusterlet, finalizers.reduce(withFinalizer, klusterlet));
  }

  async function say(
    klusterlet: Klusterlet,
    claims: readonly ConditionClaim[],
    known: Partial<OperatorStatus> = {},
  ): Promise<Outcome> {
    await said(klusterlet, claims, known);
    return done;
  }

  async function said(
    klusterlet: Klusterlet,
    claims: readonly ConditionClaim[],
    known: Partial<OperatorStatus> = {},
  ): Promise<Klusterlet> {
    const status = { ...withClaims(klusterlet, claims, clock.now()), ...known };
    return cluster.commit(Klusterlet, klusterlet, { ...klusterlet, status });
  }
}

interface Ground {
  readonly managed: Cluster;
  readonly state: SharedState;
  /** Whether the agents run on the cluster that they manage. */
  readonly isOne: boolean;
}

function removingClaim(message: string): ConditionClaim {
  return { type: KlusterletCondition.Applied, status: "False", reason: KlusterletReason.removing, message };
}

function departingOf(klusterlet: Klusterlet): Departing {
  const { metadata, spec } = klusterlet;
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    namespace: spec?.namespace || AGENT_NAMESPACE,
    agentNamespace: agentNamespaceOf(klusterlet),
  };
}

function placeOf(klusterlet: Klusterlet | undefined): string | undefined {
  return klusterlet && `${agentNamespaceOf(klusterlet)} ${isDeleting(klusterlet)}`;
}

function isBefore(one: Klusterlet, other: Klusterlet): boolean {
  const age = ({ metadata }: Klusterlet) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`;
  return !hasFinalizer(other, OperatorFinalizer.klusterlet) || age(one) < age(other);
}

/** What tells one cluster from another, whichever way leads there. */
function uidOf(namespaces: Pick<SharedState["namespaces"], "get">): string | undefined {
  return namespaces.get("kube-system")?.metadata.uid;
}

function labelled(objects: readonly DynamicObject[], labels: Readonly<Record<string, string>>): DynamicObject[] {
  if (Object.keys(labels).length === 0) return [...objects];
  return objects.map((object) => ({
    ...object,
    metadata: { ...object.metadata, labels: { ...labels, ...object.metadata.labels } },
  }));
}
