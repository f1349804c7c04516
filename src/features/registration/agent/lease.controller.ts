/**
 * Beats the cluster's heart: renews its Lease on the hub for as long as the cluster is accepted.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster (hub)
 * Writes  Lease (hub) spec.renewTime
 * Twin    ocm:pkg/registration/spoke/lease/lease_controller.go
 */
import { CLUSTER_LEASE, ClusterCondition, DEFAULT_LEASE_DURATION_SECONDS, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { isConflict, isForbidden, isNotFound } from "#kube";
import { type Clock, microTimestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { backoffDelay } from "#lib/queue";
import { again, type Cluster, type Controller, done } from "#runtime";

/** Beats come up to so much later than asked for, so that the agents of a fleet do not beat all at once. */
const JITTER = 0.25;
/** The hub makes the Lease right after it accepts the cluster; until then we ask at this pace. */
const PAUSE_WITHOUT_LEASE = 500;
/** A hub that refuses a beat has not given the right yet, or has taken it; either way it does not help to insist. */
const REFUSED = { base: 500, cap: 60_000 };

export interface AgentLeaseOptions {
  hub: Cluster;
  clusterName: string;
  clock: Clock;
  random: () => number;
  /** Hears how every beat went: nothing for one that came through, else what was in its way. */
  heard?: (failure: unknown) => void;
}

export function agentLeaseController(options: AgentLeaseOptions): Controller {
  const { hub, clusterName, clock, random, heard } = options;
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });
  // What the server said last: a beat is then one request, as nobody else writes this Lease.
  let lease: Lease | undefined;
  let last: { at: number; jitter: number } | undefined;
  let refusals = 0;

  return {
    name: "cluster-heartbeat",
    triggers: [clusters.keyedBy(({ metadata }) => metadata.name)],

    async reconcile() {
      const cluster = clusters.get(clusterName);
      if (findCondition(cluster?.status?.conditions, ClusterCondition.HubAccepted)?.status !== "True") return done;

      const now = clock.now();
      const period = (cluster?.spec?.leaseDurationSeconds || DEFAULT_LEASE_DURATION_SECONDS) * 1000;
      if (last) {
        const left = last.at + period * last.jitter - now.getTime();
        if (left > 0) return again(left); // a change of the cluster woke us between two beats
      }

      const outcome = await heardBeat(now);
      if (outcome === "refused") return again(backoffDelay(REFUSED, refusals++));
      refusals = 0;
      if (outcome === "no lease") return again(PAUSE_WITHOUT_LEASE);
      last = { at: now.getTime(), jitter: 1 + JITTER * random() };
      return again(period * last.jitter);
    },
  };

  async function heardBeat(now: Date): Promise<"beaten" | "no lease" | "refused"> {
    try {
      const isBeaten = await beat(now);
      heard?.(undefined);
      return isBeaten ? "beaten" : "no lease";
    } catch (error) {
      heard?.(error);
      if (isForbidden(error)) return "refused";
      throw error;
    }
  }

  async function beat(now: Date): Promise<boolean> {
    try {
      const current = lease ?? (await hub.client.get(Lease, `${clusterName}/${CLUSTER_LEASE}`));
      // A PUT: agents have the right to update leases, not to patch them.
      lease = await hub.client.update(Lease, { ...current, spec: { ...current.spec, renewTime: microTimestamp(now) } });
      return true;
    } catch (error) {
      const knew = lease !== undefined;
      lease = undefined;
      if (knew && (isConflict(error) || isNotFound(error))) return beat(now); // it was replaced: look at it once
      if (isNotFound(error)) return false;
      throw error;
    }
  }
}
