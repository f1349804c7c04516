/** Server-side apply: the fields of the manifest are ours, and the server settles the rest. */
import type { DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { withAnnotations } from "#lib/meta";
import { isConflict } from "../../errors.ts";
import { ApplyError } from "../apply-error.ts";
import { hashOf, wishedPart, withHash } from "../content.ts";
import { claiming, isClaimed, ownerChange, withOwners } from "../owners.ts";
import { appliedBy, ownsAll } from "../ownership.ts";
import type { Strategy } from "../types.ts";
import { holds } from "../values.ts";
import type { Verdict } from "../verdict.ts";
import { succession } from "./succession.ts";
import { type Stage, type Task, writeOptions, writeOwners } from "./types.ts";

type ServerSide = Extract<Strategy, { type: "ServerSideApply" }>;

/** What is sent to an object that exists, who sends it, and what tells that just this was sent. */
interface Letter {
  readonly sent: DynamicObject;
  readonly manager: string;
  readonly note: string;
  readonly hash: string;
}

function letterOf(stage: Stage, manifest: DynamicObject, strategy: ServerSide): Letter {
  const { fieldManager: manager = stage.fieldManager } = strategy;
  const sent = reduced(manifest, strategy);
  return { sent, manager, note: noteOf(stage, strategy), hash: knownHashOf(sent) };
}

/** The annotation in which it is noted what was applied. */
export function noteOf({ fieldManager, hashAnnotation }: Stage, strategy: Strategy): string {
  if (strategy.type !== "ServerSideApply") return hashAnnotation(fieldManager);
  return strategy.note ?? hashAnnotation(strategy.fieldManager ?? fieldManager);
}

const hashes = new WeakMap<DynamicObject, string>();

/** Manifests are never changed, and compared again and again. */
function knownHashOf(sent: DynamicObject): string {
  const known = hashes.get(sent);
  if (known !== undefined) return known;
  const hash = hashOf(sent);
  hashes.set(sent, hash);
  return hash;
}

/** The manifest without what is left to the cluster; which that is the caller tells, and may fail to. */
function reduced(manifest: DynamicObject, { ignoring }: ServerSide): DynamicObject {
  try {
    return ignoring ? ignoring(manifest) : manifest;
  } catch (cause) {
    throw new ApplyError(`it cannot be told which of its fields to ignore: ${(cause as Error).message}`, { cause });
  }
}

/** Whether nothing has to be sent, owners aside. */
export function isApplied(stage: Stage, { identity, manifest, live }: Task, strategy: ServerSide): boolean {
  if (!live) return false;
  const { sent, manager, note, hash } = letterOf(stage, manifest, strategy);
  const isNoted = live.metadata.annotations?.[note] === hash;
  if (strategy.ignoring) return isNoted;
  if (stage.memory.isAsLeft(identity, hash, live) && holds(sent.metadata, live.metadata)) return true;
  if (!isNoted) return false;
  return live.metadata.managedFields ? ownsAll(manager, withHash(sent, note, hash), live) : holds(sent, live);
}

export async function serverSideApply(stage: Stage, task: Task, strategy: ServerSide): Promise<Verdict> {
  const { live } = task;
  if (live && isApplied(stage, task, strategy)) return ownersOnly(stage, task, live, Boolean(strategy.ignoring));
  if (live && !stage.dryRun && isClaimed(live, task.owner)) {
    return serverSideApply(stage, { ...task, live: await named(stage, task, live) }, strategy);
  }

  const letter = letterOf(stage, task.manifest, strategy);
  const created = stage.dryRun ? task.manifest : withOwners(task.manifest, claiming(task.owner));
  const body = withHash(live ? letter.sent : created, letter.note, letter.hash);
  const apply = (sent: DynamicObject) =>
    stage.client.patch(task.kind, task.key, sent, {
      ...writeOptions(stage),
      fieldManager: letter.manager,
      type: "apply",
      force: strategy.force ?? false,
    });
  // What is not noted yet is done again from the beginning, should this process end on the way.
  const isTakenOver =
    live !== undefined && strategy.succeeds !== undefined && !live.metadata.annotations?.[letter.note];
  const first = await apply(isTakenOver ? letter.sent : body);
  const heritage = stage.dryRun ? undefined : await inherit(stage, task, letter, first, strategy);
  const applied = isTakenOver || heritage?.isMore ? await apply(body) : (heritage?.object ?? first);
  const after = await named(stage, task, applied);
  if (!stage.dryRun) stage.memory.record(task.identity, letter.hash, live, after);
  return { ...judged(stage, letter, live, after), after };
}

/** Others, such as whoever writes the status, may come in between so often. */
const INHERIT_TRIES = 5;

/** Takes over what predecessors answer for, if there are any. */
async function inherit(
  stage: Stage,
  { kind, key }: Task,
  { manager }: Letter,
  applied: DynamicObject,
  { succeeds = [] }: ServerSide,
): Promise<{ object: DynamicObject; isMore: boolean } | undefined> {
  let live = applied;
  for (let tries = 1; ; tries++) {
    const heritage = succession(manager, succeeds, live);
    if (!heritage) return undefined;
    const patch = [
      { op: "replace", path: "/metadata/managedFields", value: heritage.managedFields },
      // The server refuses it if somebody wrote since.
      { op: "replace", path: "/metadata/resourceVersion", value: live.metadata.resourceVersion },
    ];
    try {
      const object = await stage.client.patch(kind, key, patch, { ...writeOptions(stage), type: "json" });
      return { object, isMore: heritage.isMore };
    } catch (error) {
      if (!isConflict(error) || tries === INHERIT_TRIES) throw error;
      live = await stage.client.get(kind, key, { ...(stage.signal && { signal: stage.signal }) });
    }
  }
}

async function ownersOnly(stage: Stage, task: Task, live: DynamicObject, ignoring: boolean): Promise<Verdict> {
  const after = await named(stage, task, live);
  if (after !== live) return { action: "updated", reason: "Applied", message: "", after };
  return { action: "unchanged", reason: ignoring ? "LeftAlone" : "AsWished", message: "", after: live };
}

/** With the owners that it should name. */
async function named(stage: Stage, task: Task, current: DynamicObject): Promise<DynamicObject> {
  const owners = ownerChange(current, task.owner);
  return owners ? writeOwners(stage, task, current, owners) : current;
}

function judged(stage: Stage, letter: Letter, live: DynamicObject | undefined, after: DynamicObject): Verdict {
  if (!live) return { action: "created", reason: "Applied", message: "" };
  const content = (object: DynamicObject) => wishedPart(withAnnotations(object, { [letter.note]: undefined }));
  if (!equal(content(live), content(after))) return { action: "updated", reason: "Applied", message: "" };
  return isSameAccount(stage, letter, live, after)
    ? { action: "unchanged", reason: "AsWished", message: "" }
    : { action: "updated", reason: "Adopted", message: "no value changes, only who answers for its fields" };
}

/** Whether not even who answers for the fields has changed: that would be a write too. */
function isSameAccount(
  { dryRun }: Stage,
  { manager, note }: Letter,
  live: DynamicObject,
  after: DynamicObject,
): boolean {
  if (live.metadata.annotations?.[note] !== after.metadata.annotations?.[note]) return false;
  if (live.metadata.managedFields) {
    return equal(appliedBy(manager, live)?.fieldsV1, appliedBy(manager, after)?.fieldsV1);
  }
  // Caches leave the account out; a server that wrote nothing leaves the version as it was.
  return dryRun || live.metadata.resourceVersion === after.metadata.resourceVersion;
}
