/** Refusals that need no second try. */
import { isForEndingNamespace } from "../workloads/refusals.ts";

/** For `catch`: nothing can be put into a namespace that ends, and nothing has to be. */
export function unlessNamespaceEnds(error: unknown): undefined {
  if (!isForEndingNamespace(error)) throw error;
  return undefined;
}
