/**
 * Approves the certificate requests of agents: renewals of those that are let in, and first requests that come
 * from users who were named at start, for clusters that have not joined yet.
 *
 * Key     CertificateSigningRequest name
 * Reads   CertificateSigningRequest, ManagedCluster; SubjectAccessReview for renewals
 * Writes  CertificateSigningRequest condition Approved
 * Twin    ocm:pkg/registration/register/csr/hub_driver.go
 */

import { SubjectAccessReview } from "#api/authorization";
import { CertificateSigningRequest } from "#api/certificates";
import { ClusterCondition, ClusterLabel, ManagedCluster, REGISTER_GROUP } from "#api/cluster";
import { type Clock, timestamp } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import type { Logger } from "#lib/log";
import { type Cluster, type Controller, done } from "#runtime";
import { Reason } from "../reasons.ts";
import { agentRequest } from "./agent-request.ts";
import { mayJoinUnasked } from "./auto-acceptance.controller.ts";
import { CLUSTER_OBJECTS } from "./cluster-rbac.ts";

export interface CsrApprovalOptions {
  hub: Cluster;
  clock: Clock;
  log: Logger;
  /** Users whose first requests need no person; nobody unless told. */
  autoApproveUsers?: readonly string[];
}

export function csrApprovalController({ hub, clock, log, autoApproveUsers = [] }: CsrApprovalOptions): Controller {
  const requests = hub.cache(CertificateSigningRequest, { labelSelector: CLUSTER_OBJECTS });
  const clusters = hub.cache(ManagedCluster);
  const requestsOf = requests.indexBy(({ metadata }) => metadata.labels?.[ClusterLabel.name]);
  const trusted = new Set(autoApproveUsers);

  return {
    name: "cluster-csr-approval",
    triggers: [
      requests.keyedBy((request) => request.metadata.name),
      clusters.keyedBy((cluster) => requestsOf.at(cluster.metadata.name).map(({ metadata }) => metadata.name)),
    ],

    async reconcile(name) {
      const request = requests.get(name);
      if (!request || isDecided(request)) return done;
      const asked = agentRequest(request);
      if (!asked) return done;

      const cluster = clusters.get(asked.cluster);
      if (!cluster || !(await isWarranted(request, asked.user, cluster))) return done;

      await hub.client.update(CertificateSigningRequest, approved(request, clock.now()), { subresource: "approval" });
      log.info("approved the certificate request of an agent", { cluster: asked.cluster, request: name });
      return done;
    },
  };

  async function isWarranted(request: CertificateSigningRequest, user: string, cluster: ManagedCluster) {
    const { username = "" } = request.spec;
    // What an administrator said of the cluster counts from that moment, not from when its rights have followed.
    if (username === user) return cluster.spec?.hubAcceptsClient === true && mayRenew(request);
    // First its rights, then its certificate: an agent that comes too early is refused, and waits before it comes again.
    const hasRights = isTrue(cluster.status?.conditions, ClusterCondition.HubAccepted);
    return trusted.has(username) && hasRights && mayJoinUnasked(cluster);
  }

  /** Whether the one who asks is let in: the right to renew comes with acceptance and goes with denial. */
  async function mayRenew({ spec }: CertificateSigningRequest): Promise<boolean> {
    const { username: user, uid, groups, extra } = spec;
    const review = await hub.client.create(SubjectAccessReview, {
      metadata: {},
      spec: {
        ...(user !== undefined && { user }),
        ...(uid !== undefined && { uid }),
        ...(groups && { groups }),
        ...(extra && { extra }),
        resourceAttributes: {
          group: REGISTER_GROUP,
          resource: "managedclusters",
          subresource: "clientcertificates",
          verb: "renew",
        },
      },
    });
    return review.status?.allowed === true;
  }
}

function isDecided({ status }: CertificateSigningRequest): boolean {
  return (status?.conditions ?? []).some(({ type }) => type === "Approved" || type === "Denied");
}

function approved(request: CertificateSigningRequest, now: Date): CertificateSigningRequest {
  const condition = {
    type: "Approved",
    status: "True",
    reason: Reason.requestApproved,
    message: "Auto approving Managed cluster agent certificate after SubjectAccessReview.",
    lastUpdateTime: timestamp(now),
  } as const;
  return { ...request, status: { ...request.status, conditions: [...(request.status?.conditions ?? []), condition] } };
}
