/** What is said of a Klusterlet: from how its agents fare and what became of its objects to conditions. */
import { CustomResourceDefinition } from "#api/apiextensions";
import type { Deployment } from "#api/apps";
import type { Condition } from "#api/meta";
import { type Klusterlet, KlusterletCondition, KlusterletReason, type OperatorStatus } from "#api/operator";
import type { ApplyReport, ObjectReport } from "#kube";
import { type ConditionClaim, findCondition, setCondition } from "#lib/conditions";
import { hindrancesIn, sentenceOf } from "../kit/index.ts";
import { AgentDeployment } from "./names.ts";
import type { KlusterletWish } from "./wish.ts";

/** The status with these said anew, about the spec as it is now. */
export function withClaims(
  { metadata, status }: Klusterlet,
  claims: readonly ConditionClaim[],
  now: Date,
): OperatorStatus {
  const { generation } = metadata;
  const about = generation === undefined ? {} : { observedGeneration: generation };
  const conditions = claims.reduce<Condition[]>(
    (said, claim) => setCondition(said, { ...claim, ...about }, now),
    status?.conditions ?? [],
  );
  return { ...status, ...about, conditions };
}

export function refusedClaim(message: string): ConditionClaim {
  return { type: KlusterletCondition.Applied, status: "False", reason: KlusterletReason.applyFailed, message };
}

export function preparedClaim(problem?: string): ConditionClaim {
  const type = KlusterletCondition.ReadyToApply;
  if (problem !== undefined) return { type, status: "False", reason: KlusterletReason.prepareFailed, message: problem };
  return { type, status: "True", reason: KlusterletReason.prepared, message: "The managed cluster answers" };
}

/** What became of the objects on one cluster. */
export interface Placed {
  readonly on: "managed" | "management";
  readonly report: ApplyReport;
}

/** `isManaged` tells, where both clusters are one, which of its objects are those of the managed cluster. */
export function appliedClaim(placed: readonly Placed[], isManaged: (report: ObjectReport) => boolean): ConditionClaim {
  const type = KlusterletCondition.Applied;
  for (const { on, report } of placed) {
    const hindrances = hindrancesIn(report);
    if (hindrances.length > 0) {
      const reason = reasonFor(hindrances, on === "managed" || hindrances.some(isManaged));
      return { type, status: "False", reason, message: sentenceOf(hindrances) };
    }
    if (report.problem !== undefined) {
      return { type, status: "False", reason: KlusterletReason.applyFailed, message: report.problem };
    }
  }
  return { type, status: "True", reason: KlusterletReason.applied, message: "Everything is as the Klusterlet wishes" };
}

function reasonFor(hindrances: readonly ObjectReport[], isManaged: boolean): string {
  if (hindrances.some(({ id }) => id.kind === CustomResourceDefinition.kind)) return KlusterletReason.crdFailed;
  return isManaged ? KlusterletReason.managedClusterFailed : KlusterletReason.managementClusterFailed;
}

/** What the Deployments of the agents say. */
export function agentClaims(wish: KlusterletWish, deployments: readonly Deployment[]): ConditionClaim[] {
  const { name, isSingleton, agentNamespace } = wish;
  const registration = isSingleton ? AgentDeployment.singleton(name) : AgentDeployment.registration(name);
  const work = isSingleton ? AgentDeployment.singleton(name) : AgentDeployment.work(name);
  const find = (wanted: string): Agent => ({
    name: `${agentNamespace}/${wanted}`,
    deployment: deployments.find(({ metadata }) => metadata.name === wanted && metadata.namespace === agentNamespace),
  });
  return [
    availableClaim([...new Set([registration, work])].map(find)),
    desiredClaim(KlusterletCondition.RegistrationDesiredDegraded, find(registration)),
    desiredClaim(KlusterletCondition.WorkDesiredDegraded, find(work)),
  ];
}

interface Agent {
  readonly name: string;
  readonly deployment: Deployment | undefined;
}

function availableClaim(agents: readonly Agent[]): ConditionClaim {
  const type = KlusterletCondition.Available;
  const missing = agents.filter(({ deployment }) => !deployment);
  if (missing.length > 0) {
    const message = `There is no Deployment ${namesOf(missing)}`;
    return { type, status: "False", reason: KlusterletReason.deploymentMissing, message };
  }
  const idle = agents.filter(({ deployment }) => (deployment?.status?.availableReplicas ?? 0) === 0);
  if (idle.length > 0) {
    const message = `No Pod of Deployment ${namesOf(idle)} is available`;
    return { type, status: "False", reason: KlusterletReason.noAvailablePods, message };
  }
  const message = `Pods of Deployment ${namesOf(agents)} are available`;
  return { type, status: "True", reason: KlusterletReason.available, message };
}

function desiredClaim(type: string, { name, deployment }: Agent): ConditionClaim {
  if (!deployment) {
    const message = `There is no Deployment ${name}`;
    return { type, status: "True", reason: KlusterletReason.deploymentMissing, message };
  }
  const { replicas: wanted = 1 } = deployment.spec;
  const available = deployment.status?.availableReplicas ?? 0;
  // A Deployment that its controller has not looked at says nothing about the Pods that are wished now.
  const isSeen = (deployment.status?.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0);
  if (isSeen && available >= wanted) {
    const message = wanted === 0 ? waiting(name) : `All Pods of Deployment ${name} are available`;
    return { type, status: "False", reason: KlusterletReason.deploymentsFunctional, message };
  }
  const message = `${available} of ${wanted} Pods of Deployment ${name} are available`;
  return { type, status: "True", reason: KlusterletReason.unavailablePods, message };
}

function waiting(name: string): string {
  return `Deployment ${name} has no Pods until there is an identity on the hub`;
}

function namesOf(agents: readonly Agent[]): string {
  return agents
    .map(({ name }) => name)
    .sort()
    .join(", ");
}

/** Reasons for which there is nothing that a work agent could start with. */
const WITHOUT_IDENTITY: readonly string[] = [KlusterletReason.hubSecretMissing, KlusterletReason.hubKubeconfigMissing];

/** Whether the last look at the hub found an identity to work with. */
export function hasIdentity({ status }: Klusterlet): boolean {
  const degraded = findCondition(status?.conditions, KlusterletCondition.HubConnectionDegraded);
  if (!degraded) return false;
  return degraded.status !== "True" || !degraded.reason.split(",").some((reason) => WITHOUT_IDENTITY.includes(reason));
}
