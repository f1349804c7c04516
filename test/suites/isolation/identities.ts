/** Everybody whose rights are looked at: agents of clusters in every state that a cluster can be in, and others. */
import { access, anybody, bootstrap, ledger, ofAccepted, ofDenied, type Right } from "./rights.ts";

export interface Identity {
  readonly name: string;
  readonly user: string;
  readonly groups: readonly string[];
  readonly rights: readonly Right[];
  /** Whose agent it is; where there is none, the matrix puts one in its place. */
  readonly cluster: string;
}

/**
 * What becomes of the clusters of the stage. Names begin like one another on purpose, end like one another, or are
 * those of roles and groups.
 */
export const CLUSTERS = {
  edge: "accepted",
  "edge-1": "accepted",
  "edge-10": "accepted",
  "a-edge": "accepted",
  "edge-open": "accepted, grants access",
  "edge-shut": "denied, granted access before",
  "edge-denied": "denied",
  "edge-busy": "denied, with works that are not cleaned up yet",
  "edge-hasty": "denied before its acceptance was done",
  "edge-waiting": "never accepted",
  "edge-leaving": "being deleted, with works that are not cleaned up yet",
  "edge-lost": "deleted while it was lost, with works that nobody cleaned up",
  "edge-gone": "deleted",
  registration: "accepted under a name that no cluster may have",
  "managed-clusters": "accepted under a name that no cluster may have",
} as const;

export type ClusterName = keyof typeof CLUSTERS;
export const CLUSTER_NAMES = Object.keys(CLUSTERS) as ClusterName[];

const RIGHTS: Readonly<Record<ClusterName, readonly Right[]>> = {
  edge: ofAccepted("edge"),
  "edge-1": ofAccepted("edge-1"),
  "edge-10": ofAccepted("edge-10"),
  "a-edge": ofAccepted("a-edge"),
  "edge-open": [...ofAccepted("edge-open"), access("edge-open")],
  "edge-shut": ofDenied("edge-shut"),
  "edge-denied": ofDenied("edge-denied"),
  // Other than upstream: whoever is denied reads nothing more, works or not.
  "edge-busy": ofDenied("edge-busy"),
  "edge-hasty": ofDenied("edge-hasty"),
  "edge-waiting": anybody,
  "edge-leaving": ofAccepted("edge-leaving"),
  "edge-lost": [...anybody, ...ledger("edge-lost")],
  "edge-gone": anybody,
  registration: anybody,
  "managed-clusters": anybody,
};

const KNOWN = "system:authenticated";
const ALL_AGENTS = "system:open-cluster-management:managed-clusters";

/** The groups that the certificate of an agent names. */
export function agentGroups(cluster: string): string[] {
  return [`system:open-cluster-management:${cluster}`, ALL_AGENTS];
}

export function agentUser(cluster: string): string {
  return `system:open-cluster-management:${cluster}:agent`;
}

function agentsOf(cluster: ClusterName): Identity[] {
  const rights = RIGHTS[cluster];
  const agent = {
    name: `the agent of ${cluster} (${CLUSTERS[cluster]})`,
    user: agentUser(cluster),
    groups: [...agentGroups(cluster), KNOWN],
    rights,
    cluster,
  };
  const named = { ...agent, name: `somebody called like the agent of ${cluster}`, groups: [KNOWN], rights: anybody };
  if (cluster !== "edge" && cluster !== "edge-open") return [agent];
  // EKS hands out groups that do not begin with "system:".
  const eks = { ...agent, name: `${agent.name} on EKS`, groups: [`open-cluster-management:${cluster}`, KNOWN] };
  return [agent, eks, named];
}

const ADDON = "system:open-cluster-management:cluster:edge:addon:proxy";

export const IDENTITIES: readonly Identity[] = [
  ...CLUSTER_NAMES.flatMap(agentsOf),
  {
    name: "the agent of a cluster that nobody knows",
    user: agentUser("edge-unknown"),
    groups: [...agentGroups("edge-unknown"), KNOWN],
    rights: anybody,
    cluster: "edge-unknown",
  },
  {
    name: "somebody in the group of all agents",
    user: "x",
    groups: [ALL_AGENTS, KNOWN],
    rights: anybody,
    cluster: "edge",
  },
  {
    name: "the agent of an add-on",
    user: `${ADDON}:agent:proxy`,
    groups: [ADDON, "system:open-cluster-management:addon:proxy", KNOWN],
    rights: anybody,
    cluster: "edge",
  },
  {
    name: "the bootstrap account",
    user: "system:serviceaccount:open-cluster-management:agent-registration-bootstrap",
    groups: ["system:serviceaccounts", "system:serviceaccounts:open-cluster-management", KNOWN],
    rights: bootstrap,
    cluster: "edge-waiting",
  },
  {
    name: "a bootstrap token",
    user: "system:bootstrap:ocmhub",
    groups: ["system:bootstrappers", "system:bootstrappers:managedcluster", KNOWN],
    rights: bootstrap,
    cluster: "edge-waiting",
  },
  { name: "a user of the hub", user: "alice", groups: [KNOWN], rights: anybody, cluster: "edge" },
  { name: "nobody", user: "system:anonymous", groups: ["system:unauthenticated"], rights: [], cluster: "edge" },
];
