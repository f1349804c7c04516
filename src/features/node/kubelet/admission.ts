/** Whether a node takes a Pod. A scheduler has asked already; whoever names the node himself has not. */
import type { Node, Pod, PodStatus } from "#api/core";
import { timestamp } from "#lib/clock";
import { matchesNode } from "#lib/scheduling";

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

export function rejectionOf({ spec }: Pod, node: Node): Rejection | undefined {
  const os = node.metadata.labels?.["kubernetes.io/os"];
  if (spec.os && os !== undefined && spec.os.name !== os) {
    return { reason: "PodOSNotSupported", message: "Failed to admit pod as the OS field doesn't match node OS" };
  }
  if (matchesNode(spec, node)) return undefined;
  return {
    reason: "NodeAffinity",
    message: "Pod was rejected: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  };
}

/** The status of a Pod that was not taken: it has failed before it began. */
export function rejectedStatus({ metadata, status }: Pod, { reason, message }: Rejection, now: Date): PodStatus {
  return {
    ...status,
    ...(metadata.generation !== undefined && { observedGeneration: metadata.generation }),
    phase: "Failed",
    reason,
    message,
    startTime: timestamp(now),
  };
}
