/** Wishes for single Services and PodDisruptionBudgets. */
import { Service } from "#api/core";
import type { KnativeSpec } from "#api/knative";
import { PodDisruptionBudget } from "#api/policy";
import { withAnnotations, withLabels } from "#lib/meta";
import { isOf, TransformError, type Transformer, withSpec } from "./objects.ts";

export function withServices({ services = [] }: KnativeSpec): Transformer {
  return (object) =>
    services.reduce((before, { name, labels = {}, annotations = {}, selector = {} }) => {
      if (!isOf(before, Service) || before.metadata.name !== name) return before;
      const marked = withAnnotations(withLabels(before, labels), annotations);
      return Object.keys(selector).length > 0
        ? withSpec(marked, { selector: { ...before.spec?.selector, ...selector } })
        : marked;
    }, object);
}

export function withBudgets({ podDisruptionBudgets = [] }: KnativeSpec): Transformer {
  return (object) =>
    podDisruptionBudgets.reduce((before, { name, minAvailable, maxUnavailable }) => {
      if (!isOf(before, PodDisruptionBudget) || before.metadata.name !== name) return before;
      if (minAvailable === undefined && maxUnavailable === undefined) return before;
      if (minAvailable !== undefined && maxUnavailable !== undefined) {
        throw new TransformError(`both minAvailable and maxUnavailable are set for PodDisruptionBudget ${name}`);
      }
      return withSpec(before, { minAvailable, maxUnavailable });
    }, object);
}
