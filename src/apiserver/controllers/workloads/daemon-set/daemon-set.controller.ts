/**
 * Keeps a Pod of every DaemonSet on every node that should run one.
 *
 * Key     DaemonSet namespace/name
 * Reads   DaemonSet, Node, Pod, ControllerRevision
 * Writes  Pod: creates, deletes, adopts, releases; ControllerRevision; DaemonSet status
 * Twin    kube-controller-manager: daemonset-controller
 */
import { DaemonSet } from "#api/apps";
import type { Node, Pod } from "#api/core";
import { type DynamicObject, keyOf, type LabelSelector } from "#api/meta";
import { equal } from "#lib/json";
import { isDeleting, withLabels } from "#lib/meta";
import { labelSelector } from "#lib/selectors";
import type { ControllerParts } from "../../manager.ts";
import type { Occurrence, ServerController } from "../../runner.ts";
import { claim } from "../claims.ts";
import { type Claimants, concerned } from "../concern.ts";
import { podChanges } from "../pod-changes.ts";
import { PODS } from "../pods.ts";
import { unlessEnding } from "../refusals.ts";
import { nextAvailableIn } from "../replicas/status.ts";
import { report, soonest } from "../reports.ts";
import { type History, historyOf, removeRevisions, surplus } from "../revisions/revisions.ts";
import { podsOf, type Stored } from "../stored.ts";
import { type Daemon, DaemonLabel, podFor } from "./daemon-pod.ts";
import { FailureBackoff } from "./failure-backoff.ts";
import { type Ended, groupedByNode, placementOf, type Sight } from "./placement.ts";
import { rolloutOf } from "./rollout.ts";
import { daemonSetStatus } from "./status.ts";

const DAEMON_SETS = "apps/daemonsets";
const NODES = "core/nodes";
const HISTORY_LIMIT = 10;
/** So many Pods are created or deleted in one go; then others get their turn. */
const BURST = 250;
const WORKERS = 4;

export type DaemonSetParts = Pick<ControllerParts, "store" | "writer" | "ownership" | "clock" | "teller">;

