import type { Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec } from "#api/core";

/** Whether the node has all labels that the Pod selects, and one of the terms that it requires. */
export function matchesNode({ nodeSelector = {}, affinity }: Pick<PodSpec, "nodeSelector" | "affinity">, node: Node) {
  const labels = new Map(Object.entries(node.metadata.labels ?? {}));
  if (!Object.entries(nodeSelector).every(([key, value]) => labels.get(key) === value)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return !required || required.nodeSelectorTerms.some((term) => matchesTerm(term, labels, node.metadata.name));
}

/** A term without requirements matches nothing. */
function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  labels: ReadonlyMap<string, string>,
  name: string,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matchExpressions.every((requirement) => isMet(requirement, labels.get(requirement.key))) &&
    matchFields.every((requirement) => requirement.key === "metadata.name" && isMet(requirement, name))
  );
}

function isMet({ operator, values = [] }: NodeSelectorRequirement, actual: string | undefined): boolean {
  switch (operator) {
    case "In":
      return actual !== undefined && values.includes(actual);
    case "NotIn":
      return actual === undefined || !values.includes(actual);
    case "Exists":
      return actual !== undefined;
    case "DoesNotExist":
      return actual === undefined;
    case "Gt":
    case "Lt": {
      const [bound] = values;
      if (actual === undefined || bound === undefined || !isWhole(actual) || !isWhole(bound)) return false;
      return operator === "Gt" ? BigInt(actual) > BigInt(bound) : BigInt(actual) < BigInt(bound);
    }
  }
}

function isWhole(text: string): boolean {
  return /^-?\d+$/.test(text);
}
