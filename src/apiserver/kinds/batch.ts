/** The batch group: Pods that run to an end. */
import type { Resource } from "../resource.ts";
import { cronJobs } from "./cron-jobs.ts";
import { jobs } from "./jobs.ts";

export const batchResources: readonly Resource[] = [cronJobs, jobs];
