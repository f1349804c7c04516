/**
 * Rolls out Deployments: a ReplicaSet for every template, the new one growing as the old ones shrink.
 *
 * Key     namespace/name of the Deployment
 * Reads   Deployment, ReplicaSet, Pod
 * Writes  ReplicaSet: creates, sizes, annotates, adopts, releases, deletes; Deployment status and revision annotation
 * Twin    kube-controller-manager: deployment-controller
 */
import {
  Deployment,
  DeploymentAnnotation,
  DeploymentConditionType,
  type DeploymentStatus,
  ReplicaSet,
} from "#api/apps";
import { type DynamicObject, type KubeObject, keyOf, type LabelSelector } from "#api/meta";
import { findCondition } from "#lib/conditions";
import { equal } from "#lib/json";
import { controllerOf, isDeleting, withAnnotations } from "#lib/meta";
import { labelSelector } from "#lib/selectors";
import type { ControllerParts } from "../../manager.ts";
import type { Occurrence, ServerController } from "../../runner.ts";
import { claim } from "../claims.ts";
import { type Claimants, concerned, controllerKey } from "../concern.ts";
import { PODS } from "../pods.ts";
import { isForEndingNamespace, isTaken } from "../refusals.ts";
import { REPLICA_SETS } from "../replicas/replicas.controller.ts";
import { podsOf, type Stored } from "../stored.ts";
import { type Limits, limitsOf } from "./limits.ts";
import { newSetOf, sizeAnnotations } from "./new-set.ts";
import { allSets, type Generations, generationsOf, sizeOf } from "./replica-sets.ts";
import { expendable, newSetAnnotations } from "./revisions.ts";
import { rollbackTo, wishedRevision } from "./rollback.ts";
import { isScaled, type RolloutSizes, recreateSizes, rollingSizes, type Sizes, scaledSizes } from "./sizes.ts";
import {
  type Conditions,
  deploymentStatus,
  hasDeadline,
  isComplete,
  Reason,
  remaining,
  withNews,
  withPause,
} from "./status.ts";

const DEPLOYMENTS = "apps/deployments";

/** Enough that the writes of many Deployments share a commit of the log. */
const WORKERS = 16;

/** A history of this length has no end. */
const ENDLESS = 2 ** 31 - 1;

type DeploymentParts = Pick<ControllerParts, "store" | "writer" | "ownership" | "clock" | "teller">;

/** One look at a Deployment and what is decided by it. */
interface Turn {
  readonly deployment: Stored<Deployment>;
  readonly limits: Limits;
  readonly generations: Generations;
  readonly now: Date;
}

