/** Objects for tests of transformers, and the short way to put them through all of them. */
import type { KnativeEventingSpec, KnativeServingSpec } from "#api/knative";
import type { DynamicObject } from "#api/meta";
import { type TransformOptions, transformed } from "../index.ts";

export const OWNER = { apiVersion: "operator.knative.dev/v1beta1", kind: "KnativeServing", name: "ks", uid: "u-1" };

type Options = Partial<Omit<TransformOptions, "component">>;

/** The objects as they come out for a Serving with this spec; without an ingress, unless it names one. */
export function serving(
  spec: KnativeServingSpec,
  objects: readonly DynamicObject[],
  options: Options = {},
): DynamicObject[] {
  return through({ kind: "KnativeServing", spec: { ingress: {}, ...spec } }, objects, options);
}

export function eventing(
  spec: KnativeEventingSpec,
  objects: readonly DynamicObject[],
  options: Options = {},
): DynamicObject[] {
  return through({ kind: "KnativeEventing", spec }, objects, options);
}

function through(
  component: TransformOptions["component"],
  objects: readonly DynamicObject[],
  options: Options,
): DynamicObject[] {
  const manifests = objects.map((object) => ({ object, source: "test" }));
  return transformed(manifests, {
    component,
    installNamespace: "knative",
    owner: OWNER,
    targetVersion: "1.23.0",
    ...options,
  }).map(({ object }) => object);
}

export function thing(apiVersion: string, kind: string, name: string, content: object = {}): DynamicObject {
  const { metadata, ...rest } = content as { metadata?: object };
  return { apiVersion, kind, metadata: { name, ...metadata }, ...rest };
}

export function configMap(name: string, data?: Record<string, string>): DynamicObject {
  return thing("v1", "ConfigMap", name, data ? { data } : {});
}

export function service(name: string, spec: object = {}): DynamicObject {
  return thing("v1", "Service", name, { spec });
}

interface Workload {
  readonly kind?: "Deployment" | "StatefulSet" | "DaemonSet" | "Job";
  readonly containers?: readonly object[];
  readonly pod?: object;
  readonly template?: object;
  readonly spec?: object;
  readonly metadata?: object;
}

/** A workload of one container called after it, unless told. */
export function workload(name: string, options: Workload = {}): DynamicObject {
  const { kind = "Deployment", pod, template, spec, metadata } = options;
  const containers = options.containers ?? [{ name, image: `gcr.io/knative/${name}:v1` }];
  return thing(kind === "Job" ? "batch/v1" : "apps/v1", kind, name, {
    ...(metadata && { metadata }),
    spec: { ...spec, template: { ...template, spec: { containers, ...pod } } },
  });
}

/** A Job that has only the beginning of a name. */
export function nameless(generateName: string, options: Workload = {}): DynamicObject {
  const { metadata, ...job } = workload("migrate", { ...options, kind: "Job" });
  const { name: _, ...rest } = metadata;
  return { ...job, metadata: { ...rest, generateName } } as DynamicObject;
}

/** What is read of a workload in tests. */
interface Seen {
  readonly spec: {
    readonly replicas?: number;
    readonly template: {
      readonly metadata?: { labels?: object; annotations?: object };
      readonly spec: { readonly containers: readonly Record<string, unknown>[] } & Record<string, unknown>;
    };
  };
}

export function seen(object: DynamicObject | undefined): Seen["spec"] {
  if (!object) throw new Error("there is no such object");
  return (object as unknown as Seen).spec;
}

export function podOf(object: DynamicObject | undefined): Seen["spec"]["template"]["spec"] {
  return seen(object).template.spec;
}

export function containerOf(object: DynamicObject | undefined, index = 0): Record<string, unknown> {
  return podOf(object).containers[index] ?? {};
}
