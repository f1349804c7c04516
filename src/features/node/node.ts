/** Nodes of one cluster in this process, from their registration until they are told to stop. */
import { Pod } from "#api/core";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Cluster, type Controller, runControllers } from "#runtime";
import { type EventTeller, eventTeller } from "./events.ts";
import { isTerminal } from "./kubelet/conditions.ts";
import { podsController } from "./kubelet/pods.controller.ts";
import type { PodRunner } from "./kubelet/runner.ts";
import { asChildren } from "./programs/child-process.ts";
import { inThisProcess } from "./programs/execution.ts";
import { MixedPods } from "./programs/mixed-pods.ts";
import type { RunProgram } from "./programs/program.ts";
import { ProgramPods } from "./programs/program-pods.ts";
import type { OwnServer } from "./programs/surroundings.ts";
import { leaseController } from "./registration/lease.controller.ts";
import type { Machine } from "./registration/machine.ts";
import { nodeController } from "./registration/node.controller.ts";
import { schedulingController } from "./scheduler/scheduling.controller.ts";
import type { NodeListener } from "./server/listener.ts";
import { startNodeServer } from "./server/node-server.ts";
import { SimulatedPods } from "./simulation/simulated-pods.ts";

export interface NodesOptions {
  readonly cluster: Cluster;
  /** At least one; each is a Node of its own. */
  readonly names: readonly string[];
  /** Of Capstan. */
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Called once, when all of them are registered. */
  readonly ready?: () => void;
  readonly random?: () => number;
  /** How containers of Capstan's own image are run; without it they are simulated as all others. */
  readonly own?: OwnImage;
}

export interface OwnImage {
  /** A container with exactly this image is run. */
  readonly image: string;
  readonly run: RunProgram;
  /** The file to start Node with for a program: then each container is a process of its own, and `run` is not used. */
  readonly isolatedBy?: string;
  /** Where the files of Pods lie. Nobody else's: what is found there and belongs to no Pod is removed. */
  readonly root: string;
  /** The API server as programs reach it. */
  readonly server: OwnServer;
}

/** Nodes serve on loopback only: whoever asks them is the API server on the same machine. */
const ADDRESS = "127.0.0.1";
/** The version of Kubernetes whose kubelet these nodes stand in for. */
const KUBERNETES = "v1.36.3";
/** A server that comes back should hear from its nodes before it gives them up. */
const BACKOFF = { base: 100, cap: 5_000 };

/** Runs nodes until the signal fires. They stay registered, as a machine does that is switched off. */
export async function runNodes(options: NodesOptions): Promise<void> {
  const { cluster, names, clock, log, signal, own } = options;
  const tellers = kubelets(options);
  const simulation = new SimulatedPods({ clock });
  const programs = own && programPods(own, options, tellers);
  const runner = own && programs ? new MixedPods({ image: own.image, programs, simulation }) : simulation;
  const listeners: NodeListener[] = [];
  try {
    if (programs) {
      sweepLater(programs, options);
      // At once, and not when the controllers have finished what they were doing.
      signal.addEventListener("abort", () => void programs.close(), { once: true });
    }
    const machines = new Map<string, Machine>();
    for (const name of names) {
      const listener = await startNodeServer({ cluster, node: name, address: ADDRESS, runner, clock, log, signal });
      listeners.push(listener);
      machines.set(name, machineOf(name, listener.port, options));
    }
    const controllers = nodeControllers({ ...options, machines, runner, kubelet: tellers });
    await runControllers({ controllers, clock, log, backoff: BACKOFF, signal });
  } finally {
    await programs?.close();
    await Promise.all(listeners.map((listener) => listener.close()));
  }
}

function programPods(
  { run, isolatedBy, root, server }: OwnImage,
  { cluster, clock, log }: NodesOptions,
  kubelet: (node: string) => EventTeller,
): ProgramPods {
  return new ProgramPods({
    execute: isolatedBy === undefined ? inThisProcess(run) : asChildren({ entry: isolatedBy, clock }),
    root,
    server,
    client: cluster.client,
    clock,
    log,
    tell: (pod, telling) => kubelet(pod.spec.nodeName ?? "").tell(pod, telling),
  });
}

/** As soon as it is known which Pods there are. */
function sweepLater(programs: ProgramPods, { cluster, log }: NodesOptions): void {
  const pods = cluster.cache(Pod);
  const isThere = (uid: string) =>
    pods.list().some(({ metadata, status }) => metadata.uid === uid && !isTerminal(status?.phase));
  pods
    .whenSynced()
    .then(() => programs.sweep(isThere))
    .catch((error: unknown) => log.warn("what Pods have left behind cannot be removed", { error }));
}

/** In the name of the kubelet of each node. */
function kubelets({ cluster, clock, log }: NodesOptions): (node: string) => EventTeller {
  const tellers = new Map<string, EventTeller>();
  return (host) => {
    const known = tellers.get(host) ?? eventTeller({ component: "kubelet", host, client: cluster.client, clock, log });
    tellers.set(host, known);
    return known;
  };
}

/** In the order in which data meets them. */
export function nodeControllers(
  options: Omit<NodesOptions, "names" | "version" | "signal" | "own"> & {
    machines: ReadonlyMap<string, Machine>;
    runner: PodRunner;
    kubelet(node: string): EventTeller;
  },
): Controller[] {
  const { cluster, machines, runner, kubelet, clock, log, ready = () => {}, random = Math.random } = options;
  const nodes = new Set(machines.keys());
  const scheduler = eventTeller({ component: "default-scheduler", client: cluster.client, clock, log });
  const awaited = new Set(nodes);
  const registered = (name: string) => {
    if (awaited.delete(name) && awaited.size === 0) ready();
  };
  return [
    nodeController({ cluster, machines, teller: kubelet, clock, registered }),
    leaseController({ cluster, nodes, clock, random }),
    schedulingController({ cluster, nodes, teller: scheduler, clock }),
    podsController({ cluster, nodes, hostIP: ADDRESS, runner, teller: kubelet, clock }),
  ];
}

function machineOf(name: string, port: number, { version }: NodesOptions): Machine {
  return { name, version, kubeletVersion: `${KUBERNETES}+capstan.${version}`, address: ADDRESS, port };
}
