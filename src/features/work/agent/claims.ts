/**
 * Works that want the same object. All of them own it, but only one can say how it looks: the oldest. Otherwise each would
 * mend what the other has mended, for ever.
 */
import type { DynamicObject } from "#api/meta";
import { type ManifestWork, type UpdateStrategy, WORK_FIELD_MANAGER, WorkCondition } from "#api/work";
import { objectIdentity } from "#kube";
import { isTrue } from "#lib/conditions";
import { equal, isObject } from "#lib/json";
import { isDeleting } from "#lib/meta";

/** One work's wish for an object. */
export interface Claim {
  readonly work: ManifestWork;
  readonly object: DynamicObject;
  readonly updateStrategy: UpdateStrategy | undefined;
}

const objects = new WeakMap<ManifestWork, readonly string[]>();

/** Which objects a work has manifests of. It is asked for at every event, so it is made once. */
export function objectsOf(work: ManifestWork): readonly string[] {
  const known = objects.get(work);
  if (known) return known;
  const manifests = work.spec?.workload?.manifests ?? [];
  const found = [...new Set(manifests.flatMap((object) => identityIn(object) ?? []))];
  objects.set(work, found);
  return found;
}

/** Who else wants objects of the work, and in which state they are: the same for as long as nothing about it changes. */
export function rivalsOf(work: ManifestWork, worksFor: (identity: string) => readonly ManifestWork[]): string {
  const { name: own } = work.metadata;
  const others = objectsOf(work).flatMap((identity) => worksFor(identity));
  return others
    .filter(({ metadata }) => metadata.name !== own)
    .map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`)
    .join();
}

/** Undefined for what is no object. Where no namespace is named, the object is in `default`, or has none. */
export function identityIn(object: DynamicObject): string | undefined {
  const { apiVersion, kind, metadata } = (object ?? {}) as Partial<DynamicObject>;
  if (!apiVersion || !kind || !metadata?.name) return undefined;
  const { namespace, name } = metadata;
  return objectIdentity({ apiVersion, kind, metadata: namespace === "default" ? { name } : metadata });
}

/** The older work that decides how the object looks; undefined when it is this one, or both can have their way. */
export function deciderOf(own: Claim, others: readonly Claim[]): ManifestWork | undefined {
  if (!writes(own)) return undefined;
  const [oldest] = [own, ...others.filter(({ work }) => isInForce(work)).filter(writes)].sort(byAge);
  if (!oldest || oldest === own || areAtPeace(own, oldest)) return undefined;
  return oldest.work;
}

/** A work that goes, or is finished, changes nothing any more. */
function isInForce(work: ManifestWork): boolean {
  return !isDeleting(work) && !isTrue(work.status?.conditions, WorkCondition.Complete);
}

function writes({ updateStrategy }: Claim): boolean {
  const type = updateStrategy?.type ?? "Update";
  return type === "Update" || type === "ServerSideApply";
}

/**
 * They want the same, or the server keeps their fields apart. Of fields that overlap it lets one of them be taken by
 * force, and refuses them to the other from then on; only where both use force would they take them in turns.
 */
function areAtPeace(a: Claim, b: Claim): boolean {
  if (equal(a.object, b.object) && equal(a.updateStrategy, b.updateStrategy)) return true;
  const [left, right] = [applierOf(a), applierOf(b)];
  if (!left || !right || left.manager === right.manager) return false;
  return !(left.force && right.force) || agree(a.object, b.object);
}

/** Who applies on the server, and whether by force; undefined where fields are simply written. */
function applierOf({ updateStrategy }: Claim): { readonly manager: string; readonly force: boolean } | undefined {
  if (updateStrategy?.type !== "ServerSideApply") return undefined;
  const { force = false, fieldManager: manager = WORK_FIELD_MANAGER } = updateStrategy.serverSideApply ?? {};
  return { manager, force };
}

/** Whether no field that both name has two values. */
function agree(a: unknown, b: unknown): boolean {
  if (!isObject(a) || !isObject(b)) return equal(a, b);
  return Object.keys(a).every((key) => !Object.hasOwn(b, key) || agree(a[key], b[key]));
}

function byAge({ work: a }: Claim, { work: b }: Claim): number {
  const order = ({ metadata }: ManifestWork) => `${metadata.creationTimestamp ?? ""}|${metadata.name}`;
  return order(a) < order(b) ? -1 : order(a) > order(b) ? 1 : 0;
}
