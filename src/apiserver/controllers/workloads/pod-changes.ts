/** How workloads create and delete Pods: many at once, each told in an Event. */
import type { Pod } from "#api/core";
import type { DynamicObject } from "#api/meta";
import type { EventTeller } from "../events.ts";
import type { NamelessObject, SystemWriter } from "../system.ts";
import { PODS } from "./pods.ts";
import { isForEndingNamespace } from "./refusals.ts";
import type { Stored } from "./stored.ts";

/** How far it went, and what stopped it. */
export interface Outcome {
  readonly done: number;
  readonly error?: Error;
}

export interface PodChanges {
  /** Begins with a few, one unless told, and doubles, because what is refused once is likely to be refused again. */
  create(owner: DynamicObject, pods: readonly NamelessObject[], atFirst?: number): Promise<Outcome>;
  /** A Pod that is gone already counts as deleted. */
  remove(owner: DynamicObject, pods: readonly Stored<Pod>[]): Promise<Outcome>;
}

export function podChanges({ writer, teller }: { writer: SystemWriter; teller: EventTeller }): PodChanges {
  const createOne = async (owner: DynamicObject, pod: NamelessObject) => {
    const { metadata } = await writer.create(PODS, pod);
    teller.tell(owner, { reason: "SuccessfulCreate", message: `Created pod: ${metadata.name}` });
  };
  const removeOne = async (owner: DynamicObject, pod: Stored<Pod>) => {
    await writer.remove(PODS, pod);
    teller.tell(owner, { reason: "SuccessfulDelete", message: `Deleted pod: ${pod.metadata.name}` });
  };

  return {
    async create(owner, pods, atFirst = 1) {
      let done = 0;
      for (let size = atFirst; done < pods.length; size *= 2) {
        const batch = await settled(pods.slice(done, done + size).map((pod) => createOne(owner, pod)));
        done += batch.done;
        if (!batch.error) continue;
        // Nothing can be created in a namespace that is being deleted, and nothing has to.
        if (isForEndingNamespace(batch.error)) return { done };
        const message = `Error creating: ${batch.error.message}`;
        teller.tell(owner, { type: "Warning", reason: "FailedCreate", message });
        return { done, error: batch.error };
      }
      return { done };
    },
    async remove(owner, pods) {
      const outcome = await settled(pods.map((pod) => removeOne(owner, pod)));
      if (outcome.error) {
        const message = `Error deleting: ${outcome.error.message}`;
        teller.tell(owner, { type: "Warning", reason: "FailedDelete", message });
      }
      return outcome;
    },
  };
}

async function settled(attempts: readonly Promise<void>[]): Promise<Outcome> {
  const outcomes = await Promise.allSettled(attempts);
  const failures = outcomes.filter((outcome) => outcome.status === "rejected");
  const [first] = failures;
  return {
    done: outcomes.length - failures.length,
    ...(first && { error: first.reason instanceof Error ? first.reason : new Error(String(first.reason)) }),
  };
}
