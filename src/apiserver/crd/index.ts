/**
 * CustomResourceDefinitions: the resource itself, which names it gets, and the resources it brings, with
 * everything a structural schema does to their objects: pruning, defaulting and validation.
 */
export { type Converter, webhookConverter } from "./converter.ts";
export {
  type CustomResourceOptions,
  customResources,
  type ObjectValidator,
} from "./custom-resources.ts";
export { type DefinitionDependencies, definitionResource } from "./definition.ts";
export { type BuiltinNames, establish, isTrue } from "./establish.ts";
export { structuralErrors } from "./structural.ts";
