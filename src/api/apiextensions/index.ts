/**
 * CustomResourceDefinition: how a cluster is taught a kind. Besides the types it has `crd`, which every API
 * group of ours uses to write its definitions from the schema that also gives the TypeScript type.
 */
export { type CrdOptions, type CrdVersionOptions, crd } from "./crd.ts";
export {
  API_APPROVED_ANNOTATION,
  CLEANUP_FINALIZER,
  type ConversionReview,
  type CustomResourceColumn,
  type CustomResourceConversion,
  CustomResourceDefinition,
  type CustomResourceDefinitionCondition,
  type CustomResourceDefinitionSpec,
  type CustomResourceDefinitionStatus,
  type CustomResourceDefinitionVersion,
  type CustomResourceNames,
  type CustomResourceScale,
  DefinitionCondition,
} from "./types.ts";
