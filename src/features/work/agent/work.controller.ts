/**
 * Makes the spoke look as a ManifestWork says, keeps it so, and reports.
 *
 * Key     ManifestWork name (in the cluster's namespace on the hub)
 * Reads   ManifestWork on the hub; AppliedManifestWork and whatever works have placed on the spoke
 * Writes  spoke: AppliedManifestWork, the objects of the work and their owners
 *         hub: the work's finalizer and status
 * Twin    ocm:pkg/work/spoke/controllers/{manifestcontroller,statuscontroller,finalizercontroller}
 */
import { AppliedAnnotation, AppliedManifestWork, ManifestWork, WorkCondition, WorkFinalizer } from "#api/work";
import { isNotFound } from "#kube";
import { isTrue, setCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { hasFinalizer, isDeleting, withFinalizer, withoutFinalizer } from "#lib/meta";
import { again, type Controller, done, type Outcome, type ReconcileContext, type Trigger } from "#runtime";
import { appliedName, isOfHub, listedIn, mended } from "./applied-work.ts";
import { objectsOf, rivalsOf } from "./claims.ts";
import type { HubIdentity } from "./hub-identity.ts";
import { AppliedReason, DELETING_REASON } from "./reasons.ts";
import { type Site, versionOf } from "./sites.ts";
import { Turn, type TurnOptions } from "./turn.ts";

export interface WorkControllerOptions extends Omit<TurnOptions, "worksFor" | "hubKnownAs"> {
  readonly clusterName: string;
  readonly identity: HubIdentity;
}

/** As many as upstream's agent works on at once. */
const CONCURRENCY = 10;
/** A record that the copy does not have yet is looked at again after so long. */
const LOOK = 1_000;

export function workController(options: WorkControllerOptions): Controller {
  const { hub, spoke, clusterName, side, sites, access } = options;
  const works = hub.cache(ManifestWork, { namespace: clusterName });
  const applieds = spoke.cache(AppliedManifestWork);
  const wanting = works.indexBy(objectsOf);
  const keeper = new Keeper({ ...options, worksFor: (identity) => wanting.at(identity) });
  const sharers = (work: ManifestWork) =>
    objectsOf(work).flatMap((identity) => wanting.at(identity).map(({ metadata }) => metadata.name));
  const workOf = (applied: AppliedManifestWork) =>
    isOfHub(applied, side) ? applied.spec?.manifestWorkName : undefined;
  // A copy that has caught up with our writes makes what they left of no more use.
  const caughtUp: Trigger<string> = {
    subscribe() {
      const ends = [
        works.onChange((_, work) => void (work && sites.known(work.metadata.name)?.work.latest(work))),
        applieds.onChange((_, applied) => void (applied && sites.known(workOf(applied) ?? "")?.record.latest(applied))),
      ];
      return () => {
        for (const end of ends) end();
      };
    },
  };
  const ending: Trigger<string> = { subscribe: () => () => access.close() };

  return {
    name: "manifestwork",
    concurrency: CONCURRENCY,
    triggers: [
      works.keyedBy(({ metadata }) => metadata.name, {
        when: (before, after) => isNews(before, after) && !(after && sites.isOwnReport(after)),
      }),
      // Whoever wants the same object may have to give way, or may have its own way now.
      works.keyedBy(sharers, { when: isOfInterestToRivals }),
      applieds.keyedBy(workOf, { when: isOfInterestToWorks }),
      sites.trigger,
      caughtUp,
      ending,
    ],

    async reconcile(name, context) {
      const cached = works.get(`${clusterName}/${name}`);
      if (!cached) {
        // Absent is not deleted: what was applied stays until somebody says that it should go.
        sites.leave(name);
        access.leave(name);
        return done;
      }
      const site = sites.of(name, cached.metadata.generation);
      const work = site.work.latest(cached) ?? cached;
      const applied = site.record.latest(applieds.get(appliedName(side, name)));
      return isDeleting(work) ? keeper.finish(work, applied, context) : keeper.keep(work, applied, context);
    },
  };
}

function isOfInterestToRivals(before: ManifestWork | undefined, after: ManifestWork | undefined): boolean {
  const state = (work: ManifestWork | undefined) =>
    work && [work.metadata.generation, isDeleting(work), isTrue(work.status?.conditions, WorkCondition.Complete)];
  return !equal(state(before), state(after));
}

/** All but what the agent itself does to a work before it begins. */
function isNews(before: ManifestWork | undefined, after: ManifestWork | undefined): boolean {
  if (!before || !after || isDeleting(after) || !hasFinalizer(after, WorkFinalizer.work)) return true;
  return before.metadata.generation !== after.metadata.generation || !equal(before.status, after.status);
}

/** That there is one, and what it lists, we have written ourselves; while it goes, the work's status says what is left. */
function isOfInterestToWorks(before: AppliedManifestWork | undefined, after: AppliedManifestWork | undefined): boolean {
  if (!after || isDeleting(after)) return true;
  const wished = ({ metadata, spec }: AppliedManifestWork) => [
    metadata.finalizers,
    metadata.annotations?.[AppliedAnnotation.removal],
    spec,
  ];
  return before !== undefined && !equal(wished(before), wished(after));
}

type KeeperOptions = WorkControllerOptions & Omit<TurnOptions, "hubKnownAs">;

class Keeper {
  readonly #options: KeeperOptions;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** While the work is wanted. */
  async keep(
    work: ManifestWork,
    applied: AppliedManifestWork | undefined,
    context: ReconcileContext,
  ): Promise<Outcome> {
    if (applied && isDeleting(applied)) return done; // it comes again when that is gone
    const { hub, spoke, side, sites, identity, clock } = this.#options;
    const site = sites.of(work.metadata.name, work.metadata.generation);
    if (this.#isAtRest(site, work, applied)) return done;
    const excess = appliedName(side, work.metadata.name).length - LONGEST_NAME;
    if (excess > 0) {
      const conditions = setCondition(work.status?.conditions, tooLongClaim(work, excess), clock.now());
      await hub.commit(ManifestWork, work, { ...work, status: { ...work.status, conditions } });
      return done;
    }
    const held = site.work.wrote(work, await hub.commit(ManifestWork, work, withFinalizer(work, WorkFinalizer.work)));
    const known = await identity.known(context.signal);
    const record =
      applied &&
      site.record.wrote(applied, await spoke.commit(AppliedManifestWork, applied, mended(applied, work, side)));
    return new Turn({ ...this.#options, hubKnownAs: known }, held, record, context).run();
  }

  /** Whether all is as the last turn left it, which left nothing to do. */
  #isAtRest({ settled }: Site, work: ManifestWork, applied: AppliedManifestWork | undefined): boolean {
    return (
      settled !== undefined &&
      settled.work === versionOf(work) &&
      settled.record === versionOf(applied) &&
      settled.rivals === rivalsOf(work, this.#options.worksFor)
    );
  }

  /** When somebody has deleted the work: all that was applied for it goes first. */
  async finish(
    work: ManifestWork,
    known: AppliedManifestWork | undefined,
    { signal }: ReconcileContext,
  ): Promise<Outcome> {
    const { hub, spoke, sites, access } = this.#options;
    sites.leave(work.metadata.name);
    access.leave(work.metadata.name);
    if (!hasFinalizer(work, WorkFinalizer.work)) return done;
    const applied = known ?? (await this.#liveRecord(work.metadata.name, signal));
    if (!applied) {
      await hub.commit(ManifestWork, work, withoutFinalizer(work, WorkFinalizer.work));
      return done;
    }
    const conditions = setCondition(work.status?.conditions, deletingClaim(work, applied), this.#options.clock.now());
    await hub.commit(ManifestWork, work, { ...work, status: { ...work.status, conditions } });
    await spoke.remove(AppliedManifestWork, applied);
    return known ? done : again(LOOK);
  }

  /** The copy may lag behind what was created a moment ago, and nothing must be forgotten on the spoke. */
  async #liveRecord(name: string, signal: AbortSignal): Promise<AppliedManifestWork | undefined> {
    const { spoke, side } = this.#options;
    try {
      return await spoke.client.get(AppliedManifestWork, appliedName(side, name), { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/** What a name may have at most; the record on the spoke puts the hub's mark before that of the work. */
const LONGEST_NAME = 253;

function tooLongClaim({ metadata }: ManifestWork, excess: number) {
  const why = `its name has ${excess} characters more than the cluster can record it under; create it under a shorter one`;
  return {
    type: WorkCondition.Applied,
    status: "False" as const,
    reason: AppliedReason.workFailed,
    message: `Failed to apply manifest work: ${why}`,
    observedGeneration: metadata.generation ?? 0,
  };
}

/** So many objects are named; whoever wants to know more looks at the AppliedManifestWork. */
const NAMED_OBJECTS = 3;

function deletingClaim({ metadata }: ManifestWork, applied: AppliedManifestWork) {
  const left = isDeleting(applied) ? listedIn(applied) : [];
  const names = left
    .slice(0, NAMED_OBJECTS)
    .map(({ resource, namespace, name }) => `${resource} ${namespace ? `${namespace}/` : ""}${name}`);
  const more = left.length > NAMED_OBJECTS ? ` and ${left.length - NAMED_OBJECTS} more` : "";
  return {
    type: WorkCondition.Deleting,
    status: "True" as const,
    reason: DELETING_REASON,
    message: `ManifestWork is being deleted${names.length > 0 ? `; on the cluster ${names.join(", ")}${more} must go first` : ""}`,
    observedGeneration: metadata.generation ?? 0,
  };
}
