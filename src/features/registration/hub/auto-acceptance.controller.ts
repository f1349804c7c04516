/**
 * Lets a cluster in without a person when one of the users who were named at start registers it. That they do is proven
 * by a certificate request for exactly this cluster: the server itself writes into it who made it.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster, CertificateSigningRequest
 * Writes  ManagedCluster spec.hubAcceptsClient and annotation automatically-accepted-on, once
 * Twin    ocm:pkg/registration/hub/managedcluster/controller.go
 */
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterAnnotation, ClusterCondition, ClusterLabel, ManagedCluster } from "#api/cluster";
import { type Clock, timestamp } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";
import type { Logger } from "#lib/log";
import { isDeleting, withAnnotations } from "#lib/meta";
import { type Cluster, type Controller, done } from "#runtime";
import { agentRequest } from "./agent-request.ts";
import { CLUSTER_OBJECTS, isReservedName } from "./cluster-rbac.ts";

export interface AutoAcceptanceOptions {
  hub: Cluster;
  clock: Clock;
  log: Logger;
  /** Users whose clusters need no person; nobody unless told. */
  autoApproveUsers?: readonly string[];
}

export function autoAcceptanceController({
  hub,
  clock,
  log,
  autoApproveUsers = [],
}: AutoAcceptanceOptions): Controller {
  const clusters = hub.cache(ManagedCluster);
  const requests = hub.cache(CertificateSigningRequest, { labelSelector: CLUSTER_OBJECTS });
  const requestsOf = requests.indexBy(clusterNameOf);
  const trusted = new Set(autoApproveUsers);

  return {
    name: "cluster-auto-acceptance",
    triggers: [clusters.keyedBy(({ metadata }) => metadata.name), requests.keyedBy(clusterNameOf)],

    async reconcile(name) {
      const cluster = clusters.get(name);
      if (!cluster || cluster.spec?.hubAcceptsClient || !mayJoinUnasked(cluster)) return done;
      const proof = requestsOf.at(name).find(isOfTrusted);
      if (!proof) return done;
      const after = { ...cluster, spec: { ...cluster.spec, hubAcceptsClient: true } };
      const annotations = { [ClusterAnnotation.autoAcceptedOn]: timestamp(clock.now()) };
      await hub.commit(ManagedCluster, cluster, withAnnotations(after, annotations));
      log.info("accepted a cluster without a person", { cluster: name, user: proof.spec.username });
      return done;
    },
  };

  function isOfTrusted(request: CertificateSigningRequest): boolean {
    const isRefused = (request.status?.conditions ?? []).some(({ type }) => type !== "Approved");
    return !isRefused && trusted.has(request.spec.username ?? "") && agentRequest(request) !== undefined;
  }
}

/**
 * Whether a cluster may come in by somebody's word alone: it has not joined, and no person has put it out. One that
 * joined has an identity, and whoever asks for a second one may be somebody else.
 */
export function mayJoinUnasked(cluster: ManagedCluster): boolean {
  const { conditions } = cluster.status ?? {};
  if (isDeleting(cluster) || isReservedName(cluster.metadata.name)) return false;
  if (isTrue(conditions, ClusterCondition.Joined)) return false;
  if (cluster.spec?.hubAcceptsClient) return true;
  const wasIn = cluster.metadata.annotations?.[ClusterAnnotation.autoAcceptedOn] !== undefined;
  return !wasIn && findCondition(conditions, ClusterCondition.HubAccepted) === undefined;
}

function clusterNameOf({ metadata }: CertificateSigningRequest): string | undefined {
  return metadata.labels?.[ClusterLabel.name];
}
