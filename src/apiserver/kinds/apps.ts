/** The apps group: workloads that keep Pods running. */
import { isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { isNothing, validateAmount } from "./amounts.ts";
import { daemonSets } from "./daemon-sets.ts";
import { at, ensure, type Fields, fieldsAt, fill, fillText, numberAt } from "./fields.ts";
import { notNegative } from "./pod-validation.ts";
import { statefulSets } from "./stateful-sets.ts";
import { resource } from "./strategy.ts";
import { scale, statusOf } from "./subresources.ts";
import * as tables from "./tables/workloads.ts";
import { immutable } from "./validation.ts";
import { apps, HISTORY, workload } from "./workload.ts";

const PROGRESS_SECONDS = 600;

const deployments = workload({
  ...apps("Deployment"),
  plural: "deployments",
  namespaced: true,
  shortNames: ["deploy"],
  table: tables.deployments,
  defaultSpec(spec) {
    fill(spec, { replicas: 1, revisionHistoryLimit: HISTORY, progressDeadlineSeconds: PROGRESS_SECONDS });
    const strategy = ensure(spec, "strategy");
    fillText(strategy, { type: "RollingUpdate" });
    if (strategy.type === "RollingUpdate")
      fill(ensure(strategy, "rollingUpdate"), { maxUnavailable: "25%", maxSurge: "25%" });
  },
  validate(object) {
    const errors = validateStrategy(fieldsAt(object, "spec", "strategy"));
    const deadline = numberAt(object, "spec", "progressDeadlineSeconds");
    if (deadline !== undefined && deadline <= (numberAt(object, "spec", "minReadySeconds") ?? 0)) {
      errors.push(field.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"));
    }
    return errors;
  },
  subresources: [statusOf(apps("Deployment"), { keepsLabels: true }), scale],
});

function validateStrategy(strategy: Fields): FieldError[] {
  const path = "spec.strategy.rollingUpdate";
  if (strategy.type === "Recreate") {
    const hasLimits = isObject(strategy.rollingUpdate);
    return hasLimits ? [field.forbidden(path, "may not be specified when strategy `type` is 'Recreate'")] : [];
  }
  if (strategy.type !== "RollingUpdate") {
    return [field.notSupported("spec.strategy", strategy, ["Recreate", "RollingUpdate"])];
  }
  const { maxSurge, maxUnavailable } = fieldsAt(strategy, "rollingUpdate");
  const errors = [
    ...validateAmount(maxUnavailable, `${path}.maxUnavailable`, { atMostAll: true }),
    ...validateAmount(maxSurge, `${path}.maxSurge`),
  ];
  if (isNothing(maxSurge) && isNothing(maxUnavailable)) {
    errors.push(field.invalid(`${path}.maxUnavailable`, maxUnavailable, "may not be 0 when `maxSurge` is 0"));
  }
  return errors;
}

const replicaSets = workload({
  ...apps("ReplicaSet"),
  plural: "replicasets",
  namespaced: true,
  shortNames: ["rs"],
  table: tables.replicaSets,
  selectableFields: { "status.replicas": (object) => String(at(object, "status", "replicas") ?? 0) },
  defaultSpec: (spec) => fill(spec, { replicas: 1 }),
  subresources: [statusOf(apps("ReplicaSet")), scale],
});

const controllerRevisions = resource({
  ...apps("ControllerRevision"),
  plural: "controllerrevisions",
  namespaced: true,
  table: tables.controllerRevisions,
  validate: (object) => [
    ...notNegative(object, "revision"),
    ...(isObject(object.data) ? [] : [field.required("data", "data is mandatory")]),
  ],
  validateChange: (object, current) => immutable("data", object.data, current.data),
});

export const appsResources: readonly Resource[] = [
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
];
