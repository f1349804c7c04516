/** Changing objects without touching the originals, which are shared by all who install the same release. */
import { DaemonSet, Deployment, StatefulSet } from "#api/apps";
import { Job } from "#api/batch";
import type { Container } from "#api/core";
import type { DynamicObject, Kind, KubeObject } from "#api/meta";
import { idOf } from "#kube";
import { isObject } from "#lib/json";

/** Changes one object, or gives it back as it is. */
export type Transformer = (object: DynamicObject) => DynamicObject;

/** A wish that cannot be fulfilled until somebody edits it. */
export class TransformError extends Error {
  override readonly name = "TransformError";
}

/** Whether the object is of that kind, in whatever version. */
export function isOf<T extends KubeObject>(object: DynamicObject, kind: Kind<T>): object is DynamicObject & T {
  return object.kind === kind.kind && idOf(object).group === kind.group;
}

/**
 * The value with what lies at the path changed; as it is where nothing lies there. A `*` stands for every item of a
 * list.
 */
export function changedAt<T>(value: T, path: readonly string[], change: (inner: unknown) => unknown): T {
  const [step, ...rest] = path;
  if (step === undefined) return change(value) as T;
  if (step === "*") return Array.isArray(value) ? (value.map((item) => changedAt(item, rest, change)) as T) : value;
  if (!isObject(value) || !Object.hasOwn(value, step)) return value;
  return { ...value, [step]: changedAt(value[step], rest, change) };
}

/** The object with these fields of its spec set; `undefined` takes one away. */
export function withSpec<T extends object>(object: T, fields: Readonly<Record<string, unknown>>): T {
  const { spec: before } = object as { readonly spec?: unknown };
  const all = { ...(isObject(before) ? before : {}), ...fields };
  const spec = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return { ...object, spec };
}

/** A ConfigMap with these entries beside its others. */
export function withData(object: DynamicObject, entries: Readonly<Record<string, string>>): DynamicObject {
  return { ...object, data: { ...(isObject(object.data) ? object.data : {}), ...entries } };
}

export type EnvVar = NonNullable<Container["env"]>[number];

/** What is read and written of the Pods that a workload makes. */
export interface PodTemplate extends Record<string, unknown> {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: PodSpec;
}

interface PodSpec extends Record<string, unknown> {
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}

export interface Workload extends DynamicObject {
  readonly spec: { readonly template: PodTemplate } & Record<string, unknown>;
}

const WORKLOADS: readonly Kind<KubeObject>[] = [Deployment, DaemonSet, StatefulSet, Job];

/** Whether the object makes Pods; one that is put together wrongly is left to the server to refuse. */
export function isWorkload(object: DynamicObject, kinds = WORKLOADS): object is Workload {
  if (!kinds.some((kind) => isOf(object, kind)) || !isObject(object.spec)) return false;
  const { template } = object.spec;
  if (!isObject(template) || !isObject(template.spec)) return false;
  const { containers, initContainers = [] } = template.spec;
  return [containers, initContainers].every((list) => Array.isArray(list) && list.every(isObject));
}

export function withTemplate(object: Workload, change: (template: PodTemplate) => PodTemplate): Workload {
  return { ...object, spec: { ...object.spec, template: change(object.spec.template) } };
}

/** The workload with these fields of its Pods set; `undefined` takes one away. */
export function withPod(object: Workload, fields: Readonly<Record<string, unknown>>): Workload {
  return withTemplate(object, (template) => withSpec(template, fields));
}

export function withContainers(object: Workload, change: (container: Container) => Container): Workload {
  return withPod(object, { containers: object.spec.template.spec.containers.map(change) });
}

/** The container with these variables, each in the place of its former self or at the end. */
export function withEnv(container: Container, variables: readonly EnvVar[]): Container {
  const env = [...(container.env ?? [])];
  for (const variable of variables) {
    const places = env.flatMap(({ name }, index) => (name === variable.name ? [index] : []));
    if (places.length === 0) env.push(variable);
    for (const index of places) env[index] = variable;
  }
  return { ...container, env };
}
