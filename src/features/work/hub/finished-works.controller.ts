/**
 * Deletes works that are finished when their time is over: `deleteOption.ttlSecondsAfterFinished` after their condition
 * Complete came true. Those of a set of works are the set's to delete.
 *
 * Key     ManifestWork
 * Reads   ManifestWork
 * Writes  deletes ManifestWork
 * Twin    ocm:pkg/work/hub/controllers/manifestworkgarbagecollection
 */
import { keyOf } from "#api/meta";
import { ManifestWork, WorkCondition, WorkLabel } from "#api/work";
import type { Clock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { isDeleting } from "#lib/meta";
import { again, type Cluster, type Controller, done } from "#runtime";

export function finishedWorksController({ hub, clock }: { hub: Cluster; clock: Clock }): Controller {
  const works = hub.cache(ManifestWork, { projection: ["spec.deleteOption", "status.conditions"] });
  return {
    name: "manifestwork-finished",
    triggers: [works.keyedBy(keyOf)],

    async reconcile(key) {
      const work = works.get(key);
      const due = work && endOf(work);
      if (!work || due === undefined) return done;
      const left = due - clock.now().getTime();
      if (left > 0) return again(Math.min(left, LONGEST_PAUSE));
      await hub.remove(ManifestWork, work);
      return done;
    },
  };
}

/** A timer holds no more; whoever is woken too early sleeps again. */
const LONGEST_PAUSE = 24 * 3_600_000;

/** When it goes, in milliseconds; undefined while nothing says that it does. */
function endOf(work: ManifestWork): number | undefined {
  const { ttlSecondsAfterFinished: ttl } = work.spec?.deleteOption ?? {};
  const complete = findCondition(work.status?.conditions, WorkCondition.Complete);
  if (ttl === undefined || complete?.status !== "True" || isDeleting(work)) return undefined;
  if (work.metadata.labels?.[WorkLabel.replicaSet] !== undefined) return undefined;
  return Date.parse(complete.lastTransitionTime) + ttl * 1_000;
}
