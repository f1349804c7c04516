/**
 * The built-in kinds: what each of them defaults, checks, keeps and shows. The verbs know kinds only through the
 * `Resource` values made here; the rules of metadata are shared with custom kinds.
 */
export { builtinResources } from "./builtin.ts";
export type { Allocation, KindDependencies, ServiceAddresses, ServiceWish } from "./dependencies.ts";
export { withDisruptionAllowed } from "./disruption-budgets.ts";
export { type Declaration, type Particulars, resource, strategy } from "./strategy.ts";
export { nameAndCreation } from "./tables/layout.ts";
export {
  immutable,
  type MetadataRules,
  validateAnnotations,
  validateLabels,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./validation.ts";
