/**
 * Looks after AppliedManifestWorks whose work the hub does not have. Absent is not deleted: they go when the ledger of
 * the hub says so, or when the hub that placed them has lacked their work for long without a gap, or when a person says
 * so; see `forgotten.ts` for what is held.
 *
 * Key     none: all of them are looked at together
 * Reads   AppliedManifestWork; ManifestWork, ManagedCluster and the detach ledger on the hub
 * Writes  spoke: AppliedManifestWork (deletes it; annotations; status.evictionStartTime), Events
 *         hub: takes out of the ledger what is cleaned
 * Twin    ocm:pkg/work/spoke/controllers/finalizercontroller/unmanaged_appliedmanifestwork_controller.go
 */
import { ConfigMap } from "#api/core";
import { AppliedAnnotation, AppliedManifestWork, DETACH_LEDGER, ManifestWork } from "#api/work";
import { isForbidden, isNotFound } from "#kube";
import { type Clock, timestamp } from "#lib/clock";
import { parseJson } from "#lib/json";
import { isDeleting } from "#lib/meta";
import {
  again,
  type Cluster,
  type Controller,
  done,
  type EventRecorder,
  type Outcome,
  type ReconcileContext,
} from "#runtime";
import { appliedName, type HubSide, isLookedAfter, isOfHub } from "./applied-work.ts";
import { type Fate, fateOf, type HubView } from "./forgotten.ts";
import type { HubIdentity } from "./hub-identity.ts";
import { annotated, holding, hubIn, seenIn, withHeld } from "./provenance.ts";
import { HELD_REASON } from "./reasons.ts";

export interface ForgottenControllerOptions {
  readonly hub: Cluster;
  readonly spoke: Cluster;
  readonly clusterName: string;
  readonly side: HubSide;
  readonly identity: HubIdentity;
  /** Milliseconds for which the hub must have lacked a work. */
  readonly grace: number;
  /** Tells whoever looks after the spoke. */
  readonly spokeRecorder: EventRecorder;
  readonly clock: Clock;
}

const ALL = "all";
/** So often the hub is asked while something is in question. Between two answers no more than this may pass unseen. */
const LOOK = 60_000;
/** A ledger that was worked at is looked at again so soon, and so often while something of it is left. */
const LEDGER_LOOK = 1_000;

export function forgottenController(options: ForgottenControllerOptions): Controller {
  const { hub, spoke, clusterName, side } = options;
  const works = hub.cache(ManifestWork, { namespace: clusterName });
  const applieds = spoke.cache(AppliedManifestWork);
  const watch = new Watch(options);
  const isThere = (applied: AppliedManifestWork) =>
    isOfHub(applied, side) && works.get(`${clusterName}/${applied.spec?.manifestWorkName}`) !== undefined;

  return {
    name: "forgotten-manifestwork",
    triggers: [
      // A work that comes ends what was begun because it was not there.
      works.keyedBy(() => ALL, {
        when: (before, after) =>
          !after || (!before && watch.isConcernedWith(applieds.get(appliedName(side, after.metadata.name)))),
      }),
      applieds.keyedBy(() => ALL, {
        when: (before, after) =>
          isOfInterest(before, after) && (!after || !isThere(after) || watch.isConcernedWith(after)),
      }),
    ],

    async reconcile(_, context) {
      const ours = applieds.list().filter((each) => isLookedAfter(each, side) && !isDeleting(each));
      return watch.look(ours, isThere, context);
    },
  };
}

/** Coming and going, and what people say by annotations. */
function isOfInterest(before: AppliedManifestWork | undefined, after: AppliedManifestWork | undefined): boolean {
  if (!before || !after) return true;
  const said = ({ metadata }: AppliedManifestWork) => metadata.annotations?.[AppliedAnnotation.removal];
  return said(before) !== said(after) || isDeleting(before) !== isDeleting(after);
}

