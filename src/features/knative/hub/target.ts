/** Where an installation goes: the hub itself, the cluster of its ClusterProfile, or a reason why nobody can say. */
import { Namespace } from "#api/core";
import { ClusterProfile, ProfileCondition } from "#api/inventory";
import { TargetReason } from "#api/knative";
import { isNotFound } from "#kube";
import { findCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { type Cluster, type Fleet, FleetReason, isUnreachable, type Trigger, type Unreachable } from "#runtime";
import { type Installation, Note, noteOf, profileOf } from "./installation.ts";

export interface Target {
  readonly cluster: Cluster;
  /** Tells one cluster from another: the uid of its kube-system Namespace. */
  readonly identity: string;
}

export interface Unresolved {
  readonly reason: TargetReason;
  readonly message: string;
}

export function isUnresolved(value: Target | Unresolved): value is Unresolved {
  return "reason" in value;
}

/** Who knows the ways into the clusters of profiles. */
export interface WaysIn {
  /** Why there is no way into the cluster of a profile; undefined if there is one. Nobody is asked for it. */
  hindranceTo(profile: ClusterProfile): Unresolved | undefined;
  /** Runs when the ways in may have become others. */
  onChange(listener: () => void): () => void;
}

export interface TargetsOptions {
  readonly hub: Cluster;
  readonly fleet: Fleet;
  readonly ways: WaysIn;
  /** Fires when this process is about to end. */
  readonly closing: AbortSignal;
}

export interface Targets {
  /** Asks the cluster itself, so that an answer means that it answered. */
  resolve(installation: Installation): Promise<Target | Unresolved>;
  /** The cluster of an installation that is to go: what a profile says of its health does not matter then. */
  find(installation: Installation): Promise<Target | Unresolved>;
  identityOf(cluster: Cluster): Promise<string>;
  /**
   * Asks for reconciles of what `keysOf` names for a profile, whenever something about the way to its cluster changes.
   * No controller waits for profiles: those who install on the hub need none, and the kind may not even exist.
   */
  keyedBy(keysOf: (profile: string) => readonly string[]): Trigger<string>;
}

/** A cluster that is being connected for the first time is waited for so long before anything is said about it. */
const FIRST_CONNECTION_MS = 2_000;
/** What works on a cluster is not said to have lost it because a new operator has yet to connect. */
const RETURN_MS = 10_000;
const LONGEST_ANSWER_MS = 10_000;

export function createTargets({ hub, fleet, ways, closing }: TargetsOptions): Targets {
  const profiles = hub.cache(ClusterProfile);
  const identities = new WeakMap<Cluster, string>();

  return {
    async resolve(installation) {
      const name = profileOf(installation);
      if (name === undefined) return { cluster: hub, identity: await identityOf(hub) };
      const profile = await profileCalled(name);
      if ("reason" in profile) return profile;
      if (!isHealthy(profile)) return notReady(profile, name);
      const hindrance = ways.hindranceTo(profile);
      if (hindrance) return hindrance;
      if (closing.aborted) {
        return { reason: TargetReason.closed, message: "the operator is shutting down; the next one goes on" };
      }
      return spokeOf(installation, name);
    },

    async find(installation) {
      const name = profileOf(installation);
      if (name === undefined) return { cluster: hub, identity: await identityOf(hub) };
      const found = await spokeOf(installation, name);
      const profile = isUnresolved(found) ? await profileCalled(name) : undefined;
      return profile && "reason" in profile ? profile : found;
    },

    identityOf,

    keyedBy: (keysOf) => ({
      subscribe(enqueue) {
        const tell = (profile: string, initial = false) => {
          for (const key of keysOf(profile)) enqueue(key, { initial });
        };
        const life = new AbortController();
        const stops = [
          fleet.onChange(({ name }) => tell(name)),
          fleet.onRemoved((name) => tell(name)),
          ways.onChange(() => {
            for (const profile of profiles.list()) tell(nameOf(profile));
          }),
          profiles.onChange((before, after) => {
            const profile = after ?? before;
            if (profile && !equal(wayOf(before), wayOf(after))) tell(nameOf(profile), before === undefined);
          }),
        ];
        profiles.start(life.signal);
        return () => {
          life.abort();
          for (const stop of stops) stop();
        };
      },
    }),
  };

  /** From the copy, or from the server as long as there is none. */
  async function profileCalled(name: string): Promise<ClusterProfile | Unresolved> {
    if (profiles.synced) return profiles.get(name) ?? notFound(name);
    try {
      return await hub.client.get(ClusterProfile, name, { timeout: LONGEST_ANSWER_MS });
    } catch (error) {
      if (isNotFound(error)) return notFound(name);
      const cause = error instanceof Error ? error.message : String(error);
      const message = `the hub does not let the operator read ClusterProfile ${name}: ${cause}`;
      return { reason: TargetReason.profileUnavailable, message };
    }
  }

  async function spokeOf(installation: Installation, name: string): Promise<Target | Unresolved> {
    const spoke = await reached(name, hasAnswered(installation) ? RETURN_MS : FIRST_CONNECTION_MS);
    if (isUnreachable(spoke)) return unanswered(installation, spoke, fleet.get(name) !== undefined);
    try {
      return { cluster: spoke, identity: await identityOf(spoke) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return unanswered(installation, { reason: FleetReason.unreachable, message }, true);
    }
  }

  async function reached(name: string, patience: number): Promise<Cluster | Unreachable> {
    const found = await fleet.reach(name);
    return isUnreachable(found) && isBeingConnected(found) ? fleet.reach(name, { patience }) : found;
  }

  async function identityOf(cluster: Cluster): Promise<string> {
    const known = identities.get(cluster);
    if (known !== undefined) return known;
    const { metadata } = await cluster.client.get(Namespace, "kube-system", { timeout: LONGEST_ANSWER_MS });
    const identity = metadata.uid ?? "";
    identities.set(cluster, identity);
    return identity;
  }
}

/** The fleet has not heard of the profile yet, or is at it. */
function isBeingConnected({ reason }: Unreachable): boolean {
  return reason === FleetReason.engaging || reason === FleetReason.notFound;
}

/** Why a cluster that the profile leads to does not answer. */
function unanswered(installation: Installation, { reason, message }: Unreachable, wasConnected: boolean): Unresolved {
  if (isTargetReason(reason)) return { reason, message };
  if (reason === FleetReason.credentials) return { reason: TargetReason.accessFailed, message };
  if (isBeingConnected({ reason, message })) return { reason: TargetReason.profileUnavailable, message };
  const isKnown = wasConnected || hasAnswered(installation);
  return { reason: isKnown ? TargetReason.stale : TargetReason.clientFailed, message };
}

/** To this operator or one before it. */
function hasAnswered(installation: Installation): boolean {
  return noteOf(installation, Note.cluster) !== undefined;
}

function isTargetReason(reason: string): reason is TargetReason {
  return (Object.values(TargetReason) as string[]).includes(reason);
}

function notFound(name: string): Unresolved {
  const message = `ClusterProfile ${name} does not exist; correct spec.clusterProfileRef, or register the cluster`;
  return { reason: TargetReason.profileNotFound, message };
}

function notReady({ status }: ClusterProfile, name: string): Unresolved {
  const said = findCondition(status?.conditions, ProfileCondition.ControlPlaneHealthy);
  const how = said ? `${said.status} (${said.reason}: ${said.message})` : "not set";
  const message = `ClusterProfile ${name} is not ready: its condition ${ProfileCondition.ControlPlaneHealthy} is ${how}`;
  return { reason: TargetReason.profileNotReady, message };
}

function isHealthy({ status }: ClusterProfile): boolean {
  return findCondition(status?.conditions, ProfileCondition.ControlPlaneHealthy)?.status === "True";
}

/** What decides about the way to a cluster; all else in a profile may change as often as it likes. */
function wayOf(profile: ClusterProfile | undefined): unknown {
  if (!profile) return undefined;
  const { accessProviders, credentialProviders } = profile.status ?? {};
  return { isHealthy: isHealthy(profile), accessProviders, credentialProviders };
}

function nameOf({ metadata }: ClusterProfile): string {
  return `${metadata.namespace}/${metadata.name}`;
}
