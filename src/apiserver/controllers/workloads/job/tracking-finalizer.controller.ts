/**
 * Takes the tracking finalizer off Pods that no Job will count any more, so that they can go.
 *
 * Key     Pod namespace/name
 * Reads   Pod, Job
 * Writes  Pod finalizer batch.kubernetes.io/job-tracking
 * Twin    kube-controller-manager: job-controller (its queue of orphan Pods)
 */
import { JOB_TRACKING_FINALIZER, Job } from "#api/batch";
import type { Pod } from "#api/core";
import { apiVersionOf, type DynamicObject } from "#api/meta";
import { controllerOf, hasFinalizer, withoutFinalizer } from "#lib/meta";
import type { ControllerParts } from "../../manager.ts";
import type { ServerController } from "../../runner.ts";
import { PODS } from "../pods.ts";
import type { Stored } from "../stored.ts";
import { isFinished, isManagedElsewhere, JOBS, type RunningJob } from "./job-pods.ts";

export type TrackingFinalizerParts = Pick<ControllerParts, "store" | "writer" | "ownership">;

export function trackingFinalizerController(parts: TrackingFinalizerParts): ServerController {
  const { store, writer, ownership } = parts;

  return {
    name: "job-tracking-finalizer",
    watches: [PODS, JOBS],
    keysOf({ type, resource, key, object }) {
      if (resource === PODS) return type !== "DELETED" && hasFinalizer(object, JOB_TRACKING_FINALIZER) ? [key] : [];
      if (type !== "DELETED" && !isFinished(object as RunningJob)) return [];
      const dependents = ownership.dependentsOf(object.metadata.uid ?? "");
      return dependents.filter(({ storage }) => storage === PODS).map((place) => place.key);
    },

    async reconcile(key) {
      const pod = store.get(PODS, key) as Stored<Pod> | undefined;
      if (!pod || !hasFinalizer(pod, JOB_TRACKING_FINALIZER) || isStillCounted(pod)) return undefined;
      await writer.change(PODS, key, (draft) =>
        isStillCounted(draft) ? draft : withoutFinalizer(draft, JOB_TRACKING_FINALIZER),
      );
      return undefined;
    },
  };

  /** Whether a Job waits for the Pod, or somebody else put the finalizer there for reasons of their own. */
  function isStillCounted(pod: DynamicObject): boolean {
    const owner = controllerOf(pod);
    if (!owner) return false;
    if (owner.kind !== Job.kind || owner.apiVersion !== apiVersionOf(Job)) return true;
    const job = store.get(JOBS, `${pod.metadata.namespace}/${owner.name}`) as RunningJob | undefined;
    if (job?.metadata.uid !== owner.uid) return false;
    return isManagedElsewhere(job) || !isFinished(job);
  }
}
