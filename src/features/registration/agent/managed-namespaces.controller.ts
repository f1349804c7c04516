/**
 * Makes the namespaces on the spoke that the cluster's sets ask for, and says on the hub how that went. A namespace that
 * no set asks for any more is let go of, and never deleted: what lies in it is not the hub's.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster (hub); Namespaces with the hub's label (spoke)
 * Writes  Namespaces and their label (spoke); ManagedCluster status.managedNamespaces[].conditions
 * Twin    ocm:pkg/registration/spoke/managedcluster/managed_namespace_reconcile.go
 */
import { createHash } from "node:crypto";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { Namespace } from "#api/core";
import { isKubeError } from "#kube";
import type { Clock } from "#lib/clock";
import { findCondition, setCondition } from "#lib/conditions";
import { isDeleting, withLabels } from "#lib/meta";
import { again, type Cluster, type Controller, done, forEach } from "#runtime";
import { ensure } from "../ensure.ts";
import { NAMESPACE_AVAILABLE, Reason } from "../reasons.ts";

/** A namespace that could not be made: who is in the way may go, and nothing tells us. */
const TRY_AGAIN = 60_000;

export interface ManagedNamespacesOptions {
  hub: Cluster;
  spoke: Cluster;
  clusterName: string;
  /** The hub's URL, as the agent has it: each hub has a label of its own. */
  hubServer: string;
  clock: Clock;
}

/** The label by which one hub knows its namespaces on a spoke; names of labels have at most 63 characters. */
export function managedNamespaceLabel(hubServer: string): string {
  const digest = createHash("sha256").update(hubServer).digest("hex");
  return `clusterset.open-cluster-management.io/${digest.slice(0, 63)}`;
}

export function managedNamespacesController(options: ManagedNamespacesOptions): Controller {
  const { hub, spoke, clusterName, hubServer, clock } = options;
  const label = managedNamespaceLabel(hubServer);
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });
  const namespaces = spoke.cache(Namespace, { labelSelector: label });

  return {
    name: "managed-namespaces",
    triggers: [clusters.keyedBy(({ metadata }) => metadata.name), namespaces.keyedBy(() => clusterName)],

    async reconcile() {
      const cluster = clusters.get(clusterName);
      if (!cluster || !isAccepted(cluster)) return done;
      const wanted = isDeleting(cluster) ? [] : (cluster.status?.managedNamespaces ?? []);
      const failures = new Map<string, string>();
      for (const name of new Set(wanted.map((each) => each.name))) {
        const failure = await made(name);
        if (failure !== undefined) failures.set(name, failure);
      }
      await letGo(new Set(wanted.map(({ name }) => name)));
      if (wanted.length > 0) await report(cluster, wanted, failures);
      return failures.size > 0 ? again(TRY_AGAIN) : done;
    },
  };

  /** What was in the way; undefined if the namespace is there and labelled. */
  async function made(name: string): Promise<string | undefined> {
    const known = namespaces.get(name);
    if (known && isDeleting(known)) return "it is being deleted on the cluster";
    try {
      await ensure(spoke, Namespace, known, { metadata: { name, labels: { [label]: "true" } } });
      return undefined;
    } catch (error) {
      if (!isKubeError(error) || error.kind !== "status") throw error;
      return error.status?.message ?? error.message;
    }
  }

  async function letGo(wanted: ReadonlySet<string>): Promise<void> {
    const left = namespaces
      .list()
      .filter((each) => each.metadata.labels?.[label] === "true" && !wanted.has(each.metadata.name));
    await forEach(left, (each) => spoke.commit(Namespace, each, withLabels(each, { [label]: "false" })));
  }

  async function report(
    cluster: ManagedCluster,
    wanted: ManagedNamespaces,
    failures: ReadonlyMap<string, string>,
  ): Promise<void> {
    const managedNamespaces = wanted.map((each) => {
      const failure = failures.get(each.name);
      const claim =
        failure === undefined
          ? ({ status: "True", reason: Reason.namespaceApplied, message: "The namespace is there" } as const)
          : ({ status: "False", reason: Reason.namespaceApplyFailed, message: failure } as const);
      const conditions = setCondition(each.conditions, { type: NAMESPACE_AVAILABLE, ...claim }, clock.now());
      return { ...each, conditions };
    });
    await hub.commit(ManagedCluster, cluster, { ...cluster, status: { ...cluster.status, managedNamespaces } });
  }
}

type ManagedNamespaces = NonNullable<NonNullable<ManagedCluster["status"]>["managedNamespaces"]>;

/** With a clock that is off, the times that we write would mislead. */
function isAccepted({ status }: ManagedCluster): boolean {
  const said = (type: string) => findCondition(status?.conditions, type)?.status;
  return said(ClusterCondition.HubAccepted) === "True" && said(ClusterCondition.ClockSynced) !== "False";
}
