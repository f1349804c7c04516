/** Which clusters a set holds. */
import { type ManagedClusterSet, selectorOfSet } from "#api/cluster";
import { describe } from "#lib/meta";
import { type LabelMatcher, labelSelector, SelectorError } from "#lib/selectors";
import { Terminal } from "#runtime";

/** Chooses the clusters of a set by their labels. Throws Terminal where nobody can say which ones it means. */
export function membersOf(set: ManagedClusterSet): LabelMatcher {
  try {
    return labelSelector(selectorOfSet(set));
  } catch (cause) {
    if (!(cause instanceof SelectorError)) throw cause;
    throw new Terminal(`${describe(set)} has a selector that cannot be understood: ${cause.message}`, { cause });
  }
}

/** The same, undefined where nobody can say. */
export function knownMembersOf(set: ManagedClusterSet): LabelMatcher | undefined {
  try {
    return membersOf(set);
  } catch (error) {
    if (error instanceof Terminal) return undefined;
    throw error;
  }
}
