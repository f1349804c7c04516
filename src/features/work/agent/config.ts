/** What a work says about one of its manifests: how it is applied, what is reported of it, whether it outlives the work. */
import type { Kind } from "#api/meta";
import type { ConditionRule, DeleteOption, FeedbackRule, ManifestConfig, UpdateStrategy } from "#api/work";
import type { ObjectId } from "#kube";

/** An object as works name it: by its plural. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

export function resourceName({ group, plural }: Kind, { namespace = "", name }: ObjectId): ResourceName {
  return { group, resource: plural, namespace, name };
}

export interface Chosen {
  readonly updateStrategy?: UpdateStrategy;
  readonly feedbackRules: readonly FeedbackRule[];
  readonly conditionRules: readonly ConditionRule[];
}

const NOTHING: Chosen = { feedbackRules: [], conditionRules: [] };

/** The first of each that a matching config brings; they may come from different ones. */
export function chosenConfig(configs: readonly ManifestConfig[] | undefined, name: ResourceName | undefined): Chosen {
  if (!configs || !name) return NOTHING;
  const matching = configs.filter(({ resourceIdentifier }) => matches(resourceIdentifier, name));
  const updateStrategy = matching.find((config) => config.updateStrategy)?.updateStrategy;
  return {
    ...(updateStrategy && { updateStrategy }),
    feedbackRules: matching.find(({ feedbackRules }) => feedbackRules?.length)?.feedbackRules ?? [],
    conditionRules: matching.find(({ conditionRules }) => conditionRules?.length)?.conditionRules ?? [],
  };
}

function matches(identifier: ManifestConfig["resourceIdentifier"], name: ResourceName): boolean {
  return (
    (identifier.group ?? "") === name.group &&
    identifier.resource === name.resource &&
    matchesPattern(identifier.name, name.name) &&
    matchesPattern(identifier.namespace ?? "", name.namespace)
  );
}

/** `*` stands for any text, also for none. Patterns come from users, so time must not grow with them. */
export function matchesPattern(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return pattern === text;
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at + last.length <= text.length;
}

/** Whether the object goes with the work. */
export function isOwned(option: DeleteOption | undefined, name: ResourceName): boolean {
  switch (option?.propagationPolicy ?? "Foreground") {
    case "Orphan":
      return false;
    case "SelectivelyOrphan":
      return !(option?.selectivelyOrphans?.orphaningRules ?? []).some(
        ({ group = "", resource, namespace = "", name: named }) =>
          group === name.group && resource === name.resource && namespace === name.namespace && named === name.name,
      );
    default:
      return true;
  }
}
