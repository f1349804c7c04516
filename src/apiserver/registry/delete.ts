/** DELETE: at once, or marked and left to those who hold a finalizer. */
import type { DynamicObject, Status } from "#api/meta";
import { timestamp } from "#lib/clock";
import { clone, equal, isObject } from "#lib/json";
import { badRequest, conflict, type FieldError, field, invalid, notFound } from "../errors.ts";
import type { RequestContext, Strategy } from "../resource.ts";
import { writeDeliberately } from "./asking.ts";
import { integerOf, type ListOptions } from "./options.ts";
import { type Listed, list } from "./read.ts";
import {
  type AdmissionQuestion,
  type AdmissionWebhooks,
  kindSubjectOf,
  type NamedTarget,
  type RegistryDependencies,
  storeKey,
  subjectOf,
  type Target,
} from "./target.ts";
import { shownBy } from "./versions.ts";
import { isFinished } from "./write.ts";

export interface DeleteOptions {
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  /** Whether the client asked for dependents to be deleted in the old way, by `orphanDependents: false`. */
  readonly asksOldWay?: boolean;
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun: boolean;
}

const POLICIES = ["Foreground", "Background", "Orphan"] as const;

/** Options come in the body; without a body, in the query. */
export function deleteOptions(body: Record<string, unknown> | undefined, query: URLSearchParams): DeleteOptions {
  const given: Record<string, unknown> = body ?? fromQuery(query);
  refuseOtherKinds(given);
  const errors: FieldError[] = [];
  const { propagationPolicy, gracePeriodSeconds, orphanDependents } = given;
  if (
    propagationPolicy !== undefined &&
    propagationPolicy !== null &&
    !POLICIES.some((known) => known === propagationPolicy)
  ) {
    errors.push(field.notSupported("propagationPolicy", propagationPolicy, [...POLICIES, "nil"]));
  }
  if (orphanDependents !== undefined && orphanDependents !== null && propagationPolicy) {
    errors.push(
      field.invalid(
        "propagationPolicy",
        propagationPolicy,
        "orphanDependents and deletionPropagation cannot be both set",
      ),
    );
  }
  const dryRun = Array.isArray(given.dryRun) ? given.dryRun : [];
  if (dryRun.some((value) => value !== "All")) errors.push(field.notSupported("dryRun", dryRun, ["All"]));
  if (errors.length > 0) throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, errors);

  const preconditions = isObject(given.preconditions) ? given.preconditions : undefined;
  const policy =
    propagationPolicy ?? (orphanDependents === true ? "Orphan" : orphanDependents === false ? "Background" : undefined);
  return {
    dryRun: dryRun.length > 0,
    ...(policy !== undefined && policy !== null && { propagationPolicy: policy as "Orphan" }),
    ...(orphanDependents === false && { asksOldWay: true }),
    ...(typeof gracePeriodSeconds === "number" && {
      gracePeriodSeconds: gracePeriodSeconds < 0 ? 1 : gracePeriodSeconds, // as real servers take it
    }),
    ...(preconditions && { preconditions: preconditions as { uid?: string; resourceVersion?: string } }),
  };
}

function refuseOtherKinds({ kind = "DeleteOptions", gracePeriodSeconds = null }: Record<string, unknown>): void {
  if (kind !== "" && kind !== "DeleteOptions")
    throw badRequest(`no kind ${JSON.stringify(kind)} is known for options of a deletion`);
  if (gracePeriodSeconds !== null && !Number.isInteger(gracePeriodSeconds)) {
    throw badRequest("DeleteOptions.gracePeriodSeconds must be an integer");
  }
}

function fromQuery(query: URLSearchParams): Record<string, unknown> {
  const grace = query.get("gracePeriodSeconds");
  return {
    ...(query.has("propagationPolicy") && { propagationPolicy: query.get("propagationPolicy") }),
    ...(grace !== null && { gracePeriodSeconds: integerOf(grace) }),
    ...(query.has("orphanDependents") && { orphanDependents: query.get("orphanDependents") === "true" }),
    ...(query.has("dryRun") && { dryRun: query.getAll("dryRun") }),
  };
}

/** The object as it is while something still holds it, or a Status that says it is gone. */
export async function remove(
  dependencies: RegistryDependencies,
  target: NamedTarget,
  options: DeleteOptions,
  context: RequestContext,
): Promise<DynamicObject | Status> {
  const { resource } = target;
  const { store, admission } = dependencies;
  const { orphanWarning } = resource.strategy;
  if (orphanWarning !== undefined && options.propagationPolicy === undefined) context.warn(orphanWarning);
  let held: DynamicObject | undefined;
  let gone: DynamicObject | undefined;

  const decide = (current: DynamicObject | undefined): DynamicObject | undefined => {
    if (!current) throw notFound(subjectOf(target));
    checkDeletePreconditions(target, current, options);
    admission.admitDelete(target, current, context);
    const marked = markDeleted(current, resource.strategy, options, context.now);
    if (isFinished(marked)) {
      gone = resource.strategy.graceFor ? marked : current;
      return undefined;
    }
    held = marked;
    return marked;
  };

  const isDry = options.dryRun || context.dryRun;
  const webhooks = admission.webhooks(target, "DELETE");
  const think = async (current: DynamicObject | undefined) => {
    if (!current) throw notFound(subjectOf(target));
    checkDeletePreconditions(target, current, options);
    admission.admitDelete(target, current, context);
    if (webhooks) await askedToDelete(webhooks, target, current, options, context);
    return decide;
  };
  const newest = () => store.head(resource.storage, storeKey(target));
  if (isDry) (webhooks ? await think(newest()) : decide)(newest());
  else {
    const stored = webhooks
      ? await writeDeliberately(store, target, think)
      : await store.write(resource.storage, storeKey(target), decide);
    if (held) return shownBy(resource, stored ?? held);
  }
  if (gone && resource.strategy.showsDeleted) return shownBy(resource, gone);
  return held ?? success(target, gone);
}

