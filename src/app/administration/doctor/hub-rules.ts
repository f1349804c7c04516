/** What is wrong with a hub, given what was seen of it. Pure. */
import type { CertificateSigningRequest } from "#api/certificates";
import {
  ClusterCondition,
  ClusterLabel,
  DEFAULT_LEASE_DURATION_SECONDS,
  type ManagedCluster,
  type ManagedClusterSetBinding,
} from "#api/cluster";
import type { Lease } from "#api/coordination";
import type { ConfigMap } from "#api/core";
import { type Condition, keyOf } from "#api/meta";
import { type ClusterManager, ClusterManagerCondition } from "#api/operator";
import { agentRequest } from "#features/registration/hub";
import { findCondition } from "#lib/conditions";
import { humanDuration } from "#lib/duration";
import { isDeleting } from "#lib/meta";
import { requestsOf } from "../acceptance.ts";
import { UNJOINED } from "../unjoining.ts";
import { broken, type Finding, ok, warning } from "./finding.ts";
import { type Workload, workloadFinding } from "./workloads.ts";

export interface HubFacts {
  /** Kinds of a hub that the server does not serve. */
  readonly missingKinds: readonly string[];
  readonly managers: readonly ClusterManager[];
  /** Undefined where no operator is expected, because somebody runs the hub in another way. */
  readonly operator: Workload | undefined;
  readonly programs: readonly Workload[];
  readonly clusters: readonly ManagedCluster[];
  /** By cluster. */
  readonly leases: ReadonlyMap<string, Lease>;
  readonly requests: readonly CertificateSigningRequest[];
  readonly bindings: readonly ManagedClusterSetBinding[];
  /** What clusters that were given up still have to clean up. */
  readonly ledgers: readonly ConfigMap[];
  /** By what clusters can ask to join. */
  readonly canAsk: { readonly account: boolean; readonly tokenExpires: Date | undefined; readonly token: boolean };
  readonly now: Date;
}

/** Upstream's hub forgives so many missed beats before it calls a cluster lost. */
const FORGIVEN_BEATS = 5;

export function hubFindings(facts: HubFacts): Finding[] {
  return [
    ...facts.missingKinds.map((kind) =>
      broken(
        "the hub",
        `it does not serve ${kind}`,
        facts.managers.length > 0 ? "capstan get hub-info" : "capstan init --wait",
      ),
    ),
    ...(facts.operator ? [workloadFinding(facts.operator, "capstan init --wait")] : []),
    ...facts.managers.flatMap(managerFindings),
    ...facts.programs.map((program) => workloadFinding(program, "capstan get hub-info")),
    ...identityFindings(facts),
    ...facts.clusters.flatMap((cluster) => clusterFindings(cluster, facts)),
    ...strayRequests(facts),
    ...facts.bindings.flatMap(bindingFindings),
    ...facts.ledgers.flatMap(ledgerFindings),
  ];
}

function managerFindings({ metadata, status }: ClusterManager): Finding[] {
  const about = `ClusterManager ${metadata.name}`;
  const said = (type: string) => findCondition(status?.conditions, type);
  const logs = "kubectl logs -n open-cluster-management deployment/cluster-manager";
  if (metadata.deletionTimestamp !== undefined) {
    return [
      warning(
        about,
        `it is being removed: ${said(ClusterManagerCondition.Applied)?.message ?? "its operator cleans up"}`,
        "capstan clean",
      ),
    ];
  }
  const applied = said(ClusterManagerCondition.Applied);
  if (!applied) return [broken(about, "no operator has looked at it yet", logs)];
  const gates = said(ClusterManagerCondition.ValidFeatureGates);
  const degraded = said(ClusterManagerCondition.HubRegistrationDegraded);
  const progressing = said(ClusterManagerCondition.Progressing);
  const found = [
    ...(applied.status === "True" ? [] : [broken(about, `it could not be made so: ${textOf(applied)}`, logs)]),
    ...(gates?.status === "False"
      ? [warning(about, gates.message, `kubectl edit clustermanager ${metadata.name}`)]
      : []),
    ...(degraded?.status === "True"
      ? [
          broken(
            about,
            `registration does not work: ${textOf(degraded)}`,
            "kubectl get pods -n open-cluster-management-hub",
          ),
        ]
      : []),
    ...(progressing?.status === "True" ? [warning(about, `it is rolling out: ${textOf(progressing)}`)] : []),
  ];
  return found.length > 0 ? found : [ok(about, "it is applied, and registration works")];
}

function textOf({ message, reason }: Condition): string {
  return message || reason;
}

function identityFindings({ canAsk, now }: HubFacts): Finding[] {
  const { account, token, tokenExpires } = canAsk;
  if (token && tokenExpires && tokenExpires <= now) {
    return [
      warning(
        "the bootstrap token",
        `it ended ${humanDuration(now.getTime() - tokenExpires.getTime())} ago, so nobody can join with it`,
        "capstan delete token && capstan get token --use-bootstrap-token",
      ),
    ];
  }
  if (account || token) return [];
  return [
    warning(
      "new clusters",
      "there is neither a service account nor a token by which they could ask to join",
      "capstan get token",
    ),
  ];
}

