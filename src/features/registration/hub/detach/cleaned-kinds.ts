/** The kinds that are removed from a cluster's namespace when the cluster goes, in their order. */
import { type DynamicObject, type Kind, kind } from "#api/meta";
import { ManifestWork } from "#api/work";

/** Upstream's list: an add-on may need works to take itself down, so works come last. */
const DEFAULT_CLEANED = [
  "addon.open-cluster-management.io/v1beta1/managedclusteraddons",
  "work.open-cluster-management.io/v1/manifestworks",
] as const;

const PARTS = /^([a-z0-9.-]+)\/(v[a-z0-9]+)\/([a-z0-9.-]+)$/;

/** Whether a word names a kind, as `group/version/resource`. */
export function isCleanedKind(word: string): boolean {
  return PARTS.test(word);
}

/** Only the metadata of these objects is ever read, so what they are called in the singular does not matter. */
export function cleanedKinds(words: readonly string[] = DEFAULT_CLEANED): Kind<DynamicObject>[] {
  return words.map((word) => {
    const [, group = "", version = "", plural = ""] = PARTS.exec(word) ?? [];
    if (!plural) throw new Error(`${JSON.stringify(word)} names no kind; write group/version/resource`);
    return kind<DynamicObject>({ group, version, plural, kind: plural, namespaced: true });
  });
}

/** Whether objects of this kind are the works that an agent has to clean up after. */
export function isWork({ group, plural }: Kind<DynamicObject>): boolean {
  return group === ManifestWork.group && plural === ManifestWork.plural;
}
