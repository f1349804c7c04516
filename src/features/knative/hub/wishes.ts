/** From the objects of a release to what is asked of the apply engine. */
import { Deployment } from "#api/apps";
import { Job } from "#api/batch";
import { Namespace } from "#api/core";
import type { DynamicObject, Kind } from "#api/meta";
import { ClusterRole } from "#api/rbac";
import { idOf, type Manifest, nameOf, type ObjectReport, type Wish } from "#kube";
import { type Installation, Note, noteOf, type Place } from "./installation.ts";
import type { Presence } from "./presence.ts";
import { isAvailable, isComplete, isUnseen } from "./readiness.ts";

export interface WishesOptions {
  readonly place: Place;
  readonly presence: Presence;
  readonly installation: Installation;
  readonly signal: AbortSignal;
}

/** Jobs run once; a namespace on another cluster is its owner's, and was made before if it was missing. */
export async function wishesFor(
  manifests: readonly Manifest[],
  { place, presence, installation, signal }: WishesOptions,
): Promise<Wish[]> {
  const isRemote = place.anchor !== undefined;
  const wishes = manifests
    .filter(({ object }) => !(isRemote && isOf(object, Namespace)))
    .map(async ({ object, source }): Promise<Wish[]> => {
      if (!isOf(object, Job)) return [{ object: withoutAggregated(object), source }];
      const isOver =
        jobsNoted(installation).includes(object.metadata.name) && !(await presence.job(keyIn(object), signal));
      return isOver ? [] : [{ object, source, strategy: { type: "CreateOnly" } }];
    });
  return (await Promise.all(wishes)).flat();
}

/** The rules of a role that is put together from others are the cluster's to write. */
function withoutAggregated(object: DynamicObject): DynamicObject {
  if (!isOf(object, ClusterRole) || object.aggregationRule === undefined) return object;
  const { rules: _, ...rest } = object;
  return rest as DynamicObject;
}

/** Deployments that do not work yet. */
export interface Waiting {
  /** By name. */
  readonly names: readonly string[];
  /** Whether all of them worked a moment ago, and will be looked at in the next. */
  readonly isMomentary: boolean;
}

/** `written` tells what became of the objects a moment ago, which the copies may not know yet. */
export async function waitedFor(
  objects: readonly DynamicObject[],
  { presence, signal }: Pick<WishesOptions, "presence" | "signal">,
  written: readonly ObjectReport[] = [],
): Promise<Waiting> {
  const answers = new Map(written.map(({ id, live }) => [nameOf(id), live]));
  const missing = objects
    .filter((object) => isOf(object, Deployment))
    .map(async (object) => {
      const answer = answers.get(nameOf(idOf(object))) as Deployment | undefined;
      const live = newer(await presence.deployment(keyIn(object), signal), answer);
      if (live && isAvailable(live)) return [];
      return [{ name: object.metadata.name, isUnseen: live !== undefined && isUnseen(live) }];
    });
  const found = (await Promise.all(missing)).flat();
  return { names: found.map(({ name }) => name).sort(), isMomentary: found.every((each) => each.isUnseen) };
}

/** Only what the server does on its own, such as status, changes no generation. */
function newer(copy: Deployment | undefined, answer: Deployment | undefined): Deployment | undefined {
  if (!copy || !answer) return copy;
  const isBehind = (copy.metadata.generation ?? 0) < (answer.metadata.generation ?? 0);
  return isBehind || copy.metadata.uid !== answer.metadata.uid ? answer : copy;
}

/** The names of Jobs that have done their work, now or before they were cleared away. */
export async function jobsDone(
  objects: readonly DynamicObject[],
  { installation, presence, signal }: Omit<WishesOptions, "place">,
): Promise<string[]> {
  const noted = jobsNoted(installation);
  const complete = objects
    .filter((object) => isOf(object, Job))
    .map(async (object) => {
      const live = await presence.job(keyIn(object), signal);
      const isDone = live ? isComplete(live) : noted.includes(object.metadata.name);
      return isDone ? [object.metadata.name] : [];
    });
  return (await Promise.all(complete)).flat().sort();
}

function jobsNoted(installation: Installation): readonly string[] {
  return noteOf(installation, Note.jobs)?.split(",") ?? [];
}

function isOf({ apiVersion, kind }: DynamicObject, wanted: Pick<Kind, "group" | "version" | "kind">): boolean {
  return kind === wanted.kind && apiVersion === (wanted.group ? `${wanted.group}/${wanted.version}` : wanted.version);
}

function keyIn({ metadata }: DynamicObject): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}
