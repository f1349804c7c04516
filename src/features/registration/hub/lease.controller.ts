/**
 * Listens to a cluster's heartbeat: calls its availability unknown when the beat stops, and compares clocks.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, Lease
 * Writes  Lease (once); ManagedCluster conditions Available (only to Unknown) and ClockSynced; an Event
 * Twin    ocm:pkg/registration/hub/lease/{controller,clocksync_controller}.go
 */
import {
  CLUSTER_LEASE,
  ClusterAnnotation,
  ClusterCondition,
  ClusterLabel,
  DEFAULT_LEASE_DURATION_SECONDS,
  ManagedCluster,
} from "#api/cluster";
import { Lease } from "#api/coordination";
import { Event } from "#api/events";
import { type Clock, microTimestamp } from "#lib/clock";
import { findCondition, setCondition } from "#lib/conditions";
import type { Logger } from "#lib/log";
import { isDeleting } from "#lib/meta";
import { again, type Cluster, type Controller, done } from "#runtime";
import { clusterEvent } from "../cluster-event.ts";
import { EventReason, Reason } from "../reasons.ts";
import { CLUSTER_OBJECTS } from "./cluster-rbac.ts";

/** The hub forgives so many missed beats, as upstream does (ocm:pkg/registration/hub/lease). */
const FORGIVEN_BEATS = 5;

export function leaseController({ hub, clock, log }: { hub: Cluster; clock: Clock; log: Logger }): Controller {
  const clusters = hub.cache(ManagedCluster);
  const leases = hub.cache(Lease, { labelSelector: CLUSTER_OBJECTS });
  const heard = new Map<string, Beat>();

  /**
   * Notes a beat, and says whether there is anything to do because of it. Nearly always there is not: whoever looks when
   * the time that the former beat gave is over finds this one.
   */
  const isNews = (before: Lease | undefined, lease: Lease | undefined): boolean => {
    const name = lease?.metadata.namespace ?? "";
    const last = heard.get(name);
    const cluster = before && last && clusters.get(name);
    if (!cluster) return true;
    const beat = noteBeat(last, lease, clock.now());
    heard.set(name, beat);
    return beat.renewed < last.renewed || !isAsBefore(cluster, beat);
  };

  return {
    name: "cluster-lease",
    triggers: [
      clusters.keyedBy((cluster) => cluster.metadata.name),
      leases.keyedBy(({ metadata }) => (metadata.name === CLUSTER_LEASE ? metadata.namespace : undefined), {
        when: isNews,
      }),
    ],

    async reconcile(name) {
      const cluster = clusters.get(name);
      if (!cluster) {
        heard.delete(name);
        return done;
      }
      if (!findCondition(cluster.status?.conditions, ClusterCondition.HubAccepted)) return done;

      const lease = leases.get(`${name}/${CLUSTER_LEASE}`);
      const now = clock.now();
      if (!lease && !isDeleting(cluster)) {
        await hub.commit(Lease, undefined, firstLease(name, now));
        return done; // its arrival brings us back
      }

      const beat = noteBeat(heard.get(name), lease, now);
      heard.set(name, beat);
      const after = listened(cluster, beat, now);
      await hub.commit(ManagedCluster, cluster, after);
      if (availability(after) === "Unknown" && availability(cluster) !== "Unknown") await announce(cluster, now);

      const left = checkTime(cluster, beat) - now.getTime();
      if (left > 0) return again(left);
      beat.calledUnknown = now.getTime();
      return again(graceOf(cluster));
    },
  };

  async function announce(cluster: ManagedCluster, now: Date): Promise<void> {
    const event = clusterEvent(
      cluster,
      {
        type: "Warning",
        reason: EventReason.availableUnknown,
        action: EventReason.availableUnknown,
        note: `The agent of cluster ${cluster.metadata.name} stopped updating its lease.`,
        reportingController: "registration-controller",
        reportingInstance: "registration-controller",
      },
      now,
    );
    // The condition has said it already; a lost event must not make us say it again.
    await hub.client.create(Event, event).catch((cause: unknown) => log.warn("cannot write an event", { cause }));
  }
}

