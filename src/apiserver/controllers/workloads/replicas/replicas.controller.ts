/**
 * Keeps as many Pods as a ReplicaSet or a ReplicationController wishes for.
 *
 * Key     namespace/name of the ReplicaSet or ReplicationController
 * Reads   ReplicaSet or ReplicationController, Pod
 * Writes  Pod: creates, deletes, adopts, releases; status of the ReplicaSet or ReplicationController
 * Twin    kube-controller-manager: replicaset-controller, replicationcontroller-controller
 */
import { ReplicaSet, type ReplicasStatus } from "#api/apps";
import { type Pod, type PodTemplateSpec, ReplicationController } from "#api/core";
import { type KubeObject, keyOf, type LabelSelector } from "#api/meta";
import { equal } from "#lib/json";
import { controllerOf, isDeleting } from "#lib/meta";
import { labelSelector } from "#lib/selectors";
import type { ControllerParts } from "../../manager.ts";
import type { ServerController } from "../../runner.ts";
import { claim } from "../claims.ts";
import { type Claimants, concerned } from "../concern.ts";
import { podChanges } from "../pod-changes.ts";
import { isActive, PODS, podFrom } from "../pods.ts";
import { podsOf, type Stored } from "../stored.ts";
import { deletionOrder } from "./deletion-order.ts";
import { type Failure, hasFailed, nextAvailableIn, replicasStatus } from "./status.ts";

export const REPLICA_SETS = "apps/replicasets";
const REPLICATION_CONTROLLERS = "core/replicationcontrollers";

/** So many Pods are created or deleted in one go; then others get their turn. */
const BURST = 500;
/** Enough that the writes of many workloads share a commit of the log. */
const WORKERS = 16;

export type ReplicasParts = Pick<ControllerParts, "store" | "writer" | "ownership" | "clock" | "teller">;

/** What ReplicaSets and ReplicationControllers have in common. */
type Replicator = Stored<
  KubeObject & {
    spec: { replicas?: number; minReadySeconds?: number; template: PodTemplateSpec };
    status?: ReplicasStatus;
  }
>;

interface Flavour extends Omit<Claimants, "store"> {
  readonly name: string;
  /** Who its Events are from. */
  readonly component: string;
  readonly countsTerminating: boolean;
}

export function replicaSetController(parts: ReplicasParts): ServerController {
  return replicasController(parts, {
    name: "replica-set",
    component: "replicaset-controller",
    kind: ReplicaSet,
    storage: REPLICA_SETS,
    countsTerminating: true,
    selectorOf: (set) => labelSelector((set.spec as { selector?: LabelSelector }).selector),
  });
}

export function replicationController(parts: ReplicasParts): ServerController {
  return replicasController(parts, {
    name: "replication-controller",
    component: "replication-controller",
    kind: ReplicationController,
    storage: REPLICATION_CONTROLLERS,
    countsTerminating: false,
    selectorOf(object) {
      const { selector } = object.spec as { selector?: Record<string, string> };
      return labelSelector(selector && { matchLabels: selector });
    },
  });
}

function replicasController(parts: ReplicasParts, flavour: Flavour): ServerController {
  const { store, writer, ownership, clock } = parts;
  const { storage, selectorOf, countsTerminating } = flavour;
  const changes = podChanges({ writer, teller: parts.teller(flavour.component) });

  return {
    name: flavour.name,
    watches: [storage, PODS],
    workers: WORKERS,
    keysOf(event) {
      return event.resource === storage ? [event.key] : concerned(event, { ...flavour, store });
    },

    async reconcile(key) {
      const owner = store.get(storage, key) as Replicator | undefined;
      if (!owner) return undefined;
      const selector = selectorOf(owner);
      const fits = ({ metadata }: Pod) => selector.matches(metadata.labels);

      await claim({
        owner,
        selector,
        storage: PODS,
        ownership,
        writer,
        mayAdopt: (pod) => isActive(pod as Stored<Pod>),
      });
      const failure = isDeleting(owner) ? undefined : await adjust(owner, podsOf(ownership, owner).filter(fits));
      const pods = podsOf(ownership, owner).filter(fits);
      const now = clock.now();
      await report(owner, pods, failure, now);
      if (failure) throw failure.error;
      return nextAvailableIn(pods, owner.spec.minReadySeconds ?? 0, now);
    },
  };

  /** Creates what is missing and deletes what is too much. */
  async function adjust(owner: Replicator, pods: readonly Stored<Pod>[]): Promise<Failure | undefined> {
    const active = pods.filter(isActive);
    const missing = (owner.spec.replicas ?? 1) - active.length;
    if (missing > 0) return createPods(owner, Math.min(missing, BURST));
    if (missing < 0) return deletePods(owner, active, Math.min(-missing, BURST));
    return undefined;
  }

  /** All at once, so that they share a commit; after a failure one at first, because it is likely to fail too. */
  async function createPods(owner: Replicator, count: number): Promise<Failure | undefined> {
    const { spec, status } = owner;
    const wanted = Array.from({ length: count }, () => podFrom(owner, spec.template, {}));
    const { error } = await changes.create(owner, wanted, hasFailed(status) ? 1 : count);
    return error && { reason: "FailedCreate", error };
  }

  async function deletePods(
    owner: Replicator,
    active: readonly Stored<Pod>[],
    count: number,
  ): Promise<Failure | undefined> {
    const doomed = deletionOrder(active, relatedPods(owner), clock.now()).slice(0, count);
    const { error } = await changes.remove(owner, doomed);
    return error && { reason: "FailedDelete", error };
  }

  /** The Pods of the same application: those of all that have the same controller, or else its own. */
  function relatedPods(owner: Replicator): Pod[] {
    const above = controllerOf(owner);
    const siblings = above ? ownership.controlledBy(storage, above.uid) : [owner];
    return siblings.flatMap((sibling) => podsOf(ownership, sibling)).filter(isActive);
  }

  /** The status is worked out on the newest one, so that nothing is lost that others wrote meanwhile. */
  async function report(
    owner: Replicator,
    pods: readonly Pod[],
    failure: Failure | undefined,
    now: Date,
  ): Promise<void> {
    const { metadata, spec } = owner;
    const reported = (draft: Replicator): Replicator => {
      const status = replicasStatus({
        before: draft.status,
        generation: metadata.generation,
        templateLabels: spec.template.metadata?.labels ?? {},
        minReadySeconds: spec.minReadySeconds ?? 0,
        pods,
        failure,
        countsTerminating,
        now,
      });
      return draft.metadata.uid !== metadata.uid || equal(status, draft.status) ? draft : { ...draft, status };
    };
    const key = keyOf(owner);
    const newest = store.get(storage, key) as Replicator | undefined;
    if (!newest || reported(newest) === newest) return;
    await writer.change(storage, key, (draft) => reported(draft as Replicator), "status");
  }
}
