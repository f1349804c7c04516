/** Removing what a set contained and no longer does: only what is surely the set's, and never much at once. */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace } from "#api/core";
import { apiVersionOf, type DynamicObject, type Kind } from "#api/meta";
import { isDeleting } from "#lib/meta";
import { isConflict, isNotFound, isUnknownKind } from "../errors.ts";
import type { CallOptions, Client } from "../types.ts";
import { compareIds, identityOf, isOfKind, keyOfId, nameOf, type ObjectId } from "./identity.ts";
import type { Kinds } from "./kinds.ts";
import { existing } from "./live.ts";
import type { Memory } from "./memory.ts";
import { isSameOwner } from "./owners.ts";
import { PHASES, placeOf } from "./phases.ts";
import { eachOf } from "./pool.ts";
import { verdictOf } from "./refusals.ts";
import type { ObjectReport, RemovalBudget, Tracking } from "./types.ts";
import { reportFrom, type Verdict } from "./verdict.ts";

/** Half of a set, or a hundred objects: more than that looks like a mistake. */
export const DEFAULT_BUDGET: RemovalBudget = { objects: 100, percent: 50 };

export interface PruneOptions {
  readonly client: Client;
  readonly kinds: Kinds;
  readonly memory: Memory;
  readonly tracking: Tracking;
  /** Uids of objects that are in the set: what has another group now is still the same object. */
  readonly kept: ReadonlySet<string>;
  readonly dryRun: boolean;
  readonly atOnce: number;
  readonly call: CallOptions;
  readonly onReport: (report: ObjectReport) => void;
}

export interface Pruned {
  readonly reports: readonly ObjectReport[];
  /** What still belongs to the set, because it was not removed or is not gone yet. */
  readonly remaining: readonly ObjectId[];
}

interface Found {
  readonly id: ObjectId;
  /** What is to be done: removed, released, or nothing, for the reason given. */
  readonly verdict?: Verdict;
  readonly kind?: Kind;
  readonly live?: DynamicObject;
  readonly release?: boolean;
  /** Whether it stays in the record although nothing is done. */
  readonly stays?: boolean;
}

/**
 * Removes what has left the set. `contained` is how many objects it has or had: a share of that is the same however
 * often one tries. `whole` is whether all that it has now is in place; for as long as that is in doubt nothing goes.
 */
export async function prune(
  options: PruneOptions,
  departed: readonly ObjectId[],
  { contained, whole }: { contained: number; whole: boolean },
): Promise<Pruned> {
  const sorted = [...departed].sort(compareIds);
  if (!options.tracking.prune) return allHeld(options, sorted, UNASKED);
  if (!whole) return allHeld(options, sorted, INCOMPLETE);

  const found: Found[] = [];
  await eachOf(sorted, options.atOnce, async (id) => found.push(await look(options, id)));
  found.sort((a, b) => compareIds(a.id, b.id));
  const doubtful = found.find(({ verdict }) => verdict?.reason === "DoubtfulRead");
  if (doubtful) return allHeld(options, sorted, { ...DOUBTFUL, message: doubtful.verdict?.message ?? "" });

  const removals = found.filter(({ verdict }) => verdict === undefined);
  const excess = overBudget(removals.filter(({ release }) => !release).length, contained, options.tracking.budget);
  const decided = excess
    ? found.map((each) => (each.verdict ? each : { ...each, verdict: excess, stays: true }))
    : found;
  return carriedOut(options, decided);
}

const UNASKED: Verdict = {
  action: "held back",
  reason: "LeftTheSet",
  message: "it has left the set, and removing was not asked for",
};
const INCOMPLETE: Verdict = {
  action: "held back",
  reason: "Incomplete",
  message: "it has left the set; nothing is removed before the rest is in place",
};
const DOUBTFUL: Verdict = { action: "held back", reason: "DoubtfulRead", message: "" };

function allHeld({ onReport }: PruneOptions, ids: readonly ObjectId[], verdict: Verdict): Pruned {
  const reports = ids.map((id) => reportFrom(id, verdict));
  for (const report of reports) onReport(report);
  return { reports, remaining: ids };
}

/** Why so much is not removed at once; undefined when it is not too much. */
export function overBudget(
  removals: number,
  contained: number,
  { objects, percent }: RemovalBudget = DEFAULT_BUDGET,
): Verdict | undefined {
  if (removals === 0 || (removals <= objects && removals * 100 <= percent * contained)) return undefined;
  const limits = [
    ...(Number.isFinite(objects) ? [`${objects} objects`] : []),
    ...(percent < 100 ? [`${percent} %`] : []),
  ];
  const message = `${removals} of ${contained} objects have left the set; at most ${limits.join(" and ")} are removed at once`;
  return { action: "held back", reason: "OverBudget", message };
}

