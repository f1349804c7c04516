/**
 * Taking away what was applied for a work. An object goes only if it still names the work as its owner; if another work
 * owns it too, it only loses our reference. What cannot be looked at stays, and so does its entry in the record.
 */
import type { Kind, OwnerReference } from "#api/meta";
import type { AppliedResource } from "#api/work";
import {
  type ApplyEngine,
  type ApplyReport,
  identityOf,
  isKubeError,
  type Kinds,
  nameOf,
  type ObjectId,
  type ObjectReport,
  type SetTracking,
} from "#kube";
import { isAppliedWork } from "./applied-work.ts";
import type { Target } from "./followed.ts";

export interface RemovalOptions {
  readonly engine: ApplyEngine;
  readonly kinds: Kinds;
  /** The work, as objects name it. */
  readonly owner: OwnerReference;
  readonly signal: AbortSignal;
}

export interface Removal {
  /** What is not gone yet, as the record has it. */
  readonly remaining: readonly AppliedResource[];
  /** The same, where it can be followed. */
  readonly targets: readonly Target[];
  /** Why something could not be removed or looked at; sorted. */
  readonly problems: readonly string[];
}

/** Whoever edits or deletes a work means all of it, what its namespaces and definitions hold included. */
const NO_LIMIT = { objects: Number.POSITIVE_INFINITY, percent: 100 };

interface Known extends Target {
  readonly resource: AppliedResource;
}

export async function remove(resources: readonly AppliedResource[], options: RemovalOptions): Promise<Removal> {
  const known: Known[] = [];
  const unknown: AppliedResource[] = [];
  const problems: string[] = [];
  for (const resource of resources) {
    try {
      const kind = await options.kinds.findResource({ ...resource, group: resource.group ?? "" }, options);
      // A kind that is not served has no objects.
      if (kind) known.push({ resource, kind, id: idFor(kind, resource) });
    } catch (error) {
      if (!isKubeError(error)) throw error;
      unknown.push(resource);
      problems.push(`${resource.resource} ${resource.name}: ${error.message}`);
    }
  }
  const outcome = await removeKnown(known, options);
  return {
    remaining: [...unknown, ...outcome.remaining.map(({ resource }) => resource)],
    targets: outcome.remaining,
    problems: [...new Set([...problems, ...outcome.problems])].sort(),
  };
}

/** What would become of them, each for itself; nothing is written. Throws what a server says that cannot be asked. */
export async function plannedRemoval(
  resources: readonly AppliedResource[],
  { engine, kinds, owner, signal }: RemovalOptions,
): Promise<readonly ObjectReport[]> {
  const reports: ObjectReport[] = [];
  for (const resource of resources) {
    const kind = await kinds.findResource({ ...resource, group: resource.group ?? "" }, { signal });
    if (!kind) continue;
    const inventory = { read: async () => [idFor(kind, resource)], write: async () => {} };
    const { objects } = await engine.plan({ wishes: [], tracking: trackingBy(owner, inventory) }, { signal });
    reports.push(...objects);
  }
  return reports;
}

interface Outcome {
  readonly remaining: readonly Known[];
  readonly problems: readonly string[];
}

async function removeKnown(known: readonly Known[], options: RemovalOptions): Promise<Outcome> {
  if (known.length === 0) return { remaining: [], problems: [] };
  const report = await removedAtOnce(known, options);
  const isInDoubt = report.objects.some(({ reason }) => reason === "DoubtfulRead");
  if (isInDoubt && known.length > 1) return removedOneByOne(known, options);

  const asked = new Set(report.objects.filter(isAskedToGo).map(({ id }) => identityOf(id)));
  const isAsked = ({ id }: Known) => asked.has(identityOf(id));
  const first = outcomeOf(
    known.filter((each) => !isAsked(each)),
    report,
  );
  // What is deleted may take its time, be it for a finalizer or for its last words; a second look tells.
  const going = known.filter(isAsked);
  if (going.length === 0) return first;
  const second = outcomeOf(going, await removedAtOnce(going, options));
  return { remaining: [...first.remaining, ...second.remaining], problems: [...first.problems, ...second.problems] };
}

function isAskedToGo({ action, reason }: ApplyReport["objects"][number]): boolean {
  return action === "pruned" && reason === "LeftTheSet";
}

/** One that cannot be looked at holds up all of them; alone, each stands for itself. */
async function removedOneByOne(known: readonly Known[], options: RemovalOptions): Promise<Outcome> {
  const outcomes: Outcome[] = [];
  for (const each of known) outcomes.push(await removeKnown([each], options));
  return {
    remaining: outcomes.flatMap(({ remaining }) => remaining),
    problems: outcomes.flatMap(({ problems }) => problems),
  };
}

interface RemovalReport extends ApplyReport {
  readonly remaining: readonly ObjectId[];
}

/** For the engine this is a set that nothing is in any more. */
async function removedAtOnce(
  known: readonly Known[],
  { engine, owner, signal }: RemovalOptions,
): Promise<RemovalReport> {
  let remaining: readonly ObjectId[] = known.map(({ id }) => id);
  const inventory = {
    read: async () => known.map(({ id }) => id),
    write: async (members: readonly ObjectId[]) => {
      remaining = members;
    },
  };
  const report = await engine.apply({ wishes: [], tracking: trackingBy(owner, inventory) }, { signal });
  return { ...report, remaining };
}

function trackingBy(owner: OwnerReference, inventory: SetTracking["inventory"]): SetTracking {
  const membership = { owner, isRival: isAppliedWork };
  return { inventory, membership, prune: true, budget: NO_LIMIT, containers: "remove" };
}

function outcomeOf(known: readonly Known[], { objects, remaining }: RemovalReport): Outcome {
  const left = new Set(remaining.map(identityOf));
  const meant = new Set(known.map(({ id }) => identityOf(id)));
  const failed = objects.filter(
    ({ id, action }) =>
      meant.has(identityOf(id)) && action !== "pruned" && action !== "updated" && action !== "skipped",
  );
  return {
    remaining: known.filter(({ id }) => left.has(identityOf(id))),
    problems: failed.map(({ id, message }) => `${nameOf(id)}: ${message}`),
  };
}

function idFor({ group, version, kind, namespaced }: Kind, { namespace, name }: AppliedResource): ObjectId {
  return { group, version, kind, ...(namespaced && namespace && { namespace }), name };
}
