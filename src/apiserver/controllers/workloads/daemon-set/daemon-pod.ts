/** The Pods of a DaemonSet: made for one node each, and not easily driven from it. */
import type { DaemonSet } from "#api/apps";
import type { Node, Pod, PodSpec, Toleration } from "#api/core";
import { equal } from "#lib/json";
import { matchesNode, untoleratedTaints } from "#lib/scheduling";
import type { NamelessObject } from "../../system.ts";
import { podFrom } from "../pods.ts";
import type { Stored } from "../stored.ts";

export const DaemonLabel = {
  /** The hash of the template that a Pod, or a revision, is of. */
  hash: "controller-revision-hash",
  /** Which template it was, counted; older Pods may carry nothing else. */
  generation: "pod-template-generation",
} as const;

const TEMPLATE_GENERATION = "deprecated.daemonset.template.generation";

export type Daemon = Stored<DaemonSet>;

/** What a node is to a DaemonSet: it should run a Pod, may keep the one that it runs, or must not run any. */
export type Fit = "run" | "keep" | "none";

export function fitOf({ spec }: DaemonSet, node: Node): Fit {
  const wish = tolerant(spec.template.spec);
  if (wish.nodeName && wish.nodeName !== node.metadata.name) return "none";
  if (!matchesNode(wish, node)) return "none";
  const repelling = untoleratedTaints(node.spec?.taints, wish.tolerations);
  if (repelling.some(({ effect }) => effect === "NoExecute")) return "none";
  return repelling.some(({ effect }) => effect === "NoSchedule") ? "keep" : "run";
}

export function podFor(set: Daemon, hash: string, node: string): NamelessObject {
  const { template } = set.spec;
  const generation = generationOf(set);
  const labels = {
    ...(generation !== undefined && { [DaemonLabel.generation]: generation }),
    [DaemonLabel.hash]: hash,
  };
  const spec = pinned(tolerant(template.spec), node);
  return podFrom(set, { ...template, spec }, { labels });
}

/** The node that a Pod is on, or was made for. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const named = terms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === "metadata.name" && operator === "In");
  return named?.values?.length === 1 ? named.values[0] : undefined;
}

export function isUpdated({ metadata: { labels = {} } }: Pod, set: DaemonSet, hash: string): boolean {
  const generation = generationOf(set);
  return (
    labels[DaemonLabel.hash] === hash || (generation !== undefined && labels[DaemonLabel.generation] === generation)
  );
}

function generationOf({ metadata }: DaemonSet): string | undefined {
  const told = metadata.annotations?.[TEMPLATE_GENERATION];
  return told !== undefined && /^\d+$/.test(told) ? told : undefined;
}

/** Troubles of a node that are no reason for its daemons to leave. */
const TROUBLES: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];
const NO_NETWORK: Toleration = {
  key: "node.kubernetes.io/network-unavailable",
  operator: "Exists",
  effect: "NoSchedule",
};

/** The spec with all tolerations that daemons have; one for the same trouble with an end to it is replaced. */
function tolerant(spec: PodSpec): PodSpec {
  const added = spec.hostNetwork ? [...TROUBLES, NO_NETWORK] : TROUBLES;
  const given = spec.tolerations ?? [];
  const isSame = (a: Toleration, b: Toleration) =>
    a.key === b.key && a.effect === b.effect && a.operator === b.operator && equal(a.value ?? "", b.value ?? "");
  const kept = given.map((toleration) => added.find((ours) => isSame(ours, toleration)) ?? toleration);
  const missing = added.filter((ours) => !given.some((toleration) => isSame(ours, toleration)));
  return { ...spec, tolerations: [...kept, ...missing] };
}

/** The spec for one node. What else the template requires of nodes has been looked at when the node was chosen. */
function pinned(spec: PodSpec, node: string): PodSpec {
  const nodeSelectorTerms = [{ matchFields: [{ key: "metadata.name", operator: "In" as const, values: [node] }] }];
  const nodeAffinity = {
    ...spec.affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
  };
  return { ...spec, affinity: { ...spec.affinity, nodeAffinity } };
}
