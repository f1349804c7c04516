/** What a Namespace that is being emptied says of itself: five conditions, true only where something is in the way. */
import type { Condition, DynamicObject } from "#api/meta";
import { type ConditionClaim, setCondition } from "#lib/conditions";

/** What is left of one resource. */
export interface Leftover {
  /** As messages call it: `pods.`, `deployments.apps`. */
  readonly name: string;
  readonly objects: readonly DynamicObject[];
}

export interface Findings {
  readonly leftovers: readonly Leftover[];
  /** Why some content could not be deleted. */
  readonly failures: readonly string[];
}

/** The conditions after a look at what is left; as before where nothing has changed. */
export function deletionConditions(before: Condition[], findings: Findings, now: Date): Condition[] {
  return claims(findings).reduce((conditions, claim) => setCondition(conditions, claim, now), before);
}

function claims({ leftovers, failures }: Findings): ConditionClaim[] {
  const finalizers = leftovers.flatMap(({ objects }) => objects.flatMap(({ metadata }) => metadata.finalizers ?? []));
  return [
    // Of what a cluster serves it always knows everything, and all of it well-formed.
    clear("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", "All resources successfully discovered"),
    clear(
      "NamespaceDeletionGroupVersionParsingFailure",
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ),
    failures.length === 0
      ? clear(
          "NamespaceDeletionContentFailure",
          "ContentDeleted",
          "All content successfully deleted, may be waiting on finalization",
        )
      : {
          type: "NamespaceDeletionContentFailure",
          status: "True",
          reason: "ContentDeletionFailed",
          message: `Failed to delete all resource types, ${failures.length} remaining: ${[...failures].sort().join(", ")}`,
        },
    leftovers.length === 0
      ? clear("NamespaceContentRemaining", "ContentRemoved", "All content successfully removed")
      : {
          type: "NamespaceContentRemaining",
          status: "True",
          reason: "SomeResourcesRemain",
          message: `Some resources are remaining: ${inOrder(
            leftovers.map(({ name, objects }) => `${name} has ${objects.length} resource instances`),
          )}`,
        },
    finalizers.length === 0
      ? clear("NamespaceFinalizersRemaining", "ContentHasNoFinalizers", "All content-preserving finalizers finished")
      : {
          type: "NamespaceFinalizersRemaining",
          status: "True",
          reason: "SomeFinalizersRemain",
          message: `Some content in the namespace has finalizers remaining: ${inOrder(
            counted(finalizers).map(([name, count]) => `${name} in ${count} resource instances`),
          )}`,
        },
  ];
}

function clear(type: string, reason: string, message: string): ConditionClaim {
  return { type, status: "False", reason, message };
}

/** Sorted, so that a message moves only when the facts do. */
function inOrder(parts: readonly string[]): string {
  return [...parts].sort().join(", ");
}

function counted(names: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts];
}
