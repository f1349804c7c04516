/** A node as it presents itself: what a kubelet would say of its machine. */
import type { Node, NodeCondition } from "#api/core";
import { timestamp } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { withLabels } from "#lib/meta";

/** How the runtime's version begins; by it nodes that Capstan runs are known. */
export const RUNTIME = "capstan://";

/**
 * More than anybody will ask for: nothing is really used. In the form in which servers store it, so that it is not
 * written again.
 */
const CAPACITY: Readonly<Record<string, string>> = {
  cpu: "256",
  memory: "1Ti",
  pods: "10240",
  "ephemeral-storage": "10Ti",
};

/** As a kubelet: when nothing changes, the status is repeated so seldom; the lease shows that the node is alive. */
export const REPORT_EVERY_MS = 5 * 60_000;

export interface Machine {
  readonly name: string;
  /** `v1.36.3+capstan.0.1.0` */
  readonly kubeletVersion: string;
  /** Of Capstan. */
  readonly version: string;
  readonly address: string;
  /** Where it answers for the logs of its Pods. */
  readonly port: number;
}

/** Type, reason and message of the conditions that say False while all is well. */
const PRESSURES = [
  ["MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
] as const;

/** The node as it should look; the same object when everything was said, and not long ago. */
export function presented(node: Node, machine: Machine, range: string, now: Date): Node {
  const labelled = withLabels(node, labelsOf(machine));
  const spec = { ...node.spec, podCIDR: node.spec?.podCIDR ?? range };
  const heartbeat = heartbeatOf(node, now);
  const claims: [type: string, status: NodeCondition["status"], reason: string, message: string][] = [
    ...PRESSURES.map(([type, reason, message]) => [type, "False", reason, message] as (typeof claims)[number]),
    ["Ready", "True", "KubeletReady", "kubelet is posting ready status"],
  ];
  const ours = new Set(claims.map(([type]) => type));
  const conditions = claims.map(([type, status, reason, message]): NodeCondition => {
    const before = findCondition(node.status?.conditions, type);
    const since = before?.status === status ? before.lastTransitionTime : undefined;
    return { type, status, lastHeartbeatTime: heartbeat, lastTransitionTime: since ?? timestamp(now), reason, message };
  });
  return {
    ...labelled,
    spec,
    status: {
      ...node.status,
      capacity: CAPACITY,
      allocatable: CAPACITY,
      conditions: [...conditions, ...(node.status?.conditions ?? []).filter(({ type }) => !ours.has(type))],
      addresses: [
        { type: "InternalIP", address: machine.address },
        { type: "Hostname", address: machine.name },
      ],
      daemonEndpoints: { kubeletEndpoint: { Port: machine.port } },
      nodeInfo: nodeInfoOf(machine),
    },
  };
}

/** The time of the last report, for as long as it is good enough. */
function heartbeatOf({ status }: Node, now: Date): string {
  const last = findCondition(status?.conditions, "Ready");
  const at = Date.parse(last?.lastHeartbeatTime ?? "");
  const isFresh = last?.status === "True" && now.getTime() - at < REPORT_EVERY_MS;
  return isFresh && last.lastHeartbeatTime !== undefined ? last.lastHeartbeatTime : timestamp(now);
}

function labelsOf({ name }: Machine): Record<string, string> {
  const { os, arch } = platform();
  return {
    "beta.kubernetes.io/arch": arch,
    "beta.kubernetes.io/os": os,
    "kubernetes.io/arch": arch,
    "kubernetes.io/hostname": name,
    "kubernetes.io/os": os,
  };
}

function nodeInfoOf({ name, kubeletVersion, version }: Machine): Record<string, string> {
  const { os, arch } = platform();
  return {
    machineID: name,
    systemUUID: name,
    bootID: name,
    kernelVersion: "simulated",
    osImage: "Capstan",
    containerRuntimeVersion: `${RUNTIME}${version}`,
    kubeletVersion,
    kubeProxyVersion: "",
    operatingSystem: os,
    architecture: arch,
  };
}

/** Pods ask for Linux, whatever this process runs on; nothing of them touches the machine. */
function platform(): { os: string; arch: string } {
  return { os: "linux", arch: process.arch === "x64" ? "amd64" : process.arch };
}