export function daemonSetController(parts: DaemonSetParts): ServerController {
  const { store, writer, ownership, clock } = parts;
  const teller = parts.teller("daemonset-controller");
  const changes = podChanges({ writer, teller });
  const backoffs = new Map<string, FailureBackoff>();
  const claimants: Claimants = {
    kind: DaemonSet,
    storage: DAEMON_SETS,
    store,
    selectorOf: (set) => labelSelector((set.spec as { selector?: LabelSelector }).selector),
  };

  return {
    name: "daemon-set",
    watches: [DAEMON_SETS, PODS, NODES],
    workers: WORKERS,
    keysOf(event) {
      if (event.resource === DAEMON_SETS) return [event.key];
      if (event.resource === PODS) return concerned(event, claimants);
      return changesPlaces(event) ? store.list(DAEMON_SETS).items.map(keyOf) : [];
    },

    reconcile: (key) => unlessEnding(() => reconcile(key)),
  };

  async function reconcile(key: string): Promise<number | undefined> {
    const set = store.get(DAEMON_SETS, key) as Daemon | undefined;
    // While a set is being deleted its revisions may be gone already, and they must not be made again.
    if (!set || isDeleting(set)) {
      backoffs.delete(key);
      return undefined;
    }
    const selector = labelSelector(set.spec.selector);
    await claim({ owner: set, selector, storage: PODS, ownership, writer });
    const history = await historyOf({ owner: set, selector, hashLabel: DaemonLabel.hash, store, writer, ownership });
    await mergeTwins(set, history);

    const acted = await act(set, hashOf(history));
    const sight = sightOf(set, hashOf(history));
    const status = daemonSetStatus(sight, history.collisionCount);
    await report(writer, { storage: DAEMON_SETS, object: set, status });
    await forget(set, history);
    if (acted.error) throw acted.error;
    return soonest(acted.again, nextAvailableIn(podsOf(ownership, set), set.spec.minReadySeconds ?? 0, sight.now));
  }

  function sightOf(set: Daemon, hash: string): Sight & { set: Daemon } {
    const nodes = store.list(NODES).items as unknown as Node[];
    return { set, nodes, podsByNode: groupedByNode(podsOf(ownership, set)), hash, now: clock.now() };
  }

  /** Puts Pods where they belong; only when that needs nothing, an update takes its next step. */
  async function act(set: Daemon, hash: string): Promise<{ error?: Error | undefined; again?: number | undefined }> {
    const sight = sightOf(set, hash);
    const backoff = backoffs.get(keyOf(set)) ?? new FailureBackoff();
    backoffs.set(keyOf(set), backoff);
    const { generation = 0 } = set.metadata;
    // A new template gets a new chance.
    const waitOf = (node: string) => `${set.metadata.uid} ${generation} ${node}`;
    const mustWait = (node: string) => backoff.left(waitOf(node), sight.now) > 0;
    const placement = placementOf(sight, mustWait);
    for (const ended of placement.ended) {
      if (ended.pod.status?.phase === "Failed") backoff.note(waitOf(ended.node), sight.now);
      tellEnded(set, ended);
    }
    const again = soonest(...placement.waiting.map((node) => backoff.left(waitOf(node), sight.now)));
    const isSettled = placement.create.length + placement.remove.length === 0;
    const isRolling = set.spec.updateStrategy?.type !== "OnDelete";
    const step = isSettled && isRolling ? rolloutOf(sight) : placement;
    return { error: await change(set, hash, step), again };
  }

  async function change(
    set: Daemon,
    hash: string,
    { create, remove }: { create: readonly string[]; remove: readonly Stored<Pod>[] },
  ): Promise<Error | undefined> {
    const made = create.slice(0, BURST).map((node) => podFor(set, hash, node));
    const [created, removed] = [await changes.create(set, made), await changes.remove(set, remove.slice(0, BURST))];
    return created.error ?? removed.error;
  }

  function tellEnded(set: Daemon, { pod, node }: Ended): void {
    const name = keyOf(pod);
    if (pod.status?.phase === "Failed") {
      const message = `Found failed daemon pod ${name} on node ${node}, will try to kill it`;
      teller.tell(set, { type: "Warning", reason: "FailedDaemonPod", message });
    } else {
      const message = `Found succeeded daemon pod ${name} on node ${node}, will try to delete it`;
      teller.tell(set, { reason: "SucceededDaemonPod", message });
    }
  }

  /** Two revisions of one template, as adoption may bring about, become one, and their Pods are of it. */
  async function mergeTwins(set: Daemon, history: History): Promise<void> {
    const { newest, all } = history;
    const twins = all.filter((revision) => revision !== newest && equal(revision.data, newest.data));
    if (twins.length === 0) return;
    const hash = hashOf(history);
    const old = new Set(twins.map(({ metadata }) => metadata.labels?.[DaemonLabel.hash]));
    const pods = podsOf(ownership, set).filter(({ metadata }) => old.has(metadata.labels?.[DaemonLabel.hash]));
    const relabel = (draft: DynamicObject) => withLabels(draft, { [DaemonLabel.hash]: hash });
    await Promise.all(pods.map((pod) => writer.change(PODS, keyOf(pod), relabel)));
    await removeRevisions(writer, twins);
  }

  /** Older revisions beyond the limit go, but for those that Pods are of. */
  async function forget(set: Daemon, { all, newest }: History): Promise<void> {
    const old = all.filter((revision) => revision !== newest && !equal(revision.data, newest.data));
    const live = new Set(podsOf(ownership, set).map(({ metadata }) => metadata.labels?.[DaemonLabel.hash]));
    const isLive = ({ metadata }: DynamicObject) => live.has(metadata.labels?.[DaemonLabel.hash]);
    await removeRevisions(writer, surplus(old, set.spec.revisionHistoryLimit ?? HISTORY_LIMIT, isLive));
  }
}

/** Whether Pods may have to come or go: nodes report much that does not matter here. */
function changesPlaces({ type, object, previous }: Occurrence): boolean {
  if (type !== "MODIFIED" || !previous) return true;
  const [now, before] = [object, previous] as unknown as [Node, Node];
  return !equal(now.metadata.labels, before.metadata.labels) || !equal(now.spec?.taints, before.spec?.taints);
}

function hashOf({ newest }: History): string {
  return newest.metadata.labels?.[DaemonLabel.hash] ?? newest.metadata.name;
}
