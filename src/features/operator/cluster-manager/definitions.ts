/** The kinds that a hub serves, and when each of them goes. */
import {
  addOnDeploymentConfigCrd,
  addOnTemplateCrd,
  clusterManagementAddOnCrd,
  convertedBy,
  managedClusterAddOnCrd,
} from "#api/addon";
import type { WebhookClientConfig } from "#api/admissionregistration";
import type { CustomResourceDefinition } from "#api/apiextensions";
import {
  addOnPlacementScoreCrd,
  managedClusterCrd,
  managedClusterSetBindingCrd,
  managedClusterSetCrd,
  placementCrd,
  placementDecisionCrd,
} from "#api/cluster";
import { clusterProfileCrd, profileDecisionCrd } from "#api/inventory";
import { knativeEventingCrd, knativeServingCrd } from "#api/knative";
import { manifestWorkCrd, manifestWorkReplicaSetCrd } from "#api/work";

/**
 * What goes before all else when the hub goes, one after the other: add-ons and works while agents can still clear up
 * what they brought, and only then are clusters put out.
 */
export const FIRST_TO_GO: readonly CustomResourceDefinition[] = [
  managedClusterAddOnCrd,
  manifestWorkCrd,
  managedClusterCrd,
  manifestWorkReplicaSetCrd,
];

/** They say different things in their two versions, so that somebody has to convert between them. */
const CONVERTED: readonly CustomResourceDefinition[] = [managedClusterAddOnCrd, clusterManagementAddOnCrd];

/**
 * Kinds that agents and tools look for. They are served so that these find them; nothing of ours acts on them yet.
 */
const LOOKED_FOR: readonly CustomResourceDefinition[] = [
  placementCrd,
  placementDecisionCrd,
  addOnPlacementScoreCrd,
  addOnDeploymentConfigCrd,
  addOnTemplateCrd,
];

/** What goes after those. */
export const NEXT_TO_GO: readonly CustomResourceDefinition[] = [
  managedClusterSetBindingCrd,
  managedClusterSetCrd,
  clusterManagementAddOnCrd,
  ...LOOKED_FOR,
];

/** They go if nobody has installed anything by them, and stay otherwise. */
export const KNATIVE_DEFINITIONS: readonly CustomResourceDefinition[] = [knativeServingCrd, knativeEventingCrd];

/** The inventory is not only ours, so these are left when the hub goes. */
const INVENTORY: readonly CustomResourceDefinition[] = [clusterProfileCrd, profileDecisionCrd];

const ALWAYS: readonly CustomResourceDefinition[] = [...FIRST_TO_GO, ...NEXT_TO_GO, ...KNATIVE_DEFINITIONS];

/** All that may be ours, whatever the gates say. */
export const DEFINITION_NAMES: ReadonlySet<string> = new Set(
  [...ALWAYS, ...INVENTORY].map(({ metadata }) => metadata.name),
);

export interface DefinitionChoice {
  readonly gates: Readonly<Record<string, boolean>>;
  /**
   * Who converts between the versions of add-ons. While nobody does, their kinds are not put on the hub: a server that
   * cannot convert an object cannot show it, and whoever collects garbage or empties a namespace would stop at it.
   */
  readonly conversion?: WebhookClientConfig | undefined;
}

/** Those of the gate are kept when it closes: what others wrote would go with them. */
export function definitionsFor({ gates, conversion }: DefinitionChoice): readonly CustomResourceDefinition[] {
  const always = ALWAYS.flatMap((definition) => {
    if (!CONVERTED.includes(definition)) return [definition];
    return conversion ? [convertedBy(definition, conversion)] : [];
  });
  return [...always, ...(gates.ClusterProfile ? INVENTORY : [])];
}
