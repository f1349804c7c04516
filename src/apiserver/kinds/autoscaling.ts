/** The autoscaling group: one kind in two versions, stored as v2. */
import type { DynamicObject } from "#api/meta";
import { isObject } from "#lib/json";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind, Resource } from "../resource.ts";
import { ensure, type Fields, fieldsAt, fill, numberAt, objectsAt, textAt } from "./fields.ts";
import { notNegative } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import { horizontalPodAutoscalers as table } from "./tables/groups.ts";

const KIND = { group: "autoscaling", kind: "HorizontalPodAutoscaler" } as const;
const V1: GroupVersionKind = { ...KIND, version: "v1" };
const V2: GroupVersionKind = { ...KIND, version: "v2" };

const COMMON = {
  plural: "horizontalpodautoscalers",
  namespaced: true,
  shortNames: ["hpa"],
  categories: ["all"],
  hasStatus: true,
  initialStatus: () => ({ desiredReplicas: 0, currentMetrics: null }),
  tracksGeneration: true,
  default: defaultAutoscaler,
  validate: autoscalerErrors,
} as const;

export const autoscalingResources: readonly Resource[] = [
  resource({ ...COMMON, ...V2, table, subresources: [statusOf(V2)] }),
  resource({
    ...COMMON,
    ...V1,
    table: { columns: table.columns, row: (object, now) => table.row(fromV1(object), now) },
    toStored: fromV1,
    present: toV1,
    subresources: [statusOf(V1)],
  }),
];

/** Without a metric, Pods are kept at this part of the CPU they ask for. */
const CPU_PERCENT = 80;

function defaultAutoscaler(draft: DynamicObject): void {
  const spec = ensure(draft, "spec");
  fill(spec, { minReplicas: 1 });
  if (objectsAt(spec, "metrics").length === 0) spec.metrics = [cpuMetric(CPU_PERCENT)];
}

function autoscalerErrors(object: DynamicObject): FieldError[] {
  const max = numberAt(object, "spec", "maxReplicas") ?? 0;
  const min = numberAt(object, "spec", "minReplicas") ?? 1;
  const errors = notNegative(object, "spec", "minReplicas");
  if (max < 1) errors.push(field.invalid("spec.maxReplicas", max, "must be greater than 0"));
  if (max < min) errors.push(field.invalid("spec.maxReplicas", max, "must be greater than or equal to `minReplicas`"));
  for (const key of ["kind", "name"]) {
    if (!textAt(object, "spec", "scaleTargetRef", key)) errors.push(field.required(`spec.scaleTargetRef.${key}`));
  }
  return errors;
}

function cpuMetric(averageUtilization: number): Fields {
  return { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } };
}

function isCpu(metric: Fields): boolean {
  return metric.type === "Resource" && textAt(metric, "resource", "name") === "cpu";
}

/** What v1 has no field for travels in annotations, so that a v1 client can write back what it read. */
const METRICS = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior";

function fromV1(object: DynamicObject): DynamicObject {
  if (object.apiVersion !== "autoscaling/v1") return object;
  const { targetCPUUtilizationPercentage: cpu, ...spec } = fieldsAt(object, "spec");
  const { currentCPUUtilizationPercentage: current, ...status } = fieldsAt(object, "status");
  const { [METRICS]: metrics, [BEHAVIOR]: behavior, ...annotations } = object.metadata.annotations ?? {};
  const others = parsed(metrics);
  const all = [
    ...(typeof cpu === "number" ? [cpuMetric(cpu)] : []),
    ...(Array.isArray(others) ? others.filter(isObject) : []),
  ];
  const shape = parsed(behavior);
  return {
    ...object,
    apiVersion: "autoscaling/v2",
    metadata: { ...object.metadata, ...(object.metadata.annotations && { annotations }) },
    spec: { ...spec, ...(all.length > 0 && { metrics: all }), ...(isObject(shape) && { behavior: shape }) },
    status: {
      ...status,
      currentMetrics:
        typeof current === "number"
          ? [{ type: "Resource", resource: { name: "cpu", current: { averageUtilization: current } } }]
          : null,
    },
  };
}

function toV1(stored: DynamicObject): DynamicObject {
  const { metrics: _metrics, behavior, ...spec } = fieldsAt(stored, "spec");
  const { currentMetrics: _current, conditions: _conditions, ...status } = fieldsAt(stored, "status");
  const metrics = objectsAt(stored, "spec", "metrics");
  const cpu = numberAt(metrics.find(isCpu), "resource", "target", "averageUtilization");
  const others = metrics.filter((metric) => !isCpu(metric) || cpu === undefined);
  const current = numberAt(
    objectsAt(stored, "status", "currentMetrics").find(isCpu),
    "resource",
    "current",
    "averageUtilization",
  );
  const annotations = {
    ...stored.metadata.annotations,
    ...(others.length > 0 && { [METRICS]: JSON.stringify(others) }),
    ...(isObject(behavior) && { [BEHAVIOR]: JSON.stringify(behavior) }),
  };
  return {
    ...stored,
    apiVersion: "autoscaling/v1",
    metadata: { ...stored.metadata, ...(Object.keys(annotations).length > 0 && { annotations }) },
    spec: { ...spec, ...(cpu !== undefined && { targetCPUUtilizationPercentage: cpu }) },
    status: {
      currentReplicas: 0,
      ...status,
      ...(current !== undefined && { currentCPUUtilizationPercentage: current }),
    },
  };
}

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // somebody else's text under our key: it says nothing we understand
  }
}
