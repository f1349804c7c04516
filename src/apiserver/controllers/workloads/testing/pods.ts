/** Pods and workloads for tests of the controllers that keep them. */
import type { Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { timestamp } from "#lib/clock";
import type { ServerController } from "../../runner.ts";
import type { Bed, Parts } from "../../testing/bed.ts";
import { isActive, isReady, PODS } from "../pods.ts";
import type { Stored } from "../stored.ts";

export const labels = { app: "web" };

export function template(image = "web:1", spec: object = {}) {
  return { metadata: { labels }, spec: { containers: [{ name: "main", image }], ...spec } };
}

export function podsIn(bed: Bed): Stored<Pod>[] {
  return bed.list(PODS) as Stored<Pod>[];
}

/** What a node reports of a Pod that runs, or has stopped answering. */
export function withReadiness(pod: DynamicObject, isReadyNow: boolean, now: Date): DynamicObject {
  const condition = { type: "Ready", status: isReadyNow ? "True" : "False", lastTransitionTime: timestamp(now) };
  return { ...pod, status: { ...(pod as Stored<Pod>).status, phase: "Running", conditions: [condition] } };
}

export async function setReady(bed: Bed, pods: readonly Pod[], isReadyNow = true): Promise<void> {
  for (const { metadata } of pods) {
    const key = `${metadata.namespace}/${metadata.name}`;
    await bed.change(PODS, key, (draft) => withReadiness(draft, isReadyNow, bed.clock.now()), "status");
  }
  await bed.settle();
}

/** A node on which every Pod of the right kind is ready as soon as it is there. */
export function eagerNode(
  { store, writer, clock }: Pick<Parts, "store" | "writer" | "clock">,
  isHealthy: (pod: Pod) => boolean = () => true,
): ServerController {
  return {
    name: "eager-node",
    watches: [PODS],
    keysOf: ({ key }) => [key],
    async reconcile(key) {
      const pod = store.get(PODS, key) as Stored<Pod> | undefined;
      if (!pod || !isActive(pod) || isReady(pod) || !isHealthy(pod)) return undefined;
      await writer.change(PODS, key, (draft) => withReadiness(draft, true, clock.now()), "status");
      return undefined;
    },
  };
}
