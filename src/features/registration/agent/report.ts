/** What the agent reports about its cluster: pure, from what it saw. */
import { ClusterCondition, type ManagedCluster } from "#api/cluster";
import type { Node } from "#api/core";
import { setCondition } from "#lib/conditions";
import { Reason } from "../reasons.ts";
import type { ToldClaims } from "./claims.ts";
import { sumOfQuantities } from "./quantity.ts";

/** What the agent saw on the spoke. */
export type Sight =
  | ({ health: "ok"; version: string; nodes: readonly Node[] } & ToldClaims)
  /** It failed, but not for long enough to say so. */
  | { health: "doubtful" }
  | { health: "failing"; why: string };

/** The ManagedCluster as it should look, given what the agent saw. While the spoke fails, the rest is left as it was. */
export function reported(cluster: ManagedCluster, sight: Sight, now: Date): ManagedCluster {
  const joined = {
    type: ClusterCondition.Joined,
    status: "True",
    reason: Reason.joined,
    message: "Managed cluster joined",
  } as const;
  let conditions = setCondition(cluster.status?.conditions ?? [], joined, now);
  const type = ClusterCondition.Available;
  if (sight.health === "failing") {
    const message = `The API server of the cluster is not healthy: ${sight.why}`;
    const reason = Reason.apiServerUnavailable;
    conditions = setCondition(conditions, { type, status: "False", reason, message }, now);
  }
  if (sight.health !== "ok") return { ...cluster, status: { ...cluster.status, conditions } };

  const message = "Managed cluster is available";
  conditions = setCondition(conditions, { type, status: "True", reason: Reason.available, message }, now);
  const { nodes, version, claims } = sight;
  const status = {
    ...cluster.status,
    conditions,
    version: { kubernetes: version },
    // Others may report resources that nodes do not have; those stay.
    capacity: { ...cluster.status?.capacity, ...totals(nodes.map((node) => node.status?.capacity)) },
    allocatable: totals(nodes.filter(({ spec }) => !spec?.unschedulable).map((node) => node.status?.allocatable)),
    clusterClaims: [...claims],
  };
  return { ...cluster, status };
}

type Resources = Record<string, string | number>;

function totals(lists: readonly (Resources | undefined)[]): Resources {
  const byName = new Map<string, (string | number)[]>();
  for (const list of lists) {
    for (const [name, quantity] of Object.entries(list ?? {})) {
      byName.set(name, [...(byName.get(name) ?? []), quantity]);
    }
  }
  return Object.fromEntries([...byName].sort().map(([name, quantities]) => [name, sumOfQuantities(quantities)]));
}
