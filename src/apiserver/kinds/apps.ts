/** The apps group: workloads that keep Pods running. */
import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { at, ensure, type Fields, fieldsAt, fill, fillText, numberAt, objectsAt } from "./fields.ts";
import { defaultPodTemplate } from "./pod-defaults.ts";
import { notNegative, validatePodTemplate, validateSelector } from "./pod-validation.ts";
import { type Declaration, resource } from "./strategy.ts";
import { scale, statusOf } from "./subresources.ts";
import * as tables from "./tables/workloads.ts";
import { immutable } from "./validation.ts";

const apps = (kind: string): GroupVersionKind => ({ group: "apps", version: "v1", kind });

/** What the four workloads have in common. */
function workload(own: Declaration & { defaultSpec(spec: Fields): void }): Resource {
  const { defaultSpec, validate, validateChange, ...declaration } = own;
  return resource({
    ...declaration,
    namespaced: true,
    categories: ["all"],
    hasStatus: true,
    tracksGeneration: true,
    default(draft) {
      const spec = ensure(draft, "spec");
      defaultSpec(spec);
      defaultPodTemplate(ensure(spec, "template"));
    },
    validate: (object, context) => [
      ...notNegative(object, "spec", "replicas"),
      ...validateSelector(object, own.kind.toLowerCase()),
      ...validatePodTemplate(fieldsAt(object, "spec", "template"), "spec.template", ["Always"]),
      ...notNegative(object, "spec", "minReadySeconds"),
      ...notNegative(object, "spec", "revisionHistoryLimit"),
      ...(validate?.(object, context) ?? []),
    ],
    validateChange: (object, current, context) => [
      ...immutable("spec.selector", at(object, "spec", "selector"), at(current, "spec", "selector")),
      ...(validateChange?.(object, current, context) ?? []),
    ],
  });
}

const HISTORY = 10;
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
    const strategy = fieldsAt(object, "spec", "strategy");
    const errors: FieldError[] = [];
    if (strategy.type !== "RollingUpdate" && strategy.type !== "Recreate") {
      errors.push(field.notSupported("spec.strategy.type", strategy.type, ["Recreate", "RollingUpdate"]));
    }
    if (strategy.type === "Recreate" && isObject(strategy.rollingUpdate)) {
      errors.push(
        field.forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'"),
      );
    }
    const { maxSurge, maxUnavailable } = fieldsAt(strategy, "rollingUpdate");
    if (isNone(maxSurge) && isNone(maxUnavailable)) {
      errors.push(
        field.invalid(
          "spec.strategy.rollingUpdate.maxUnavailable",
          maxUnavailable,
          "may not be 0 when `maxSurge` is 0",
        ),
      );
    }
    const deadline = numberAt(object, "spec", "progressDeadlineSeconds");
    if (deadline !== undefined && deadline <= (numberAt(object, "spec", "minReadySeconds") ?? 0)) {
      errors.push(field.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"));
    }
    return errors;
  },
  subresources: [statusOf(apps("Deployment"), { keepsLabels: true }), scale],
});

function isNone(amount: unknown): boolean {
  return amount === 0 || amount === "0%" || amount === "0";
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

const STATEFUL_CHANGES = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
] as const;

const statefulSets = workload({
  ...apps("StatefulSet"),
  plural: "statefulsets",
  namespaced: true,
  shortNames: ["sts"],
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
  validateChange(object, current) {
    const fixed = (whole: DynamicObject) =>
      Object.fromEntries(
        Object.entries(fieldsAt(whole, "spec")).filter(
          ([key]) => key !== "selector" && !STATEFUL_CHANGES.some((free) => free === key),
        ),
      );
    if (equal(fixed(object), fixed(current))) return [];
    const listed = STATEFUL_CHANGES.map((key) => `'${key}'`);
    const named = `${listed.slice(0, -1).join(", ")} and ${listed.at(-1)}`;
    return [field.forbidden("spec", `updates to statefulset spec for fields other than ${named} are forbidden`)];
  },
  subresources: [statusOf(apps("StatefulSet")), scale],
});

/** Counts the templates that a DaemonSet has had; older clients compare it. */
const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

const daemonSets = workload({
  ...apps("DaemonSet"),
  plural: "daemonsets",
  namespaced: true,
  shortNames: ["ds"],
  table: tables.daemonSets,
  defaultSpec(spec) {
    fill(spec, { revisionHistoryLimit: HISTORY });
    const strategy = ensure(spec, "updateStrategy");
    fillText(strategy, { type: "RollingUpdate" });
    if (strategy.type === "RollingUpdate") fill(ensure(strategy, "rollingUpdate"), { maxUnavailable: 1, maxSurge: 0 });
  },
  prepareForCreate: ({ metadata }) => {
    metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: "1" };
  },
  prepareForUpdate(draft, current) {
    const before = Number(current.metadata.annotations?.[TEMPLATE_GENERATION] ?? 1);
    const isSame = equal(at(draft, "spec", "template"), at(current, "spec", "template"));
    draft.metadata.annotations = {
      ...draft.metadata.annotations,
      [TEMPLATE_GENERATION]: String(isSame ? before : before + 1),
    };
  },
  subresources: [statusOf(apps("DaemonSet"))],
});

const controllerRevisions = resource({
  ...apps("ControllerRevision"),
  plural: "controllerrevisions",
  namespaced: true,
  table: tables.controllerRevisions,
  validateChange: (object, current) => immutable("data", object.data, current.data),
});

export const appsResources: readonly Resource[] = [
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
];
