/**
 * Keeps the Pods of a StatefulSet, each with a name, a place in the order and volumes of its own.
 *
 * Key     StatefulSet namespace/name
 * Reads   StatefulSet, Pod, PersistentVolumeClaim, ControllerRevision
 * Writes  Pod: creates, deletes, adopts, releases, identity labels; PersistentVolumeClaim: creates, owners;
 *         ControllerRevision; StatefulSet status
 * Twin    kube-controller-manager: statefulset-controller
 */
import { StatefulSet } from "#api/apps";
import type { Pod } from "#api/core";
import { type DynamicObject, keyOf, type LabelSelector } from "#api/meta";
import { isDeleting, withLabels } from "#lib/meta";
import { labelSelector } from "#lib/selectors";
import type { ControllerParts } from "../../manager.ts";
import type { Occurrence, ServerController } from "../../runner.ts";
import { claim } from "../claims.ts";
import { type Claimants, concerned } from "../concern.ts";
import { isActive, PODS } from "../pods.ts";
import { unlessEnding } from "../refusals.ts";
import { nextAvailableIn } from "../replicas/status.ts";
import { report } from "../reports.ts";
import {
  type History,
  historyOf,
  type Revision,
  removeRevisions,
  surplus,
  templateOf,
} from "../revisions/revisions.ts";
import { podsOf, type Stored } from "../stored.ts";
import { identityLabels, ordinalOf, podName, podOf, revisionOf, type Stateful } from "./identity.ts";
import { type Member, planFor } from "./plan.ts";
import { statefulSetStatus } from "./status.ts";
import { CLAIMS, volumeClaims } from "./volume-claims.ts";

const STATEFUL_SETS = "apps/statefulsets";
const HASH_LABEL = "controller.kubernetes.io/hash";
const HISTORY_LIMIT = 10;
const WORKERS = 8;

export type StatefulSetParts = Pick<ControllerParts, "store" | "writer" | "ownership" | "clock" | "teller">;