class Watch {
  readonly #options: ForgottenControllerOptions;
  /** Since when the hub has been seen to lack a work, look after look. It dies with the agent, and so does its count. */
  readonly #since = new Map<string, number>();
  /** Whether there may be a ledger though nothing is amiss here: at the start, and while one is worked off. */
  #mayHaveLedger = true;

  constructor(options: ForgottenControllerOptions) {
    this.#options = options;
  }

  /** Whether it has to be looked at although its work is there: at the start, and where something was begun. */
  isConcernedWith(applied: AppliedManifestWork | undefined): boolean {
    if (this.#mayHaveLedger) return true;
    return applied !== undefined && (this.#since.has(applied.metadata.name) || isDated(applied));
  }

  async look(
    ours: readonly AppliedManifestWork[],
    isThere: (applied: AppliedManifestWork) => boolean,
    context: ReconcileContext,
  ): Promise<Outcome> {
    const { spoke } = this.#options;
    for (const applied of ours.filter(isThere)) {
      this.#since.delete(applied.metadata.name);
      // What is held is let go by the turn of the work, which knows whether it is still in doubt.
      if (isDated(applied)) await spoke.commit(AppliedManifestWork, applied, undated(applied));
    }
    const absent = ours.filter((each) => !isThere(each));
    if (absent.length === 0 && !this.#mayHaveLedger) return done;
    const left = await this.#ledgerLeft(context);
    this.#mayHaveLedger = left.size > 0;
    const undecided = absent.filter(({ spec, metadata }) => !left.has(spec?.manifestWorkName ?? metadata.name));
    if (undecided.length > 0) await this.#judge(undecided, context);
    if (left.size > 0) return again(LEDGER_LOOK);
    return undecided.length > 0 ? again(this.#pause(undecided)) : done;
  }

  /** Not later than the next of them is due. */
  #pause(undecided: readonly AppliedManifestWork[]): number {
    const { clock, grace } = this.#options;
    const now = clock.now().getTime();
    const due = undecided.flatMap(({ metadata }) => this.#since.get(metadata.name) ?? []);
    return Math.max(1, Math.min(LOOK, ...due.map((since) => since + grace - now)));
  }

  async #judge(absent: readonly AppliedManifestWork[], { signal, log }: ReconcileContext): Promise<void> {
    const { hub, clusterName, side, identity, grace, clock } = this.#options;
    let answer: { view: HubView; names: ReadonlySet<string> };
    try {
      const list = await hub.client.list(ManifestWork, { namespace: clusterName, metadataOnly: true, signal });
      const names = new Set(list.items.map(({ metadata }) => metadata.name));
      const isLacking = (each: AppliedManifestWork) =>
        !isOfHub(each, side) || !names.has(each.spec?.manifestWorkName ?? "");
      const view = {
        identity: await identity.asked(signal),
        resourceVersion: list.metadata.resourceVersion ?? "",
        works: list.items.length,
        lacking: absent.filter(isLacking).length,
      };
      answer = { view, names };
    } catch (error) {
      // A hub that does not answer says nothing about its works, and whatever it said before may have changed since.
      this.#since.clear();
      throw error;
    }
    const now = clock.now().getTime();
    for (const applied of absent) {
      const { name } = applied.metadata;
      if (isOfHub(applied, side) && answer.names.has(applied.spec?.manifestWorkName ?? "")) {
        this.#since.delete(name); // our copy of the works lags behind
        continue;
      }
      const fate = fateOf(applied, side, answer.view, { now, since: this.#since.get(name), grace });
      if (fate.verdict === "remove")
        log.info("the hub has no such work any more; what it brought goes", { work: name });
      await this.#carryOut(applied, fate, answer.view);
    }
  }

  async #carryOut(applied: AppliedManifestWork, fate: Fate, { identity }: HubView): Promise<void> {
    const { spoke, spokeRecorder } = this.#options;
    const { name } = applied.metadata;
    if (fate.verdict !== "wait") this.#since.delete(name);
    switch (fate.verdict) {
      case "remove":
        await spoke.remove(AppliedManifestWork, applied);
        return;
      case "wait": {
        this.#since.set(name, fate.since);
        // Of what another agent has made it is assumed that this hub placed it: the clock starts with that.
        const placed = annotated(applied, { [AppliedAnnotation.hub]: hubIn(applied) ?? identity });
        const evictionStartTime = timestamp(new Date(fate.since));
        await spoke.commit(AppliedManifestWork, applied, {
          ...placed,
          status: { ...placed.status, evictionStartTime },
        });
        return;
      }
      case "hold": {
        const note = holding(applied, fate.why);
        await spoke.commit(AppliedManifestWork, applied, undated(withHeld(applied, note)));
        spokeRecorder.tell(applied, { type: "Warning", reason: HELD_REASON, action: "RemoveWork", note });
        return;
      }
      case "keep":
        await spoke.commit(AppliedManifestWork, applied, undated(applied));
        return;
    }
  }

  /** Works off the ledger; the answer is the works of it that are not cleaned yet. */
  async #ledgerLeft({ signal, log }: ReconcileContext): Promise<ReadonlySet<string>> {
    const { hub, clusterName } = this.#options;
    const ledger = await readLedger(hub, clusterName, signal);
    const entries = Object.entries(ledger?.data ?? {});
    if (!ledger || entries.length === 0) return new Set();
    const list = await hub.client.list(ManifestWork, { namespace: clusterName, metadataOnly: true, signal });
    const alive = new Set(list.items.map(({ metadata }) => metadata.name));
    const left = new Set<string>();
    for (const [work, entry] of entries) {
      if (alive.has(work)) continue; // there is one of this name again, and it decides what becomes of the objects
      if (!(await this.#isCleaned(work, entry, signal))) left.add(work);
    }
    const data = Object.fromEntries(entries.filter(([work]) => left.has(work)));
    if (left.size < entries.length) {
      const cleaned = entries.map(([work]) => work).filter((work) => !left.has(work));
      log.info("cleaned up after works that the hub had given up", { works: cleaned.join(",") });
      await hub.commit(ConfigMap, ledger, { ...ledger, data });
    }
    return left;
  }

  /** Whether nothing of it is left on the spoke; begins with it otherwise. */
  async #isCleaned(work: string, entry: string, signal: AbortSignal): Promise<boolean> {
    const { spoke, side } = this.#options;
    try {
      const applied = await spoke.client.get(AppliedManifestWork, appliedName(side, work), { signal });
      const placed = seenIn(applied)?.uid;
      const meant = uidIn(entry);
      // Another work of that name came after the one that was given up, and was not given up itself.
      if (!isLookedAfter(applied, side) || (placed !== undefined && meant !== undefined && placed !== meant))
        return true;
      if (!isDeleting(applied)) await spoke.remove(AppliedManifestWork, applied);
      return false;
    } catch (error) {
      if (isNotFound(error)) return true;
      throw error;
    }
  }
}

function isDated({ status }: AppliedManifestWork): boolean {
  return status?.evictionStartTime !== undefined;
}

function undated(applied: AppliedManifestWork): AppliedManifestWork {
  const { evictionStartTime, ...status } = applied.status ?? {};
  if (evictionStartTime === undefined) return applied;
  return { ...applied, status };
}

function uidIn(entry: string): string | undefined {
  try {
    const { uid } = (parseJson(entry) ?? {}) as { uid?: unknown };
    return typeof uid === "string" ? uid : undefined;
  } catch {
    return undefined;
  }
}

/** Only clusters that were given up have one, and only then may their agents read it. */
async function readLedger(hub: Cluster, clusterName: string, signal: AbortSignal): Promise<ConfigMap | undefined> {
  try {
    return await hub.client.get(ConfigMap, `${clusterName}/${DETACH_LEDGER}`, { signal });
  } catch (error) {
    if (isNotFound(error) || isForbidden(error)) return undefined;
    throw error;
  }
}
