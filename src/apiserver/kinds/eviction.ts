/**
 * `/eviction` of a Pod: a deletion that asks the budget of the Pod's application first. What the budget has
 * granted is written down in its status before the Pod is deleted, so that two who ask at once are not both served.
 */
import { PodConditionType } from "#api/core";
import type { DynamicObject, LabelSelector } from "#api/meta";
import { type BudgetStatus, DISRUPTION_BUDGET_CAUSE, type PodDisruptionBudget } from "#api/policy";
import { timestamp } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";
import { labelSelector, SelectorError } from "#lib/selectors";
import { ApiError, badRequest, conflict, forbidden, notFound, plainError } from "../errors.ts";
import type { GroupVersionKind, RequestContext, Subresource } from "../resource.ts";
import type { KindDependencies } from "./dependencies.ts";
import { withDisruptionAllowed } from "./disruption-budgets.ts";
import { ensure, type Fields, fieldsAt, listAt, objectsAt, textAt } from "./fields.ts";
import { bodyOf, storageOf } from "./strategy.ts";

const EVICTION: GroupVersionKind = { group: "policy", version: "v1", kind: "Eviction" };
const PODS = storageOf("", "pods");
const BUDGETS = storageOf("policy", "poddisruptionbudgets");

/** A budget with so many grants that nobody has seen kept is not looked after. */
const MOST_GRANTS = 2000;
const RETRY_SECONDS = 10;
const ATTEMPTS = 5;

type EvictionDependencies = Pick<KindDependencies, "lookup" | "list" | "change" | "evict">;

export function eviction(dependencies: EvictionDependencies): Subresource {
  return {
    name: "eviction",
    responseKind: EVICTION,
    verbs: ["create"],
    answer: async ({ parent, body, context }) => {
      const wish = bodyOf(EVICTION, body);
      if (wish.metadata?.name !== parent.metadata.name) {
        throw badRequest("name in URL does not match name in Eviction object");
      }
      const options = fieldsAt(wish, "deleteOptions");
      const isDry = context.dryRun || listAt(options, "dryRun").length > 0;
      await evict(dependencies, parent, options, { ...context, dryRun: isDry });
      return {
        apiVersion: "v1",
        kind: "Status",
        metadata: {} as DynamicObject["metadata"],
        status: "Success",
        code: 201,
      };
    },
  };
}

/** Looks again when the Pod has changed meanwhile, unless the client said which one it means. */
async function evict(
  dependencies: EvictionDependencies,
  { metadata: { namespace = "", name } }: DynamicObject,
  options: Fields,
  context: RequestContext,
): Promise<void> {
  const isMeant = Object.keys(fieldsAt(options, "preconditions")).length > 0;
  for (let attempt = 1; ; attempt++) {
    const pod = dependencies.lookup(PODS, `${namespace}/${name}`);
    if (!pod) throw notFound({ group: "", kind: "pods", name });
    try {
      await evictOnce(dependencies, pod, options, context);
      return;
    } catch (error) {
      if (!isConflict(error) || isMeant || attempt === ATTEMPTS) throw error;
    }
  }
}

async function evictOnce(
  dependencies: EvictionDependencies,
  pod: DynamicObject,
  options: Fields,
  context: RequestContext,
): Promise<void> {
  const budget = isUnguarded(pod) ? undefined : budgetOf(dependencies, pod);
  if (budget && !isSpare(pod, budget)) await spend(dependencies, budget, pod, context);
  // A Pod that nobody counts on may go, provided that nobody has begun to count on it meanwhile.
  const isUncounted = budget ? isSpare(pod, budget) : isPending(pod);
  try {
    await markAndDelete(dependencies, pod, isUncounted ? expecting(options, pod) : options, context);
  } catch (error) {
    const isMeant = fieldsAt(options, "preconditions").resourceVersion !== undefined;
    if (budget && isUncounted && !isMeant && isConflict(error)) throw stillProcessed(budget);
    throw error;
  }
}

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status.reason === "Conflict";
}

/** Pods that have ended, are ending or have not begun disrupt nothing when they go. */
function isUnguarded(pod: DynamicObject): boolean {
  if (pod.metadata.deletionTimestamp) return true;
  return isPending(pod) || ["Succeeded", "Failed"].includes(textAt(pod, "status", "phase"));
}

function isPending(pod: DynamicObject): boolean {
  return textAt(pod, "status", "phase") === "Pending" && !pod.metadata.deletionTimestamp;
}

