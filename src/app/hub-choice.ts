/** What of a hub runs: its controllers by name, and the features that people know from Open Cluster Management. */
import { isCleanedKind } from "#features/registration/hub";
import type { Controller } from "#runtime";
import { gatesIn } from "./gates.ts";
import { UsageError } from "./user-error.ts";

/** The gates that there are, and how they stand unless told. */
const GATES = {
  /** Deletes works that are finished when their time to live is over. */
  CleanUpCompletedManifestWork: false,
  /** Keeps ClusterProfiles; without it there is no inventory to reach clusters through. */
  ClusterProfile: true,
  /** Keeps the sets `default` and `global`, and puts clusters that name no set into the first. */
  DefaultClusterSet: true,
  /** Lets clusters in without a person, if one of the users asks that were named for it. */
  ManagedClusterAutoApproval: false,
  /** Asks whoever writes a work that names no executor for the right to act in the agent's name. */
  NilExecutorValidating: false,
  /** Removes the add-ons and works of a cluster that goes, and holds the cluster back until they are gone. */
  ResourceCleanup: true,
};
export type FeatureGate = keyof typeof GATES;
export type FeatureGates = Readonly<Record<FeatureGate, boolean>>;

export const DEFAULT_GATES: FeatureGates = GATES;

/** The controllers that a gate stands for. */
const BEHIND: Readonly<Partial<Record<FeatureGate, readonly string[]>>> = {
  CleanUpCompletedManifestWork: ["manifestwork-finished"],
  ClusterProfile: ["cluster-profile-lifecycle", "cluster-profile-status", "cluster-profile-access"],
  DefaultClusterSet: ["cluster-default-set-label", "cluster-default-sets"],
};

/** `ClusterProfile=false,DefaultClusterSet=true` */
export function parseFeatureGates(text: string): FeatureGates {
  return gatesIn(text, GATES);
}

/** What is removed when a cluster goes; each word is `group/version/resource`. Throws UsageError. */
export function checkCleanedKinds(words: readonly string[]): readonly string[] {
  const wrong = words.find((word) => !isCleanedKind(word));
  if (wrong === undefined) return words;
  throw new UsageError(`--gc-resource-list: ${JSON.stringify(wrong)} names no kind; write group/version/resource`);
}

export interface HubChoice {
  /** `*` for all, a name for one, `-name` for none of it; all unless told. */
  readonly controllers?: readonly string[];
  readonly gates?: FeatureGates;
}

/** The controllers to run. Throws UsageError, which names those that there are. */
export function chosenControllers<T extends Pick<Controller, "name">>(
  all: readonly T[],
  { controllers: words = ["*"], gates = DEFAULT_GATES }: HubChoice,
): T[] {
  const names = all.map(({ name }) => name);
  const unknown = words.find((word) => word !== "*" && !names.includes(word.replace(/^-/, "")));
  if (unknown !== undefined) {
    throw new UsageError(`unknown controller ${JSON.stringify(unknown)}; there are ${[...names].sort().join(", ")}`);
  }
  const closed = new Set(
    Object.entries(BEHIND).flatMap(([gate, behind]) => (gates[gate as FeatureGate] ? [] : behind)),
  );
  const isWanted = (name: string) => !words.includes(`-${name}`) && (words.includes("*") || words.includes(name));
  const chosen = all.filter(({ name }) => isWanted(name) && !closed.has(name));
  if (chosen.length > 0) return chosen;
  const example = `'*,-${names[0]}'`;
  throw new UsageError(`no controller is left of ${words.join(",")}; begin with * to mean all others: ${example}`);
}

/** All that a hub runs, so that a choice can be looked at before there is one. */
export const HUB_CONTROLLERS: readonly string[] = [
  "cluster-acceptance",
  "cluster-access",
  "cluster-addons",
  "cluster-auto-acceptance",
  "cluster-common-roles",
  "cluster-csr-approval",
  "cluster-default-set-label",
  "cluster-default-sets",
  "cluster-detach-ledger",
  "cluster-lease",
  "cluster-managed-namespaces",
  "cluster-profile-access",
  "cluster-profile-lifecycle",
  "cluster-profile-status",
  "cluster-resource-cleanup",
  "cluster-set-binding",
  "cluster-set-status",
  "cluster-taints",
  "knative-eventing",
  "knative-leftovers",
  "knative-serving",
  "manifestwork-finished",
];

/** Throws what a hub would throw that is given this choice. */
export function checkChoice(choice: HubChoice): void {
  chosenControllers(
    HUB_CONTROLLERS.map((name) => ({ name })),
    choice,
  );
}
