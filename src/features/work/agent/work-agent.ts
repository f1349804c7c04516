/** One spoke's work, from the first look at its works on the hub until the agent is told to stop. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { type Cluster, type Controller, createEventRecorder, type EventRecorder, runControllers } from "#runtime";
import { appliedWorkController } from "./applied-work.controller.ts";
import { hubSide } from "./applied-work.ts";
import { Access } from "./executor.ts";
import type { FeedbackOptions } from "./feedback.ts";
import { forgottenController } from "./forgotten.controller.ts";
import { HubIdentity } from "./hub-identity.ts";
import { Rights } from "./rights.ts";
import { Sites } from "./sites.ts";
import { workController } from "./work.controller.ts";

export interface WorkAgentControllersOptions {
  /** As an agent of the cluster: it reads and writes the works of the cluster's namespace, and nothing else. */
  readonly hub: Cluster;
  /** The cluster that the works are for. The kind AppliedManifestWork must be installed. */
  readonly spoke: Cluster;
  readonly clusterName: string;
  /** The hub's address, letter by letter as the agent was told it: names on the spoke are made of it. The client's unless told. */
  readonly hubAddress?: string;
  /** Tells the agents of a spoke apart; the hub's address stands for it unless told. */
  readonly agentId?: string;
  /** How much of an object feedback may repeat. */
  readonly feedback?: FeedbackOptions;
  /** Whether what an executor may do is asked once until rights change, and not at every look; so unless told. */
  readonly remembersRights?: boolean;
  /** Milliseconds for which the hub must lack a work before what it brought goes; an hour unless told. */
  readonly evictionGrace?: number;
  /** Tells of failures, on the hub. */
  readonly recorder: EventRecorder;
  /** Tells of what is held on the spoke. */
  readonly spokeRecorder: EventRecorder;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface WorkAgentOptions extends Omit<WorkAgentControllersOptions, "recorder" | "spokeRecorder"> {
  readonly signal: AbortSignal;
}

/** Upstream's. */
const EVICTION_GRACE = 3_600_000;
/** Who tells, in Events. */
const REPORTER = "work-agent";
/** A spoke or a hub that comes back should not be waited for long. */
const BACKOFF = { base: 100, cap: 30_000 };

export function workAgentControllers(options: WorkAgentControllersOptions): Controller[] {
  const { hub, spoke, clusterName, feedback, recorder, spokeRecorder, clock } = options;
  const { evictionGrace = EVICTION_GRACE, remembersRights: remembers = true } = options;
  const log = options.log.with({ component: "work-agent" });
  const side = hubSide(options.hubAddress ?? hub.client.server, options.agentId);
  const sites = new Sites({ spoke, clock, log });
  const { kinds } = sites;
  const rights = new Rights({
    client: spoke.client,
    clock,
    log,
    onChange(work, account) {
      access.forget(account);
      sites.reconsider(work);
    },
  });
  const access: Access = new Access({ spoke, kinds, clock, remembers, ...(remembers && { rights }) });
  const identity = new HubIdentity(hub, clusterName);
  const hubside = { hub, spoke, clusterName, side, identity, clock };
  return [
    workController({ ...hubside, sites, access, ...(feedback && { feedback }), recorder }),
    appliedWorkController({ spoke, side, kinds, clock, log }),
    forgottenController({ ...hubside, grace: evictionGrace, spokeRecorder }),
  ];
}

/** Keeps the spoke as its works say until `signal` fires. The connections stay open: they are the caller's. */
export async function runWorkAgent(options: WorkAgentOptions): Promise<void> {
  const { hub, clock, log, signal } = options;
  const recorder = createEventRecorder({ client: hub.client, controller: REPORTER, clock, log });
  const spokeRecorder = createEventRecorder({ client: options.spoke.client, controller: REPORTER, clock, log });
  const controllers = workAgentControllers({ ...options, recorder, spokeRecorder });
  try {
    await runControllers({ controllers, recorder, clock, log, backoff: BACKOFF, signal });
  } finally {
    await spokeRecorder.close();
  }
}
