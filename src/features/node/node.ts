/** Nodes of one cluster in this process, from their registration until they are told to stop. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Cluster, type Controller, runControllers } from "#runtime";
import { type EventTeller, eventTeller } from "./events.ts";
import { podsController } from "./kubelet/pods.controller.ts";
import type { PodRunner } from "./kubelet/runner.ts";
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
}

/** Nodes serve on loopback only: whoever asks them is the API server on the same machine. */
const ADDRESS = "127.0.0.1";
/** The version of Kubernetes whose kubelet these nodes stand in for. */
const KUBERNETES = "v1.36.3";
/** A server that comes back should hear from its nodes before it gives them up. */
const BACKOFF = { base: 100, cap: 5_000 };

/** Runs nodes until the signal fires. They stay registered, as a machine does that is switched off. */
export async function runNodes(options: NodesOptions): Promise<void> {
  const { cluster, names, clock, log, signal } = options;
  const runner = new SimulatedPods({ clock });
  const listeners: NodeListener[] = [];
  try {
    const machines = new Map<string, Machine>();
    for (const name of names) {
      const listener = await startNodeServer({ cluster, node: name, address: ADDRESS, runner, clock, log, signal });
      listeners.push(listener);
      machines.set(name, machineOf(name, listener.port, options));
    }
    const controllers = nodeControllers({ ...options, machines, runner });
    await runControllers({ controllers, clock, log, backoff: BACKOFF, signal });
  } finally {
    await Promise.all(listeners.map((listener) => listener.close()));
  }
}

/** In the order in which data meets them. */
export function nodeControllers(
  options: Omit<NodesOptions, "names" | "version" | "signal"> & {
    machines: ReadonlyMap<string, Machine>;
    runner: PodRunner;
  },
): Controller[] {
  const { cluster, machines, runner, clock, log, ready = () => {}, random = Math.random } = options;
  const nodes = new Set(machines.keys());
  const tellers = new Map<string, EventTeller>();
  const kubelet = (host: string): EventTeller => {
    const known = tellers.get(host);
    if (known) return known;
    const made = eventTeller({ component: "kubelet", host, client: cluster.client, clock, log });
    tellers.set(host, made);
    return made;
  };
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
