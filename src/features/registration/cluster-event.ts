/** An Event about a ManagedCluster, in the namespace of that cluster. */
import { ManagedCluster } from "#api/cluster";
import type { Event } from "#api/events";
import { apiVersionOf } from "#api/meta";
import type { Draft } from "#kube";
import { microTimestamp } from "#lib/clock";

/** What happened to the cluster, as an Event to be created. */
export function clusterEvent(
  cluster: ManagedCluster,
  what: Pick<Event, "type" | "reason" | "note" | "action" | "reportingController" | "reportingInstance">,
  now: Date,
): Draft<Event> {
  const { name, uid } = cluster.metadata;
  return {
    // The moment in the name keeps apart what happens twice, as client-go's recorder does.
    metadata: { name: `${name}.${now.getTime().toString(16)}`, namespace: name },
    eventTime: microTimestamp(now),
    regarding: {
      apiVersion: apiVersionOf(ManagedCluster),
      kind: ManagedCluster.kind,
      name,
      // The server refuses an Event whose object lies in another namespace than the Event itself.
      namespace: name,
      ...(uid !== undefined && { uid }),
    },
    ...what,
  };
}