export function statefulSetController(parts: StatefulSetParts): ServerController {
  const { store, writer, ownership, clock } = parts;
  const teller = parts.teller("statefulset-controller");
  const volumes = volumeClaims({ store, writer, teller });
  const claimants: Claimants = {
    kind: StatefulSet,
    storage: STATEFUL_SETS,
    store,
    selectorOf: (set) => labelSelector((set.spec as { selector?: LabelSelector }).selector),
  };

  return {
    name: "stateful-set",
    watches: [STATEFUL_SETS, PODS, CLAIMS],
    workers: WORKERS,
    keysOf(event) {
      if (event.resource === STATEFUL_SETS) return [event.key];
      return event.resource === PODS ? concerned(event, claimants) : setsWithClaim(event);
    },

    reconcile: (key) => unlessEnding(() => reconcile(key)),
  };

  async function reconcile(key: string): Promise<number | undefined> {
    const set = store.get(STATEFUL_SETS, key) as Stateful | undefined;
    if (!set) return undefined;
    // Its revisions go with it, and must not be made again.
    if (isDeleting(set)) return watchGo(set);
    const selector = labelSelector(set.spec.selector);
    const mayAdopt = (pod: DynamicObject) => ordinalOf(set, pod) !== undefined;
    await claim({ owner: set, selector, storage: PODS, ownership, writer, mayAdopt });
    const history = await historyOf({ owner: set, selector, hashLabel: HASH_LABEL, store, writer, ownership });
    const { currentRevision } = set.status ?? {};
    const current = history.all.find(({ metadata }) => metadata.name === currentRevision) ?? history.newest;

    const failure = await act(set, history.newest, current);
    const pods = podsOf(ownership, set);
    const now = clock.now();
    const status = statefulSetStatus({
      set,
      pods,
      currentRevision: current.metadata.name,
      updateRevision: history.newest.metadata.name,
      collisionCount: history.collisionCount,
      now,
    });
    await report(writer, { storage: STATEFUL_SETS, object: set, status });
    await forget(set, pods, history, current);
    if (failure) throw failure;
    return nextAvailableIn(pods, set.spec.minReadySeconds ?? 0, now);
  }

  async function watchGo(set: Stateful): Promise<undefined> {
    const { currentRevision = "", updateRevision = "", collisionCount = 0 } = set.status ?? {};
    const revisions = { currentRevision, updateRevision, collisionCount };
    const status = statefulSetStatus({ set, pods: podsOf(ownership, set), now: clock.now(), ...revisions });
    await report(writer, { storage: STATEFUL_SETS, object: set, status });
    return undefined;
  }

  /** A claim that goes may be what the set waits for, before it creates a Pod of that name again. */
  function setsWithClaim({ type, object }: Occurrence): string[] {
    const { namespace, name } = object.metadata;
    if (type !== "DELETED" || namespace === undefined) return [];
    return store
      .list(STATEFUL_SETS, { namespace })
      .items.filter((each) => {
        const { metadata, spec } = each as Stateful;
        const templates = spec.volumeClaimTemplates ?? [];
        return templates.some((template) => name.startsWith(`${template.metadata.name}-${metadata.name}-`));
      })
      .map(keyOf);
  }

  /** Does what is to be done now; what went wrong first comes back, so that the status is told before. */
  async function act(set: Stateful, newest: Revision, current: Revision): Promise<Error | undefined> {
    const plan = planFor({
      set,
      pods: podsOf(ownership, set),
      updateRevision: newest.metadata.name,
      hasStaleClaims: (ordinal) => volumes.areStale(set, ordinal),
      now: clock.now(),
    });
    try {
      await together(plan.keep, (member) => keep(set, member));
      await together(plan.create, ({ ordinal, isUpdated }) => create(set, ordinal, isUpdated ? newest : current));
      await together(plan.letGo, ({ ordinal, pod }) => volumes.settle(set, ordinal, pod));
      await together(plan.remove, (pod) => remove(set, pod));
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async function keep(set: Stateful, { ordinal, pod }: Member): Promise<void> {
    if (pod.status?.phase === "Pending" && isActive(pod)) await volumes.ensure(set, ordinal);
    await volumes.settle(set, ordinal, pod);
    const labels = identityLabels(set, ordinal);
    if (withLabels(pod, labels) === pod) return;
    await told(set, pod.metadata.name, "Update", () =>
      writer.change(PODS, keyOf(pod), (draft) => (isSame(draft, pod) ? withLabels(draft, labels) : draft)),
    );
  }

  async function create(set: Stateful, ordinal: number, revision: Revision): Promise<void> {
    await told(set, podName(set, ordinal), "Create", async () => {
      await volumes.ensure(set, ordinal);
      await writer.create(PODS, podOf(set, ordinal, templateOf(revision), revision.metadata.name));
      await volumes.settle(set, ordinal);
    });
  }

  async function remove(set: Stateful, pod: Stored<Pod>): Promise<void> {
    await told(set, pod.metadata.name, "Delete", () => writer.remove(PODS, pod));
  }

  /** Does it and says in an Event how it went. */
  async function told(set: Stateful, pod: string, verb: string, work: () => Promise<void>): Promise<void> {
    const what = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
    try {
      await work();
    } catch (error) {
      const message = `${what} failed error: ${error instanceof Error ? error.message : String(error)}`;
      teller.tell(set, { type: "Warning", reason: `Failed${verb}`, message });
      throw error;
    }
    teller.tell(set, { reason: `Successful${verb}`, message: `${what} successful` });
  }

  /** Revisions that no Pod is of are kept up to the limit. */
  async function forget(
    set: Stateful,
    pods: readonly Pod[],
    { all, newest }: History,
    current: Revision,
  ): Promise<void> {
    const needed = new Set([newest.metadata.name, current.metadata.name, ...pods.map(revisionOf)]);
    const past = all.filter(({ metadata }) => !needed.has(metadata.name));
    await removeRevisions(
      writer,
      surplus(past, set.spec.revisionHistoryLimit ?? HISTORY_LIMIT, () => false),
    );
  }
}

function isSame({ metadata }: DynamicObject, other: DynamicObject): boolean {
  return metadata.uid === other.metadata.uid;
}

/** Waits for all of them, then throws what went wrong first. */
async function together<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(items.map(work));
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed) throw failed.reason;
}
