/**
 * What a change of a work would do on its cluster: the agent's own decisions, made against the objects that are there now.
 * Nothing is written; the server tries what would be sent, and forgets it.
 */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace } from "#api/core";
import type { Kind, OwnerReference } from "#api/meta";
import { AppliedManifestWork, type ManifestWork, WORK_FIELD_MANAGER, WorkCondition } from "#api/work";
import {
  type Client,
  createApplyEngine,
  differenceOf,
  type FieldChange,
  isNotFound,
  Kinds,
  type ObjectId,
  type ObjectReport,
} from "#kube";
import type { Clock } from "#lib/clock";
import { isTrue } from "#lib/conditions";
import type { Cluster } from "#runtime";
import { appliedName, hubSide, listedIn, ownerOf, resourceKey, resourceOf } from "./applied-work.ts";
import { identityIn, objectsOf } from "./claims.ts";
import { Access } from "./executor.ts";
import { sharedWith } from "./hindrances.ts";
import { metaOf, type Piece, piecesOf, wishFor } from "./pieces.ts";
import { hubIn, isConfirmed, regression } from "./provenance.ts";
import { plannedRemoval } from "./removal.ts";
import { departedFrom } from "./turn.ts";

export interface RecordOptions {
  /** The cluster of the work. */
  readonly client: Client;
  /** By which the record of the work is known on the cluster. */
  readonly hub: {
    readonly server: string;
    /** Of the cluster's own ManagedCluster there. */
    readonly clusterUid: string | undefined;
  };
  /** Of the work. */
  readonly name: string;
  readonly signal: AbortSignal;
}

export interface WorkPlanOptions extends Omit<RecordOptions, "client"> {
  /** The cluster of the work, as somebody who may read and try what the work has. */
  readonly spoke: Cluster;
  /** The work as it is; undefined where it is new. */
  readonly before: ManifestWork | undefined;
  /** The work as it would be; undefined where it is deleted. */
  readonly after: ManifestWork | undefined;
  /** All works of the cluster. */
  readonly works: readonly ManifestWork[];
  readonly clock: Clock;
}

/** `blocked`: it would be tried, and would not succeed. */
export type PlannedAction = "create" | "change" | "delete" | "leave" | "blocked";

export interface PlannedChange extends FieldChange {
  /** Nobody wishes it otherwise than before: somebody has changed it on the cluster, and it is mended. */
  readonly drift?: true;
}

export interface PlannedObject {
  readonly action: PlannedAction;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  /** Why, or what else there is to know; empty where the action says it all. */
  readonly message: string;
  /** Values of Secrets are masked. */
  readonly changes: readonly PlannedChange[];
  /** Changes beyond those listed. */
  readonly moreChanges: number;
}

/** By manifest, in their order; then what leaves the work. Throws what the cluster says that cannot be asked. */
export async function planWork(options: WorkPlanOptions): Promise<readonly PlannedObject[]> {
  const { spoke, name, after, clock, signal } = options;
  const { client } = spoke;
  const kinds = new Kinds(client);
  const engine = createApplyEngine({ client, fieldManager: WORK_FIELD_MANAGER, clock, kinds });
  const record = await recordOf({ ...options, client });
  const owner = record ? ownerOf(record) : futureOwner(options.hub.server, name);
  const former = record ? listedIn(record) : [];
  const removal = async (departed: typeof former) =>
    (await plannedRemoval(departed, { engine, kinds, owner, signal })).flatMap(removed);
  if (!after) return removal(former);

  const all = await piecesOf(after, { kinds, signal });
  if (isTrue(after.status?.conditions, WorkCondition.Complete))
    return all.map((piece) => said(piece, "leave", FINISHED));
  const { pieces, deciders } = sharedWith(after, all, worksBy(options));
  const allowed = await new Access({ spoke, kinds, clock }).checked(after, pieces, signal);
  const wishes = allowed.map((piece) => wishFor(piece, owner));
  const { objects } = await engine.plan({ wishes }, { signal });
  const known = new Set(former.filter(({ uid }) => uid !== undefined).map(resourceKey));
  const placed = allowed.map((piece) => {
    const isKnown =
      piece.kind !== undefined && piece.id !== undefined && known.has(resourceKey(resourceOf(piece.kind, piece.id)));
    return outcomeOf(piece, objects[piece.ordinal], {
      decider: deciders.get(piece.ordinal),
      before: options.before,
      isKnown,
    });
  });
  const departed = departedFrom(allowed, former);
  if (departed.length === 0) return placed;
  const doubt = doubtAbout(allowed, record, after);
  const leaving = await removal(departed);
  return [...placed, ...(doubt === undefined ? leaving : leaving.map((each) => held(each, doubt)))];
}

