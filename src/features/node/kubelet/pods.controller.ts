/**
 * Runs the Pods of this process's nodes, in the place of kubelets: it reports what their containers do, restarts
 * those that should run, and lets a deleted Pod go when nothing of it runs any more.
 *
 * Key     Pod
 * Reads   Pod, Node
 * Writes  Pod status; deletes Pods that were deleted and have ended; Events
 * Twin    kubelet: pod workers, status manager
 */
import { Node, Pod, type PodStatus } from "#api/core";
import { keyOf } from "#api/meta";
import { isConflict, isNotFound } from "#kube";
import type { Clock } from "#lib/clock";
import { isDeleting } from "#lib/meta";
import { mergeDiff } from "#lib/patch";
import { again, type Cluster, type Controller, done, type Outcome, type Trigger } from "#runtime";
import type { EventTeller } from "../events.ts";
import { PodAddresses } from "./addresses.ts";
import { rejectedStatus, rejectionOf } from "./admission.ts";
import { isTerminal } from "./conditions.ts";
import { happenings, partings } from "./happenings.ts";
import { endedStatus, nextTurn, type Place } from "./pod-status.ts";
import type { PodRunner } from "./runner.ts";

const FIELD_MANAGER = "kubelet";
const AT_ONCE = 8;

export interface PodsOptions {
  cluster: Cluster;
  /** Names of the nodes whose Pods are run here. */
  nodes: ReadonlySet<string>;
  /** Where these nodes are reached. */
  hostIP: string;
  runner: PodRunner;
  /** In the name of the kubelet of a node. */
  teller(node: string): EventTeller;
  clock: Clock;
}

export function podsController({ cluster, nodes, hostIP, runner, teller, clock }: PodsOptions): Controller {
  const pods = cluster.cache(Pod);
  const machines = cluster.cache(Node);
  const podsOn = pods.indexBy(({ spec }) => spec.nodeName);
  const addresses = new Map<string, PodAddresses>();
  /** The Pods that we know, to be let go of when they are no more. */
  const ours = new Map<string, Pod>();
  /** Uids of those that end: whether it was told, or they were let go of. */
  const parting = new Map<string, "told" | "gone">();
  const isOurs = ({ spec }: Pod) => nodes.has(spec.nodeName ?? "");

  return {
    name: "pods",
    triggers: [
      pods.keyedBy((pod) => (isOurs(pod) ? keyOf(pod) : undefined)),
      machines.keyedBy(({ metadata: { name } }) => (nodes.has(name) ? homeless(name) : undefined)),
      changesOf(runner),
    ],
    concurrency: AT_ONCE,

    async reconcile(key) {
      const pod = pods.get(key);
      const known = ours.get(key);
      if (known && known.metadata.uid !== pod?.metadata.uid) letGo(key, known);
      if (!pod || !isOurs(pod)) return done;
      ours.set(key, pod);
      if (isDeleting(pod)) return isTerminal(pod.status?.phase) ? finish(pod) : end(pod);
      return isTerminal(pod.status?.phase) ? done : report(pod);
    },
  };

  async function report(pod: Pod): Promise<Outcome> {
    const node = machines.get(pod.spec.nodeName ?? "");
    const rejection = node && !pod.status?.startTime ? rejectionOf(pod, node) : undefined;
    if (rejection) {
      await write(pod, rejectedStatus(pod, rejection, clock.now()));
      tellerOf(pod).tell(pod, { type: "Warning", ...rejection });
      return done;
    }
    const place = placeOf(pod);
    if (!place) return done; // the node is not registered yet; its range of addresses brings us back
    const { status, after } = nextTurn(pod, place, runner, clock.now());
    await write(pod, status);
    for (const telling of happenings(pod, status)) tellerOf(pod).tell(pod, telling);
    if (isTerminal(status.phase)) runner.finish(pod);
    return after === undefined ? done : again(after);
  }

  async function end(pod: Pod): Promise<Outcome> {
    const { uid = "" } = pod.metadata;
    if (!parting.has(uid)) for (const telling of partings(pod)) tellerOf(pod).tell(pod, telling);
    parting.set(uid, "told");
    const stopping = runner.stop(pod);
    if (stopping.is === "stopping") return again(stopping.after);
    const place = placeOf(pod);
    if (place) await write(pod, endedStatus(pod, place, stopping.exitCode, clock.now()));
    return finish(pod);
  }

  /** Nothing of the Pod runs any more: the server may forget it, as soon as its finalizers allow. */
  async function finish(pod: Pod): Promise<Outcome> {
    const { uid = "", deletionGracePeriodSeconds } = pod.metadata;
    if (deletionGracePeriodSeconds === 0 || parting.get(uid) === "gone") return done;
    try {
      await cluster.client.delete(Pod, keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error; // gone, or another Pod has its name
    }
    parting.set(uid, "gone");
    return done;
  }

  /**
   * A merge patch on condition that nobody wrote since. Not by `commit`, which leaves the status of an object alone
   * that is deleted and has no finalizers: a Pod lives on until its node lets it go.
   */
  async function write(pod: Pod, status: PodStatus): Promise<void> {
    const change = mergeDiff({ status: pod.status }, { status });
    if (change === undefined) return;
    const { uid, resourceVersion } = pod.metadata;
    try {
      await cluster.client.patch(
        Pod,
        keyOf(pod),
        { ...(change as object), metadata: { uid, resourceVersion } },
        { type: "merge", subresource: "status", fieldManager: FIELD_MANAGER },
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  function placeOf(pod: Pod): Place | undefined {
    if (pod.spec.hostNetwork) return { hostIP, podIP: hostIP };
    const podIP = addressesOf(pod.spec.nodeName ?? "")?.of(pod);
    return podIP === undefined ? undefined : { hostIP, podIP };
  }

  function addressesOf(node: string): PodAddresses | undefined {
    const range = machines.get(node)?.spec?.podCIDR;
    const known = addresses.get(node);
    if (known || range === undefined) return known;
    const made = new PodAddresses(range);
    addresses.set(node, made);
    // Those that have an address keep it, whoever is looked at first.
    for (const pod of podsOn.at(node)) if (pod.status?.podIP && !pod.spec.hostNetwork) made.of(pod);
    return made;
  }

  /** Pods of a node that wait for an address. */
  function homeless(node: string): string[] {
    return podsOn
      .at(node)
      .filter(({ status }) => !status?.podIP)
      .map(keyOf);
  }

  function letGo(key: string, pod: Pod): void {
    ours.delete(key);
    parting.delete(pod.metadata.uid ?? "");
    addresses.get(pod.spec.nodeName ?? "")?.release(pod);
    runner.forget(pod);
  }

  function tellerOf({ spec }: Pod): EventTeller {
    return teller(spec.nodeName ?? "");
  }
}

function changesOf(runner: PodRunner): Trigger<string> {
  return { subscribe: (enqueue) => runner.onChange((key) => enqueue(key)) };
}
