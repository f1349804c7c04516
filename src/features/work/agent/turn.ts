/** One look at one work: what it wants is applied, what it no longer wants removed, and both is recorded and reported. */
import { CustomResourceDefinition } from "#api/apiextensions";
import type { DynamicObject, OwnerReference } from "#api/meta";
import {
  AppliedManifestWork,
  type AppliedResource,
  type ManifestCondition,
  ManifestWork,
  WorkCondition,
} from "#api/work";
import { identityOf, isKubeError, type ObjectReport } from "#kube";
import type { Clock } from "#lib/clock";
import { findCondition, isTrue } from "#lib/conditions";
import { equal } from "#lib/json";
import { backoffDelay } from "#lib/queue";
import { again, type Cluster, done, type EventRecorder, type Outcome, type ReconcileContext } from "#runtime";
import {
  appliedDraft,
  comingMark,
  type HubSide,
  listedIn,
  ownerOf,
  resourceKey,
  resourceOf,
  sorted,
} from "./applied-work.ts";
import { rivalsOf } from "./claims.ts";
import type { Access } from "./executor.ts";
import type { FeedbackOptions } from "./feedback.ts";
import { contested, sharedWith } from "./hindrances.ts";
import { finishedPieces, isWritten, metaOf, type Piece, piecesOf, targetOf, wishFor } from "./pieces.ts";
import { firstMarks, holding, isConfirmed, isHeld, regression, unheld, withHeld, withSeen } from "./provenance.ts";
import { AppliedReason, HELD_REASON } from "./reasons.ts";
import { type Removal, remove } from "./removal.ts";
import { ABSENT, type Settled, type Site, type Sites, versionOf } from "./sites.ts";
import { type Finding, workStatus } from "./status.ts";

export interface TurnOptions {
  readonly hub: Cluster;
  readonly spoke: Cluster;
  readonly side: HubSide;
  readonly sites: Sites;
  readonly access: Access;
  readonly feedback?: FeedbackOptions;
  readonly clock: Clock;
  /** Tells whoever looks after the work, on the hub. */
  readonly recorder: EventRecorder;
  /** What the hub is known by, if it says. */
  readonly hubKnownAs: string | undefined;
  /** The works that have a manifest of the object. */
  readonly worksFor: (identity: string) => readonly ManifestWork[];
}

/** A definition of the work itself is waited for so long before its objects are tried. */
const DEFINITION_PATIENCE = 10_000;
/** What could not be done is tried again so often, though nothing tells that it might work now. */
const RETRY = { base: 1_000, cap: 60_000 };
/** What may not be watched is asked for, as often as upstream's agent does. */
const POLL = 10_000;
/** What is being removed is watched; this is for what the watch may have missed. */
const REMOVAL_LOOK = 30_000;
const SOON = 100;

/** How a turn ended, and what it left. */
interface End {
  readonly outcome: Outcome;
  readonly left: Settled;
}

export class Turn {
  readonly #options: TurnOptions;
  readonly #work: ManifestWork;
  readonly #site: Site;
  readonly #context: ReconcileContext;
  #made: AppliedManifestWork | undefined;

  constructor(
    options: TurnOptions,
    work: ManifestWork,
    record: AppliedManifestWork | undefined,
    context: ReconcileContext,
  ) {
    this.#options = options;
    this.#work = work;
    this.#made = record;
    this.#site = options.sites.of(work.metadata.name, work.metadata.generation);
    this.#context = context;
  }