async function look(options: PruneOptions, id: ObjectId, isRepeated = false): Promise<Found> {
  const { client, kinds, tracking, kept, call } = options;
  let kind: Kind | undefined;
  try {
    kind = await kinds.findAny(id, call);
    const live = kind && (await existing(client, kind, keyOfId(id), call));
    if (!live) return { id, verdict: { action: "skipped", reason: "Gone", message: "it is gone already" } };
    if (kept.has(live.metadata.uid ?? "")) return { id, verdict: RENAMED };
    const claim = claimOn(live, tracking);
    const isKept = !claim.verdict && isContainer(id) && tracking.containers !== "remove";
    return { id, ...(kind && { kind }), live, ...(isKept ? { stays: true, verdict: CONTAINER } : claim) };
  } catch (error) {
    if (isUnknownKind(error) && kind && !isRepeated) {
      // What was known of its kind is out of date: a definition takes its objects along.
      kinds.forget(apiVersionOf(kind));
      return look(options, id, true);
    }
    const message = `nothing is removed, because ${nameOf(id)} cannot be looked at: ${verdictOf(error).message}`;
    return { id, verdict: { ...DOUBTFUL, message } };
  }
}

function isContainer(id: ObjectId): boolean {
  return isOfKind(id, Namespace) || isOfKind(id, CustomResourceDefinition);
}

/** Whether the set may remove the object, must share it, or has lost it. */
function claimOn(live: DynamicObject, { membership }: Tracking): Pick<Found, "verdict" | "release" | "stays"> {
  if ("label" in membership) {
    const { key, value } = membership.label;
    if (live.metadata.labels?.[key] !== value) return { verdict: LOST };
  } else {
    const { owner, isRival = () => false } = membership;
    const owners = live.metadata.ownerReferences ?? [];
    if (!owners.some(({ uid }) => uid === owner.uid)) return { verdict: LOST };
    if (owners.some((other) => other.uid !== owner.uid && isRival(other))) return { release: true };
  }
  return isDeleting(live) ? { stays: true, verdict: GOING } : {};
}

const CONTAINER: Verdict = {
  action: "held back",
  reason: "Container",
  message: "it has left the set; all that is in it would go with it, so it is left to be removed by hand",
};
const RENAMED: Verdict = { action: "skipped", reason: "NotOurs", message: "it is still in the set, in another group" };
const LOST: Verdict = { action: "skipped", reason: "NotOurs", message: "it does not belong to the set any more" };
const GOING: Verdict = { action: "pruned", reason: "BeingDeleted", message: "it is being deleted already" };

async function carriedOut(options: PruneOptions, found: readonly Found[]): Promise<Pruned> {
  const reports: ObjectReport[] = [];
  const remaining: ObjectId[] = [];
  const tell = (each: Found, verdict: Verdict, stays: boolean) => {
    const report = reportFrom(each.id, verdict);
    reports.push(report);
    if (verdict.action === "pruned") options.memory.forget(identityOf(each.id));
    if (stays) remaining.push(each.id);
    options.onReport(report);
  };
  for (const each of found) if (each.verdict) tell(each, each.verdict, each.stays ?? false);
  // What was built last goes first.
  for (const phase of [...PHASES].reverse()) {
    const due = found.filter(({ id, verdict }) => !verdict && placeOf(id, false).phase === phase);
    await eachOf(due, options.atOnce, async (each) => {
      const verdict = await removed(options, each);
      const isDone = verdict.action === "pruned" || verdict.action === "updated" || verdict.action === "skipped";
      tell(each, verdict, !isDone || (verdict.action === "pruned" && lingers(each.live)));
    });
  }
  reports.sort((a, b) => compareIds(a.id, b.id));
  return { reports, remaining };
}

/** Something still holds it after it was deleted. */
function lingers(live: DynamicObject | undefined): boolean {
  return (live?.metadata.finalizers ?? []).length > 0;
}

async function removed(options: PruneOptions, { id, kind, live, release }: Found): Promise<Verdict> {
  const { client, dryRun, call, tracking } = options;
  const done: Verdict = release
    ? { action: "updated", reason: "Released", message: "it has left the set; others still own it" }
    : { action: "pruned", reason: "LeftTheSet", message: "it has left the set" };
  if (dryRun || !kind || !live) return done;
  const { uid, resourceVersion, ownerReferences = [] } = live.metadata;
  try {
    if (release && "owner" in tracking.membership) {
      const { owner } = tracking.membership;
      const others = ownerReferences.filter((other) => !isSameOwner(other, owner));
      const patch = { metadata: { uid, resourceVersion, ownerReferences: others } };
      await client.patch(kind, keyOfId(id), patch, { ...call, type: "merge" });
    } else {
      const preconditions = uid ? { preconditions: { uid } } : {};
      await client.delete(kind, keyOfId(id), { ...call, ...preconditions, propagationPolicy: "Background" });
    }
    return done;
  } catch (error) {
    if (isNotFound(error)) return { action: "skipped", reason: "Gone", message: "it is gone already" };
    if (isConflict(error) && !release) return LOST; // made anew by somebody else since we looked
    return verdictOf(error);
  }
}
