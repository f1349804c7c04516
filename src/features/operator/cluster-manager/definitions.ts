/** The kinds that a hub serves, and when each of them goes. */
import type { CustomResourceDefinition } from "#api/apiextensions";
import { managedClusterCrd, managedClusterSetBindingCrd, managedClusterSetCrd } from "#api/cluster";
import { clusterProfileCrd } from "#api/inventory";
import { knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { manifestWorkCrd } from "#api/work";

/**
 * What goes before all else when the hub goes, one after the other: clusters clear up what their works brought, and
 * only then are put out.
 */
export const FIRST_TO_GO: readonly CustomResourceDefinition[] = [manifestWorkCrd, managedClusterCrd];

/** What goes after those. */
export const NEXT_TO_GO: readonly CustomResourceDefinition[] = [managedClusterSetBindingCrd, managedClusterSetCrd];

/** They go if nobody has installed anything by them, and stay otherwise. */
export const KNATIVE_DEFINITIONS: readonly CustomResourceDefinition[] = [knativeServingCrd, knativeEventingCrd];

const ALWAYS: readonly CustomResourceDefinition[] = [...FIRST_TO_GO, ...NEXT_TO_GO, ...KNATIVE_DEFINITIONS];

/** All that may be ours, whatever the gates say. */
export const DEFINITION_NAMES: ReadonlySet<string> = new Set(
  [...ALWAYS, clusterProfileCrd].map(({ metadata }) => metadata.name),
);

/** Those of the gate are kept when it closes: what others wrote would go with them. */
export function definitionsFor(gates: Readonly<Record<string, boolean>>): readonly CustomResourceDefinition[] {
  return [...ALWAYS, ...(gates.ClusterProfile ? [clusterProfileCrd] : [])];
}
