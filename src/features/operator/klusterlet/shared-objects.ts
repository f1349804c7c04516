/**
 * What all Klusterlets of a managed cluster share there: the kinds by which it tells about itself, and the namespace of
 * add-ons. One of them keeps each, told by its label; the others leave it alone.
 */
import { clusterPropertyCrd } from "#api/about";
import { CustomResourceDefinition } from "#api/apiextensions";
import { clusterClaimCrd } from "#api/cluster";
import type { Namespace } from "#api/core";
import type { DynamicObject, KubeObject } from "#api/meta";
import { AGENT_ADDON_NAMESPACE, OperatorAnnotation, OperatorLabel } from "#api/operator";
import { appliedManifestWorkCrd } from "#api/work";
import { isNotFound } from "#kube";
import type { Cache, Cluster } from "#runtime";
import { isNewer, namespace, stamped } from "../kit/index.ts";
import { MANAGEMENT } from "./managed-objects.ts";
import type { KlusterletWish } from "./wish.ts";

const ALL_DEFINITIONS: readonly CustomResourceDefinition[] = [
  appliedManifestWorkCrd,
  clusterClaimCrd,
  clusterPropertyCrd,
];
export const DEFINITION_NAMES: ReadonlySet<string> = new Set(ALL_DEFINITIONS.map(({ metadata }) => metadata.name));

/** The one of the gate is kept when it closes: what others wrote would go with it. */
function definitionsFor({ gates }: KlusterletWish): readonly CustomResourceDefinition[] {
  const { ClusterProperty: hasProperties } = gates.registration.gates;
  return ALL_DEFINITIONS.filter((definition) => definition !== clusterPropertyCrd || hasProperties);
}

/** What is known of the shared objects of a managed cluster. */
export interface SharedState {
  readonly definitions: Pick<Cache<CustomResourceDefinition>, "get">;
  readonly namespaces: Pick<Cache<Namespace>, "get" | "list">;
}

export interface SharedOptions {
  readonly state: SharedState;
  /** Noted on definitions. */
  readonly version: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Whether there is another Klusterlet of that name on the managed cluster, which stays. */
  readonly isOther: (klusterlet: string) => boolean;
}

/** Those that this Klusterlet keeps. */
export function sharedObjects(wish: KlusterletWish, options: SharedOptions): DynamicObject[] {
  const { state, version, labels, isOther } = options;
  const isFree = (live: KubeObject | undefined) => {
    const keeper = live?.metadata.labels?.[OperatorLabel.createdByKlusterlet];
    return keeper === undefined || keeper === wish.name || !isOther(keeper);
  };
  const definitions = definitionsFor(wish).filter(({ metadata: { name } }) => {
    const live = state.definitions.get(name);
    return isFree(live) && !isNewer(live, version);
  });
  return [
    ...definitions.map((definition) => stamped(definition, { version, labels })),
    ...(isFree(state.namespaces.get(AGENT_ADDON_NAMESPACE)) ? [namespace(AGENT_ADDON_NAMESPACE, MANAGEMENT)] : []),
  ];
}

/** Definitions stay when a Klusterlet goes, because what others wrote would go with them; they lose its marks. */
export async function releaseDefinitions(managed: Cluster, klusterlet: string, signal: AbortSignal): Promise<void> {
  for (const name of DEFINITION_NAMES) {
    try {
      const live = await managed.client.get(CustomResourceDefinition, name, { signal });
      if (live.metadata.labels?.[OperatorLabel.createdByKlusterlet] !== klusterlet) continue;
      const labels = { [OperatorLabel.createdByKlusterlet]: null };
      const annotations = { [OperatorAnnotation.version]: null };
      await managed.client.patch(CustomResourceDefinition, name, { metadata: { labels, annotations } }, { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
