/** The pieces of a Pod that an override may hold, spelled as the core group spells them. */
import {
  boolean,
  type Infer,
  int32,
  int64,
  labelSelector,
  list,
  listByKey,
  mapOf,
  object,
  optional,
  quantity,
  type Shape,
  string,
} from "#api/schema";

const ATOMIC_LIST = { "x-kubernetes-list-type": "atomic" } as const;
const ATOMIC_MAP = { "x-kubernetes-map-type": "atomic" } as const;

const strings = list(string(), ATOMIC_LIST);

const nodeSelectorRequirements = list(
  object({ key: string(), operator: string(), values: optional(strings) }),
  ATOMIC_LIST,
);

const nodeSelectorTerm = object(
  { matchExpressions: optional(nodeSelectorRequirements), matchFields: optional(nodeSelectorRequirements) },
  ATOMIC_MAP,
);

const podAffinityTerm = object({
  labelSelector: optional(labelSelector()),
  matchLabelKeys: optional(strings),
  mismatchLabelKeys: optional(strings),
  namespaceSelector: optional(labelSelector()),
  namespaces: optional(strings),
  topologyKey: string(),
});

const podAffinity = object({
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    list(object({ podAffinityTerm, weight: int32() }), ATOMIC_LIST),
  ),
  requiredDuringSchedulingIgnoredDuringExecution: optional(list(podAffinityTerm, ATOMIC_LIST)),
});

export const affinity = object({
  nodeAffinity: optional(
    object({
      preferredDuringSchedulingIgnoredDuringExecution: optional(
        list(object({ preference: nodeSelectorTerm, weight: int32() }), ATOMIC_LIST),
      ),
      requiredDuringSchedulingIgnoredDuringExecution: optional(
        object({ nodeSelectorTerms: list(nodeSelectorTerm, ATOMIC_LIST) }, ATOMIC_MAP),
      ),
    }),
  ),
  podAffinity: optional(podAffinity),
  podAntiAffinity: optional(podAffinity),
});

export const toleration = object({
  effect: optional(string()),
  key: optional(string()),
  operator: optional(string()),
  tolerationSeconds: optional(int64()),
  value: optional(string()),
});

export const topologySpreadConstraint = object({
  labelSelector: optional(labelSelector()),
  matchLabelKeys: optional(strings),
  maxSkew: int32(),
  minDomains: optional(int32()),
  nodeAffinityPolicy: optional(string()),
  nodeTaintsPolicy: optional(string()),
  topologyKey: string(),
  whenUnsatisfiable: string(),
});

/** A key of a ConfigMap or Secret. */
const keyReference = object(
  { key: string(), name: optional(string({ default: "" })), optional: optional(boolean()) },
  ATOMIC_MAP,
);

export const envVar = object({
  name: string(),
  value: optional(string()),
  valueFrom: optional(
    object({
      configMapKeyRef: optional(keyReference),
      fieldRef: optional(object({ apiVersion: optional(string()), fieldPath: string() }, ATOMIC_MAP)),
      fileKeyRef: optional(
        object(
          { key: string(), optional: optional(boolean({ default: false })), path: string(), volumeName: string() },
          ATOMIC_MAP,
        ),
      ),
      resourceFieldRef: optional(
        object({ containerName: optional(string()), divisor: optional(quantity()), resource: string() }, ATOMIC_MAP),
      ),
      secretKeyRef: optional(keyReference),
    }),
  ),
});

/** The resources of one container, which is named. */
export const containerResources = object({
  claims: optional(listByKey(object({ name: string(), request: optional(string()) }), ["name"])),
  container: string(),
  limits: optional(mapOf(quantity())),
  requests: optional(mapOf(quantity())),
});
export type ContainerResources = Infer<typeof containerResources>;

/** The numbers of one container's probe; what it asks stays as the release has it. */
export const containerProbe = object({
  container: string(),
  failureThreshold: optional(int32()),
  initialDelaySeconds: optional(int32()),
  periodSeconds: optional(int32()),
  successThreshold: optional(int32()),
  terminationGracePeriodSeconds: optional(int64()),
  timeoutSeconds: optional(int32()),
});
export type ContainerProbe = Infer<typeof containerProbe>;

export const volumeMount = object({
  mountPath: string(),
  mountPropagation: optional(string()),
  name: string(),
  readOnly: optional(boolean()),
  recursiveReadOnly: optional(string()),
  subPath: optional(string()),
  subPathExpr: optional(string()),
});

export const localObjectReference = object({ name: optional(string({ default: "" })) }, ATOMIC_MAP);

export const intOrString: Shape<number | string> = {
  schema: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
};
