/** A hub with clusters in every state that a cluster can be in. No agent runs: what counts is what one might do. */
import { CLUSTER_GROUP, ClusterCondition, ClusterFinalizer, ClusterLabel, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Namespace, Secret } from "#api/core";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP, RoleBinding } from "#api/rbac";
import { ManifestWork, manifestWorkCrd } from "#api/work";
import { runHub } from "#app";
import { type Client, isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { eventually } from "../../support/eventually.ts";
import { installDefinitions, prepareHub } from "../../support/prepared.ts";
import { agentGroups, CLUSTER_NAMES, type ClusterName } from "./identities.ts";

const ACCESS = "access.capstan.dev/cluster-role";
/** Somebody cleans up before a work goes, and nobody is there. */
const FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup";

/** Brings every cluster into its state; the hub that keeps them there runs until the signal. */
export async function isolationStage(hub: Client, signal: AbortSignal): Promise<{ running: Promise<void> }> {
  await prepareHub(hub);
  await installDefinitions(hub, [manifestWorkCrd]);
  await bindBootstrapTokens(hub);
  await hub.create(Namespace, { metadata: { name: "open-cluster-management-hub" } });
  await leaveHalfDone(hub, "edge-hasty");
  const running = runHub({ client: hub, clock: systemClock, log: silentLog, signal });
  await Promise.all(CLUSTER_NAMES.map((name) => STATES[name](hub, name)));
  return { running };
}

type Reach = (hub: Client, name: string) => Promise<void>;

const STATES: Readonly<Record<ClusterName, Reach>> = {
  edge: accepted,
  "edge-1": accepted,
  "edge-10": accepted,
  "a-edge": accepted,
  "edge-open": granting,
  "edge-shut": async (hub, name) => {
    await granting(hub, name);
    await denied(hub, name);
    await untilGone(() => hub.get(Secret, `${name}/capstan-cluster-access`));
  },
  "edge-denied": async (hub, name) => {
    await accepted(hub, name);
    await denied(hub, name);
    await untilGone(() => hub.get(RoleBinding, workBinding(name)));
  },
  "edge-busy": async (hub, name) => {
    await accepted(hub, name);
    await working(hub, name);
    await denied(hub, name);
  },
  "edge-hasty": (hub, name) => until(hub, name, ClusterCondition.HubAccepted, "False"),
  "edge-waiting": (hub, name) => asked(hub, name, false),
  "edge-leaving": async (hub, name) => {
    await accepted(hub, name);
    await working(hub, name);
    await reporting(hub, name, "True");
    await hub.delete(ManagedCluster, name);
  },
  "edge-lost": async (hub, name) => {
    await accepted(hub, name);
    await working(hub, name);
    await reporting(hub, name, "Unknown");
    await hub.delete(ManagedCluster, name);
    await eventually(() => hub.get(ConfigMap, `${name}/capstan-detach-ledger`));
    await untilGone(() => hub.get(ManagedCluster, name));
  },
  "edge-gone": async (hub, name) => {
    await accepted(hub, name);
    await hub.delete(ManagedCluster, name);
    await untilGone(() => hub.get(ManagedCluster, name));
    await untilGone(() => hub.get(RoleBinding, workBinding(name)));
  },
  registration: refused,
  "managed-clusters": refused,
};

/** Nobody beats here, and however long the questions take, no cluster is to be called lost for it. */
const LEASE_SECONDS = 86_400;

async function asked(hub: Client, name: string, isAccepted: boolean, annotations = {}): Promise<void> {
  const spec = { hubAcceptsClient: isAccepted, leaseDurationSeconds: LEASE_SECONDS };
  await hub.create(ManagedCluster, { metadata: { name, annotations }, spec });
}

async function accepted(hub: Client, name: string): Promise<void> {
  await asked(hub, name, true);
  await until(hub, name, ClusterCondition.HubAccepted, "True");
}

/** What a hub leaves that is stopped, or overtaken by a denial, between giving rights and saying so. */
async function leaveHalfDone(hub: Client, name: ClusterName): Promise<void> {
  const finalizers = [ClusterFinalizer.rights];
  await hub.create(ManagedCluster, { metadata: { name, finalizers }, spec: { hubAcceptsClient: false } });
  const labels = { [ClusterLabel.name]: name };
  const role = `open-cluster-management:managedcluster:${name}`;
  const subjects = agentGroups(name)
    .slice(0, 1)
    .map((group) => ({ kind: "Group" as const, apiGroup: RBAC_GROUP, name: group }));
  const roleRef = (to: string) => ({ apiGroup: RBAC_GROUP, kind: "ClusterRole", name: to }) as const;
  await hub.create(Namespace, { metadata: { name, labels } });
  const rules = [
    { apiGroups: [CLUSTER_GROUP], resources: ["managedclusters"], resourceNames: [name], verbs: ["update"] },
  ];
  await hub.create(ClusterRole, { metadata: { name: role, labels }, rules });
  await hub.create(ClusterRoleBinding, { metadata: { name: role, labels }, roleRef: roleRef(role), subjects });
  for (const purpose of ["registration", "work"]) {
    const metadata = { name: `${role}:${purpose}`, namespace: name, labels };
    await hub.create(RoleBinding, {
      metadata,
      roleRef: roleRef(`open-cluster-management:managedcluster:${purpose}`),
      subjects,
    });
  }
}

async function refused(hub: Client, name: string): Promise<void> {
  await asked(hub, name, true);
  await until(hub, name, ClusterCondition.HubAccepted, "False");
}

async function granting(hub: Client, name: string): Promise<void> {
  await asked(hub, name, true, { [ACCESS]: "view" });
  await until(hub, name, ClusterCondition.HubAccepted, "True");
  await eventually(() => hub.get(RoleBinding, `${name}/open-cluster-management:cluster-access`));
}

async function denied(hub: Client, name: string): Promise<void> {
  await hub.patch(ManagedCluster, name, { spec: { hubAcceptsClient: false } });
  await until(hub, name, ClusterCondition.HubAccepted, "False");
}

/** A work with which an agent had begun. */
async function working(hub: Client, namespace: string): Promise<void> {
  const metadata = { name: "one", namespace, finalizers: [FINALIZER] };
  await hub.create(ManifestWork, { metadata, spec: { workload: { manifests: [] } } });
}

/** What an agent has said last; without a Lease none could have said anything. */
async function reporting(hub: Client, name: string, status: "True" | "Unknown"): Promise<void> {
  await eventually(() => hub.get(Lease, `${name}/managed-cluster-lease`));
  const { status: before } = await hub.get(ManagedCluster, name);
  const others = (before?.conditions ?? []).filter(({ type }) => type !== ClusterCondition.Available);
  const lastTransitionTime = new Date(Date.now() - 86_400_000).toISOString();
  const said = [ClusterCondition.Joined, ClusterCondition.Available].map((type) => ({
    type,
    status: type === ClusterCondition.Joined ? "True" : status,
    reason: "Stage",
    message: "",
    lastTransitionTime,
  }));
  await hub.patch(ManagedCluster, name, { status: { conditions: [...others, ...said] } }, { subresource: "status" });
}

async function until(hub: Client, name: string, type: string, status: string): Promise<void> {
  await eventually(async () => {
    const { status: told } = await hub.get(ManagedCluster, name);
    const found = findCondition(told?.conditions, type)?.status;
    if (found !== status) throw new Error(`${type} of ${name} is ${found}, and should be ${status}`);
  });
}

async function untilGone(look: () => Promise<unknown>): Promise<void> {
  await eventually(async () => {
    const there = await look().then(
      () => true,
      (error: unknown) => {
        if (!isNotFound(error)) throw error;
        return false;
      },
    );
    if (there) throw new Error("it is still there");
  });
}

function workBinding(name: string): string {
  return `${name}/open-cluster-management:managedcluster:${name}:work`;
}

/** As `capstan init --use-bootstrap-token` does. */
async function bindBootstrapTokens(hub: Client): Promise<void> {
  await hub.create(ClusterRoleBinding, {
    metadata: { name: "open-cluster-management:bootstrap:managedcluster" },
    roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "open-cluster-management:bootstrap" },
    subjects: [{ kind: "Group", apiGroup: RBAC_GROUP, name: "system:bootstrappers:managedcluster" }],
  });
}
