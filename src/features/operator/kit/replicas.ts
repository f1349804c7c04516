/** How many Pods of a program there are: as many as the control plane can lose nodes. */
import { Node } from "#api/core";
import type { Cache, Cluster, Trigger } from "#runtime";

/** What nodes of a control plane are labelled with, by older and by newer installers. */
const ROLES = ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"];

const MANY = 3;

export interface ReplicaChoice {
  /** Asks for the keys named, whenever there might be another answer. */
  keyedBy<K extends string>(keys: () => readonly K[]): readonly Trigger<K>[];
  /** One where one node or none carries the control plane, three where more do. */
  count(): number;
}

/** `asked` is what an administrator wants, if it is more than 0. */
export function replicaChoice({ cluster, asked = 0 }: { cluster: Cluster; asked?: number }): ReplicaChoice {
  if (asked > 0) return { keyedBy: () => [], count: () => asked };
  const nodes: Cache<Node>[] = ROLES.map((labelSelector) =>
    cluster.cache(Node, { labelSelector, projection: "metadata" }),
  );
  return {
    keyedBy: (keys) =>
      nodes.map((cache) => cache.keyedBy(() => keys(), { when: (before, after) => !before || !after })),
    count() {
      const names = new Set(nodes.flatMap((cache) => cache.list().map(({ metadata }) => metadata.name)));
      return names.size > 1 ? MANY : 1;
    },
  };
}
