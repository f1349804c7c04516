/** Labels of an object that what is made for it may carry too. */

/** What tells Pods apart, and what has a meaning of its own, is not handed on; upstream's rule. */
const KEPT = /^(app$|open-cluster-management\.io)/;

export function handedOn(labels: Readonly<Record<string, string>> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(labels ?? {}).filter(([key]) => !KEPT.test(key)));
}
