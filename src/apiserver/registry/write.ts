/**
 * How PUT, PATCH and apply change an object: the next state is decided on the newest one and written once. Where nobody
 * has to be asked that happens in one step; otherwise step by step, and on condition that the state is still the newest.
 */
import type { DynamicObject, ManagedFieldsEntry } from "#api/meta";
import { equalButTimes } from "../apply/index.ts";
import { ApiError, type FieldError, field, forbidden, invalid, notFound } from "../errors.ts";
import { validateObjectMetaUpdate } from "../kinds/index.ts";
import type { RequestContext } from "../resource.ts";
import { mutated, validated, writeDeliberately } from "./asking.ts";
import { beginCreate, createErrors, finishCreate } from "./create.ts";
import { type ManagersOf, setManagers } from "./managed-fields.ts";
import { checkPreconditions, countGeneration, keepSystemMetadata, wipeForCreate } from "./metadata.ts";
import type { FieldValidation } from "./options.ts";
import {
  type AdmissionWebhooks,
  kindSubjectOf,
  type NamedTarget,
  type RegistryDependencies,
  refuseForNamespace,
  storeKey,
  subjectOf,
} from "./target.ts";
import { shownBy } from "./versions.ts";

export interface UpdateResult {
  readonly object: DynamicObject;
  readonly created: boolean;
}

export type UpdateContext = RequestContext & { fieldValidation: FieldValidation };

/** What a request makes of an object, before the server adds what is its own. */
export interface Wish {
  readonly draft: DynamicObject;
  readonly managers: ManagersOf;
}

/** What a request makes of the newest state. It may be asked again, when that has changed meanwhile. */
export type NextState = (current: DynamicObject | undefined) => Wish;

interface Job {
  readonly dependencies: RegistryDependencies;
  readonly target: NamedTarget;
  readonly context: UpdateContext;
  readonly next: NextState;
  readonly createsMissing: boolean;
}

export async function write(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  context: UpdateContext,
  next: NextState,
  { createsMissing = target.resource.strategy.createOnUpdate }: { createsMissing?: boolean } = {},
): Promise<UpdateResult> {
  const job: Job = { dependencies, target, context, next, createsMissing };
  const { admission } = dependencies;
  const asked = {
    update: admission.webhooks(target, "UPDATE"),
    create: createsMissing ? admission.webhooks(target, "CREATE") : undefined,
  };
  const takesTime = asked.update || asked.create || target.resource.conversion;
  return takesTime ? writeInSteps(job, asked) : writeAtOnce(job);
}

async function writeAtOnce(job: Job): Promise<UpdateResult> {
  const { target, dependencies, context } = job;
  const { store } = dependencies;
  const { storage } = target.resource;
  const key = storeKey(target);
  let outcome: Outcome | undefined;
  const decide = (current: DynamicObject | undefined): DynamicObject | undefined => {
    const { draft, managers } = job.next(current);
    begin(job, draft, current);
    recordOwners(job, draft, current, managers(draft));
    finish(job, draft, current);
    outcome = outcomeOf(draft, current);
    return outcome.isUnchanged ? current : outcome.next;
  };
  if (context.dryRun) decide(store.head(storage, key));
  const stored = context.dryRun ? undefined : await store.write(storage, key, decide);
  return resultOf(outcome as unknown as Outcome, stored);
}

interface Asked {
  readonly update: AdmissionWebhooks | undefined;
  readonly create: AdmissionWebhooks | undefined;
}

async function writeInSteps(job: Job, asked: Asked): Promise<UpdateResult> {
  const { target, dependencies, context } = job;
  const { resource } = target;
  let outcome: Outcome | undefined;
  const think = async (stored: DynamicObject | undefined) => {
    const current = resource.conversion && stored ? await shownBy(resource, stored) : stored;
    const draft = await decidedWith(job, current, current ? asked.update : asked.create);
    const decided = outcomeOf(draft, current);
    outcome = decided;
    const next = await storedForm(job, decided);
    // What differs in the version of the request may be the same in the one that is stored.
    const isUnchanged = decided.isUnchanged || (next && stored && equalButTimes(next, stored));
    return (now: DynamicObject | undefined) => {
      if (!current) refuseCreate(job);
      return isUnchanged ? now : next;
    };
  };
  if (context.dryRun) await think(dependencies.store.head(resource.storage, storeKey(target)));
  const stored = context.dryRun ? undefined : await writeDeliberately(dependencies.store, target, think);
  return resultOf(outcome as unknown as Outcome, stored);
}

async function storedForm(
  { target, context }: Job,
  { next, isUnchanged }: Outcome,
): Promise<DynamicObject | undefined> {
  const { conversion } = target.resource;
  return conversion && next && !isUnchanged && !context.dryRun ? conversion.toStorage(next) : next;
}

/** The next state, after everybody has been asked. `current` is in the version of the request. */
async function decidedWith(
  job: Job,
  current: DynamicObject | undefined,
  webhooks: AdmissionWebhooks | undefined,
): Promise<DynamicObject> {
  const { target, context } = job;
  const { conversion } = target.resource;
  const { draft: wished, managers } = conversion
    ? await conversion.settled(() => job.next(current))
    : job.next(current);
  begin(job, wished, current);
  recordOwners(job, wished, current, conversion ? await conversion.settled(() => managers(wished)) : managers(wished));

  const draft = webhooks ? await mutated(webhooks, { target, draft: wished, current, context }) : wished;
  if (draft !== wished) settleMutated(job, draft, current);
  finish(job, draft, current);
  if (webhooks) await validated(webhooks, { target, draft, current, context });
  return draft;
}

