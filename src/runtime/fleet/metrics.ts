/** How the clusters of a fleet stand, in numbers. */
import type { Registry } from "#lib/metrics";
import type { Fleet, MemberState } from "./types.ts";

const STATES: readonly MemberState[] = ["Pending", "Engaging", "Engaged", "Degraded", "Disengaging"];

export interface FleetMetricsOptions {
  /** Tells the state of every single cluster too. */
  readonly clusterLabel?: boolean;
}

/** Shows a fleet in a registry, which is asked whenever somebody reads it. */
export function registerFleetMetrics(
  registry: Registry,
  fleet: Pick<Fleet, "members">,
  { clusterLabel = false }: FleetMetricsOptions = {},
): void {
  registry.computed({
    type: "gauge",
    name: "capstan_fleet_clusters",
    help: "Known clusters by state.",
    labels: ["state"],
    read: () =>
      STATES.map((state) => ({
        labels: { state },
        value: fleet.members.filter((member) => member.state === state).length,
      })),
  });
  registry.computed({
    type: "gauge",
    name: "capstan_fleet_open_circuits",
    help: "Clusters to which no call is tried, because the last ones did not come through.",
    read: () => [{ labels: {}, value: fleet.members.filter(({ circuit }) => circuit === "open").length }],
  });
  registry.computed({
    type: "gauge",
    name: "capstan_fleet_unfilled_copies",
    help: "Kinds that cannot be read on a cluster that is connected, over all clusters.",
    labels: ["reason"],
    read: () => {
      const reasons = fleet.members.flatMap(({ unfilled }) => unfilled.map(({ reason }) => reason));
      return [...new Set(reasons)].map((reason) => ({
        labels: { reason },
        value: reasons.filter((each) => each === reason).length,
      }));
    },
  });
  if (!clusterLabel) return;
  registry.computed({
    type: "gauge",
    name: "capstan_fleet_cluster_state",
    help: "One for the state that a cluster is in.",
    labels: ["cluster", "state"],
    read: () => fleet.members.map(({ name: cluster, state }) => ({ labels: { cluster, state }, value: 1 })),
  });
}
