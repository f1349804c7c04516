/** StatefulSets: defaults, what is wrong with one, and what of it may change. */
import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { dns1123Label } from "#lib/names";
import { type FieldError, field } from "../errors.ts";
import { isNothing, validateAmount } from "./amounts.ts";
import {
  at,
  ensure,
  type Fields,
  fieldsAt,
  fill,
  fillText,
  isAbsent,
  numberAt,
  objectsAt,
  textAt,
  textsAt,
} from "./fields.ts";
import { notNegative } from "./pod-validation.ts";
import { scale, statusOf } from "./subresources.ts";
import * as tables from "./tables/workloads.ts";
import { apps, HISTORY, workload } from "./workload.ts";

const CHANGEABLE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;

export const statefulSets = workload({
  ...apps("StatefulSet"),
  plural: "statefulsets",
  namespaced: true,
  shortNames: ["sts"],
  nameRule: "label", // Pods and their host names are made from it
  table: tables.statefulSets,
  defaultSpec(spec) {
    fillText(spec, { podManagementPolicy: "OrderedReady" });
    fill(spec, { replicas: 1, revisionHistoryLimit: HISTORY });
    const strategy = ensure(spec, "updateStrategy");
    fillText(strategy, { type: "RollingUpdate" });
    if (strategy.type === "RollingUpdate") fill(ensure(strategy, "rollingUpdate"), { partition: 0 });
    fillText(ensure(spec, "persistentVolumeClaimRetentionPolicy"), { whenDeleted: "Retain", whenScaled: "Retain" });
    for (const claim of objectsAt(spec, "volumeClaimTemplates")) {
      fillText(claim, { apiVersion: "v1", kind: "PersistentVolumeClaim" });
      fillText(ensure(claim, "spec"), { volumeMode: "Filesystem" });
      fillText(ensure(claim, "status"), { phase: "Pending" });
    }
  },
  completeTemplate: withClaimedVolumes,
  mayKeepAllRevisions: true,
  validate: (object) => [
    ...policyErrors(fieldsAt(object, "spec")),
    ...strategyErrors(fieldsAt(object, "spec", "updateStrategy")),
    ...notNegative(object, "spec", "ordinals", "start"),
    ...serviceNameErrors(object),
    ...claimTemplateErrors(object),
  ],
  validateChange(object, current) {
    const fixed = (whole: DynamicObject) =>
      Object.fromEntries(
        Object.entries(fieldsAt(whole, "spec")).filter(
          ([key]) => key !== "selector" && !CHANGEABLE.some((free) => free === key),
        ),
      );
    if (equal(fixed(object), fixed(current))) return [];
    const listed = CHANGEABLE.map((key) => `'${key}'`);
    const named = `${listed.slice(0, -1).join(", ")} and ${listed.at(-1)}`;
    return [field.forbidden("spec", `updates to statefulset spec for fields other than ${named} are forbidden`)];
  },
  subresources: [statusOf(apps("StatefulSet"), { validate: statusErrors }), scale],
});

/** Containers may mount what the set claims for them. */
function withClaimedVolumes(spec: Fields): Fields {
  const template = fieldsAt(spec, "template");
  const claimed = objectsAt(spec, "volumeClaimTemplates").map((claim) => {
    const name = textAt(claim, "metadata", "name");
    return { name, persistentVolumeClaim: { claimName: name } };
  });
  if (claimed.length === 0) return template;
  const others = objectsAt(template, "spec", "volumes").filter(
    (volume) => !claimed.some(({ name }) => name === volume.name),
  );
  return { ...template, spec: { ...fieldsAt(template, "spec"), volumes: [...claimed, ...others] } };
}

