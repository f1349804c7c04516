/** What a KnativeServing and a KnativeEventing have in common for whoever installs them. */
import {
  KnativeComponent,
  KnativeEventing,
  KnativeFinalizer,
  type KnativeKind,
  KnativeServing,
  type KnativeSpec,
  type KnativeStatus,
} from "#api/knative";
import type { Kind, KubeObject } from "#api/meta";

/** One wish for Knative, on the hub. */
export type Installation = KubeObject & { spec?: KnativeSpec; status?: KnativeStatus };

export interface Flavour<T extends Installation = Installation> {
  readonly kind: Kind<T> & { readonly kind: KnativeKind };
  /** The label of all that is installed, the folder of its releases, and its namespace on other clusters. */
  readonly component: KnativeComponent;
  readonly finalizer: string;
}

export const Serving: Flavour<KnativeServing> = {
  kind: { ...KnativeServing, kind: "KnativeServing" },
  component: KnativeComponent.KnativeServing,
  finalizer: KnativeFinalizer.serving,
};

export const Eventing: Flavour<KnativeEventing> = {
  kind: { ...KnativeEventing, kind: "KnativeEventing" },
  component: KnativeComponent.KnativeEventing,
  finalizer: KnativeFinalizer.eventing,
};

/** What we keep in `status.annotations`, because nobody else may lose it. */
export const Note = {
  /** The uid of the kube-system Namespace of the cluster that was installed on: without it nothing was ever put anywhere. */
  cluster: "operator.capstan.dev/cluster-uid",
  /** Jobs of the installed version that have done their work, so that they are not run again once they are gone. */
  jobs: "operator.capstan.dev/completed-jobs",
} as const;

export function noteOf({ status }: Installation, note: (typeof Note)[keyof typeof Note]): string | undefined {
  return status?.annotations?.[note];
}

/** `namespace/name` of the ClusterProfile; undefined for what is installed on the hub itself. */
export function profileOf({ spec }: Installation): string | undefined {
  const ref = spec?.clusterProfileRef;
  return ref && `${ref.namespace}/${ref.name}`;
}

/** Where everything goes: on the hub beside the object, on other clusters where Knative is expected. */
export function installNamespaceOf(installation: Installation, { component }: Pick<Flavour, "component">): string {
  return profileOf(installation) === undefined ? (installation.metadata.namespace ?? "default") : component;
}

/** Where on its cluster an installation is found. */
export interface Place {
  readonly component: KnativeComponent;
  readonly namespace: string;
  /** The ConfigMap that owns what is in the namespace; on the hub the object itself does. */
  readonly anchor?: string;
  /** The ConfigMap that lists what is installed. */
  readonly record: string;
}

export const RECORD_SUFFIX = "-installed";

export function placeOf(installation: Installation, { component }: Pick<Flavour, "component">): Place {
  const { kind, metadata } = installation;
  const stem = `${kind.toLowerCase()}-${metadata.name}`;
  const place = {
    component,
    namespace: installNamespaceOf(installation, { component }),
    record: `${stem}${RECORD_SUFFIX}`,
  };
  return profileOf(installation) === undefined ? place : { ...place, anchor: `${stem}-root-owner` };
}
