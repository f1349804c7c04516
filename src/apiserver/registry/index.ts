/**
 * The verbs: get, list, watch, create, update, patch and delete, for every kind alike. What a kind does
 * differently is its strategy's business; what is stored, and when, the store's.
 */
export { apply } from "./apply.ts";
export { admitted } from "./asking.ts";
export { create } from "./create.ts";
export { type DeleteOptions, deleteOptions, deletionCode, remove, removeCollection } from "./delete.ts";
export {
  type FieldValidation,
  type ListOptions,
  listOptions,
  plainRevisionOf,
  type WriteOptions,
  writeOptions,
} from "./options.ts";
export { get, type Listed, list } from "./read.ts";
export {
  type Admission,
  type AdmissionQuestion,
  type AdmissionWebhooks,
  type NamedTarget,
  type RegistryDependencies,
  storeKey,
  subjectOf,
  type Target,
} from "./target.ts";
export { patch, patchTypeOf, update } from "./update.ts";
export { inVersionOf, shownBy } from "./versions.ts";
export { type WatchEvent, type WatchSink, watch, watchOptions } from "./watch.ts";
