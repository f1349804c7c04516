/** DaemonSets: defaults, what is wrong with one, and how its templates are counted. */
import type { DynamicObject } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import { isNothing, validateAmount } from "./amounts.ts";
import { at, ensure, type Fields, fieldsAt, fill, fillText } from "./fields.ts";
import { notNegative } from "./pod-validation.ts";
import { collisionErrors } from "./stateful-sets.ts";
import { statusOf } from "./subresources.ts";
import * as tables from "./tables/workloads.ts";
import { apps, HISTORY, workload } from "./workload.ts";

/** Counts the templates that a DaemonSet has had; older clients compare it. */
const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

export const daemonSets = workload({
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
  prepareForCreate: (draft) => setGeneration(draft, Math.max(1, generationOf(draft))),
  prepareForUpdate(draft, current) {
    const isSame = equal(at(draft, "spec", "template"), at(current, "spec", "template"));
    setGeneration(draft, generationOf(current) + (isSame ? 0 : 1));
  },
  validate: (object) => strategyErrors(fieldsAt(object, "spec", "updateStrategy")),
  subresources: [statusOf(apps("DaemonSet"), { validate: statusErrors })],
});

function generationOf({ metadata }: DynamicObject): number {
  const told = metadata.annotations?.[TEMPLATE_GENERATION] ?? "";
  return /^\d{1,15}$/.test(told) ? Number(told) : 0;
}

function setGeneration({ metadata }: DynamicObject, generation: number): void {
  metadata.annotations = { ...metadata.annotations, [TEMPLATE_GENERATION]: String(generation) };
}

function strategyErrors(strategy: Fields): FieldError[] {
  const path = "spec.updateStrategy";
  if (strategy.type === "OnDelete") return [];
  if (strategy.type !== "RollingUpdate") return [field.notSupported(path, strategy, ["RollingUpdate", "OnDelete"])];
  if (!isObject(strategy.rollingUpdate)) return [field.required(`${path}.rollingUpdate`)];
  const { maxUnavailable, maxSurge } = strategy.rollingUpdate;
  const errors = [
    ...validateAmount(maxUnavailable, `${path}.rollingUpdate.maxUnavailable`, { atMostAll: true }),
    ...validateAmount(maxSurge, `${path}.rollingUpdate.maxSurge`, { atMostAll: true }),
  ];
  const [misses, surges] = [!isNothing(maxUnavailable), !isNothing(maxSurge)];
  if (misses && surges) {
    const problem = "may not be set when maxUnavailable is non-zero";
    errors.push(field.invalid(`${path}.rollingUpdate.maxSurge`, maxSurge, problem));
  }
  if (!misses && !surges) {
    errors.push(field.required(`${path}.rollingUpdate.maxUnavailable`, "cannot be 0 when maxSurge is 0"));
  }
  return errors;
}

const COUNTS = [
  "currentNumberScheduled",
  "numberMisscheduled",
  "desiredNumberScheduled",
  "numberReady",
  "observedGeneration",
  "updatedNumberScheduled",
  "numberAvailable",
  "numberUnavailable",
  "collisionCount",
];

function statusErrors(object: DynamicObject, current: DynamicObject): FieldError[] {
  return [...COUNTS.flatMap((key) => notNegative(object, "status", key)), ...collisionErrors(object, current)];
}
