/**
 * The templates that a StatefulSet or a DaemonSet has had, each in a ControllerRevision: what `rollout history` lists
 * and `rollout undo` goes back to.
 */
import { ControllerRevision } from "#api/apps";
import type { PodTemplateSpec } from "#api/core";
import { apiVersionOf, type DynamicObject, type KubeObject, keyOf } from "#api/meta";
import { equal, isObject } from "#lib/json";
import { isOwnedBy, ownerReference } from "#lib/meta";
import type { LabelMatcher } from "#lib/selectors";
import type { Store } from "../../../store/index.ts";
import type { Ownership } from "../../ownership.ts";
import type { SystemWriter } from "../../system.ts";
import { claim } from "../claims.ts";
import { templateHash } from "../pods.ts";
import type { Stored } from "../stored.ts";

export const REVISIONS = "apps/controllerrevisions";

export type Revision = Stored<ControllerRevision>;

/** A workload that remembers its templates. */
export type Remembering = Stored<
  KubeObject & { spec: { template: PodTemplateSpec }; status?: { collisionCount?: number } }
>;

export interface History {
  /** The revision of the template as it is now. */
  readonly newest: Revision;
  /** All of them, in order, the newest last. */
  readonly all: readonly Revision[];
  readonly collisionCount: number;
}

export interface HistoryOptions {
  readonly owner: Remembering;
  readonly selector: LabelMatcher;
  /** The label that carries the hash of the template. */
  readonly hashLabel: string;
  readonly store: Store;
  readonly writer: SystemWriter;
  readonly ownership: Ownership;
}

/** What a revision stores: a patch that puts the template back, with its keys in order, because clients compare bytes. */
export function revisionData({ spec }: Pick<Remembering, "spec">): Record<string, unknown> {
  return { spec: { template: inKeyOrder({ ...spec.template, $patch: "replace" }) } };
}

function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, inKeyOrder(value[key])]));
}

/** The template that a revision remembers. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec {
  const { template } = (data as { spec: { template: PodTemplateSpec & { $patch?: string } } }).spec;
  const { $patch: _, ...rest } = template;
  return rest;
}

/** Makes sure that the template of now is the newest revision: an older one like it moves up, else one is created. */
export async function historyOf(options: HistoryOptions): Promise<History> {
  const { owner, selector, writer, ownership } = options;
  const { collisionCount = 0 } = owner.status ?? {};
  const known = (await claim({ owner, selector, storage: REVISIONS, writer, ownership })) as Revision[];
  const ordered = inOrder(known);
  const data = revisionData(owner);
  const last = ordered.at(-1);
  const same = ordered.findLast((revision) => equal(revision.data, data));
  if (same && same === last) return { newest: same, all: ordered, collisionCount };

  const revision = (last?.revision ?? 0) + 1;
  const others = ordered.filter((other) => other !== same);
  if (same) {
    await writer.change(REVISIONS, keyOf(same), (draft) => ({ ...draft, revision }));
    const newest = { ...same, revision };
    return { newest, all: [...others, newest], collisionCount };
  }
  const created = await createRevision(options, revision, collisionCount);
  return { ...created, all: [...others, created.newest] };
}

export function inOrder(revisions: readonly Revision[]): Revision[] {
  return revisions.toSorted((a, b) => {
    if (a.revision !== b.revision) return a.revision - b.revision;
    const [first, second] = [a, b].map(({ metadata }) => `${metadata.creationTimestamp} ${metadata.name}`);
    return (first ?? "") < (second ?? "") ? -1 : 1;
  });
}

/** A template whose hash is taken by another one counts a collision and tries the next hash. */
async function createRevision(
  { owner, hashLabel, store, writer }: HistoryOptions,
  revision: number,
  collisions: number,
): Promise<Pick<History, "newest" | "collisionCount">> {
  const { namespace = "", name, annotations } = owner.metadata;
  const { template } = owner.spec;
  const data = revisionData(owner);
  for (let collisionCount = collisions; ; collisionCount++) {
    const hash = templateHash(template, collisionCount);
    const taken = store.get(REVISIONS, `${namespace}/${revisionName(name, hash)}`) as Revision | undefined;
    if (taken && isOwnedBy(taken, owner) && equal(taken.data, data)) return { newest: taken, collisionCount };
    if (taken) continue;
    const created = await writer.create(REVISIONS, {
      apiVersion: apiVersionOf(ControllerRevision),
      kind: ControllerRevision.kind,
      metadata: {
        namespace,
        name: revisionName(name, hash),
        labels: { ...template.metadata?.labels, [hashLabel]: hash },
        ...(annotations && { annotations }),
        ownerReferences: [ownerReference(owner)],
      },
      data,
      revision,
    });
    return { newest: created as Revision, collisionCount };
  }
}

/** Room for a dash and the hash in the longest name that an object may have. */
const LONGEST_PREFIX = 223;

function revisionName(owner: string, hash: string): string {
  return `${owner.slice(0, LONGEST_PREFIX)}-${hash}`;
}

/** The oldest of these that nothing needs, so many that no more than the limit are left. */
export function surplus(
  revisions: readonly Revision[],
  limit: number,
  isNeeded: (revision: Revision) => boolean,
): Revision[] {
  const excess = limit < 0 ? 0 : Math.max(0, revisions.length - limit);
  return revisions.filter((revision) => !isNeeded(revision)).slice(0, excess);
}

export async function removeRevisions(writer: SystemWriter, revisions: readonly DynamicObject[]): Promise<void> {
  await Promise.all(revisions.map((revision) => writer.remove(REVISIONS, revision)));
}
