/** The manifests of a work as the agent works on them: which object each means, how it is applied, and what holds it back. */
import type { DynamicObject, Kind, OwnerReference } from "#api/meta";
import {
  APPLIED_HASH,
  type ManifestResourceMeta,
  type ManifestWork,
  type UpdateStrategy,
  WORK_FIELD_MANAGER,
  WorkCondition,
} from "#api/work";
import {
  type ApplyStrategy,
  type CallOptions,
  isKubeError,
  type Kinds,
  type ObjectId,
  type OwnerPolicy,
  type Wish,
} from "#kube";
import { isTrue } from "#lib/conditions";
import { isObject } from "#lib/json";
import { type Chosen, chosenConfig, isOwned, resourceName } from "./config.ts";
import type { Target } from "./followed.ts";
import { withoutIgnored } from "./ignored-fields.ts";
import { AppliedReason } from "./reasons.ts";

/** Why a manifest is not applied, as its condition says it. */
export interface Hindrance {
  readonly reason: string;
  readonly message: string;
  /** Milliseconds after which it is worth another look; undefined when something has to change first. */
  readonly retryIn?: number;
  /** Nothing is told of the object, not even whether it is there. */
  readonly isHidden?: boolean;
}

export interface Piece {
  readonly ordinal: number;
  readonly object: DynamicObject;
  /** Where objects of its kind are served; undefined for as long as nobody serves them, or it is no object. */
  readonly kind: Kind | undefined;
  readonly id: ObjectId | undefined;
  readonly config: Chosen;
  /** Whether the object goes with the work. */
  readonly isOwned: boolean;
  /** Finished: it is looked at, but not applied any more. */
  readonly isFrozen: boolean;
  readonly hindrance?: Hindrance;
  /** Only the owner is seen to, because an older work decides how it looks. */
  readonly isShared?: boolean;
}

export interface PiecesOptions extends CallOptions {
  readonly kinds: Kinds;
}

/** One for each manifest, in their order. A kind that cannot be asked for is like one that is not served. */
export async function piecesOf(work: ManifestWork, options: PiecesOptions): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const [ordinal, object] of (work.spec?.workload?.manifests ?? []).entries()) {
    const kind = isObjectLike(object) ? await served(object, options) : undefined;
    pieces.push(pieceOf(work, ordinal, object, kind));
  }
  return pieces;
}

/** What a finished work is still looked at for: what it had when it was finished, whatever is written in it since. */
export async function finishedPieces(work: ManifestWork, { kinds, signal }: PiecesOptions): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for (const [ordinal, { resourceMeta }] of (work.status?.resourceStatus?.manifests ?? []).entries()) {
    const { group = "", version = "", kind: kindName = "", resource = "", namespace, name = "" } = resourceMeta;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    const object = { apiVersion, kind: kindName, metadata: { name, ...(namespace && { namespace }) } };
    const kind = resource === "" ? undefined : await served(object, { kinds, ...(signal && { signal }) });
    pieces.push({ ...pieceOf(work, ordinal, object, kind), isFrozen: true });
  }
  return pieces;
}

async function served(object: DynamicObject, { kinds, signal }: PiecesOptions): Promise<Kind | undefined> {
  try {
    return await kinds.find(object, signal ? { signal } : {});
  } catch (error) {
    if (!isKubeError(error)) throw error;
    return undefined;
  }
}

function isObjectLike(object: DynamicObject): boolean {
  return (
    isObject(object) &&
    typeof object.apiVersion === "string" &&
    typeof object.kind === "string" &&
    isObject(object.metadata) &&
    typeof object.metadata.name === "string"
  );
}

function pieceOf(work: ManifestWork, ordinal: number, object: DynamicObject, kind: Kind | undefined): Piece {
  const id = kind && idOn(kind, object);
  const name = kind && id && resourceName(kind, id);
  const config = chosenConfig(work.spec?.manifestConfigs, name);
  const former = (work.status?.resourceStatus?.manifests ?? []).find(
    ({ resourceMeta }) =>
      kind !== undefined &&
      resourceMeta.resource === kind.plural &&
      (resourceMeta.group ?? "") === kind.group &&
      resourceMeta.name === id?.name &&
      (resourceMeta.namespace ?? "") === (id?.namespace ?? ""),
  );
  const hindrance = ignoranceIn(object, config.updateStrategy);
  return {
    ordinal,
    object,
    kind,
    id,
    config,
    isOwned: name === undefined || isOwned(work.spec?.deleteOption, name),
    isFrozen: isTrue(former?.conditions, WorkCondition.Complete),
    ...(hindrance && { hindrance }),
  };
}

function idOn({ group, version, kind, namespaced }: Kind, { metadata }: DynamicObject): ObjectId {
  return {
    group,
    version,
    kind,
    ...(namespaced && { namespace: metadata.namespace || "default" }),
    name: metadata.name,
  };
}

/** What is wrong with the fields to be ignored, if anything is. */
function ignoranceIn(object: DynamicObject, strategy: UpdateStrategy | undefined): Hindrance | undefined {
  const ignored = strategy?.type === "ServerSideApply" ? strategy.serverSideApply?.ignoreFields : undefined;
  if (!ignored?.length) return undefined;
  try {
    withoutIgnored(object, ignored);
    return undefined;
  } catch (error) {
    const message = `Failed to process ignoreFields: ${(error as Error).message}`;
    return { reason: AppliedReason.ignoreFieldsFailed, message };
  }
}

/** What is asked of the engine for it. */
export function wishFor(piece: Piece, owner: OwnerReference): Wish {
  const policy: OwnerPolicy = { mode: piece.isOwned ? "owned" : "orphaned", reference: owner };
  return { object: piece.object, strategy: strategyFor(piece), owner: policy };
}

function strategyFor({ config, hindrance, isFrozen, isShared }: Piece): ApplyStrategy {
  if (hindrance || isFrozen) return { type: "ReadOnly" };
  const { type, serverSideApply = {} } = config.updateStrategy ?? { type: "Update" };
  if (isShared && type !== "ReadOnly") return { type: "CreateOnly" };
  if (type !== "ServerSideApply") return { type };
  const { force = false, fieldManager = WORK_FIELD_MANAGER, ignoreFields = [] } = serverSideApply;
  return {
    type,
    force,
    fieldManager,
    ...(ignoreFields.length > 0 && { ignoring: (manifest) => withoutIgnored(manifest, ignoreFields) }),
    // There is only one annotation of that name: managers beside the usual one would quarrel about it.
    ...(ignoreFields.length > 0 && fieldManager === WORK_FIELD_MANAGER && { note: APPLIED_HASH }),
  };
}

/** Whether the agent writes the object at all. */
export function isWritten({ config, hindrance, isFrozen }: Piece): boolean {
  return !hindrance && !isFrozen && config.updateStrategy?.type !== "ReadOnly";
}

export function targetOf({ kind, id }: Piece): Target | undefined {
  return kind && id && { kind, id };
}

/** How the status names it. */
export function metaOf({ ordinal, object, kind, id }: Piece): ManifestResourceMeta {
  const { apiVersion = "", kind: kindName, metadata } = (isObject(object) ? object : {}) as Partial<DynamicObject>;
  const slash = apiVersion.indexOf("/");
  const [group, version] = [apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1)];
  const namespace = kind ? id?.namespace : metadata?.namespace;
  return {
    ordinal,
    ...(group && { group }),
    ...(version && { version }),
    ...(kindName && { kind: kindName }),
    ...(kind && { resource: kind.plural }),
    ...(metadata?.name && { name: metadata.name }),
    ...(namespace && { namespace }),
  };
}
