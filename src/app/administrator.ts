/** What `up` does beyond what commands do: it lets its own clusters in without asking, and knows when they work. */
import { CertificateSigningRequest } from "#api/certificates";
import { CLUSTER_LEASE, ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ClusterProfile } from "#api/inventory";
import type { Kind, KubeObject } from "#api/meta";
import { agentRequest, Bootstrap } from "#features/registration/hub";
import type { Client } from "#kube";
import { timestamp } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";

/** The namespace of the demonstration fleet, and the set that is bound to it. */
export const FLEET_NAMESPACE = "fleet-system";
export const FLEET_SET = "default";

/** Losses should show while one looks. */
const FLEET_LEASE_SECONDS = 3;

/**
 * Lets a cluster in as `accept` does: waits for it to ask, says that the hub accepts it, and approves its requests until
 * it has joined. An agent that was stopped in the middle asks again with another key, so one approval may not do.
 */
export async function accept(hub: Client, name: string, signal: AbortSignal): Promise<void> {
  const one = { fieldSelector: `metadata.name=${name}` };
  const cluster = await until(hub, ManagedCluster, one, () => true, signal);
  if (!cluster.spec?.hubAcceptsClient) {
    await hub.patch(ManagedCluster, name, {
      spec: { hubAcceptsClient: true, leaseDurationSeconds: FLEET_LEASE_SECONDS },
    });
  }
  // First its rights, then its certificate: an agent that comes too early is refused and waits before it tries again.
  const has = (condition: string) => (cluster: ManagedCluster) => isTrue(cluster.status?.conditions, condition);
  await until(hub, ManagedCluster, one, has(ClusterCondition.HubAccepted), signal);

  const joined = new AbortController();
  const approving = approveRequests(hub, name, AbortSignal.any([joined.signal, signal]));
  try {
    await Promise.race([until(hub, ManagedCluster, one, has(ClusterCondition.Joined), signal), approving]);
  } finally {
    joined.abort();
    await approving;
  }
}

/** Approves what the cluster's agent asks for with the bootstrap token, and nothing that only looks like it. */
async function approveRequests(hub: Client, name: string, signal: AbortSignal): Promise<void> {
  const labelSelector = `${ClusterLabel.name}=${name}`;
  while (!signal.aborted) {
    for await (const { type, object } of await hub.watch(CertificateSigningRequest, { labelSelector, signal })) {
      if (type !== "ADDED" || object.spec.username !== Bootstrap.user || isDecided(object)) continue;
      if (agentRequest(object)?.cluster === name) await approve(hub, object);
    }
  }
}

async function approve(hub: Client, request: CertificateSigningRequest): Promise<void> {
  const now = timestamp(new Date());
  const approved = {
    type: "Approved" as const,
    status: "True" as const,
    reason: "AcceptedByAdministrator",
    message: "The administrator of the hub accepted the cluster.",
    lastUpdateTime: now,
    lastTransitionTime: now,
  };
  const conditions = [...(request.status?.conditions ?? []), approved];
  await hub.update(
    CertificateSigningRequest,
    { ...request, status: { ...request.status, conditions } },
    { subresource: "approval" },
  );
}

function isDecided({ status }: CertificateSigningRequest): boolean {
  return (status?.conditions ?? []).some(({ type }) => type === "Approved" || type === "Denied");
}

/**
 * Waits until a cluster has joined, answers, and is in the inventory. What the hub says of a cluster may date from
 * before its agent stopped, so its lease must be younger than `since`.
 */
export async function untilWorking(hub: Client, name: string, since: Date, signal: AbortSignal): Promise<void> {
  const lease = { namespace: name, fieldSelector: `metadata.name=${CLUSTER_LEASE}` };
  await until(hub, Lease, lease, ({ spec }) => new Date(spec?.renewTime ?? 0) >= since, signal);
  await until(
    hub,
    ManagedCluster,
    { fieldSelector: `metadata.name=${name}` },
    ({ status, metadata }) =>
      metadata.deletionTimestamp === undefined &&
      isTrue(status?.conditions, ClusterCondition.Joined) &&
      isTrue(status?.conditions, ClusterCondition.Available),
    signal,
  );
  const profile = { namespace: FLEET_NAMESPACE, fieldSelector: `metadata.name=${name}` };
  await until(
    hub,
    ClusterProfile,
    profile,
    ({ status }) => findCondition(status?.conditions, "Joined") !== undefined,
    signal,
  );
}

/** Watches until an object fulfils the condition, however often the stream ends in between. */
async function until<T extends KubeObject>(
  client: Client,
  kind: Kind<T>,
  scope: { namespace?: string; labelSelector?: string; fieldSelector?: string },
  fulfilled: (object: T) => boolean,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    for await (const { type, object } of await client.watch(kind, { ...scope, signal })) {
      if ((type === "ADDED" || type === "MODIFIED") && fulfilled(object)) return object;
    }
    signal.throwIfAborted();
  }
}
