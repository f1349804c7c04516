/** Whether a webhook is asked about a very object, after its rules have matched: selectors, then conditions. */
import type { DynamicObject } from "#api/meta";
import { forbidden, notFound } from "../errors.ts";
import { type AdmissionQuestion, subjectOf } from "../registry/index.ts";
import type { Store } from "../store/index.ts";
import type { Authorize } from "../webhooks/index.ts";
import type { Hook } from "./configurations.ts";
import { isNamespace, nameOf, namespaceOf, type RequestFacts } from "./review-request.ts";

const NAMESPACES = "core/namespaces";

/** Throws ApiError when the namespace is missing. */
export function isSelected(hook: Hook, question: AdmissionQuestion, store: Store): boolean {
  return isInSelectedNamespace(hook, question, store) && isSelectedObject(hook, question);
}

/** What lies in no namespace is never left out by its namespace, but Namespaces are, by their own labels. */
function isInSelectedNamespace(hook: Hook, question: AdmissionQuestion, store: Store): boolean {
  const namespace = namespaceOf(question);
  if (namespace === "" && !isNamespace(question.target)) return true;
  const selector = hook.namespaces();
  if (selector.requirements?.length === 0) return true;
  return selector.matches(namespaceLabels(question, namespace, store));
}

function namespaceLabels({ target, object }: AdmissionQuestion, name: string, store: Store) {
  if (isNamespace(target) && !target.subresource && object) return object.metadata.labels;
  const namespace = store.head(NAMESPACES, name);
  if (!namespace) throw notFound({ group: "", kind: "namespaces", name });
  return namespace.metadata.labels;
}

/** An object counts by what it was or by what it will be. */
function isSelectedObject(hook: Hook, { object, oldObject }: AdmissionQuestion): boolean {
  const selector = hook.objects();
  if (selector.requirements?.length === 0) return true;
  return [object, oldObject].some((state) => state !== undefined && selector.matches(state.metadata.labels));
}

/** The objects as the webhook would see them. */
export interface SeenObjects {
  readonly object: DynamicObject | undefined;
  readonly oldObject: DynamicObject | undefined;
}

/** Throws ApiError when that cannot be told and the webhook must not be missed. */
export function conditionsHold(
  { conditions, webhook }: Hook,
  question: AdmissionQuestion,
  request: RequestFacts,
  { object, oldObject }: SeenObjects,
  authorize: Authorize,
): boolean {
  if (!conditions) return true;
  const { holds, errors } = conditions({ request, object, oldObject, user: question.context.user, authorize });
  if (!holds || errors.length === 0) return holds;
  if (webhook.failurePolicy === "Ignore") return false;
  const why = errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]`;
  throw forbidden(subjectOf({ ...question.target, name: nameOf(question) }), why);
}