/** Throws ApiError when somebody outside refuses the deletion. */
async function askedToDelete(
  webhooks: AdmissionWebhooks,
  target: NamedTarget,
  current: DynamicObject,
  { propagationPolicy, gracePeriodSeconds, preconditions, dryRun }: DeleteOptions,
  context: RequestContext,
): Promise<void> {
  const question: AdmissionQuestion = {
    target,
    operation: "DELETE",
    oldObject: await shownBy(target.resource, current),
    options: {
      kind: "DeleteOptions",
      apiVersion: "meta.k8s.io/v1",
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
      ...(preconditions && { preconditions }),
      ...(propagationPolicy && { propagationPolicy }),
      ...(dryRun && { dryRun: ["All"] }),
    },
    context: dryRun ? { ...context, dryRun } : context,
  };
  await webhooks.mutate(question);
  await webhooks.validate(question);
}

/** Who asks in the old way is told by the code whether the object is gone. */
export function deletionCode({ asksOldWay }: DeleteOptions, answer: DynamicObject | Status): 200 | 202 {
  const isGone = answer.kind === "Status" || isFinished(answer as DynamicObject);
  return asksOldWay && !isGone ? 202 : 200;
}

function checkDeletePreconditions(target: NamedTarget, current: DynamicObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {};
  if (uid && uid !== current.metadata.uid) {
    throw conflict(
      kindSubjectOf(target),
      `the UID in the precondition (${uid}) does not match the UID in record (${current.metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion && resourceVersion !== current.metadata.resourceVersion) {
    throw conflict(
      kindSubjectOf(target),
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${current.metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

/** The object with its mark of deletion and the finalizer that the policy asks for; itself if nothing changes. */
function markDeleted(
  current: DynamicObject,
  strategy: Strategy,
  { propagationPolicy, gracePeriodSeconds }: DeleteOptions,
  now: Date,
): DynamicObject {
  const marked = clone(current);
  const { metadata } = marked;
  const finalizers = finalizersFor(metadata.finalizers ?? [], propagationPolicy, strategy);
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;

  if (metadata.deletionTimestamp) {
    shortenGrace(metadata, gracePeriodSeconds);
  } else {
    const grace = strategy.graceFor?.(current, gracePeriodSeconds) ?? 0;
    metadata.deletionTimestamp = timestamp(new Date(now.getTime() + grace * 1000));
    metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation) metadata.generation += 1;
    strategy.prepareForDelete?.(marked);
  }
  return equal(marked, current) ? current : marked;
}

/** Who deletes again may hurry the end, and never put it off. */
function shortenGrace(metadata: DynamicObject["metadata"], asked: number | undefined): void {
  const { deletionTimestamp = "", deletionGracePeriodSeconds: granted = 0 } = metadata;
  if (asked === undefined || asked >= granted) return;
  metadata.deletionTimestamp = timestamp(new Date(Date.parse(deletionTimestamp) - (granted - asked) * 1000));
  metadata.deletionGracePeriodSeconds = asked;
}

function finalizersFor(finalizers: string[], policy: DeleteOptions["propagationPolicy"], strategy: Strategy): string[] {
  const wanted = collectorFinalizer(finalizers, policy, strategy);
  const others = finalizers.filter((finalizer) => finalizer !== FOREGROUND && finalizer !== ORPHAN);
  const next = wanted === undefined ? others : [...others, wanted];
  const isAsBefore = next.length === finalizers.length && next.every((finalizer) => finalizers.includes(finalizer));
  return isAsBefore ? finalizers : next;
}

/** The request decides; without its word, what somebody set beforehand; and then the kind. */
function collectorFinalizer(
  finalizers: readonly string[],
  policy: DeleteOptions["propagationPolicy"],
  { dependents }: Strategy,
): string | undefined {
  if (dependents === "ignored" || policy === "Background") return undefined;
  if (policy !== undefined) return policy === "Foreground" ? FOREGROUND : ORPHAN;
  const set = finalizers.find((finalizer) => finalizer === FOREGROUND || finalizer === ORPHAN);
  return set ?? (dependents === "orphaned" ? ORPHAN : undefined);
}

function success({ resource, name }: NamedTarget, object: DynamicObject | undefined): Status {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name,
      ...(resource.group && { group: resource.group }),
      kind: resource.plural,
      ...(object?.metadata.uid && { uid: object.metadata.uid }),
    },
  };
}

/** Deletes all that a list with the same options would show, and answers with that list. */
export async function removeCollection(
  dependencies: RegistryDependencies,
  target: Target,
  options: DeleteOptions,
  selection: ListOptions,
  context: RequestContext,
): Promise<Listed> {
  const found = await list(dependencies, target, selection);
  for (const object of found.items) {
    const { namespace, name } = object.metadata;
    const one: NamedTarget = { resource: target.resource, ...(namespace !== undefined && { namespace }), name };
    await remove(dependencies, one, options, context).catch((error: unknown) => {
      if (!isNotFound(error)) throw error; // somebody else deleted it first
    });
  }
  return found;
}

function isNotFound(error: unknown): boolean {
  return (error as { status?: Status }).status?.reason === "NotFound";
}