function clusterFindings(cluster: ManagedCluster, facts: HubFacts): Finding[] {
  const { name } = cluster.metadata;
  const about = `ManagedCluster ${name}`;
  const said = (type: string) => findCondition(cluster.status?.conditions, type);
  const { pending } = requestsOf(facts.requests, { cluster: name, skipApproveCheck: false, requesters: [] });
  const accept = `capstan accept --clusters ${name}`;
  if (isDeleting(cluster)) {
    const why = said(ClusterCondition.Deleting)?.message;
    return [
      warning(about, `it is being deleted${why ? `: ${why}` : ""}`, `kubectl get managedcluster ${name} -o yaml`),
    ];
  }
  if (!cluster.spec?.hubAcceptsClient) return [warning(about, "it waits to be let in", accept)];
  if (said(ClusterCondition.HubAccepted)?.status !== "True") {
    return [broken(about, "it was let in, but no controller of the hub has acted on it", "capstan get hub-info")];
  }
  if (said(ClusterCondition.Joined)?.status !== "True") {
    if (pending.length > 0) return [warning(about, "it was let in, but its certificate waits to be approved", accept)];
    return [
      broken(
        about,
        "it was let in, but its agent has not come since",
        "capstan doctor, with --context of that cluster",
      ),
    ];
  }
  return [...healthFindings(about, cluster, facts), ...(pending.length > 0 ? [again(about, accept)] : [])];
}

function again(about: string, accept: string): Finding {
  return warning(about, "an agent asks for a new certificate as if it had never joined", accept);
}

function healthFindings(about: string, cluster: ManagedCluster, { leases, now }: HubFacts): Finding[] {
  const { name } = cluster.metadata;
  const said = (type: string) => findCondition(cluster.status?.conditions, type);
  const onSpoke = "capstan doctor, with --context of that cluster";
  if (said(ClusterCondition.Available)?.reason === UNJOINED) {
    return [warning(about, "it was taken out of the fleet on its own side", `kubectl delete managedcluster ${name}`)];
  }
  const silent = silenceOf(cluster, leases.get(name), now);
  if (silent !== undefined) return [broken(about, `its agent has been silent for ${silent}`, onSpoke)];
  const clock = said(ClusterCondition.ClockSynced);
  if (clock?.status === "False") {
    return [broken(about, `its clock and the hub's differ: ${textOf(clock)}`, "set the clocks of both by NTP")];
  }
  const available = said(ClusterCondition.Available);
  if (available?.status === "False")
    return [broken(about, `its API server does not answer its agent: ${textOf(available)}`, onSpoke)];
  if (available?.status !== "True")
    return [
      broken(
        about,
        `nobody knows whether it works: ${available ? textOf(available) : "its agent has not said"}`,
        onSpoke,
      ),
    ];
  const rotated = said(ClusterCondition.CertificateRotated);
  if (rotated?.status === "False")
    return [warning(about, `its certificate could not be renewed: ${textOf(rotated)}`, onSpoke)];
  return [ok(about, "it is let in, joined and available")];
}

/** How long the agent has been silent; undefined while that is still forgiven. */
function silenceOf({ spec }: ManagedCluster, lease: Lease | undefined, now: Date): string | undefined {
  const renewed = Date.parse(lease?.spec?.renewTime ?? "");
  if (Number.isNaN(renewed)) return undefined;
  const grace = (spec?.leaseDurationSeconds || DEFAULT_LEASE_DURATION_SECONDS) * FORGIVEN_BEATS * 1000;
  const silent = now.getTime() - renewed;
  return silent > grace ? humanDuration(silent) : undefined;
}

/** Requests in the name of a cluster that come neither from whom the hub gives tokens to, nor from its own agent. */
function strayRequests({ clusters, requests }: HubFacts): Finding[] {
  return clusters.flatMap(({ metadata: { name: cluster } }) => {
    const labelled = requests.filter(({ metadata }) => metadata.labels?.[ClusterLabel.name] === cluster);
    const { others } = requestsOf(labelled, { cluster, skipApproveCheck: false, requesters: [] });
    const strange = others.filter((request) => agentRequest(request)?.user !== request.spec.username);
    return strange.map(({ metadata, spec }) =>
      warning(
        `CertificateSigningRequest ${metadata.name}`,
        `it asks in the name of ${cluster}, but comes from ${spec.username ?? "somebody"}`,
        `kubectl describe csr ${metadata.name}`,
      ),
    );
  });
}

/** Enough to know what to look at. */
const NAMED = 3;

function ledgerFindings({ metadata, data = {} }: ConfigMap): Finding[] {
  const works = Object.keys(data).sort();
  if (works.length === 0) return [];
  const { namespace: cluster = "", name } = metadata;
  const named = `${works.slice(0, NAMED).join(", ")}${works.length > NAMED ? ", …" : ""}`;
  return [
    warning(
      `cluster ${cluster}`,
      `it was given up before ${works.length === 1 ? "a work was" : `${works.length} works were`} cleaned up on it (${named}); its work agent does it when it comes back`,
      `kubectl delete configmap ${name} -n ${cluster}, if it never will`,
    ),
  ];
}

function bindingFindings(binding: ManagedClusterSetBinding): Finding[] {
  const bound = findCondition(binding.status?.conditions, "Bound");
  if (bound?.status !== "False") return [];
  return [
    warning(
      `ManagedClusterSetBinding ${keyOf(binding)}`,
      `there is no ManagedClusterSet ${binding.spec?.clusterSet ?? binding.metadata.name}`,
      `capstan create clusterset ${binding.spec?.clusterSet ?? binding.metadata.name}`,
    ),
  ];
}
