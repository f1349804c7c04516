/**
 * The ledger of a cluster that was given up: which of its works were forgotten before its agent had cleaned up. It
 * lies in the cluster's namespace, and the agent that comes back crosses out what it has cleaned.
 */
import { ClusterLabel } from "#api/cluster";
import type { ConfigMap } from "#api/core";
import { RBAC_GROUP, type Role, type RoleBinding } from "#api/rbac";
import { DETACH_LEDGER, WORK_GROUP, WorkFinalizer } from "#api/work";
import type { Draft } from "#kube";
import { timestamp } from "#lib/clock";
import { hasFinalizer } from "#lib/meta";
import { agentsOf } from "../cluster-rbac.ts";
import { isWork } from "./cleaned-kinds.ts";
import type { Remaining } from "./remains.ts";

/** On a ledger: the cluster had been denied when it was given up, so its agents may not read it. */
const WAS_DENIED = "detach.capstan.dev/denied";

/** The name of the Role by which a cluster's agents work off its ledger, and of its binding. */
export const LEDGER_ROLE = "open-cluster-management:detach-ledger";

/** A ConfigMap holds a mebibyte; what names and labels need is left free. */
const MOST_BYTES = 1_000_000;

/** Whether the agent had begun with this work, so that something of it may be on the cluster. */
export function leavesTraces(object: Remaining): boolean {
  return isWork(object.kind) && hasFinalizer(object, WorkFinalizer.work);
}

interface Entries {
  readonly ledger: Draft<ConfigMap>;
  /** How many found no room. */
  readonly omitted: number;
}

/** The ledger with these works beside those that it has. */
export function withEntries(
  cluster: string,
  ledger: ConfigMap | undefined,
  works: readonly Remaining[],
  { now, isDenied }: { now: Date; isDenied: boolean },
): Entries {
  const data = { ...ledger?.data };
  let bytes = Object.entries(data).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  let omitted = 0;
  for (const { metadata } of works) {
    const { name, uid } = metadata;
    const entry = JSON.stringify({ uid, since: timestamp(now) });
    if (data[name]?.startsWith(entry.slice(0, entry.indexOf(",")))) continue; // written down before
    bytes += name.length + entry.length;
    if (bytes > MOST_BYTES) omitted++;
    else data[name] = entry;
  }
  const metadata: Draft<ConfigMap>["metadata"] = ledger?.metadata ?? { name: DETACH_LEDGER, namespace: cluster };
  const labels = { ...metadata.labels, [ClusterLabel.name]: cluster };
  const annotations = { ...metadata.annotations, ...(isDenied && { [WAS_DENIED]: "true" }) };
  return { ledger: { ...ledger, metadata: { ...metadata, labels, annotations }, data }, omitted };
}

export function isEmpty({ data = {}, binaryData = {} }: ConfigMap): boolean {
  return Object.keys(data).length + Object.keys(binaryData).length === 0;
}

export function wasDenied({ metadata }: ConfigMap): boolean {
  return metadata.annotations?.[WAS_DENIED] !== undefined;
}

/**
 * To see that a work is gone, which is how every agent learns what to clean, and to cross out what it has cleaned.
 * Nothing more: the cluster does not belong to the hub.
 */
export function ledgerRole(cluster: string): Draft<Role> {
  return {
    metadata: metadata(cluster),
    rules: [
      { apiGroups: [WORK_GROUP], resources: ["manifestworks"], verbs: ["list", "watch"] },
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: [DETACH_LEDGER],
        verbs: ["get", "list", "watch", "update", "patch"],
      },
    ],
  };
}

export function ledgerRoleBinding(cluster: string): Draft<RoleBinding> {
  return {
    metadata: metadata(cluster),
    roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: LEDGER_ROLE },
    subjects: agentsOf(cluster),
  };
}

function metadata(cluster: string): { name: string; namespace: string; labels: Record<string, string> } {
  return { name: LEDGER_ROLE, namespace: cluster, labels: { [ClusterLabel.name]: cluster } };
}
