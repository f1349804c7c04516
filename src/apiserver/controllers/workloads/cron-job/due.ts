/** When a CronJob should have started a Job, and when it will start the next one. */
import type { CronJob } from "#api/batch";
import type { Schedule } from "#lib/cron";

/** More missed starts than this are worth a warning: a clock may be wrong. */
const MANY = 100;

export interface Due {
  /** The latest start that has not been made and may still be made. */
  readonly time?: Date;
  /** A start that can only be told of, because its deadline is over. */
  readonly missed?: Date;
  /** Whether more than many starts have been missed. */
  readonly isMany: boolean;
}

/** Of all starts that were missed only the latest counts, so that a long sleep is not followed by a stampede. */
export function dueOf(cronJob: CronJob, schedule: Schedule, now: Date): Due {
  const start = lastStart(cronJob);
  const { startingDeadlineSeconds } = cronJob.spec;
  const deadline = startingDeadlineSeconds === undefined ? undefined : now.getTime() - startingDeadlineSeconds * 1000;
  const after = new Date(Math.max(start.getTime(), deadline ?? Number.NEGATIVE_INFINITY));
  const time = schedule.latest(after, now);
  const missed = time ? undefined : schedule.latest(start, now);
  return { ...(time && { time }), ...(missed && { missed }), isMany: isManyAfter(schedule, after, now) };
}

/** The next start after what is due now; undefined when there is none in sight. */
export function nextAfter(cronJob: CronJob, schedule: Schedule, now: Date): Date | undefined {
  const start = lastStart(cronJob);
  return schedule.next(schedule.latest(start, now) ?? (start > now ? now : start));
}

/** The last start that was made; before the first one, when the CronJob was. */
function lastStart({ metadata, status }: CronJob): Date {
  return new Date(status?.lastScheduleTime ?? metadata.creationTimestamp ?? 0);
}

function isManyAfter(schedule: Schedule, after: Date, now: Date): boolean {
  let count = 0;
  for (let time = schedule.next(after); time && time <= now; time = schedule.next(time)) {
    if (++count > MANY) return true;
  }
  return false;
}
