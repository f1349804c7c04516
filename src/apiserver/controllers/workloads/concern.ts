/** Which workloads an event of a Pod or a ReplicaSet is about: who controls it, who did, and who may want it. */
import { apiVersionOf, type DynamicObject, type Kind, keyOf } from "#api/meta";
import { equal } from "#lib/json";
import { controllerOf } from "#lib/meta";
import { type LabelMatcher, SelectorError } from "#lib/selectors";
import type { Store } from "../../store/index.ts";
import type { Occurrence } from "../runner.ts";

export interface Claimants {
  readonly kind: Pick<Kind, "group" | "version" | "kind">;
  /** Where these workloads are stored. */
  readonly storage: string;
  readonly store: Store;
  selectorOf(workload: DynamicObject): LabelMatcher;
}

/** The keys of the workloads that should look again. */
export function concerned({ type, object, previous }: Occurrence, claimants: Claimants): string[] {
  const [now, before] = [controllerKey(object, claimants), previous && controllerKey(previous, claimants)];
  const controllers = new Set([now, before].filter((key) => key !== undefined));
  const isUpForAdoption = type !== "DELETED" && !controllerOf(object) && !isSameOffer(object, previous);
  return isUpForAdoption ? [...new Set([...controllers, ...admirers(object, claimants)])] : [...controllers];
}

/** The key of the workload of that kind that controls the object, if one does. */
export function controllerKey(object: DynamicObject, { kind }: Pick<Claimants, "kind">): string | undefined {
  const owner = controllerOf(object);
  if (owner?.kind !== kind.kind || owner.apiVersion !== apiVersionOf(kind)) return undefined;
  return `${object.metadata.namespace}/${owner.name}`;
}

/** Whether those who did not want it before have no reason to want it now. */
function isSameOffer(object: DynamicObject, previous: DynamicObject | undefined): boolean {
  return previous !== undefined && !controllerOf(previous) && equal(object.metadata.labels, previous.metadata.labels);
}

function admirers({ metadata }: DynamicObject, { storage, store, selectorOf }: Claimants): string[] {
  const { namespace, labels } = metadata;
  if (!labels || namespace === undefined) return [];
  return store
    .list(storage, { namespace })
    .items.filter((workload) => matches(() => selectorOf(workload), labels))
    .map(keyOf);
}

function matches(selector: () => LabelMatcher, labels: Record<string, string>): boolean {
  try {
    return selector().matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return false; // such a workload is told by its own controller
    throw error;
  }
}