function budgetOf({ list }: EvictionDependencies, { metadata }: DynamicObject): PodDisruptionBudget | undefined {
  const budgets = list(BUDGETS, metadata.namespace ?? "") as unknown as PodDisruptionBudget[];
  const [budget, another] = budgets.filter(({ spec }) => isSelected(spec?.selector, metadata.labels));
  if (another) {
    throw plainError(
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  return budget;
}

function isSelected(selector: LabelSelector | undefined, labels: Record<string, string> | undefined): boolean {
  try {
    return labelSelector(selector).matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return false; // the budget's own status tells of it
    throw error;
  }
}

/** A Pod that is not ready does not count as healthy, so the budget loses nothing with it. */
function isSpare(pod: DynamicObject, { spec, status }: PodDisruptionBudget): boolean {
  if (isTrue(objectsAt(pod, "status", "conditions") as { type: string; status: string }[], "Ready")) return false;
  if (spec?.unhealthyPodEvictionPolicy === "AlwaysAllow") return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

/** Takes one disruption out of the budget, or throws. */
async function spend(
  { change }: EvictionDependencies,
  { metadata: { namespace, name } }: PodDisruptionBudget,
  pod: DynamicObject,
  context: RequestContext,
): Promise<void> {
  await change(
    BUDGETS,
    `${namespace}/${name}`,
    (draft) => {
      const budget = draft as unknown as PodDisruptionBudget;
      refuseIfSpent(budget);
      const { disruptionsAllowed = 0, disruptedPods = {} } = budget.status ?? {};
      const status: BudgetStatus = {
        ...(budget.status as BudgetStatus),
        disruptionsAllowed: disruptionsAllowed - 1,
        disruptedPods: { ...disruptedPods, [pod.metadata.name]: timestamp(context.now) },
      };
      draft.status =
        disruptionsAllowed > 1 ? status : { ...status, conditions: withDisruptionAllowed(status, context.now) };
    },
    context,
  );
}

const REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget.";

function refuseIfSpent(budget: PodDisruptionBudget): void {
  const { generation = 0, name } = budget.metadata;
  const { observedGeneration = 0, disruptionsAllowed = 0, disruptedPods = {} } = budget.status ?? {};
  const subject = { group: "policy", kind: "poddisruptionbudget", name };
  if (observedGeneration < generation) throw stillProcessed(budget);
  if (disruptionsAllowed < 0) throw forbidden(subject, "pdb disruptions allowed is negative");
  if (Object.keys(disruptedPods).length > MOST_GRANTS) {
    throw forbidden(subject, "DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  }
  if (disruptionsAllowed > 0) return;
  throw new ApiError(429, "TooManyRequests", REFUSAL, {
    causes: [{ reason: DISRUPTION_BUDGET_CAUSE, message: `The disruption budget ${name} ${whySpent(budget)}` }],
  });
}

function whySpent({ status }: PodDisruptionBudget): string {
  const { currentHealthy = 0, desiredHealthy = 0, conditions } = status ?? {};
  const condition = findCondition(conditions, "DisruptionAllowed");
  const told = condition?.status === "False" ? condition.message : "";
  if (told && condition?.reason === "SyncFailed") {
    return `does not allow evicting pods currently because it failed sync: ${told}`;
  }
  if (currentHealthy <= desiredHealthy)
    return `needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return told
    ? `does not allow evicting pods currently (${condition?.reason}): ${told}`
    : "does not allow evicting pods currently";
}

function stillProcessed({ metadata: { name } }: PodDisruptionBudget): ApiError {
  const message = `The disruption budget ${name} is still being processed by the server.`;
  return new ApiError(429, "TooManyRequests", REFUSAL, {
    causes: [{ reason: DISRUPTION_BUDGET_CAUSE, message }],
    retryAfterSeconds: RETRY_SECONDS,
  });
}

/** The options, with the demand that the Pod is as it was looked at; a demand of the client's own stands. */
function expecting(options: Fields, { metadata }: DynamicObject): Fields {
  const { resourceVersion = metadata.resourceVersion, ...others } = fieldsAt(options, "preconditions");
  return { ...options, preconditions: { ...others, resourceVersion } };
}

/** Says on the Pod why it goes, for those who clean up after it, and then lets it go. */
async function markAndDelete(
  dependencies: EvictionDependencies,
  pod: DynamicObject,
  options: Fields,
  context: RequestContext,
): Promise<void> {
  if (context.dryRun) return dependencies.evict(pod, options, context);
  const { namespace = "", name } = pod.metadata;
  const preconditions = fieldsAt(options, "preconditions");
  const marked = await dependencies.change(
    PODS,
    `${namespace}/${name}`,
    (draft) => {
      refuseIfOther(draft, preconditions);
      setDisruptionTarget(draft, context.now);
    },
    context,
  );
  const { resourceVersion } = marked.metadata;
  const moved =
    preconditions.resourceVersion === undefined ? {} : { preconditions: { ...preconditions, resourceVersion } };
  await dependencies.evict(pod, { ...options, ...moved }, context);
}

function refuseIfOther({ metadata }: DynamicObject, { uid, resourceVersion }: Fields): void {
  const refusal = (what: string, expected: unknown, found: unknown) =>
    conflict(
      { group: "", kind: "Pod", name: metadata.name },
      `the ${what} in the precondition (${expected}) does not match the ${what} in record (${found})`,
    );
  if (uid && uid !== metadata.uid) throw refusal("UID", uid, metadata.uid);
  if (resourceVersion && resourceVersion !== metadata.resourceVersion) {
    throw refusal("ResourceVersion", resourceVersion, metadata.resourceVersion);
  }
}

function setDisruptionTarget(pod: DynamicObject, now: Date): void {
  const status = ensure(pod, "status");
  const conditions = objectsAt(status, "conditions");
  const known = conditions.find(({ type }) => type === PodConditionType.disruptionTarget);
  const condition = {
    type: PodConditionType.disruptionTarget,
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: known?.status === "True" ? known.lastTransitionTime : timestamp(now),
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
  };
  status.conditions = known
    ? conditions.map((other) => (other === known ? condition : other))
    : [...conditions, condition];
}
