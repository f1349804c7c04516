/** Wishes for single workloads. */
import { Deployment, StatefulSet } from "#api/apps";
import { Job } from "#api/batch";
import type { Container } from "#api/core";
import type { ContainerProbe, ContainerResources, KnativeSpec, WorkloadOverride } from "#api/knative";
import type { DynamicObject } from "#api/meta";
import { withAnnotations, withLabels } from "#lib/meta";
import {
  isOf,
  isWorkload,
  type Transformer,
  type Workload,
  withContainers,
  withEnv,
  withPod,
  withSpec,
  withTemplate,
} from "./objects.ts";
import { autoscalerOf, HorizontalPodAutoscaler, isAutoscaled, overridesOf, withAtLeast } from "./replicas.ts";

/** Resources of containers in all Deployments, but those that have wishes of their own. */
export function withResources(spec: KnativeSpec): Transformer {
  const { resources = [] } = spec;
  const own = new Set(
    overridesOf(spec).flatMap(({ name, resources: wanted = [] }) => (wanted.length > 0 ? [name] : [])),
  );
  return (object) =>
    resources.length > 0 && isWorkload(object, [Deployment]) && !own.has(object.metadata.name)
      ? withContainers(object, (container) => withWanted(container, resources))
      : object;
}

/** One after the other, so that the last word about a thing counts. */
export function overridden(spec: KnativeSpec): Transformer {
  const overrides = overridesOf(spec);
  return (object) => overrides.reduce((before, override) => withOverride(before, override), object);
}

function withOverride(object: DynamicObject, override: WorkloadOverride): DynamicObject {
  const { replicas } = override;
  if (isOf(object, HorizontalPodAutoscaler)) {
    const isMeant = object.metadata.name === autoscalerOf(override.name);
    return isMeant && replicas !== undefined ? withAtLeast(object, replicas) : object;
  }
  if (!isMeant(object, override)) return object;
  const changed = withTemplateOf(withMetadata(object, override), override);
  return replicas !== undefined && !isOf(object, Job) && !isAutoscaled(override.name)
    ? withSpec(changed, { replicas })
    : changed;
}

/** Jobs go by the beginning of their name, because the rest changes with every version. */
function isMeant(object: DynamicObject, { name }: WorkloadOverride): object is Workload {
  if (isWorkload(object, [Job])) return object.metadata.generateName === name;
  return isWorkload(object, [Deployment, StatefulSet]) && object.metadata.name === name;
}

/** On the workload and on its Pods. */
function withMetadata(object: Workload, { labels = {}, annotations = {} }: WorkloadOverride): Workload {
  const marked = withAnnotations(withLabels(object, labels), annotations);
  return withTemplate(marked, (template) => {
    const all = { metadata: { ...template.metadata } };
    const { metadata } = withAnnotations(withLabels(all as Pick<DynamicObject, "metadata">, labels), annotations);
    return Object.keys(metadata).length > 0 ? { ...template, metadata } : template;
  });
}

function withTemplateOf(object: Workload, override: WorkloadOverride): Workload {
  const { nodeSelector = {}, topologySpreadConstraints = [], tolerations = [], affinity, hostNetwork } = override;
  const pod = withPod(object, {
    ...(Object.keys(nodeSelector).length > 0 && { nodeSelector }),
    ...(topologySpreadConstraints.length > 0 && { topologySpreadConstraints }),
    ...(tolerations.length > 0 && { tolerations }),
    ...(affinity && { affinity }),
    ...(hostNetwork !== undefined && { hostNetwork: hostNetwork || undefined }),
    // On the network of its node a Pod asks the node's resolver, which knows no Services, unless told.
    ...(hostNetwork && { dnsPolicy: "ClusterFirstWithHostNet" }),
  });
  const { resources = [], env = [], readinessProbes = [], livenessProbes = [] } = override;
  return withContainers(pod, (container) => {
    const variables = env.find((each) => each.container === container.name)?.envVars ?? [];
    const wanted = withWanted(container, resources);
    const changed = variables.length > 0 ? withEnv(wanted, variables) : wanted;
    return withProbe(withProbe(changed, "readinessProbe", readinessProbes), "livenessProbe", livenessProbes);
  });
}

function withWanted(container: Container, all: readonly ContainerResources[]): Container {
  const wanted = all.find((each) => each.container === container.name);
  if (!wanted) return container;
  const merged = (["limits", "requests"] as const).flatMap((field) => {
    const entries = { ...container.resources?.[field], ...wanted[field] };
    return Object.keys(entries).length > 0 ? [[field, entries] as const] : [];
  });
  return { ...container, resources: { ...container.resources, ...Object.fromEntries(merged) } };
}

/** An override without any number takes the probe away. */
function withProbe(
  container: Container,
  field: "readinessProbe" | "livenessProbe",
  overrides: readonly ContainerProbe[],
): Container {
  const override = overrides.find((each) => each.container === container.name);
  if (!override) return container;
  const { container: _, terminationGracePeriodSeconds: grace, ...numbers } = override;
  const set = Object.entries(numbers).filter(([, value]) => value !== 0);
  const { [field]: probe, ...rest } = container;
  if (set.length === 0 && grace === undefined) return rest;
  const changes = { ...Object.fromEntries(set), ...(grace !== undefined && { terminationGracePeriodSeconds: grace }) };
  return { ...container, [field]: { ...probe, ...changes } };
}
