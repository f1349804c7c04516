/**
 * Choosing objects by their labels or by a few of their fields, in the text that URLs carry and in the form that
 * specs carry. Parsing and matching take time in proportion to their input; errors use Kubernetes' words.
 */
export { SelectorError } from "./error.ts";
export { type FieldRequirement, type FieldSelector, parseFieldSelector } from "./field-selector.ts";
export { labelSelector, parseLabelSelector } from "./label-selector.ts";
export type { LabelMatcher, LabelOperator, LabelRequirement } from "./requirement.ts";
