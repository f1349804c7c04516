/**
 * Which changes are worth a reconcile. A predicate sees an object before and after; coming has no before, going no
 * after, and those that compare both let coming and going pass.
 */
import type { KubeObject } from "#api/meta";
import { equal } from "#lib/json";
import { parseLabelSelector } from "#lib/selectors";

export type Predicate<T extends KubeObject = KubeObject> = (before: T | undefined, after: T | undefined) => boolean;

/** Something was written at all: not when everything is told again after a reconnect. */
export const versionChanged: Predicate = changed(({ metadata }) => metadata.resourceVersion);

/** The wish changed, and not only the status or the metadata. */
export const generationChanged: Predicate = changed(({ metadata }) => metadata.generation);

export const labelsChanged: Predicate = changed(({ metadata }) => metadata.labels ?? {});

export const annotationsChanged: Predicate = changed(({ metadata }) => metadata.annotations ?? {});

/** What `aspect` says of the object changed. */
export function changed<T extends KubeObject>(aspect: (object: T) => unknown): Predicate<T> {
  return (before, after) => !before || !after || !equal(aspect(before), aspect(after));
}

/** The object is selected, or was until now: leaving the selection is news too. */
export function selectedBy(labelSelector: string): Predicate {
  const selector = parseLabelSelector(labelSelector);
  const isSelected = (object: KubeObject | undefined) => object && selector.matches(object.metadata.labels ?? {});
  return (before, after) => Boolean(isSelected(before) || isSelected(after));
}

export function allOf<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (before, after) => predicates.every((holds) => holds(before, after));
}

export function anyOf<T extends KubeObject>(...predicates: readonly Predicate<T>[]): Predicate<T> {
  return (before, after) => predicates.some((holds) => holds(before, after));
}

export function not<T extends KubeObject>(predicate: Predicate<T>): Predicate<T> {
  return (before, after) => !predicate(before, after);
}