  async run(): Promise<Outcome> {
    const { sites } = this.#options;
    sites.begin(this.#site);
    let end: End | undefined;
    try {
      end = await this.#carryOut();
    } finally {
      sites.end(this.#name, this.#site, end?.left, end?.outcome === done);
    }
    return end?.outcome ?? done;
  }

  /** Undefined when it was called off. */
  async #carryOut(): Promise<End | undefined> {
    const { sites, worksFor } = this.#options;
    const { signal } = this.#context;
    const isFinished = isTrue(this.#work.status?.conditions, WorkCondition.Complete);
    const former = this.#made ? listedIn(this.#made) : [];
    const rivals = rivalsOf(this.#work, worksFor);

    const { pieces, deciders } = await this.#pieces(isFinished);
    await this.#recordAhead(isFinished ? [] : pieces);
    const owner = ownerOf(this.#record);
    const list = isFinished ? pieces : await contested(pieces, this.#site, owner);
    const wishes = list.map((piece) => wishFor(piece, owner));
    const patience = list.some(({ object }) => object.kind === CustomResourceDefinition.kind) ? DEFINITION_PATIENCE : 0;
    const { objects } = await this.#site.engine.apply({ wishes }, { signal, patience });
    if (signal.aborted) return undefined; // half of it would be reported as failed
    this.#noteMends(list, objects);

    sites.waits(this.#name, objects.some(isWaitingForOthers));
    const seen = isFinished ? list : await this.#served(list);
    const findings = await this.#findings(seen, objects, deciders);
    const departed = isFinished ? [] : departedFrom(seen, former);
    const doubt = departed.length > 0 && !isConfirmed(this.#record) ? regression(this.#record, this.#work) : undefined;
    const removal = await this.#removed(seen, departed, doubt);
    this.#site.going = removal.targets;
    this.#follow(seen);
    // Neither the record nor the report stands on the other, and whichever is missing is made up for by the next turn.
    const recording = isFinished ? undefined : this.#recordAll(seen, findings, former, removal, doubt);
    const reporting = this.#report(findings);
    await Promise.allSettled([recording, reporting]);
    await recording;
    const reported = await reporting;
    const outcome = this.#outcome(seen, findings, doubt === undefined ? removal : NOTHING_REMOVED);
    const [work, record] = [versionOf(reported), versionOf(this.#record)];
    return { outcome, left: { work, record, objects: versionsIn(seen, findings), rivals } };
  }

  async #report(findings: readonly Finding[]): Promise<ManifestWork> {
    const { hub, clock, feedback } = this.#options;
    const status = workStatus(this.#work, findings, { now: clock.now(), ...(feedback && { feedback }) });
    const reported = await hub.commit(ManifestWork, this.#work, { ...this.#work, status });
    this.#site.work.wrote(this.#work, reported);
    this.#site.reported = reported.metadata.resourceVersion;
    this.#tellFailures(status.resourceStatus?.manifests ?? []);
    return reported;
  }

  /** It is there before anything is applied. */
  get #record(): AppliedManifestWork {
    if (!this.#made) throw new Error(`ManifestWork ${this.#name} has no record yet`);
    return this.#made;
  }

  /** A hub that was built anew knows the work, but has yet to hear what is there because of it. */
  get #isReported(): boolean {
    return findCondition(this.#work.status?.conditions, WorkCondition.Applied) !== undefined;
  }

  /** Each failure once: for as long as it stays the same, the status says it. */
  #tellFailures(manifests: readonly ManifestCondition[]): void {
    const known = new Set((this.#work.status?.resourceStatus?.manifests ?? []).map(failureIn));
    for (const manifest of manifests) {
      const note = failureIn(manifest);
      if (note === undefined || known.has(note)) continue;
      // The action keeps the manifests of one work apart: what agrees in all but the note is one Event.
      const action = `ApplyManifest${manifest.resourceMeta.ordinal}`;
      this.#options.recorder.tell(this.#work, { type: "Warning", reason: AppliedReason.manifestFailed, action, note });
    }
  }

  get #name(): string {
    return this.#work.metadata.name;
  }

  #follow(pieces: readonly Piece[]): void {
    const targets = pieces.flatMap((piece) => targetOf(piece) ?? []);
    this.#options.sites.followed.hold(this.#name, [...targets, ...this.#site.going]);
  }

  /** The manifests, with what holds each of them back. */
  async #pieces(isFinished: boolean): Promise<{ pieces: Piece[]; deciders: ReadonlyMap<number, string> }> {
    const { sites, access } = this.#options;
    const { signal } = this.#context;
    const read = isFinished ? finishedPieces : piecesOf;
    const all = await read(this.#work, { kinds: sites.kinds, signal });
    this.#follow(all);
    await sites.followed.settle(this.#name, signal);
    if (isFinished) return { pieces: await access.checked(this.#work, all, signal), deciders: new Map() };

    const { pieces, deciders } = sharedWith(this.#work, all, this.#options.worksFor);
    return { pieces: await access.checked(this.#work, pieces, signal), deciders };
  }

  /** So that an object that is created now and never heard of again, because the agent dies, is not forgotten. */
  async #recordAhead(pieces: readonly Piece[]): Promise<void> {
    const coming = pieces.filter(isWritten).flatMap(({ kind, id }) => (kind && id ? resourceOf(kind, id) : []));
    this.#made ??= await this.#makeRecord(coming);
    const known = listedIn(this.#record);
    const keys = new Set(known.map(resourceKey));
    const unknown = coming.filter((resource) => !keys.has(resourceKey(resource)));
    if (unknown.length > 0) await this.#writeRecord([...known, ...unknown]);
  }

  async #makeRecord(coming: readonly AppliedResource[]): Promise<AppliedManifestWork> {
    const { spoke, side, hubKnownAs } = this.#options;
    const marks = { ...firstMarks(this.#work, hubKnownAs), ...comingMark(coming) };
    const made = await spoke.commit(AppliedManifestWork, undefined, appliedDraft(this.#work, side, marks));
    return this.#site.record.wrote(undefined, made);
  }

  async #changeRecord(after: AppliedManifestWork): Promise<void> {
    const before = this.#record;
    this.#made = this.#site.record.wrote(before, await this.#options.spoke.commit(AppliedManifestWork, before, after));
  }

  async #writeRecord(resources: readonly AppliedResource[]): Promise<void> {
    const appliedResources = sorted(resources);
    await this.#changeRecord({ ...this.#record, status: { ...this.#record.status, appliedResources } });
  }

  /** Whatever had to be written again although it was in place has been changed by somebody. */
  #noteMends(pieces: readonly Piece[], objects: readonly ObjectReport[]): void {
    const generation = this.#work.metadata.generation ?? 0;
    for (const piece of pieces) {
      const report = objects[piece.ordinal];
      if (!report || !piece.id || !isWritten(piece)) continue;
      const identity = identityOf(piece.id);
      const isRewritten = report.action === "updated" || report.action === "created";
      if (isRewritten && this.#site.inPlace.get(identity) === generation) this.#site.contention.mended(identity);
      if (isRewritten) this.#context.log.info(`${report.action} for the work`, { object: identity });
      if (isDone(report)) this.#site.inPlace.set(identity, generation);
    }
  }

  /** Kinds that the work itself has brought are known only now. */
  async #served(pieces: readonly Piece[]): Promise<readonly Piece[]> {
    if (pieces.every(({ kind }) => kind)) return pieces;
    const { sites } = this.#options;
    const known = await piecesOf(this.#work, { kinds: sites.kinds, signal: this.#context.signal });
    return pieces.map((piece) => (piece.kind ? piece : (known[piece.ordinal] ?? piece)));
  }

  #findings(
    pieces: readonly Piece[],
    objects: readonly ObjectReport[],
    deciders: ReadonlyMap<number, string>,
  ): Promise<Finding[]> {
    return Promise.all(
      pieces.map(async (piece) => ({
        meta: metaOf(piece),
        kind: piece.kind,
        config: piece.config,
        isFrozen: piece.isFrozen,
        applied: appliedClaim(piece, objects[piece.ordinal], deciders.get(piece.ordinal)),
        live: await this.#live(piece, objects[piece.ordinal]),
      })),
    );
  }

  async #live(piece: Piece, report: ObjectReport | undefined): Promise<Finding["live"]> {
    const isHidden = piece.hindrance?.isHidden === true;
    if (report?.live && !isHidden) return report.live;
    const target = targetOf(piece);
    if (!target) return "absent";
    try {
      const found = await this.#options.sites.followed.find(target, this.#context.signal);
      if (!isHidden) return found ?? "absent";
      // That there is what the work itself has brought is no secret of the spoke.
      return found && names(found, ownerOf(this.#record)) ? "hidden" : "absent";
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return { unreadable: error.status?.message || error.message };
    }
  }

  /** Takes away what has left the work, if it is sure which objects those are. */
  async #removed(
    pieces: readonly Piece[],
    departed: readonly AppliedResource[],
    doubt: string | undefined,
  ): Promise<Removal> {
    if (departed.length === 0) return NOTHING_REMOVED;
    // A manifest that cannot be placed may be any of those that seem to have left.
    const isPlaced = pieces.every(({ kind }) => kind);
    if (!this.#isReported || !isPlaced || doubt !== undefined)
      return { remaining: departed, targets: [], problems: [] };
    const { kinds } = this.#options.sites;
    const { engine } = this.#site;
    return remove(departed, { engine, kinds, owner: ownerOf(this.#record), signal: this.#context.signal });
  }

  /** Lists what there is because of the work, and what is on its way out. */
  async #recordAll(
    pieces: readonly Piece[],
    findings: readonly Finding[],
    former: readonly AppliedResource[],
    { remaining }: Removal,
    doubt: string | undefined,
  ): Promise<void> {
    const known = new Map(former.map((resource) => [resourceKey(resource), resource]));
    const tried = new Set(pieces.filter(isWritten).map(({ ordinal }) => ordinal));
    const current = pieces.flatMap(({ kind, id, ordinal }) => {
      if (!kind || !id) return [];
      const resource = resourceOf(kind, id);
      const live = findings[ordinal]?.live;
      // What is tried again stays listed: an attempt whose answer got lost may have left it there.
      if (live === undefined || live === "absent") return tried.has(ordinal) ? resource : [];
      // Whoever cannot look keeps what was known.
      if (live === "hidden" || "unreadable" in live) return known.get(resourceKey(resource)) ?? resource;
      return resourceOf(kind, id, (live as DynamicObject).metadata.uid);
    });
    const wanted = sorted([...remaining, ...current]);
    const { appliedResources } = this.#record.status ?? {};
    const isListed = appliedResources
      ? equal(wanted, appliedResources)
      : wanted.length === 0 && listedIn(this.#record).length === 0;
    if (!isListed) await this.#writeRecord(wanted);
    await this.#recordState(doubt);
  }

  /** The state that the spoke was brought in line with; one that is in doubt waits for a person, who is told so. */
  async #recordState(doubt: string | undefined): Promise<void> {
    const { hubKnownAs, recorder } = this.#options;
    const record = this.#record;
    if (doubt === undefined) return this.#changeRecord(withSeen(unheld(record), this.#work, hubKnownAs));
    const note = holding(record, doubt);
    if (!isHeld(record))
      recorder.tell(this.#work, { type: "Warning", reason: HELD_REASON, action: "RemoveObjects", note });
    await this.#changeRecord(withHeld(record, note));
  }

  #outcome(pieces: readonly Piece[], findings: readonly Finding[], removal: Removal): Outcome {
    const { sites } = this.#options;
    const isRefused = findings.some(({ applied }, at) => applied?.status === "False" && !pieces[at]?.hindrance);
    const isUnreadable = findings.some(({ live }) => typeof live === "object" && "unreadable" in live);
    const hasFailed = isRefused || isUnreadable || removal.problems.length > 0;
    if (removal.problems.length > 0) {
      this.#context.log.warn("what has left the work cannot be removed", { because: removal.problems.join("; ") });
    }
    const pauses = [
      ...(hasFailed ? [backoffDelay(RETRY, this.#site.failures++)] : []),
      ...pieces.flatMap(({ hindrance }) => hindrance?.retryIn ?? []),
      ...(sites.followed.isFollowing(this.#name) ? [] : [POLL]),
      ...(removal.remaining.length > 0 ? [this.#isReported ? REMOVAL_LOOK : SOON] : []),
    ];
    if (!hasFailed) this.#site.failures = 0;
    return pauses.length > 0 ? again(Math.min(...pauses)) : done;
  }
}

const NOTHING_REMOVED: Removal = { remaining: [], targets: [], problems: [] };

/** By object, which state of it was found or made. */
function versionsIn(pieces: readonly Piece[], findings: readonly Finding[]): ReadonlyMap<string, string> {
  return new Map(
    pieces.flatMap(({ id }, at) => {
      const live = findings[at]?.live;
      if (!id || live === undefined || live === "hidden") return [];
      if (typeof live === "object" && "unreadable" in live) return [];
      return [[identityOf(id), live === "absent" ? ABSENT : versionOf(live as DynamicObject)] as const];
    }),
  );
}

function names({ metadata }: DynamicObject, { uid }: OwnerReference): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true;
}

function failureIn({ resourceMeta, conditions }: ManifestCondition): string | undefined {
  const applied = findCondition(conditions, WorkCondition.Applied);
  if (applied?.status !== "False") return undefined;
  const { kind = "object", namespace, name = "" } = resourceMeta;
  return `${kind} ${namespace ? `${namespace}/` : ""}${name}: ${applied.message}`;
}

/** What the record lists and no manifest means any more. */
export function departedFrom(pieces: readonly Piece[], former: readonly AppliedResource[]): AppliedResource[] {
  const current = new Set(pieces.flatMap(({ kind, id }) => (kind && id ? resourceKey(resourceOf(kind, id)) : [])));
  return former.filter((resource) => !current.has(resourceKey(resource)));
}

function isWaitingForOthers({ action, reason }: ObjectReport): boolean {
  return action === "waiting" && (reason === "UnknownKind" || reason === "NamespaceMissing");
}

function isDone({ action }: ObjectReport): boolean {
  return action === "created" || action === "updated" || action === "unchanged" || action === "skipped";
}

function appliedClaim(piece: Piece, report: ObjectReport | undefined, decider: string | undefined): Finding["applied"] {
  if (piece.isFrozen) return undefined;
  if (piece.hindrance) return { status: "False", ...only(piece.hindrance) };
  if (report && isDone(report)) {
    if (decider === undefined) {
      return { status: "True", reason: AppliedReason.manifestComplete, message: "Apply manifest complete" };
    }
    return failed(
      `ManifestWork ${decider} is older, has this object too and wants it otherwise; change one of the two`,
    );
  }
  if (report?.reason === "UnknownKind") {
    const { kind } = piece.object;
    return failed(`the server doesn't have a resource type "${kind}"; install its CustomResourceDefinition first`);
  }
  return failed(report?.message ?? "it was not tried");
}

function only({ reason, message }: { reason: string; message: string }) {
  return { reason, message };
}

function failed(why: string): NonNullable<Finding["applied"]> {
  return { status: "False", reason: AppliedReason.manifestFailed, message: `Failed to apply manifest: ${why}` };
}