function policyErrors(spec: Fields): FieldError[] {
  const errors: FieldError[] = [];
  const { podManagementPolicy: order } = spec;
  if (order !== "OrderedReady" && order !== "Parallel") {
    errors.push(field.invalid("spec.podManagementPolicy", order, "must be 'OrderedReady' or 'Parallel'"));
  }
  const path = "spec.persistentVolumeClaimRetentionPolicy";
  for (const key of ["whenDeleted", "whenScaled"]) {
    const policy = at(spec, "persistentVolumeClaimRetentionPolicy", key);
    if (policy !== "Retain" && policy !== "Delete") {
      errors.push(field.notSupported(`${path}.${key}`, policy, ["Retain", "Delete"]));
    }
  }
  return errors;
}

function strategyErrors(strategy: Fields): FieldError[] {
  const path = "spec.updateStrategy";
  const { type, rollingUpdate } = strategy;
  if (type === "OnDelete") {
    const only = "only allowed for updateStrategy 'RollingUpdate'";
    return isObject(rollingUpdate) ? [field.invalid(`${path}.rollingUpdate`, rollingUpdate, only)] : [];
  }
  if (type !== "RollingUpdate") return [field.invalid(path, strategy, "must be 'RollingUpdate' or 'OnDelete'")];
  const partition = numberAt(rollingUpdate, "partition") ?? 0;
  const errors =
    partition < 0
      ? [field.invalid(`${path}.rollingUpdate.partition`, partition, "must be greater than or equal to 0")]
      : [];
  const missing = at(rollingUpdate, "maxUnavailable");
  if (isAbsent(missing)) return errors;
  const where = `${path}.rollingUpdate.maxUnavailable`;
  errors.push(...validateAmount(missing, where, { atMostAll: true }));
  if (isNothing(missing)) errors.push(field.invalid(where, missing, "cannot be 0"));
  return errors;
}

function serviceNameErrors(object: DynamicObject): FieldError[] {
  const name = textAt(object, "spec", "serviceName");
  return name === "" ? [] : dns1123Label(name).map((problem) => field.invalid("spec.serviceName", name, problem));
}

const ACCESS_MODES = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

function claimTemplateErrors(object: DynamicObject): FieldError[] {
  return objectsAt(object, "spec", "volumeClaimTemplates").flatMap((claim, index) => {
    const path = `spec.volumeClaimTemplates[${index}].spec`;
    const modes = textsAt(claim, "spec", "accessModes");
    const storage = at(claim, "spec", "resources", "requests", "storage");
    const errors = modes
      .filter((mode) => !ACCESS_MODES.includes(mode))
      .map((mode) => field.notSupported(`${path}.accessModes`, mode, ACCESS_MODES));
    if (modes.length === 0) errors.push(field.required(`${path}.accessModes`, "at least 1 access mode is required"));
    if (modes.includes("ReadWriteOncePod") && modes.some((mode) => mode !== "ReadWriteOncePod")) {
      errors.push(field.forbidden(`${path}.accessModes`, "may not use ReadWriteOncePod with other access modes"));
    }
    if (isAbsent(storage)) errors.push(field.required(`${path}.resources[storage]`));
    return errors;
  });
}

const COUNTS = ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];

function statusErrors(object: DynamicObject, current: DynamicObject): FieldError[] {
  const count = (key: string) => numberAt(object, "status", key) ?? 0;
  const errors = ["observedGeneration", "collisionCount", ...COUNTS].flatMap((key) =>
    notNegative(object, "status", key),
  );
  for (const key of COUNTS.filter((each) => count(each) > count("replicas"))) {
    errors.push(field.invalid(`status.${key}`, count(key), "cannot be greater than status.replicas"));
  }
  if (count("availableReplicas") > count("readyReplicas")) {
    const problem = "cannot be greater than status.readyReplicas";
    errors.push(field.invalid("status.availableReplicas", count("availableReplicas"), problem));
  }
  return [...errors, ...collisionErrors(object, current)];
}

/** Names were made from the count; going back would make them again. */
export function collisionErrors(object: DynamicObject, current: DynamicObject): FieldError[] {
  const collisions = (whole: DynamicObject) => numberAt(whole, "status", "collisionCount") ?? 0;
  if (collisions(object) >= collisions(current)) return [];
  return [field.invalid("status.collisionCount", collisions(object), "cannot be decremented")];
}
