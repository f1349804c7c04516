/** Feature gates as an object wishes them, compared with those that there are. */
import { type FeatureGate, FeatureGateReason, OperatorCondition } from "#api/operator";
import type { ConditionClaim } from "#lib/conditions";

/** The gates that a program has, and how they stand unless told. */
export interface GateTable {
  readonly [name: string]: boolean;
}

/** Of the hub's programs. ClusterProfile is on unless told, other than upstream: without it there is no inventory. */
export const HubGates: GateTable = {
  ClusterProfile: true,
  DefaultClusterSet: true,
  ManagedClusterAutoApproval: false,
  ResourceCleanup: true,
};

/** Of works on the hub: the first of the controller, the other of the webhook. */
export const HubWorkGates: GateTable = {
  /** Works that are finished are deleted when their time to live is over. */
  CleanUpCompletedManifestWork: false,
  /** To write a work that names no executor needs the right to act in the agent's name. */
  NilExecutorValidating: false,
};

/** Of the registration agent. ClusterProperty is on unless told, other than upstream. */
export const SpokeGates: GateTable = {
  ClusterClaim: true,
  ClusterProperty: true,
};

/** Of the work agent. ExecutorValidatingCaches is on unless told, other than upstream. */
export const SpokeWorkGates: GateTable = {
  /** What an executor may do is remembered until rights change on the cluster; else it is asked at every look. */
  ExecutorValidatingCaches: true,
  /** Feedback may be structures and lists, as JSON. */
  RawFeedbackJsonString: false,
};

/** All that can be said on a ClusterManager and on a Klusterlet. */
export const ClusterManagerGates: GateTable = { ...HubGates, ...HubWorkGates };
export const KlusterletGates: GateTable = { ...SpokeGates, ...SpokeWorkGates };

/** Upstream's gates of what there is not here: to turn one off changes nothing, to turn it on is reported. */
const ABSENT: ReadonlySet<string> = new Set([
  "AddonManagement",
  "CloudEventsDrivers",
  "ClusterImporter",
  "ManifestWorkReplicaSet",
  "MultipleHubs",
  "NetworkPolicies",
  "NilExecutorValidating",
  "PlacementDebugServer",
  "SIGPlacementDecision",
  "V1beta1CSRAPICompatibility",
]);

export interface GateChoice {
  /** How every gate of the table stands. */
  readonly gates: Readonly<Record<string, boolean>>;
  /** Wished, and not to be had; sorted. */
  readonly unknown: readonly string[];
}

/** A gate without a mode is off, and the last word about a gate counts. */
export function chosenGates(table: GateTable, wished: readonly FeatureGate[] = []): GateChoice {
  const gates: Record<string, boolean> = { ...table };
  const unknown = new Set<string>();
  for (const { feature, mode = "Disable" } of wished) {
    if (Object.hasOwn(table, feature)) gates[feature] = mode === "Enable";
    else if (mode === "Enable" || !ABSENT.has(feature)) unknown.add(feature);
  }
  return { gates, unknown: [...unknown].sort() };
}

/**
 * What an object is to say of the gates of a table, where it says `before` already: a gate that is named anew takes the
 * place of what was said of it. Undefined when none of them is named.
 */
export function withGates(
  table: GateTable,
  before: readonly FeatureGate[],
  said: readonly FeatureGate[] = [],
): FeatureGate[] | undefined {
  const own = said.filter(({ feature }) => Object.hasOwn(table, feature));
  if (own.length === 0) return undefined;
  const names = new Set(own.map(({ feature }) => feature));
  return [...before.filter(({ feature }) => !names.has(feature)), ...own];
}

/** The flag that tells a program of the gates that do not stand as they do by themselves; none if all do. */
export function gateArguments(table: GateTable, gates: Readonly<Record<string, boolean>>): string[] {
  const told = Object.keys(table)
    .filter((name) => gates[name] !== undefined && gates[name] !== table[name])
    .sort()
    .map((name) => `${name}=${gates[name]}`);
  return told.length > 0 ? [`--feature-gates=${told.join(",")}`] : [];
}

/** What is to be said of the gates; those that cannot be had are named by the field that wishes them. */
export function gateCondition(choices: Readonly<Record<string, GateChoice>>): ConditionClaim {
  const strange = Object.entries(choices).filter(([, { unknown }]) => unknown.length > 0);
  const type = OperatorCondition.ValidFeatureGates;
  if (strange.length === 0) {
    return { type, status: "True", reason: FeatureGateReason.valid, message: "All feature gates are known" };
  }
  const named = strange.map(([field, { unknown }]) => `${unknown.join(", ")} (${field})`).join("; ");
  const message = `There are no such feature gates here: ${named}. They have no effect; take them out of the spec.`;
  return { type, status: "False", reason: FeatureGateReason.invalid, message };
}