function refuseCreate({ dependencies, target, context, createsMissing }: Job): void {
  const { store, mayCreate } = dependencies;
  if (!createsMissing || target.subresource) throw notFound(subjectOf(target));
  if (!mayCreate(target, context)) throw forbidden(subjectOf(target), "creating it needs the right to create");
  const refused = refuseForNamespace(store, target);
  if (refused) throw refused;
}

/** From the wish of a request to an object that is one of its kind. */
function begin(job: Job, draft: DynamicObject, current: DynamicObject | undefined): void {
  const { resource } = job.target;
  if (current) keepSystemMetadata(draft, current);
  else {
    refuseCreate(job);
    delete draft.metadata.resourceVersion;
    wipeForCreate(draft);
  }
  resource.strategy.default(draft);
}

function recordOwners(
  { target }: Job,
  draft: DynamicObject,
  current: DynamicObject | undefined,
  managedFields: ManagedFieldsEntry[] | undefined,
): void {
  if (current) setManagers(draft, managedFields);
  else beginCreate(target, draft, managedFields);
}

/** What webhooks may not change they may not change either by a patch that a client could not have sent. */
function settleMutated({ target }: Job, draft: DynamicObject, current: DynamicObject | undefined): void {
  const { name, uid } = draft.metadata;
  const flaws: FieldError[] = [];
  if (name !== target.name) flaws.push(field.invalid("metadata.name", name, "field is immutable"));
  if (current && uid !== current.metadata.uid) flaws.push(field.invalid("metadata.uid", uid, "field is immutable"));
  refuse({ ...target, name }, [...flaws, ...flaws]);
  if (!current) return;
  checkPreconditions(draft, current, target);
  keepSystemMetadata(draft, current);
}

/** Adds what is the server's and the kind's own, and refuses what is wrong. */
function finish(job: Job, draft: DynamicObject, current: DynamicObject | undefined): void {
  const { target, context, dependencies } = job;
  if (current) finishUpdate(target, draft, current, context);
  else finishCreate(target, draft, context);
  dependencies.admission.admit(target, draft, current, context);
  refuse(target, current ? updateErrors(target, draft, current, context) : createErrors(target, draft, context));
}

function finishUpdate(
  target: NamedTarget,
  draft: DynamicObject,
  current: DynamicObject,
  context: RequestContext,
): void {
  const { resource, subresource } = target;
  const { managedFields } = draft.metadata;
  if (subresource?.edit) subresource.edit.prepare(draft, current, context);
  else {
    if (resource.strategy.hasStatus) keepStatus(draft, current);
    resource.strategy.prepareForUpdate(draft, current, context);
  }
  setManagers(draft, managedFields);
  // `/status` and its like change no wish.
  if (!subresource?.edit) countGeneration(draft, current, resource);
}

function keepStatus(draft: DynamicObject, current: DynamicObject): void {
  if (current.status === undefined) delete draft.status;
  else draft.status = current.status;
}

function updateErrors(
  target: NamedTarget,
  draft: DynamicObject,
  current: DynamicObject,
  context: RequestContext,
): FieldError[] {
  const { resource, subresource } = target;
  const { strategy, namespaced, builtin } = resource;
  const own = subresource?.edit
    ? subresource.edit.validate(draft, current, context)
    : strategy.validateUpdate(draft, current, context);
  const rules = { namespaced, nameRule: strategy.nameRule, builtin };
  const flaws = validateObjectMetaUpdate(draft.metadata, current.metadata, rules);
  // Kubernetes 1.36 looks at metadata twice, for all kinds alike and with the kind, and tells both findings.
  return [...flaws, ...flaws, ...own];
}

/** What was found twice is twice among the causes, and once in the message. */
export function refuse(target: NamedTarget, errors: FieldError[]): void {
  if (errors.length === 0) return;
  const { message } = invalid(kindSubjectOf(target), [...new Set(errors)]);
  const { details } = invalid(kindSubjectOf(target), errors).status;
  throw new ApiError(422, "Invalid", message, details ?? {});
}

/** What becomes of a write. */
interface Outcome {
  readonly answer: DynamicObject;
  readonly created: boolean;
  /** What is to be stored; undefined when the object goes. */
  readonly next: DynamicObject | undefined;
  readonly isUnchanged: boolean;
}

function outcomeOf(draft: DynamicObject, current: DynamicObject | undefined): Outcome {
  if (!current) return { answer: draft, created: true, next: draft, isUnchanged: false };
  if (equalButTimes(draft, current)) return { answer: current, created: false, next: current, isUnchanged: true };
  // The last finalizer of a deleted object is gone: so is the object. The client still sees what it wrote.
  return { answer: draft, created: false, next: isFinished(draft) ? undefined : draft, isUnchanged: false };
}

function resultOf({ answer, created, next }: Outcome, stored: DynamicObject | undefined): UpdateResult {
  return { object: stored && next ? stored : answer, created };
}

/** Deleted, and nothing holds it any longer; Namespaces are also held by their spec. */
export function isFinished(object: DynamicObject): boolean {
  if (!object.metadata.deletionTimestamp || object.metadata.deletionGracePeriodSeconds) return false;
  if ((object.metadata.finalizers ?? []).length > 0) return false;
  const spec = object.spec as { finalizers?: unknown[] } | undefined;
  return object.kind !== "Namespace" || object.apiVersion !== "v1" || (spec?.finalizers ?? []).length === 0;
}
