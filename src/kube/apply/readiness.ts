/** Whether an object works, as far as its status tells. A kind without a status of its own works when it exists. */
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { groupKindOf, idOf } from "./identity.ts";

/** Undefined when it works; else what is missing, in words that stay the same while nothing changes. */
export type Missing = string | undefined;

type Rule = (object: DynamicObject, spec: Fields, status: Fields) => Missing;
type Fields = Readonly<Record<string, unknown>>;

export function missingIn(object: DynamicObject): Missing {
  if (object.metadata.deletionTimestamp !== undefined) return "it is being deleted";
  const status = fieldsOf(object.status);
  const { observedGeneration } = status;
  const { generation } = object.metadata;
  // What the status says is about an older wish until its controller has seen this one.
  if (typeof observedGeneration === "number" && generation !== undefined && observedGeneration < generation) {
    return "its controller has not seen the change yet";
  }
  const rule = RULES[groupKindOf(idOf(object))] ?? anyOther;
  return rule(object, fieldsOf(object.spec), status);
}

const deployment: Rule = (object, spec, status) => {
  const wanted = count(spec.replicas, 1);
  const stalled = conditionOf(object, "Progressing");
  if (stalled?.status === "False") return wordsOf(stalled, "its rollout does not go on");
  if (status.observedGeneration === undefined) return "its controller has not seen it yet";
  if (count(status.updatedReplicas) < wanted) return replicas(status.updatedReplicas, wanted, "updated");
  if (count(status.replicas) > count(status.updatedReplicas)) return "old replicas are still there";
  if (count(status.availableReplicas) < wanted) return replicas(status.availableReplicas, wanted, "available");
  return undefined;
};

const statefulSet: Rule = (_, spec, status) => {
  const wanted = count(spec.replicas, 1);
  if (status.observedGeneration === undefined) return "its controller has not seen it yet";
  if (count(status.readyReplicas) < wanted) return replicas(status.readyReplicas, wanted, "ready");
  const strategy = fieldsOf(spec.updateStrategy);
  if (strategy.type === "OnDelete" || fieldsOf(strategy.rollingUpdate).partition) return undefined;
  const { currentRevision, updateRevision } = status;
  return updateRevision !== undefined && currentRevision !== updateRevision ? "its rollout is not finished" : undefined;
};

const daemonSet: Rule = (_, spec, status) => {
  const { desiredNumberScheduled } = status;
  if (status.observedGeneration === undefined || desiredNumberScheduled === undefined) {
    return "its controller has not seen it yet";
  }
  const wanted = count(desiredNumberScheduled);
  const isRolling = fieldsOf(spec.updateStrategy).type !== "OnDelete";
  if (isRolling && count(status.updatedNumberScheduled) < wanted) {
    return replicas(status.updatedNumberScheduled, wanted, "updated");
  }
  return count(status.numberAvailable) < wanted ? replicas(status.numberAvailable, wanted, "available") : undefined;
};

const replicaSet: Rule = (_, spec, status) => {
  const wanted = count(spec.replicas, 1);
  return count(status.availableReplicas) < wanted ? replicas(status.availableReplicas, wanted, "available") : undefined;
};

const pod: Rule = (object, _, status) => {
  if (status.phase === "Succeeded") return undefined;
  if (status.phase === "Failed") return "it has failed";
  return conditionOf(object, "Ready")?.status === "True" ? undefined : "it is not ready";
};

const job: Rule = (object) => {
  const failed = conditionOf(object, "Failed");
  if (failed?.status === "True") return wordsOf(failed, "it has failed");
  return conditionOf(object, "Complete")?.status === "True" ? undefined : "it is not complete";
};

const claim: Rule = (_, __, status) => (status.phase === "Bound" ? undefined : "no volume is bound to it");

const namespace: Rule = (_, __, status) => (status.phase === "Terminating" ? "it is being deleted" : undefined);

/** The condition must be true, and there must be one. */
function must(type: string, missing: string): Rule {
  return (object) => {
    const condition = conditionOf(object, type);
    return condition?.status === "True" ? undefined : wordsOf(condition, missing);
  };
}

/** By the conditions that most controllers agree on; who has none of them is believed to work. */
const anyOther: Rule = (object) => {
  const stalled = conditionOf(object, "Stalled");
  if (stalled?.status === "True") return wordsOf(stalled, "it does not get on");
  for (const type of ["Ready", "Available"]) {
    const condition = conditionOf(object, type);
    if (condition)
      return condition.status === "True" ? undefined : wordsOf(condition, `it is not ${type.toLowerCase()}`);
  }
  return undefined;
};

const RULES: Readonly<Record<string, Rule>> = {
  "Deployment.apps": deployment,
  "StatefulSet.apps": statefulSet,
  "DaemonSet.apps": daemonSet,
  "ReplicaSet.apps": replicaSet,
  ReplicationController: replicaSet,
  Pod: pod,
  "Job.batch": job,
  PersistentVolumeClaim: claim,
  Namespace: namespace,
  "CustomResourceDefinition.apiextensions.k8s.io": must("Established", "it is not established"),
  "APIService.apiregistration.k8s.io": must("Available", "it is not available"),
};

function conditionOf({ status }: DynamicObject, type: string): Fields | undefined {
  const { conditions } = fieldsOf(status);
  return Array.isArray(conditions) ? conditions.filter(isObject).find((each) => each.type === type) : undefined;
}

function wordsOf(condition: Fields | undefined, fallback: string): string {
  const { reason, message } = condition ?? {};
  const words = [reason, message].filter((word) => typeof word === "string" && word !== "");
  return words.length > 0 ? `${fallback} (${words.join(": ")})` : fallback;
}

function replicas(have: unknown, wanted: number, what: string): string {
  return `${count(have)} of ${wanted} replicas are ${what}`;
}

function count(value: unknown, unset = 0): number {
  return typeof value === "number" ? value : unset;
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}