export function deploymentController(parts: DeploymentParts): ServerController {
  const { store, writer, ownership, clock } = parts;
  const teller = parts.teller("deployment-controller");
  const claimants: Claimants = { kind: Deployment, storage: DEPLOYMENTS, store, selectorOf };

  return {
    name: "deployment",
    watches: [DEPLOYMENTS, REPLICA_SETS, PODS],
    workers: WORKERS,
    keysOf(event) {
      if (event.resource === DEPLOYMENTS) return [event.key];
      return event.resource === PODS ? whoWaitsFor(event) : concerned(event, claimants);
    },

    async reconcile(key) {
      const deployment = store.get(DEPLOYMENTS, key) as Stored<Deployment> | undefined;
      if (!deployment) return undefined;
      const selector = selectorOf(deployment);
      await claim({ owner: deployment, selector, storage: REPLICA_SETS, ownership, writer });
      const generations = currentGenerations(deployment);
      const turn: Turn = { deployment, limits: limitsOf(deployment), generations, now: clock.now() };

      if (isDeleting(deployment)) return report(turn, (conditions) => conditions, false);
      if (deployment.spec.paused || isScaled(turn.limits, generations)) return scale(turn);
      const wished = wishedRevision(deployment);
      return wished !== undefined && generations.newSet ? rollBack(turn, wished) : rollOut(turn);
    },
  };

  function currentGenerations(deployment: Stored<Deployment>): Generations {
    const { uid = "" } = deployment.metadata;
    return generationsOf(deployment, ownership.controlledBy(REPLICA_SETS, uid) as Stored<ReplicaSet>[]);
  }

  async function scale(turn: Turn): Promise<undefined> {
    const { deployment, limits, generations } = turn;
    await adjust(turn, scaledSizes(deployment, limits, generations));
    if (deployment.spec.paused) await cleanUp(deployment, generations);
    await report(turn, (conditions) => withFirstWords(conditions, turn), false);
  }

  async function rollBack({ deployment, generations }: Turn, wished: bigint): Promise<undefined> {
    const { telling, change } = rollbackTo(deployment, allSets(generations), wished);
    let isDone = false;
    await writer.change(DEPLOYMENTS, keyOf(deployment), (draft) => {
      isDone = isSameWish(draft, deployment);
      return isDone ? change(draft as Stored<Deployment>) : draft;
    });
    if (isDone) teller.tell(deployment, telling);
  }

  async function rollOut(turn: Turn): Promise<number | undefined> {
    const { newSet } = turn.generations;
    const { ofNew, ofOld } = rolloutSizes(turn);
    await adjust(turn, newSet && ofNew !== undefined ? new Map([...ofOld, [newSet.metadata.name, ofNew]]) : ofOld);
    if (!newSet && ofNew !== undefined) return create(turn, ofNew);
    return report(turn, (conditions) => withFirstWords(conditions, turn), true);
  }

  function rolloutSizes({ deployment, limits, generations }: Turn): RolloutSizes {
    if (deployment.spec.strategy?.type !== "Recreate") return rollingSizes(limits, generations);
    const oldPodsRun = generations.oldSets.some(
      (set) => (set.status?.replicas ?? 0) > 0 || podsOf(ownership, set).some(({ status }) => !hasEnded(status?.phase)),
    );
    return recreateSizes(limits, generations, oldPodsRun);
  }

  async function create(turn: Turn, size: number): Promise<number | undefined> {
    const { deployment, limits, generations, now } = turn;
    const wanted = newSetOf(deployment, limits, generations.oldSets, size);
    const { name } = wanted.metadata;
    const news = (status: "True" | "False", reason: string, message: string) => (conditions: Conditions) => {
      const before = withFirstWords(conditions, turn);
      return hasDeadline(deployment) ? withNews(before, status, reason, message, now) : before;
    };
    try {
      await writer.create(REPLICA_SETS, wanted);
    } catch (error) {
      if (isForEndingNamespace(error)) return undefined;
      if (isTaken(error)) return countCollision(deployment);
      const message = `Failed to create new replica set "${name}": ${(error as Error).message}`;
      teller.tell(deployment, { type: "Warning", reason: Reason.createFailed, message });
      await report(turn, news("False", Reason.createFailed, message), false);
      throw error;
    }
    if (size > 0) tellSize(deployment, name, 0, size);
    return report(turn, news("True", Reason.created, `Created new replica set "${name}"`), true);
  }

  /** Another template, or another Deployment, has the name: the count makes the next one a different one. */
  async function countCollision(deployment: Stored<Deployment>): Promise<undefined> {
    const counted = ({ status }: Stored<Deployment>) => ({
      ...status,
      collisionCount: (status?.collisionCount ?? 0) + 1,
    });
    await changeStatus(deployment, (draft) => ({ ...draft, status: counted(draft) }));
  }

  async function changeStatus(
    deployment: Stored<Deployment>,
    change: (draft: Stored<Deployment>) => Stored<Deployment>,
  ): Promise<void> {
    const { uid } = deployment.metadata;
    const changed = (draft: DynamicObject) =>
      draft.metadata.uid === uid ? change(draft as Stored<Deployment>) : draft;
    await writer.change(DEPLOYMENTS, keyOf(deployment), changed, "status");
  }

  /** Sizes the ReplicaSets, and keeps the newest one true to the Deployment. */
  async function adjust({ deployment, limits, generations }: Turn, sizes: Sizes): Promise<void> {
    const { newSet, oldSets } = generations;
    const annotations = newSet && newSetAnnotations(deployment, newSet, oldSets);
    const { minReadySeconds = 0 } = deployment.spec;
    await Promise.all(
      allSets(generations).map((set) => {
        const size = sizes.get(set.metadata.name);
        const sized = (draft: Stored<ReplicaSet>) => (size === undefined ? draft : withSize(draft, size, limits));
        if (set !== newSet) return edit(deployment, set, sized);
        return edit(deployment, set, (draft) => {
          const annotated = withAnnotations(sized(draft), annotations ?? {});
          return (draft.spec.minReadySeconds ?? 0) === minReadySeconds
            ? annotated
            : { ...annotated, spec: { ...annotated.spec, minReadySeconds } };
        });
      }),
    );
  }

  async function edit(
    deployment: Stored<Deployment>,
    set: Stored<ReplicaSet>,
    change: (draft: Stored<ReplicaSet>) => Stored<ReplicaSet>,
  ): Promise<void> {
    if (change(set) === set) return;
    let isDone = false;
    await writer.change(REPLICA_SETS, keyOf(set), (draft) => {
      isDone = isSameWish(draft, set);
      return isDone ? change(draft as Stored<ReplicaSet>) : draft;
    });
    const [before, after] = [sizeOf(set), sizeOf(change(set))];
    if (isDone && before !== after) tellSize(deployment, set.metadata.name, before, after);
  }

  function tellSize(deployment: Stored<Deployment>, name = "", before: number, after: number): void {
    const direction = before < after ? "up" : "down";
    const message = `Scaled ${direction} replica set ${name} from ${before} to ${after}`;
    teller.tell(deployment, { reason: "ScalingReplicaSet", message });
  }

  async function cleanUp({ spec }: Deployment, { oldSets }: Generations): Promise<void> {
    const doomed = expendable(oldSets, spec.revisionHistoryLimit ?? ENDLESS);
    await Promise.all(doomed.map((set) => writer.remove(REPLICA_SETS, set)));
  }

  /**
   * Writes what has become of the Deployment, and says when its deadline is to be looked at. The status is worked out
   * on the newest one, so that nothing is lost that others wrote meanwhile.
   */
  async function report(
    { deployment, limits, now }: Turn,
    stated: (conditions: Conditions) => Conditions,
    isRollout: boolean,
  ): Promise<number | undefined> {
    const generations = currentGenerations(deployment);
    const revision = generations.newSet?.metadata.annotations?.[DeploymentAnnotation.revision];
    const statusAfter = (before: DeploymentStatus = {}) =>
      deploymentStatus({
        deployment: { ...deployment, status: before },
        limits,
        generations,
        conditions: stated(before.conditions ?? []),
        isRollout,
        now,
      });
    const reported = (draft: Stored<Deployment>): Stored<Deployment> => {
      const status = statusAfter(draft.status);
      const told = equal(status, draft.status) ? draft : { ...draft, status };
      return revision === undefined ? told : withAnnotations(told, { [DeploymentAnnotation.revision]: revision });
    };

    const newest = (store.get(DEPLOYMENTS, keyOf(deployment)) as Stored<Deployment> | undefined) ?? deployment;
    const status = statusAfter(newest.status);
    const complete = isComplete(deployment, status);
    if (isRollout && complete) await cleanUp(deployment, generations);
    if (reported(newest) !== newest) await changeStatus(deployment, reported);
    if (!isRollout || complete || !hasDeadline(deployment)) return undefined;
    return remaining(deployment, status.conditions ?? [], now) || undefined;
  }

  /** Where everything is replaced at once, the last of the old Pods makes room by going. */
  function whoWaitsFor({ type, object }: Occurrence): string[] {
    const owner = controllerOf(object);
    if (type !== "DELETED" || owner?.kind !== ReplicaSet.kind) return [];
    const set = store.get(REPLICA_SETS, `${object.metadata.namespace}/${owner.name}`);
    const key = set && controllerKey(set, claimants);
    const deployment = key && (store.get(DEPLOYMENTS, key) as Stored<Deployment> | undefined);
    return deployment && deployment.spec.strategy?.type === "Recreate" ? [key] : [];
  }
}