/** A beat of the agent, and when we heard it. */
export interface Beat {
  /** The agent's clock, in milliseconds; long ago if there is no lease. */
  renewed: number;
  /** Our clock when this beat was first seen. */
  heardAt: number;
  /** Whether we saw it come: after a restart the last beat may be old without anyone's clock being wrong. */
  isFresh: boolean;
  /** When, lacking a newer beat, the cluster was called unknown (milliseconds). */
  calledUnknown?: number;
}

/** Remembers when a beat was first seen; looking again at the same one changes nothing. */
export function noteBeat(last: Beat | undefined, lease: Lease | undefined, now: Date): Beat {
  const renewed = Date.parse(lease?.spec?.renewTime ?? "") || 0;
  if (last?.renewed === renewed) return last;
  return { renewed, heardAt: now.getTime(), isFresh: last !== undefined && lease !== undefined };
}

/** Whether a beat tells nothing of the cluster that it does not say already. */
function isAsBefore(cluster: ManagedCluster, beat: Beat): boolean {
  if (isDeleting(cluster) || availability(cluster) !== "True") return false;
  const clockSynced = clockCondition(cluster, beat);
  const said = findCondition(cluster.status?.conditions, ClusterCondition.ClockSynced);
  return clockSynced?.status === said?.status;
}

/** The cluster as its heartbeat makes it look. Only the agent says that a cluster is available. */
export function listened(cluster: ManagedCluster, beat: Beat, now: Date): ManagedCluster {
  let conditions = cluster.status?.conditions ?? [];
  const clockSynced = clockCondition(cluster, beat);
  if (clockSynced) conditions = setCondition(conditions, clockSynced, now);
  if (now.getTime() >= checkTime(cluster, beat)) {
    const type = ClusterCondition.Available;
    const message = "Registration agent stopped updating its lease.";
    conditions = setCondition(conditions, { type, status: "Unknown", reason: Reason.leaseStopped, message }, now);
  }
  return { ...cluster, status: { ...cluster.status, conditions } };
}

/**
 * When the hub gives the cluster up if no beat comes. An agent that cannot beat may still say that all is well; the
 * two would contradict each other without end if the hub answered at once each time.
 */
function checkTime(cluster: ManagedCluster, { renewed, calledUnknown = renewed }: Beat): number {
  return calledUnknown + graceOf(cluster);
}

function clockCondition(cluster: ManagedCluster, { renewed, heardAt, isFresh }: Beat) {
  const type = ClusterCondition.ClockSynced;
  const isSkipped = cluster.metadata.annotations?.[ClusterAnnotation.skipClockCheck] === "true";
  if (isSkipped || Math.abs(heardAt - renewed) < graceOf(cluster)) {
    const message = "The clock of the managed cluster is synced with the hub.";
    return { type, status: "True", reason: Reason.clockSynced, message } as const;
  }
  if (!isFresh) return undefined;
  const message =
    "The clock of the managed cluster is out of sync with the hub. Set the time on both to the same source.";
  return { type, status: "False", reason: Reason.clockOutOfSync, message } as const;
}

function firstLease(name: string, now: Date) {
  return {
    metadata: { name: CLUSTER_LEASE, namespace: name, labels: { [ClusterLabel.name]: name } },
    spec: { holderIdentity: CLUSTER_LEASE, renewTime: microTimestamp(now) },
  };
}

function graceOf({ spec }: ManagedCluster): number {
  return FORGIVEN_BEATS * (spec?.leaseDurationSeconds || DEFAULT_LEASE_DURATION_SECONDS) * 1000;
}

function availability({ status }: ManagedCluster): string | undefined {
  return findCondition(status?.conditions, ClusterCondition.Available)?.status;
}