/** What is there because of the work, as the cluster has it; undefined where nothing is known of it. */
export async function recordOf(options: RecordOptions): Promise<AppliedManifestWork | undefined> {
  const { client, hub, name, signal } = options;
  try {
    return await client.get(AppliedManifestWork, appliedName(hubSide(hub.server), name), { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  // The agent may know the hub by another address than whoever asks here.
  try {
    const { items } = await client.list(AppliedManifestWork, { signal });
    const named = items.filter(({ spec }) => spec?.manifestWorkName === name);
    const certain = named.find((each) => hub.clusterUid !== undefined && hubIn(each) === hub.clusterUid);
    const [only, ...more] = named.filter((each) => hubIn(each) === undefined);
    return certain ?? (more.length === 0 ? only : undefined);
  } catch (error) {
    if (isNotFound(error)) return undefined; // no agent has been here yet
    throw error;
  }
}

/** Until the agent makes the record, nobody knows its uid; a server tries any. */
function futureOwner(server: string, name: string): OwnerReference {
  const metadata = { name: appliedName(hubSide(server), name), uid: "00000000-0000-0000-0000-000000000000" };
  return ownerOf({ metadata });
}

function worksBy({ works }: WorkPlanOptions): (identity: string) => readonly ManifestWork[] {
  const byIdentity = new Map<string, ManifestWork[]>();
  for (const work of works) {
    for (const identity of objectsOf(work)) byIdentity.set(identity, [...(byIdentity.get(identity) ?? []), work]);
  }
  return (identity) => byIdentity.get(identity) ?? [];
}

const FINISHED = "it is finished, and is not applied again";
const UNTRIED = "not tried on the cluster, because it stands on what the work brings before it";

interface Circumstances {
  /** The older work that decides how the object looks. */
  readonly decider: string | undefined;
  readonly before: ManifestWork | undefined;
  /** Whether the work has placed it. */
  readonly isKnown: boolean;
}

function outcomeOf(piece: Piece, report: ObjectReport | undefined, circumstances: Circumstances): PlannedObject {
  const { decider, before, isKnown } = circumstances;
  if (piece.isFrozen) return said(piece, "leave", FINISHED);
  if (piece.hindrance) return said(piece, "blocked", withoutPrefix(piece.hindrance.message));
  if (!report)
    return said(piece, "blocked", "it is no object of Kubernetes: it needs an apiVersion, a kind and a name");
  const untried = report.checked ? "" : report.message || UNTRIED;
  switch (report.action) {
    case "created": {
      const why = isKnown ? "somebody removed it on the cluster; it is put back" : untried;
      return { ...said(piece, "create", why), changes: report.changes, moreChanges: report.moreChanges };
    }
    case "updated":
      return changed(piece, report, before, decider, untried);
    case "unchanged":
    case "skipped":
      return said(piece, "leave", decider === undefined ? leftAlone(report) : decidedBy(decider));
    default:
      return said(piece, "blocked", report.reason === "Forbidden" ? untriable(report) : report.message);
  }
}

function leftAlone({ reason, message }: ObjectReport): string {
  switch (reason) {
    case "Exists":
      return "it is there, and is only created (CreateOnly)";
    case "ReadOnly":
      return message === "" ? "it is only looked at (ReadOnly)" : `it is only looked at (ReadOnly), and ${message}`;
    case "LeftAlone":
      return "just this was applied, and the rest is left to the cluster (ignoreFields)";
    default:
      return "";
  }
}

function decidedBy(work: string): string {
  return `ManifestWork ${work} is older and wants it otherwise; change one of the two`;
}

/** The agent's rights are not those of whoever asks. */
function untriable({ message }: ObjectReport): string {
  return `this plan may not try it there, though the agent may be allowed to: ${message}`;
}

/** That the work becomes an owner of what it finds, or ceases to be, is told in words. */
function changed(
  piece: Piece,
  report: ObjectReport,
  before: ManifestWork | undefined,
  decider: string | undefined,
  untried: string,
): PlannedObject {
  const content = report.changes.filter(({ path }) => !path.startsWith(".metadata.ownerReferences"));
  const isOwnership = content.length < report.changes.length;
  const ownership = piece.isOwned
    ? "it is there already, and from now on goes with this work"
    : "it no longer goes with this work";
  const words = [
    ...(report.reason === "Recreated" ? [report.message] : []),
    ...(isOwnership ? [ownership] : []),
    ...(decider === undefined ? [] : [decidedBy(decider)]),
    ...(untried === "" ? [] : [untried]),
  ];
  const isDrift = driftIn(piece, before);
  const changes = content.map((change) => (isDrift(change.path) ? { ...change, drift: true as const } : change));
  // Who answers for fields is nothing that a person asked about.
  const action = changes.length + report.moreChanges === 0 && !isOwnership ? "leave" : "change";
  return { ...said(piece, action, words.join("; ")), changes, moreChanges: report.moreChanges };
}

/** Tells of a field that differs on the cluster whether the work has said the same of it before. */
function driftIn({ object }: Piece, before: ManifestWork | undefined): (path: string) => boolean {
  const identity = identityIn(object);
  const old = (before?.spec?.workload?.manifests ?? []).find((each) => identityIn(each) === identity);
  if (!old) return () => false;
  // A server keeps the texts of a Secret among its data.
  const wished = differenceOf(old, object, "").changes.map(({ path }) => path.replace(/^\.stringData/, ".data"));
  const isWithin = (inner: string, outer: string) => inner === outer || /^[.[]/.test(inner.slice(outer.length));
  return (path) =>
    !wished.some(
      (each) => (path.startsWith(each) && isWithin(path, each)) || (each.startsWith(path) && isWithin(each, path)),
    );
}

/** Why nothing is removed although it has left the work. */
function doubtAbout(
  pieces: readonly Piece[],
  record: AppliedManifestWork | undefined,
  after: ManifestWork,
): string | undefined {
  const brings = pieces.some(({ object }) => object.kind === CustomResourceDefinition.kind);
  const unplaced = brings ? undefined : pieces.find(({ kind }) => !kind);
  if (unplaced) {
    return `nothing that has left the work goes while the cluster does not know the kind ${unplaced.object.kind}`;
  }
  const doubt = record && !isConfirmed(record) ? regression(record, after) : undefined;
  return doubt && `its removal will be held until somebody confirms it, because ${doubt}`;
}

function held(planned: PlannedObject, why: string): PlannedObject {
  return planned.action === "delete" ? { ...planned, action: "leave", message: why } : planned;
}

/** What is gone already is not worth a word. */
function removed({ id, action, reason, message }: ObjectReport): PlannedObject[] {
  const planned = (what: PlannedAction, why: string): PlannedObject[] => [bare(id, what, why)];
  if (reason === "Gone") return [];
  if (action === "pruned") return planned("delete", reason === "BeingDeleted" ? message : alongWith(id));
  if (reason === "Released") return planned("leave", "other works still have it");
  if (reason === "NotOurs") return planned("leave", "the work does not own it (any more), so it stays");
  return planned("blocked", message);
}

function alongWith({ group, kind }: ObjectId): string {
  const isA = (what: Pick<Kind, "group" | "kind">) => group === what.group && kind === what.kind;
  if (isA(Namespace)) return "with all that is in it";
  return isA(CustomResourceDefinition) ? "with all objects of its kind" : "";
}

function said(piece: Piece, action: PlannedAction, message: string): PlannedObject {
  const { kind = "", name = `manifest ${piece.ordinal}`, namespace } = metaOf(piece);
  return { action, kind, ...(namespace && { namespace }), name, message, changes: [], moreChanges: 0 };
}

function bare({ kind, namespace, name }: ObjectId, action: PlannedAction, message: string): PlannedObject {
  return { action, kind, ...(namespace && { namespace }), name, message, changes: [], moreChanges: 0 };
}

function withoutPrefix(message: string): string {
  return message.replace(/^Failed to apply manifest: /, "").replace(", will try again in 1m0s", "");
}
