/** Asking those outside of the server about a write: what they are shown of it, and what becomes of what they say. */
import type { Operation } from "#api/admission";
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { clone, equal } from "#lib/json";
import { managersFlaw } from "../apply/index.ts";
import { conflict, OBJECT_MODIFIED } from "../errors.ts";
import type { RequestContext } from "../resource.ts";
import type { Store, Stored } from "../store/index.ts";
import { decodeView } from "./decoding.ts";
import { setManagers } from "./managed-fields.ts";
import { settleNamespace } from "./metadata.ts";
import {
  type AdmissionQuestion,
  type AdmissionWebhooks,
  type NamedTarget,
  type RegistryDependencies,
  storeKey,
  subjectOf,
  type Target,
} from "./target.ts";

/** A write that others are asked about. */
export interface AskedWrite {
  readonly target: Target;
  /** What will be stored; it is changed. */
  readonly draft: DynamicObject;
  /** What is stored; absent for a create. */
  readonly current: DynamicObject | undefined;
  readonly context: RequestContext;
}

/** The draft as webhooks leave it, with its defaults; the same draft when they leave it alone. */
export async function mutated(webhooks: AdmissionWebhooks, write: AskedWrite): Promise<DynamicObject> {
  const { target, draft, context } = write;
  const question = questionOf(write);
  const after = await webhooks.mutate(question);
  if (!after || after === question.object) return draft;
  const { resource, subresource } = target;
  if (subresource?.view) {
    subresource.view.write(draft, after);
    return draft;
  }
  const next = clone(resource.strategy.decode(after).object);
  settleNamespace(next, target);
  resource.strategy.default(next);
  keepSaneManagers(next, draft, context);
  return next;
}

/** Throws ApiError when somebody refuses what is about to be stored. */
export async function validated(webhooks: AdmissionWebhooks, write: AskedWrite): Promise<void> {
  await webhooks.validate(questionOf(write));
}

function questionOf({ target, draft, current, context }: AskedWrite): AdmissionQuestion {
  const { strategy } = target.resource;
  const operation: Operation = current ? "UPDATE" : "CREATE";
  const { admit } = strategy;
  return {
    target,
    operation,
    object: seenOf(target, draft),
    ...(current && { oldObject: seenOf(target, current) }),
    options: optionsOf(current ? "UpdateOptions" : "CreateOptions", context),
    context,
    ...(admit &&
      !current && {
        readmit(object) {
          const before = strategy.decode(object).object;
          const again = clone(before);
          admit(again);
          return equal(again, before) ? object : strategy.present(again);
        },
      }),
  };
}

/** What of an object a request through a subresource is about. */
function seenOf({ resource, subresource }: Target, object: DynamicObject): DynamicObject {
  // What somebody else converts is in the version of the request already.
  const shown = resource.conversion ? object : resource.strategy.present(object);
  return subresource?.view ? subresource.view.read(shown) : shown;
}

function optionsOf(kind: string, { dryRun, options }: RequestContext): Record<string, unknown> {
  return { kind, apiVersion: "meta.k8s.io/v1", ...(dryRun && { dryRun: ["All"] }), ...options };
}

/** A webhook that knows nothing of managers must not be able to break them. */
function keepSaneManagers(next: DynamicObject, { metadata }: DynamicObject, { warn }: RequestContext): void {
  const flaw = managersFlaw(next.metadata.managedFields);
  if (flaw === undefined) return;
  setManagers(next, metadata.managedFields);
  warn(
    `.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: ${flaw}`,
  );
}

/** What webhooks make of something that is posted and answered, and never stored. Throws ApiError when they refuse it. */
export async function admitted(
  { admission }: RegistryDependencies,
  target: Target,
  body: DynamicObject,
  context: RequestContext,
): Promise<DynamicObject> {
  const webhooks = admission.webhooks(target, "CREATE");
  if (!webhooks) return body;
  const kind = target.subresource?.responseKind ?? target.resource;
  const object: DynamicObject = {
    ...clone(decodeView(kind, body, "Ignore", context)),
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
  };
  if (target.namespace !== undefined) object.metadata.namespace = target.namespace;
  const question = { target, operation: "CREATE", options: optionsOf("CreateOptions", context), context } as const;
  const after = (await webhooks.mutate({ ...question, object })) ?? object;
  await webhooks.validate({ ...question, object: after });
  return after;
}

/** So often is a decision made again, because the object changed while others were thinking about it. */
const ATTEMPTS = 10;

/**
 * A write that takes time to decide. `think` gets the newest state and may wait; what it decides is done on condition
 * that the state is still the newest one, otherwise it thinks again about the new one.
 */
export async function writeDeliberately(
  store: Store,
  target: NamedTarget,
  think: (current: Stored | undefined) => Promise<Parameters<Store["write"]>[2]>,
): Promise<Stored | undefined> {
  const { storage } = target.resource;
  const key = storeKey(target);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const seen = store.head(storage, key);
    const decide = await think(seen);
    let isStale = false;
    const stored = await store.write(storage, key, (current) => {
      isStale = current?.metadata.resourceVersion !== seen?.metadata.resourceVersion;
      return isStale ? current : decide(current);
    });
    if (!isStale) return stored;
  }
  throw conflict(subjectOf(target), OBJECT_MODIFIED);
}
