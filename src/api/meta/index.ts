/**
 * What every Kubernetes object has, and how Capstan names a kind of object.
 *
 * A kind is a value and a type under one name: `ManagedCluster` is the interface of the object and the
 * `Kind<ManagedCluster>` that a client, a cache or a controller is asked for.
 */

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: "Apply" | "Update";
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** An object of a kind that Capstan has no type for. */
export interface DynamicObject extends KubeObject {
  [field: string]: unknown;
}

export interface KubeList<T extends KubeObject = DynamicObject> {
  apiVersion: string;
  kind: string;
  metadata: ListMeta;
  items: T[];
}

export interface ListMeta {
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
}

export type ConditionStatus = "True" | "False" | "Unknown";

export interface Condition {
  type: string;
  status: ConditionStatus;
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface LabelSelectorRequirement {
  key: string;
  operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  values?: string[];
}

/** The answer of an API server that is not the object asked for: an error, or the success of a delete. */
export interface Status {
  apiVersion: "v1";
  kind: "Status";
  metadata: ListMeta;
  status: "Success" | "Failure";
  message?: string;
  reason?: string;
  details?: StatusDetails;
  code?: number;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export interface StatusCause {
  reason?: string;
  message?: string;
  field?: string;
}

/** Where a kind is served. `T` is carried in the type only. */
export interface Kind<T extends KubeObject = DynamicObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Never set: it ties `T` to the value so that `get(kind, …)` knows what comes back. */
  readonly object?: T;
}

/** A kind that Capstan knows, or, without a type argument, one learned at run time. */
export function kind<T extends KubeObject = DynamicObject>(where: Omit<Kind<T>, "object">): Kind<T> {
  return Object.freeze({ ...where });
}

/** `v1`, `apps/v1`: what an object of this kind carries as apiVersion. */
export function apiVersionOf({ group, version }: Pick<Kind, "group" | "version">): string {
  return group === "" ? version : `${group}/${version}`;
}

declare const kindOfKey: unique symbol;

/**
 * `name` or `namespace/name` of an object of kind `T`. A plain string fits where a key is read; the
 * brand keeps the key of one kind out of the queue of another.
 */
export type Key<T extends KubeObject = KubeObject> = string & { readonly [kindOfKey]?: T };

export function keyOf<T extends KubeObject>({ metadata }: T): Key<T> {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** The parts of a key. Names hold no slash, so one slash means a namespace. */
export function splitKey(key: string): { namespace?: string; name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
