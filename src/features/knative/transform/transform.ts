/** From a release to what is applied: every wish of a spec, in the order in which upstream fulfils them. */
import type { Deployment } from "#api/apps";
import { KnativeComponent, type KnativeEventingSpec, type KnativeServingSpec } from "#api/knative";
import type { DynamicObject, OwnerReference } from "#api/meta";
import type { PolicyRule } from "#api/rbac";
import { lastOfEach, type Manifest } from "#kube";
import type { Component } from "../component.ts";
import { enabledIngresses } from "../releases/index.ts";
import { withBrokerClass } from "./brokers.ts";
import { withCertificates } from "./certificates.ts";
import { configured } from "./config-maps.ts";
import { withSelectionMode } from "./eventing-webhook.ts";
import { withGuard } from "./guard.ts";
import { withImages } from "./images.ts";
import { withGatewayServices, withGateways } from "./istio.ts";
import { namedByVersion } from "./jobs.ts";
import { withKourier } from "./kourier.ts";
import { withMinVersion } from "./min-version.ts";
import { inNamespace, namespaceConfigured } from "./namespace.ts";
import type { Transformer } from "./objects.ts";
import { labelled, ownedBy, withAggregatedRules } from "./ownership.ts";
import { withLivePingAdapter } from "./ping-adapter.ts";
import { highlyAvailable } from "./replicas.ts";
import { type ScopeOf, scopeAmong } from "./scope.ts";
import { withBudgets, withServices } from "./services.ts";
import { overridden, withResources } from "./workloads.ts";

export interface TransformOptions {
  readonly component: Component;
  /** The namespace that everything goes to. */
  readonly installNamespace: string;
  /** Owns everything in that namespace: the object itself, or the anchor on another cluster. */
  readonly owner: OwnerReference;
  readonly targetVersion: string;
  /** What the cluster's discovery says; kinds that it does not know are looked up in the release, then in a table. */
  readonly scopeOf?: ScopeOf;
  /** The rules that an aggregated ClusterRole has now, by its name. */
  readonly aggregatedRules?: (name: string) => readonly PolicyRule[] | undefined;
  /** Eventing's ping adapter as it runs now. */
  readonly pingAdapter?: Deployment | undefined;
  /** The oldest Kubernetes that Knative's programs may accept; theirs unless told. */
  readonly kubernetesMinVersion?: string | undefined;
}

/**
 * The manifests as they are to be applied, each object once: where a release has it twice, the last one counts. Throws
 * TransformError for wishes that cannot be fulfilled. Nothing that is passed in is changed.
 */
export function transformed(manifests: readonly Manifest[], options: TransformOptions): readonly Manifest[] {
  const { component } = options;
  const steps = [
    ...commonSteps(manifests, options),
    ...(component.kind === "KnativeServing"
      ? servingSteps(component.spec, options)
      : eventingSteps(component.spec, options)),
  ];
  return lastOfEach(applied(manifests, steps));
}

/**
 * What a release has become on the cluster, as far as names go, to find what another one does not have any more.
 * `version` is the one that was installed.
 */
export function placed(
  manifests: readonly Manifest[],
  options: Pick<TransformOptions, "component" | "installNamespace" | "scopeOf"> & { readonly version: string },
): readonly Manifest[] {
  const { component, installNamespace, scopeOf, version } = options;
  const steps = [
    inNamespace(installNamespace, scopeAmong(manifests, scopeOf)),
    namedByVersion(nameOf(component), version),
    ...(component.kind === "KnativeServing" ? [withGatewayServices(component.spec, installNamespace)] : []),
  ];
  return lastOfEach(applied(manifests, steps));
}

function applied(manifests: readonly Manifest[], steps: readonly Transformer[]): Manifest[] {
  return manifests.map(({ object, source }) => ({
    object: steps.reduce<DynamicObject>((before, step) => step(before), object),
    source,
  }));
}

function commonSteps(manifests: readonly Manifest[], options: TransformOptions): readonly Transformer[] {
  const { component, installNamespace, targetVersion, scopeOf, kubernetesMinVersion } = options;
  const { spec } = component;
  return [
    inNamespace(installNamespace, scopeAmong(manifests, scopeOf)),
    namespaceConfigured(spec),
    highlyAvailable(spec),
    withImages(spec.registry),
    namedByVersion(nameOf(component), targetVersion),
    configured(spec),
    withMinVersion(kubernetesMinVersion),
    withResources(spec),
    overridden(spec),
    withServices(spec),
    withBudgets(spec),
    withAggregatedRules(options.aggregatedRules ?? (() => undefined)),
    ownedBy(options.owner),
  ];
}

function servingSteps(spec: KnativeServingSpec, { installNamespace }: TransformOptions): readonly Transformer[] {
  const ingresses = enabledIngresses(spec);
  return [
    withCertificates(spec),
    labelled(KnativeComponent.KnativeServing),
    ...(ingresses.includes("istio") ? [withGateways(spec)] : []),
    ...(ingresses.includes("kourier") ? [withKourier(spec.ingress?.kourier ?? {})] : []),
    withGatewayServices(spec, installNamespace),
    withGuard(spec),
  ];
}

function eventingSteps(spec: KnativeEventingSpec, { pingAdapter }: TransformOptions): readonly Transformer[] {
  return [
    withBrokerClass(spec),
    withSelectionMode(spec),
    withLivePingAdapter(pingAdapter),
    labelled(KnativeComponent.KnativeEventing),
  ];
}

function nameOf({ kind }: Component): "serving" | "eventing" {
  return kind === "KnativeServing" ? "serving" : "eventing";
}
