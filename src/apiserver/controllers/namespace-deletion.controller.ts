/**
 * Empties a deleted Namespace, Pods first and the rest when they are gone, and then lets it go.
 *
 * Key     Namespace name
 * Reads   Namespace, everything in it
 * Writes  deletes what is in it; status.conditions; spec.finalizers through /finalize
 * Twin    kube-controller-manager: namespace-controller
 */
import type { Pod } from "#api/core";
import type { Condition, DynamicObject } from "#api/meta";
import { equal } from "#lib/json";
import { errorText } from "#lib/log";
import { FOREGROUND, ORPHAN } from "./garbage-collection/owners.ts";
import type { ControllerParts } from "./manager.ts";
import { deletionConditions, type Findings, type Leftover } from "./namespace-conditions.ts";
import type { ServerController } from "./runner.ts";
import { sideBySide } from "./side-by-side.ts";

const NAMESPACES = "core/namespaces";
const PODS = "core/pods";
const KUBERNETES = "kubernetes";

/** So many objects of a namespace are deleted side by side, and so many namespaces emptied. */
const OBJECTS_AT_ONCE = 64;
const NAMESPACES_AT_ONCE = 8;

/** While much is left, what is left is counted so often at most, however fast it goes; its end is noticed at once. */
const LOOK_EVERY_MS = 1000;

/** What was found in a namespace, and what it waits for since. */
interface Look {
  readonly atMs: number;
  /** Whether only Pods are waited for. */
  readonly forPods: boolean;
  left: number;
}

export function namespaceDeletionController(
  parts: Pick<ControllerParts, "store" | "writer" | "catalog" | "clock">,
): ServerController {
  const { store, writer, catalog, clock } = parts;
  const looks = new Map<string, Look>();
  const nowMs = () => clock.now().getTime();

  return {
    name: "namespace-deletion",
    workers: NAMESPACES_AT_ONCE,
    keysOf({ resource, type, key, object, previous }) {
      if (resource === NAMESPACES) {
        if (type === "DELETED") looks.delete(key);
        const begins = object.metadata.deletionTimestamp && !previous?.metadata.deletionTimestamp;
        return begins ? [key] : [];
      }
      const { namespace } = object.metadata;
      if (!namespace || !store.get(NAMESPACES, namespace)?.metadata.deletionTimestamp) return [];
      if (type === "MODIFIED" && equal(previous?.metadata.finalizers, object.metadata.finalizers)) return [];
      const look = looks.get(namespace);
      if (type === "ADDED") looks.delete(namespace);
      else if (look && type === "DELETED" && (resource === PODS || !look.forPods)) look.left--;
      return [namespace];
    },
    async reconcile(name) {
      const namespace = store.get(NAMESPACES, name);
      if (!namespace?.metadata.deletionTimestamp || finalizersOf(namespace).length === 0) return undefined;
      const look = looks.get(name);
      const soonMs = look && look.left > 0 ? look.atMs + LOOK_EVERY_MS - nowMs() : 0;
      return soonMs > 0 ? soonMs : empty(namespace);
    },
  };

  async function empty(namespace: DynamicObject): Promise<number | undefined> {
    const { name } = namespace.metadata;
    const pods = await remove(PODS, name);
    if (pods.left.length > 0) return waitForPods(namespace, pods);

    const removals: Removal[] = [];
    for (const storage of store.resources()) removals.push(await remove(storage, name));
    const remaining = removals.filter(({ left }) => left.length > 0);
    const left = remaining.reduce((sum, removal) => sum + removal.left.length, 0);
    looks.set(name, { atMs: nowMs(), forPods: false, left });
    const failures = removals.flatMap((removal) => failuresOf(name, removal));
    await report(name, {
      leftovers: remaining.map(({ storage, left: objects }) => leftover(storage, objects)),
      failures,
    });
    throwFirst(removals);
    if (left === 0) await writer.change(NAMESPACES, name, withoutFinalizer, "finalize");
    return undefined;
  }

  /** Milliseconds until the last Pod should have ended; then it is said that it has not. */
  async function waitForPods(namespace: DynamicObject, pods: Removal): Promise<number | undefined> {
    const { name } = namespace.metadata;
    looks.set(name, { atMs: nowMs(), forPods: true, left: pods.left.length });
    const graceMs = graceLeftMs(namespace, pods.left, nowMs());
    const failures = graceMs > 0 && pods.failure === undefined ? [] : failuresOf(name, pods);
    // As on a real cluster, what is left is counted only when the Pods are gone.
    await report(name, { leftovers: [], failures });
    throwFirst([pods]);
    return graceMs > 0 ? graceMs : undefined;
  }

  async function remove(storage: string, namespace: string): Promise<Removal> {
    const present = store.list(storage, { namespace }).items;
    const doomed = present.filter(isToBeDeleted);
    if (doomed.length === 0) return { storage, left: present };
    const [failure] = await sideBySide(doomed, OBJECTS_AT_ONCE, (object) =>
      writer.remove(storage, object, { propagationPolicy: "Background" }),
    );
    const left = store.list(storage, { namespace }).items;
    return { storage, left, ...(failure !== undefined && { failure }) };
  }

  /** Why objects could not be deleted, or that they are still there without any reason to be. */
  function failuresOf(namespace: string, { storage, left, failure }: Removal): string[] {
    if (failure !== undefined) return [errorText(failure)];
    if (left.length === 0 || left.some(({ metadata }) => metadata.finalizers?.length)) return [];
    const served = catalog.resources.find((resource) => resource.storage === storage);
    const named = served ? `${served.group}/${served.version}, Resource=${served.plural}` : storage;
    return [`unexpected items still remain in namespace: ${namespace} for gvr: ${named}`];
  }

  async function report(name: string, findings: Findings): Promise<void> {
    await writer.change(
      NAMESPACES,
      name,
      (draft) => {
        const status = (draft.status ?? {}) as { conditions?: Condition[] };
        const conditions = deletionConditions(status.conditions ?? [], findings, clock.now());
        return { ...draft, status: { ...status, phase: "Terminating", conditions } };
      },
      "status",
    );
  }
}

