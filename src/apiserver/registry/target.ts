/** What a request acts on, and with which options: shared by all verbs. */
import type { Operation } from "#api/admission";
import type { DynamicObject } from "#api/meta";
import type { Clock } from "#lib/clock";
import { type ApiError, forbidden, notFound, type Subject } from "../errors.ts";
import type { Catalog, RequestContext, Resource, Subresource } from "../resource.ts";
import type { Store } from "../store/index.ts";

export interface Target {
  readonly resource: Resource;
  readonly subresource?: Subresource;
  readonly namespace?: string;
  readonly name?: string;
}

/** A target that names one object. */
export type NamedTarget = Target & { readonly name: string };

export interface RegistryDependencies {
  readonly store: Store;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** Asked before a PUT or apply creates an object: creating is a right of its own. */
  mayCreate(target: Target, context: RequestContext): boolean;
  /** Rules of admission that every write passes; throws ApiError. */
  readonly admission: Admission;
}

export interface Admission {
  /** May change the draft. `current` is absent for a create. */
  admit(target: Target, draft: DynamicObject, current: DynamicObject | undefined, context: RequestContext): void;
  admitDelete(target: NamedTarget, current: DynamicObject, context: RequestContext): void;
  /**
   * Those outside of the server who want a say in an operation. Undefined when there are none, which costs next to
   * nothing to find out; only otherwise does a write have to wait.
   */
  webhooks(target: Target, operation: Operation): AdmissionWebhooks | undefined;
}

export interface AdmissionWebhooks {
  /** What they make of the object: itself when they leave it as it is, undefined when there is none. Throws ApiError. */
  mutate(question: AdmissionQuestion): Promise<DynamicObject | undefined>;
  /** Throws ApiError when one of them refuses. */
  validate(question: AdmissionQuestion): Promise<void>;
}

/** An operation as those outside see it. Objects are in the version of the request, or views of that version. */
export interface AdmissionQuestion {
  readonly target: Target;
  readonly operation: Operation;
  /** What will be; absent when something is deleted. */
  readonly object?: DynamicObject;
  /** What was; absent when something is created. */
  readonly oldObject?: DynamicObject;
  /** CreateOptions and the like. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly context: RequestContext;
  /** What the server itself makes of a new object, done again after others have changed it. */
  readmit?(object: DynamicObject): DynamicObject;
}

export function storeKey({ namespace, name }: Pick<Target, "namespace" | "name">): string {
  return namespace ? `${namespace}/${name}` : (name ?? "");
}

export function subjectOf({ resource, name }: Target): Subject {
  return { group: resource.group, kind: resource.plural, ...(name !== undefined && { name }) };
}

export function kindSubjectOf({ resource, name }: Target): Subject {
  return { group: resource.group, kind: resource.kind, ...(name !== undefined && { name }) };
}

/** Nothing new may be put into a namespace that is missing or on its way out. */
export function refuseForNamespace(store: Store, target: Target): ApiError | undefined {
  const { resource, namespace } = target;
  if (!resource.namespaced || namespace === undefined) return undefined;
  const found = store.head("core/namespaces", namespace);
  if (!found) return notFound({ group: "", kind: "namespaces", name: namespace });
  if (!found.metadata.deletionTimestamp) return undefined;
  return forbidden(
    subjectOf(target),
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: "NamespaceTerminating",
        message: `namespace ${namespace} is being terminated`,
        field: "metadata.namespace",
      },
    ],
  );
}
