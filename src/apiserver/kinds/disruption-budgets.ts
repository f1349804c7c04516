/** PodDisruptionBudgets: how many Pods of an application may be missing at a time. */
import type { Condition, DynamicObject } from "#api/meta";
import { BudgetCondition, BudgetReason, type BudgetStatus } from "#api/policy";
import { setCondition } from "#lib/conditions";
import { type FieldError, field } from "../errors.ts";
import type { GroupVersionKind } from "../resource.ts";
import { at, type Fields, fieldsAt, isAbsent, listAt, objectsAt, textAt, textMapAt } from "./fields.ts";
import { notNegative, oneOf } from "./pod-validation.ts";
import { resource } from "./strategy.ts";
import { statusOf } from "./subresources.ts";
import { podDisruptionBudgets as table } from "./tables/groups.ts";
import { validateLabels } from "./validation.ts";

const KIND: GroupVersionKind = { group: "policy", version: "v1", kind: "PodDisruptionBudget" };

export const podDisruptionBudgets = resource({
  ...KIND,
  plural: "poddisruptionbudgets",
  namespaced: true,
  shortNames: ["pdb"],
  table,
  hasStatus: true,
  tracksGeneration: true,
  unconditionalUpdate: false,
  validate: validateBudget,
  subresources: [
    statusOf(KIND, {
      validate: (budget) =>
        ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"].flatMap((count) =>
          notNegative(budget, "status", count),
        ),
    }),
  ],
});

function validateBudget(budget: DynamicObject): FieldError[] {
  const spec = fieldsAt(budget, "spec");
  const areBothSet = !isAbsent(spec.minAvailable) && !isAbsent(spec.maxUnavailable);
  return [
    ...(areBothSet ? [field.invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set")] : []),
    ...shareErrors(spec, "minAvailable"),
    ...shareErrors(spec, "maxUnavailable"),
    ...selectorErrors(at(spec, "selector"), "spec.selector"),
    ...(isAbsent(spec.unhealthyPodEvictionPolicy)
      ? []
      : oneOf(spec, "unhealthyPodEvictionPolicy", ["AlwaysAllow", "IfHealthyBudget"], "spec")),
  ];
}

/** A number that is not negative, or a percentage that is not more than all. */
function shareErrors(spec: Fields, key: string): FieldError[] {
  const share = spec[key];
  const path = `spec.${key}`;
  if (typeof share === "number") return notNegative({ spec }, "spec", key);
  if (typeof share !== "string") return [];
  const percent = /^(\d+)%$/.exec(share)?.[1];
  if (percent === undefined)
    return [field.invalid(path, share, "a valid percent string must be a number followed by %")];
  return Number(percent) <= 100 ? [] : [field.invalid(path, share, "must not be greater than 100%")];
}

const LISTING: ReadonlySet<string> = new Set(["In", "NotIn"]);
const ASKING: ReadonlySet<string> = new Set(["Exists", "DoesNotExist"]);

function selectorErrors(selector: unknown, path: string): FieldError[] {
  const expressions = objectsAt(selector, "matchExpressions").flatMap((expression, index) => {
    const here = `${path}.matchExpressions[${index}]`;
    const operator = textAt(expression, "operator");
    const count = listAt(expression, "values").length;
    if (LISTING.has(operator)) {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      return count === 0 ? [field.required(`${here}.values`, detail)] : [];
    }
    if (!ASKING.has(operator)) return [field.invalid(`${here}.operator`, operator, "not a valid selector operator")];
    const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
    return count > 0 ? [field.forbidden(`${here}.values`, detail)] : [];
  });
  const labels = Object.fromEntries(textMapAt(selector, "matchLabels"));
  return [...validateLabels(labels, `${path}.matchLabels`), ...expressions];
}

/** The conditions of a budget with that one which says whether a Pod may be evicted now. */
export function withDisruptionAllowed(
  { conditions = [], disruptionsAllowed, observedGeneration }: BudgetStatus,
  now: Date,
): Condition[] {
  const isAllowed = disruptionsAllowed > 0;
  return setCondition(
    conditions,
    {
      type: BudgetCondition.disruptionAllowed,
      status: isAllowed ? "True" : "False",
      reason: isAllowed ? BudgetReason.sufficientPods : BudgetReason.insufficientPods,
      message: "",
      ...(observedGeneration !== undefined && { observedGeneration }),
    },
    now,
  );
}
