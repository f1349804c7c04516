/** Shows the clusters of a fleet for `capstan get clusters`. */
import { ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { UserError } from "#app";
import { isUnknownKind, yamlText } from "#kube";
import { findCondition } from "#lib/conditions";
import type { ClustersFlags } from "../commands/get.ts";
import { connect } from "../target.ts";
import { print, say, table } from "../terminal.ts";

export async function showClusters(flags: ClustersFlags): Promise<void> {
  const client = await connect(flags);
  try {
    const selector = flags.clusterset === undefined ? {} : { labelSelector: `${ClusterLabel.set}=${flags.clusterset}` };
    const { items } = await client.list(ManagedCluster, selector).catch((error: unknown) => {
      if (!isUnknownKind(error)) throw error;
      throw new UserError(
        `${client.server} is no hub: it does not know ManagedClusters; choose the hub with --context or --kubeconfig`,
      );
    });
    const clusters = items.map((item) => ({
      ...item,
      apiVersion: "cluster.open-cluster-management.io/v1",
      kind: "ManagedCluster",
    }));
    const list = { apiVersion: "v1", kind: "List", metadata: {}, items: clusters };
    if (flags.output === "json") print(JSON.stringify(list, undefined, 2));
    else if (flags.output === "yaml") print(yamlText(list));
    else if (clusters.length === 0) say("There are no clusters yet.");
    else print(flags.output === "tree" ? tree(clusters) : rows(clusters));
  } finally {
    client.close();
  }
}

function rows(clusters: readonly ManagedCluster[]): string {
  const headers = ["Name", "Accepted", "Available", "ClusterSet", "CPU", "Memory", "Kubernetes Version"];
  return table(
    headers,
    clusters.map((cluster) => [cluster.metadata.name, ...Object.values(facts(cluster))]),
  );
}

function tree(clusters: readonly ManagedCluster[]): string {
  const branches = clusters.flatMap((cluster, index) => {
    const last = index === clusters.length - 1;
    const entries = Object.entries(facts(cluster)).map(([name, value]) => `<${name}> ${value}`.trimEnd());
    return [
      `${last ? "└──" : "├──"} <${cluster.metadata.name}>`,
      ...entries.map((entry, at) => `${last ? "    " : "│   "}${at === entries.length - 1 ? "└──" : "├──"} ${entry}`),
    ];
  });
  return ["<ManagedCluster>", ...branches].join("\n");
}

function facts({ spec, status, metadata }: ManagedCluster): Record<string, string> {
  return {
    Accepted: String(spec?.hubAcceptsClient ?? false),
    Available: findCondition(status?.conditions, ClusterCondition.Available)?.status ?? "",
    ClusterSet: metadata.labels?.[ClusterLabel.set] ?? "",
    Cpu: String(status?.capacity?.cpu ?? ""),
    Memory: String(status?.capacity?.memory ?? ""),
    KubernetesVersion: status?.version?.kubernetes ?? "",
  };
}