function selectorOf(deployment: DynamicObject) {
  return labelSelector((deployment.spec as { selector?: LabelSelector }).selector);
}

/** What was decided on one wish is not written into another: if somebody changed it since, we will be asked again. */
function isSameWish({ metadata }: KubeObject, seen: KubeObject): boolean {
  return metadata.uid === seen.metadata.uid && metadata.generation === seen.metadata.generation;
}

/** With a word of being paused, or of a ReplicaSet that was there before the Deployment. */
function withFirstWords(before: Conditions, { deployment, generations: { newSet }, now }: Turn): Conditions {
  const conditions = withPause(deployment, before, now);
  const isKnown = findCondition(conditions, DeploymentConditionType.progressing) !== undefined;
  if (!newSet || isKnown || !hasDeadline(deployment)) return conditions;
  return withNews(conditions, "True", Reason.found, `Found new replica set "${newSet.metadata.name}"`, now);
}

function withSize(set: Stored<ReplicaSet>, replicas: number, limits: Limits): Stored<ReplicaSet> {
  const sized = sizeOf(set) === replicas ? set : { ...set, spec: { ...set.spec, replicas } };
  return withAnnotations(sized, sizeAnnotations(limits));
}

function hasEnded(phase: string | undefined): boolean {
  return phase === "Succeeded" || phase === "Failed";
}
