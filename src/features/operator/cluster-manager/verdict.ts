/** What is said of a ClusterManager, given how its hub fares. */
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import type { Condition, DynamicObject } from "#api/meta";
import {
  type ClusterManager,
  ClusterManagerCondition,
  ClusterManagerReason,
  type ClusterManagerSpec,
  HUB_NAMESPACE,
  type OperatorStatus,
} from "#api/operator";
import type { ApplyReport, ObjectReport } from "#kube";
import { type ConditionClaim, setCondition } from "#lib/conditions";
import { generationsOf, hindrancesIn, isRolling, relatedResources, sentenceOf } from "../kit/index.ts";
import { RegistrationController, WebhookDeployment } from "./names.ts";

/** What a report and the Deployments say of the hub. */
export interface Seen {
  readonly report: ApplyReport;
  readonly wishes: readonly DynamicObject[];
  /** What the ClusterManager has of them now. */
  readonly deployments: readonly Deployment[];
  /** What the spec asks for and is not to be had here. */
  readonly unsupported: readonly string[];
}

/** The status as it should be after a look at everything. */
export function statusAfter(manager: ClusterManager, seen: Seen, gates: ConditionClaim, now: Date): OperatorStatus {
  const applied = appliedClaim(seen);
  const claims = [applied, progressingClaim(seen), gates, registrationClaim(manager, seen)];
  const status = withClaims(manager, claims, now);
  // What could not be applied says nothing new about what there is.
  if (hindrancesIn(seen.report).length > 0) return status;
  return {
    ...status,
    generations: generationsOf(seen.deployments),
    relatedResources: relatedResources(seen.wishes),
  };
}

/** The status with these said anew, about the spec as it is now. */
export function withClaims({ metadata, status }: ClusterManager, claims: readonly ConditionClaim[], now: Date) {
  const { generation } = metadata;
  const about = generation === undefined ? {} : { observedGeneration: generation };
  const conditions = claims.reduce<Condition[] | undefined>(
    (said, claim) => setCondition(said, { ...claim, ...about }, now),
    status?.conditions,
  );
  return { ...status, ...about, conditions: conditions ?? [] } satisfies OperatorStatus;
}

function appliedClaim({ report, unsupported }: Seen): ConditionClaim {
  const type = ClusterManagerCondition.Applied;
  const hindrances = hindrancesIn(report);
  const [first] = hindrances;
  if (first) return { type, status: "False", reason: reasonFor(hindrances), message: sentenceOf(hindrances) };
  if (report.problem !== undefined) {
    return { type, status: "False", reason: ClusterManagerReason.hubResourceFailed, message: report.problem };
  }
  if (unsupported.length > 0) {
    const reason = ClusterManagerReason.unsupportedOption;
    return { type, status: "False", reason, message: `All else is applied, but ${unsupported.join("; ")}` };
  }
  return { type, status: "True", reason: ClusterManagerReason.applied, message: "Everything on the hub is as wished" };
}

/** What others stand on is the better reason. */
function reasonFor(hindrances: readonly ObjectReport[]): string {
  const has = (kind: string) => hindrances.some(({ id }) => id.kind === kind);
  if (has(CustomResourceDefinition.kind)) return ClusterManagerReason.crdFailed;
  const areAll = (...kinds: readonly string[]) => hindrances.every(({ id }) => kinds.includes(id.kind));
  if (areAll(MutatingWebhookConfiguration.kind, ValidatingWebhookConfiguration.kind)) {
    return ClusterManagerReason.webhookFailed;
  }
  return areAll(Deployment.kind) ? ClusterManagerReason.runtimeResourceFailed : ClusterManagerReason.hubResourceFailed;
}

function progressingClaim({ deployments }: Seen): ConditionClaim {
  const type = ClusterManagerCondition.Progressing;
  const rolling = deployments.filter(isRolling).map(({ metadata }) => metadata.name);
  if (rolling.length === 0) {
    const message = "All Pods of the hub are as their Deployments wish";
    return { type, status: "False", reason: ClusterManagerReason.upToDate, message };
  }
  const message = `Waiting for the Pods of ${rolling.sort().join(", ")} in namespace ${HUB_NAMESPACE}`;
  return { type, status: "True", reason: ClusterManagerReason.rolling, message };
}

function registrationClaim({ metadata }: ClusterManager, { deployments }: Seen): ConditionClaim {
  const type = ClusterManagerCondition.HubRegistrationDegraded;
  const names = [RegistrationController, WebhookDeployment.registration].map((each) => each.deployment(metadata.name));
  const found = names.map((name) => ({ name, deployment: deployments.find((each) => each.metadata.name === name) }));
  const missing = found.filter(({ deployment }) => !deployment).map(({ name }) => `${HUB_NAMESPACE}/${name}`);
  if (missing.length > 0) {
    const message = `There is no Deployment ${missing.join(", nor ")}`;
    return { type, status: "True", reason: ClusterManagerReason.registrationMissing, message };
  }
  const lacking = found.flatMap(({ name, deployment }) => {
    const wanted = deployment?.spec.replicas ?? 1;
    const available = deployment?.status?.availableReplicas ?? 0;
    return available < wanted ? [`${wanted - available} of ${wanted} Pods of Deployment ${HUB_NAMESPACE}/${name}`] : [];
  });
  if (lacking.length > 0) {
    const message = `${lacking.join(" and ")} are not available`;
    return { type, status: "True", reason: ClusterManagerReason.registrationUnavailable, message };
  }
  return {
    type,
    status: "False",
    reason: ClusterManagerReason.registrationFunctional,
    message: "Clusters can register, and those that have are looked after",
  };
}

/** Fields that are served because the API has them, and do nothing here. */
export function unsupportedIn(spec: ClusterManagerSpec | undefined): string[] {
  const drivers = spec?.registrationConfiguration?.registrationDrivers ?? [];
  const strange = drivers.map(({ authType }) => authType).filter((type) => type !== "csr");
  const work = spec?.workConfiguration?.workDriver ?? "kube";
  return [
    ...strange.map((type) => `registration driver ${type} is not supported: take it out of registrationDrivers`),
    ...(work === "kube" ? [] : [`work driver ${work} is not supported: set workConfiguration.workDriver to kube`]),
  ];
}