/** What became of the objects of one resource in a namespace. */
interface Removal {
  readonly storage: string;
  readonly left: readonly DynamicObject[];
  /** The first thing that went wrong. */
  readonly failure?: unknown;
}

function throwFirst(removals: readonly Removal[]): void {
  for (const { failure } of removals) if (failure !== undefined) throw failure;
}

/** What waits for the garbage collector is deleted once more: in the background, nothing needs to wait for it. */
function isToBeDeleted({ metadata }: DynamicObject): boolean {
  return !metadata.deletionTimestamp || [FOREGROUND, ORPHAN].some((each) => metadata.finalizers?.includes(each));
}

function leftover(storage: string, objects: readonly DynamicObject[]): Leftover {
  const [group = "", plural = ""] = storage.split("/");
  return { name: `${plural}.${group === "core" ? "" : group}`, objects };
}

/** How much longer the Pods may take that are still at work, counted from the deletion of the namespace. */
function graceLeftMs({ metadata }: DynamicObject, pods: readonly DynamicObject[], nowMs: number): number {
  const graces = (pods as readonly unknown[] as readonly Pod[])
    .filter(({ status }) => status?.phase !== "Succeeded" && status?.phase !== "Failed")
    .map(({ spec }) => spec.terminationGracePeriodSeconds ?? 0);
  const longest = graces.reduce((longer, grace) => Math.max(longer, grace), 0);
  return Date.parse(metadata.deletionTimestamp ?? "") + longest * 1000 - nowMs;
}

function finalizersOf({ spec }: DynamicObject): readonly string[] {
  return (spec as { finalizers?: string[] } | undefined)?.finalizers ?? [];
}

function withoutFinalizer(draft: DynamicObject): DynamicObject {
  const finalizers = finalizersOf(draft).filter((finalizer) => finalizer !== KUBERNETES);
  return { ...draft, spec: { ...(draft.spec as object), finalizers } };
}
