/**
 * Tells the hub how the cluster is: joined, available, how big, which version, and what it claims about itself.
 *
 * Key     ManagedCluster name
 * Reads   ManagedCluster (hub); Node, ClusterClaim, ClusterProperty, /livez and /version (spoke)
 * Writes  ManagedCluster status: Joined, Available, capacity, allocatable, version, clusterClaims; Events (hub)
 * Twin    ocm:pkg/registration/spoke/managedcluster/status_controller.go
 */
import { ClusterProperty } from "#api/about";
import { ClusterClaim, ClusterCondition, ManagedCluster } from "#api/cluster";
import { Node } from "#api/core";
import { Event } from "#api/events";
import { kind } from "#api/meta";
import { type Client, isForbidden, isNotFound } from "#kube";
import type { Clock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { isObject, parseJson } from "#lib/json";
import type { Logger } from "#lib/log";
import { again, type Cluster, type Controller, done } from "#runtime";
import { clusterEvent } from "../cluster-event.ts";
import { EventReason } from "../reasons.ts";
import { type ClaimLimits, toldClaims } from "./claims.ts";
import { followedKind } from "./followed-kind.ts";
import { reported, type Sight } from "./report.ts";

/** How often the spoke's health is looked at when nothing changes. */
const HEALTH_PERIOD = 60_000;
/** A failing spoke is looked at more often, and called unavailable when it fails for so long. */
const DOUBT_PERIOD = 5_000;
const DOUBT_LIMIT = 20_000;

/** Properties in the version of their authors, or in the one that Open Cluster Management installs. */
const PROPERTIES = [kind<ClusterProperty>({ ...ClusterProperty, version: "v1beta1" }), ClusterProperty];

/** So many names are told of claims for which there was no room. */
const NAMES_TOLD = 5;

/** What the agent tells of the claims of its cluster. */
export interface ReportedClaims extends ClaimLimits {
  /** Whether ClusterClaims are told, as soon as there are any. They are unless told. */
  readonly claims?: boolean;
  /** The same of ClusterProperties. */
  readonly properties?: boolean;
}

export interface AgentStatusOptions {
  hub: Cluster;
  spoke: Cluster;
  clusterName: string;
  claims?: ReportedClaims;
  clock: Clock;
  log: Logger;
}

export function agentStatusController(options: AgentStatusOptions): Controller {
  const { hub, spoke, clusterName, claims: told = {}, clock, log } = options;
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });
  const nodes = spoke.cache(Node);
  const followed = { cluster: spoke, clock, log };
  const claims = told.claims === false ? undefined : followedKind({ ...followed, kinds: [ClusterClaim] });
  const properties = told.properties === false ? undefined : followedKind({ ...followed, kinds: PROPERTIES });
  const own = () => clusterName;
  let failingSince: number | undefined;
  /** What was said of claims for which there is no room. */
  let truncation = "";

  return {
    name: "cluster-report",
    triggers: [
      clusters.keyedBy(({ metadata }) => metadata.name),
      nodes.keyedBy(own),
      ...(claims ? [claims.keyedBy(clusterName)] : []),
      ...(properties ? [properties.keyedBy(clusterName)] : []),
    ],

    async reconcile() {
      const cluster = clusters.get(clusterName);
      if (!cluster || conditionOf(cluster, ClusterCondition.HubAccepted) !== "True") return done;
      // With a clock that is off, the times that we write would mislead; the hub says when it is right again.
      if (conditionOf(cluster, ClusterCondition.ClockSynced) === "False") return done;

      const sight = await look();
      const now = clock.now();
      const after = reported(cluster, sight, now);
      await hub.commit(ManagedCluster, cluster, after);
      await announce(cluster, after, now);
      if (sight.health === "ok") await announceTruncation(cluster, sight.left, now);
      return again(sight.health === "ok" ? HEALTH_PERIOD : DOUBT_PERIOD);
    },
  };

  async function look(): Promise<Sight> {
    try {
      await checkHealth(spoke.client);
      const version = gitVersion(await spoke.client.raw("/version"));
      failingSince = undefined;
      const seen = toldClaims(properties?.list() ?? [], claims?.list() ?? [], told);
      return { health: "ok", version, nodes: nodes.list(), ...seen };
    } catch (error) {
      const now = clock.now().getTime();
      failingSince ??= now;
      if (now - failingSince < DOUBT_LIMIT) return { health: "doubtful" };
      return { health: "failing", why: error instanceof Error ? error.message : String(error) };
    }
  }

  async function announce(before: ManagedCluster, after: ManagedCluster, now: Date): Promise<void> {
    const status = conditionOf(after, ClusterCondition.Available);
    if (status === conditionOf(before, ClusterCondition.Available) || status === undefined) return;
    const reason = status === "True" ? EventReason.available : EventReason.unavailable;
    await tell(after, now, {
      type: status === "True" ? "Normal" : "Warning",
      reason,
      note: `The managed cluster (${clusterName}) is ${status === "True" ? "" : "not "}available.`,
    });
  }

  /** Once for each set of names that found no room: nothing in the status tells of them. */
  async function announceTruncation(cluster: ManagedCluster, left: readonly string[], now: Date): Promise<void> {
    const more = left.length > NAMES_TOLD ? ` and ${left.length - NAMES_TOLD} more` : "";
    const names = `${left.slice(0, NAMES_TOLD).join(", ")}${more}`;
    const note = `${left.length} claims of the cluster are not told, because there are too many: ${names}`;
    const said = left.length === 0 ? "" : left.join();
    if (said === truncation) return;
    truncation = said;
    if (said !== "") await tell(cluster, now, { type: "Warning", reason: EventReason.claimsTruncated, note });
  }

  async function tell(
    cluster: ManagedCluster,
    now: Date,
    what: { type: "Normal" | "Warning"; reason: string; note: string },
  ): Promise<void> {
    const reporter = { reportingController: "klusterlet-agent", reportingInstance: "klusterlet-agent" };
    const event = clusterEvent(cluster, { ...what, action: what.reason, ...reporter }, now);
    // The status has said it already; a lost event must not make us say it again.
    await hub.client.create(Event, event).catch((cause: unknown) => log.warn("cannot write an event", { cause }));
  }
}

/** Old servers have no /livez, and some keep it from strangers. */
async function checkHealth(client: Client): Promise<void> {
  try {
    await client.raw("/livez");
  } catch (error) {
    if (!isNotFound(error) && !isForbidden(error)) throw error;
    await client.raw("/healthz");
  }
}

function gitVersion(text: string): string {
  const answer = parseJson(text);
  if (isObject(answer) && typeof answer.gitVersion === "string") return answer.gitVersion;
  throw new Error("its answer to /version names no gitVersion");
}

function conditionOf({ status }: ManagedCluster, type: string): string | undefined {
  return findCondition(status?.conditions, type)?.status;
}
