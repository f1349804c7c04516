/**
 * Takes away what was applied for a work when its AppliedManifestWork is deleted, and lets that go when all of it has gone.
 *
 * Key     AppliedManifestWork name
 * Reads   AppliedManifestWork, and the objects that it lists
 * Writes  spoke: those objects; the AppliedManifestWork's status and finalizer
 * Twin    ocm:pkg/work/spoke/controllers/finalizercontroller/applied_manifestwork_finalize_controller.go
 */
import { AppliedManifestWork, WORK_FIELD_MANAGER, WorkFinalizer } from "#api/work";
import { createApplyEngine, type Kinds } from "#kube";
import type { Clock } from "#lib/clock";
import { equal } from "#lib/json";
import type { Logger } from "#lib/log";
import { hasFinalizer, isDeleting, withoutFinalizer } from "#lib/meta";
import { backoffDelay } from "#lib/queue";
import { again, type Cluster, type Controller, done, type Trigger } from "#runtime";
import { type HubSide, isLookedAfter, listedIn, ownerOf, sorted } from "./applied-work.ts";
import { Followed } from "./followed.ts";
import { remove } from "./removal.ts";

export interface AppliedWorkControllerOptions {
  readonly spoke: Cluster;
  readonly side: HubSide;
  readonly kinds: Kinds;
  readonly clock: Clock;
  readonly log: Logger;
}

const CONCURRENCY = 10;
/** What is being removed is watched; this is for what the watch may have missed, and for what could not be removed. */
const LOOK = { base: 1_000, cap: 60_000 };

export function appliedWorkController(options: AppliedWorkControllerOptions): Controller {
  const { spoke, side, kinds, clock, log: agentLog } = options;
  const applieds = spoke.cache(AppliedManifestWork);
  const engine = createApplyEngine({ client: spoke.client, fieldManager: WORK_FIELD_MANAGER, clock, kinds });
  const looks = new Map<string, number>();
  let enqueue: (name: string) => void = () => {};
  const going = new Followed({ client: spoke.client, clock, log: agentLog, onChange: (name) => enqueue(name) });
  const gone: Trigger<string> = {
    subscribe(next) {
      enqueue = next;
      return () => going.close();
    },
  };

  return {
    name: "appliedmanifestwork",
    concurrency: CONCURRENCY,
    triggers: [
      applieds.keyedBy(({ metadata }) => metadata.name, { when: (_, after) => !after || isDeleting(after) }),
      gone,
    ],

    async reconcile(name, { signal, log }) {
      const applied = applieds.get(name);
      const isDue = applied && isDeleting(applied) && isLookedAfter(applied, side);
      if (!isDue || !hasFinalizer(applied, WorkFinalizer.applied)) {
        looks.delete(name);
        going.release(name);
        return done;
      }
      const listed = listedIn(applied);
      const { remaining, targets, problems } = await remove(listed, { engine, kinds, owner: ownerOf(applied), signal });
      if (remaining.length === 0) {
        await spoke.commit(AppliedManifestWork, applied, withoutFinalizer(applied, WorkFinalizer.applied));
        return done;
      }
      if (problems.length > 0) log.warn("what was applied cannot be removed", { because: problems.join("; ") });
      going.hold(name, targets);
      const appliedResources = sorted(remaining);
      if (!equal(appliedResources, applied.status?.appliedResources)) {
        await spoke.commit(AppliedManifestWork, applied, {
          ...applied,
          status: { ...applied.status, appliedResources },
        });
      }
      const look = looks.get(name) ?? 0;
      looks.set(name, look + 1);
      return again(backoffDelay(LOOK, look));
    },
  };
}
