/** The end of a Pod that no node will bring about: it has failed, and needs no more time. */
import { type Pod, PodConditionType } from "#api/core";
import { type Condition, type DynamicObject, keyOf } from "#api/meta";
import { setCondition } from "#lib/conditions";
import type { SystemWriter } from "../system.ts";

export const PODS = "core/pods";

/** Marks a Pod as failed, saying why where there is a reason, and deletes it without grace. */
export async function endByForce(
  writer: SystemWriter,
  pod: DynamicObject,
  now: Date,
  why?: { reason: string; message: string },
): Promise<void> {
  if (!hasEnded(pod)) {
    await writer.change(
      PODS,
      keyOf(pod),
      (draft) => (draft.metadata.uid === pod.metadata.uid ? failed(draft, now, why) : draft),
      "status",
    );
  }
  await writer.remove(PODS, pod, { gracePeriodSeconds: 0 });
}

export function hasEnded(pod: DynamicObject): boolean {
  const { phase } = (pod.status ?? {}) as NonNullable<Pod["status"]>;
  return phase === "Failed" || phase === "Succeeded";
}

export function nodeOf(pod: DynamicObject | undefined): string {
  const { nodeName = "" } = (pod?.spec ?? {}) as { nodeName?: string };
  return nodeName;
}

function failed(draft: DynamicObject, now: Date, why: { reason: string; message: string } | undefined): DynamicObject {
  const status = (draft.status ?? {}) as { conditions?: Condition[] };
  const { generation: observedGeneration } = draft.metadata;
  const observed = observedGeneration === undefined ? {} : { observedGeneration };
  const claim = why && { type: PodConditionType.disruptionTarget, status: "True" as const, ...why, ...observed };
  const conditions = claim ? setCondition(status.conditions, claim, now) : status.conditions;
  return { ...draft, status: { ...status, phase: "Failed", ...observed, ...(conditions && { conditions }) } };
}
