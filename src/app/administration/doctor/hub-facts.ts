/** What there is to see of a hub. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { CertificateSigningRequest } from "#api/certificates";
import { CLUSTER_LEASE, ClusterLabel, ManagedCluster, ManagedClusterSetBinding, managedClusterCrd } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Secret, ServiceAccount } from "#api/core";
import { ClusterManager, clusterManagerCrd, OPERATOR_NAMESPACE, OperatorName } from "#api/operator";
import { DETACH_LEDGER } from "#api/work";
import { Bootstrap, hubCrds } from "#features/registration/hub";
import type { Client } from "#kube";
import { isTrue } from "#lib/conditions";
import { find, listed } from "../changes.ts";
import { BootstrapToken } from "../hub-tokens.ts";
import type { HubFacts } from "./hub-rules.ts";
import { workloadOf } from "./workloads.ts";

export async function isHub(client: Client): Promise<boolean> {
  const names = [managedClusterCrd.metadata.name, clusterManagerCrd.metadata.name];
  const found = await Promise.all(names.map((name) => find(client, CustomResourceDefinition, name)));
  return found.some((definition) => definition !== undefined);
}

export async function hubFacts(client: Client, now: Date): Promise<HubFacts> {
  const managers = await listed(client, ClusterManager);
  const operatorKey = `${OPERATOR_NAMESPACE}/${OperatorName.clusterManager}`;
  const related = managers.flatMap(({ status }) => status?.relatedResources ?? []);
  const programs = related.filter(
    ({ group, resource }) => group === Deployment.group && resource === Deployment.plural,
  );
  const [clusters, requests, bindings, ledgers, leases, operator, workloads, missingKinds, canAsk] = await Promise.all([
    listed(client, ManagedCluster),
    listed(client, CertificateSigningRequest, { labelSelector: ClusterLabel.name }),
    listed(client, ManagedClusterSetBinding),
    listed(client, ConfigMap, { fieldSelector: `metadata.name=${DETACH_LEDGER}` }),
    listed(client, Lease, { labelSelector: ClusterLabel.name }),
    managers.length > 0 ? workloadOf(client, operatorKey) : undefined,
    Promise.all(programs.map(({ namespace, name }) => workloadOf(client, `${namespace}/${name}`))),
    kindsMissing(client),
    waysToAsk(client),
  ]);
  const beats = leases.filter(({ metadata }) => metadata.name === CLUSTER_LEASE);
  return {
    missingKinds,
    managers,
    operator,
    programs: workloads,
    clusters,
    leases: new Map(beats.map((lease) => [lease.metadata.namespace ?? "", lease])),
    requests,
    bindings,
    ledgers,
    canAsk,
    now,
  };
}

async function kindsMissing(client: Client): Promise<string[]> {
  const served = await Promise.all(
    hubCrds.map(async ({ metadata }) => {
      const found = await find(client, CustomResourceDefinition, metadata.name);
      return isTrue(found?.status?.conditions, "Established");
    }),
  );
  return hubCrds.filter((_, index) => !served[index]).map(({ spec }) => spec.names.kind);
}

async function waysToAsk(client: Client): Promise<HubFacts["canAsk"]> {
  const [account, token] = await Promise.all([
    find(client, ServiceAccount, `${Bootstrap.namespace}/${Bootstrap.serviceAccount}`),
    find(client, Secret, `${BootstrapToken.namespace}/${BootstrapToken.secret}`),
  ]);
  const expiration = Buffer.from(token?.data?.expiration ?? "", "base64").toString("utf8");
  const expires = Date.parse(expiration);
  return {
    account: account !== undefined,
    token: token !== undefined,
    tokenExpires: Number.isNaN(expires) ? undefined : new Date(expires),
  };
}
