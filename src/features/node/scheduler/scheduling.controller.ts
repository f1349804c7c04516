/**
 * Puts Pods on nodes that Capstan runs, in the place of a scheduler. Every process that runs nodes comes to the same
 * choice from the same objects, and the one whose node was chosen binds the Pod to it.
 *
 * Key     Pod
 * Reads   Pod, Node
 * Writes  Binding; condition PodScheduled of Pods that no node can take; Events
 * Twin    kube-scheduler
 */
import { type Binding, Node, Pod, type PodCondition, PodConditionType } from "#api/core";
import { keyOf } from "#api/meta";
import { isConflict, isNotFound } from "#kube";
import { type Clock, timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { type Cache, type Cluster, type Controller, done, type Trigger } from "#runtime";
import type { EventTeller } from "../events.ts";
import { isTerminal } from "../kubelet/conditions.ts";
import { type Candidate, choice, isCapstans, isReady, type Misfit, misfit, unschedulableMessage } from "./fit.ts";

const SCHEDULER = "default-scheduler";
const AT_ONCE = 8;

export interface SchedulingOptions {
  cluster: Cluster;
  /** Names of the nodes that this process runs. */
  nodes: ReadonlySet<string>;
  teller: EventTeller;
  clock: Clock;
}

export function schedulingController({ cluster, nodes: ours, teller, clock }: SchedulingOptions): Controller {
  const pods = cluster.cache(Pod);
  const nodes = cluster.cache(Node);
  const podsOn = pods.indexBy((pod) => (isTerminal(pod.status?.phase) ? undefined : pod.spec.nodeName || UNPLACED));
  /** Pods that we bind, by uid, until the cache knows. */
  const bound = new Map<string, { key: string; node: string }>();
  const waiting = () => podsOn.at(UNPLACED).filter(isOurTask).map(keyOf);

  return {
    name: "scheduling",
    triggers: [arrivalsAndMoves(pods, waiting), nodes.keyedBy(waiting)],
    concurrency: AT_ONCE,

    async reconcile(key) {
      const pod = pods.get(key);
      if (!pod || !isOurTask(pod)) return done;
      const machines = nodes.list().filter(isCapstans);
      const fits: Candidate[] = [];
      const misfits: Misfit[] = [];
      for (const node of machines) {
        const podCount = countOn(node.metadata.name);
        const why = misfit(pod, node, podCount);
        if (why === undefined) fits.push({ node, podCount });
        else misfits.push(why);
      }
      const chosen = choice(pod, fits)?.metadata.name;
      if (chosen === undefined) await refuse(pod, machines, misfits);
      else if (ours.has(chosen)) await bind(pod, chosen);
      return done;
    },
  };

  function isOurTask(pod: Pod): boolean {
    const { nodeName, schedulerName = SCHEDULER, schedulingGates = [] } = pod.spec;
    const isWaiting = !nodeName && !isDeleting(pod) && !isTerminal(pod.status?.phase);
    if (!isWaiting || schedulerName !== SCHEDULER || schedulingGates.length > 0) return false;
    return !bound.has(pod.metadata.uid ?? "");
  }

  function countOn(node: string): number {
    for (const [uid, { key }] of bound) {
      const pod = pods.get(key);
      if (pod?.metadata.uid !== uid || pod.spec.nodeName) bound.delete(uid);
    }
    return podsOn.at(node).length + [...bound.values()].filter((each) => each.node === node).length;
  }

  async function bind(pod: Pod, node: string): Promise<void> {
    const key = keyOf(pod);
    const { name, namespace = "", uid = "" } = pod.metadata;
    bound.set(uid, { key, node }); // before the server answers, so that the next choice counts it
    try {
      await cluster.client.createSub<Binding, Pod>(Pod, key, "binding", {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name, namespace, uid },
        target: { apiVersion: "v1", kind: "Node", name: node },
      });
    } catch (error) {
      bound.delete(uid);
      if (isConflict(error) || isNotFound(error)) return; // bound by another, or gone
      throw error;
    }
    teller.tell(pod, { reason: "Scheduled", message: `Successfully assigned ${key} to ${node}` });
  }

  /** One of all processes says it: the one that has the first node which still answers. */
  async function refuse(pod: Pod, machines: readonly Node[], misfits: readonly Misfit[]): Promise<void> {
    const [speaker] = machines
      .filter(isReady)
      .map(({ metadata }) => metadata.name)
      .sort();
    if (speaker === undefined || !ours.has(speaker)) return;
    const message = unschedulableMessage(misfits);
    const known = findCondition(pod.status?.conditions, PodConditionType.scheduled);
    if (known?.status === "False" && known.reason === "Unschedulable" && known.message === message) return;
    const { generation } = pod.metadata;
    const condition: PodCondition = {
      type: PodConditionType.scheduled,
      ...(generation !== undefined && { observedGeneration: generation }),
      status: "False",
      reason: "Unschedulable",
      message,
      lastProbeTime: null,
      lastTransitionTime: (known?.status === "False" && known.lastTransitionTime) || timestamp(clock.now()),
    };
    const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== condition.type);
    const after = { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
    await cluster.commit(Pod, pod, after, { fieldManager: SCHEDULER });
    teller.tell(pod, { type: "Warning", reason: "FailedScheduling", message });
  }
}

/** Under which Pods stand that are on no node. */
const UNPLACED = "";

/** Every Pod that waits; and when one comes to a node or leaves it, all that wait, because it may change the choice. */
function arrivalsAndMoves(pods: Cache<Pod>, waiting: () => string[]): Trigger<string> {
  const nodeOf = (pod: Pod | undefined) => (isTerminal(pod?.status?.phase) ? undefined : pod?.spec.nodeName);
  return {
    cache: pods,
    subscribe: (enqueue) =>
      pods.onChange((before, after, initial) => {
        if (after && !after.spec.nodeName) enqueue(keyOf(after), { initial });
        if (nodeOf(before) !== nodeOf(after)) for (const key of waiting()) enqueue(key, { initial });
      }),
  };
}
