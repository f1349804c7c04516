/**
 * Composition root of a spoke's agent: it knows two API servers and dials both. Its halves, registration and work, run
 * together or as programs of their own, which meet in the Secret that holds the agent's identity on the hub.
 */
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { Secret } from "#api/core";
import { AGENT_NAMESPACE } from "#api/operator";
import type { ReportedClaims, SpokeEndpoint } from "#features/registration/agent";
import type { FeedbackOptions } from "#features/work/agent";
import {
  type Client,
  type Connection,
  connectionOf,
  createClient,
  fingerprint,
  type Kubeconfig,
  KubeconfigError,
  kubeconfigText,
  loadKubeconfig,
  parseKubeconfig,
} from "#kube";
import type { Clock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { type Logger, seldomLog } from "#lib/log";
import { type Cluster, connectedCluster, createElection } from "#runtime";
import { constant, type Followed, followedFile, textOf, withNewest } from "./followed.ts";
import type { HubLease } from "./hub.ts";
import type { ProgramMetrics } from "./metrics.ts";

interface HalfOptions {
  /** The spoke as this agent reaches it. */
  readonly spoke: Client;
  /** What the identity says unless told. */
  readonly clusterName?: string;
  /** Tells this agent from others of the same spoke. */
  readonly agentId?: string;
  /** What is counted; the clients given here count their requests if they were made with it. */
  readonly metrics?: ProgramMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

export interface RegistrationOptions extends HalfOptions {
  /** The cluster in which the identity is kept; the spoke unless told. */
  readonly home?: Client;
  /** The namespace of the identity. */
  readonly namespace?: string;
  /** Where the service account is made to which access is granted; the namespace of the identity unless told. */
  readonly spokeNamespace?: string;
  /** The spoke as others reach it: told to the hub. */
  readonly endpoints: readonly SpokeEndpoint[];
  /** The hub, with a token that lets a cluster ask to join; the agent starts over with the next. */
  readonly bootstrap: Kubeconfig | Followed<string>;
  /** Puts a token of the spoke with this ClusterRole on the hub, for those who reach clusters through the inventory. */
  readonly grantAccess?: string;
  /** Asked for with every certificate; the hub's choice unless told. */
  readonly certificateSeconds?: number;
  /** For the ManagedCluster, when it is created. */
  readonly clusterAnnotations?: Readonly<Record<string, string>>;
  readonly claims?: ReportedClaims;
  /** Called when it runs, joined or not. */
  readonly onStart?: () => void;
}

/** What can be said of the half that works. */
export interface WorkWishes {
  /** Milliseconds for which the hub must lack a work before what was applied for it goes. */
  readonly evictionGrace?: number;
  /** Whether what an executor may do is asked once until rights change. */
  readonly remembersRights?: boolean;
  readonly feedback?: FeedbackOptions;
}

export interface WorkOptions extends HalfOptions, WorkWishes {
  /** How the hub is reached. */
  readonly hub: Followed<HubWay>;
}

/** The hub as an agent of a cluster reaches it. */
export interface HubWay {
  readonly connection: Connection;
  readonly clusterName: string;
}

// Each half is loaded by who runs it: they are programs of their own on every cluster, and should be small.
const registrationHalf = () => import("#features/registration/agent");
const workHalf = () => import("#features/work/agent");

/** Both halves. */
export async function runAgent(options: RegistrationOptions & WorkWishes): Promise<void> {
  const { spoke, home = spoke, namespace = AGENT_NAMESPACE, clock, log, signal } = options;
  const place = connectedCluster({ name: "home", client: home, clock, log });
  // Whoever fails takes the other along: better no agent than half of one that looks whole.
  const stopping = new AbortController();
  const both = { ...options, log: patientLog(options), signal: AbortSignal.any([signal, stopping.signal]) };
  const way = wayInSecret(place, namespace, await registrationHalf(), both);
  const halves = [runRegistration(both), runWork({ ...both, hub: way })];
  try {
    await Promise.all(halves);
  } finally {
    stopping.abort();
    await Promise.allSettled(halves);
  }
}

/** Joins the hub and stays joined. */
export async function runRegistration(options: RegistrationOptions): Promise<void> {
  const { spoke, home = spoke, bootstrap, clock, signal, metrics } = options;
  const { runRegistrationAgent } = await registrationHalf();
  const log = patientLog(options);
  const cluster = connectedCluster({ name: "spoke", client: spoke, clock, log });
  const place = home === spoke ? cluster : connectedCluster({ name: "home", client: home, clock, log });
  await withNewest({
    source: typeof bootstrap === "function" ? bootstrap : constant(kubeconfigText(bootstrap)),
    mark: (text) => text,
    signal,
    async work(bootstrapKubeconfig, newest) {
      try {
        await runRegistrationAgent({
          ...agentWishes(options),
          log,
          spoke: cluster,
          home: place,
          bootstrapKubeconfig,
          async connectHub(text) {
            const connection = await connectionOf(parseKubeconfig(text, "the hub kubeconfig"));
            const client = createClient({ connection, ...(metrics && { metrics: metrics.client }) });
            return connectedCluster({ name: "hub", client, clock, log });
          },
          signal: newest,
        });
      } catch (error) {
        // It makes no sense, and the next one may; whoever gave it at the start should hear of it at once.
        if (!(error instanceof KubeconfigError) || typeof bootstrap !== "function") throw error;
        log.warn("the bootstrap kubeconfig is of no use; waiting for another", { why: error.message });
      }
    },
  });
}

/** An agent goes on asking a hub that refuses it, and should not fill its log with that. */
const SAY_AGAIN = 600_000;

function patientLog({ log, clock }: Pick<HalfOptions, "log" | "clock">): Logger {
  return seldomLog(log, { clock, pause: SAY_AGAIN, ignoring: ["reconcileID", "retryIn"] });
}

/** Does on the spoke what the hub wishes, as soon as there is a way to the hub. */
export async function runWork(options: WorkOptions): Promise<void> {
  const {
    spoke,
    agentId,
    evictionGrace,
    remembersRights,
    feedback,
    hub: source,
    clock,
    log,
    signal,
    metrics,
  } = options;
  const { runWorkAgent } = await workHalf();
  const patient = patientLog(options);
  const cluster = connectedCluster({ name: "spoke", client: spoke, clock, log: patient });
  await withNewest({
    source,
    mark: fingerprint,
    signal,
    async work({ connection, clusterName: known }, newest) {
      const clusterName = options.clusterName || known;
      const client = createClient({ connection, ...(metrics && { metrics: metrics.client }) });
      log.info("takes its work from the hub", { cluster: clusterName, hub: client.server });
      const hub = connectedCluster({ name: "hub", client, clock, log: patient });
      try {
        await withNewest({
          source: lettingIn(hub, clusterName, newest),
          mark: String,
          signal: newest,
          async work(isLetIn, current) {
            if (!isLetIn)
              log.warn("the hub has denied this cluster; nothing is taken from it", { cluster: clusterName });
            else
              await runWorkAgent({
                hub,
                spoke: cluster,
                clusterName,
                hubAddress: connection.writtenServer ?? connection.server,
                ...(agentId !== undefined && { agentId }),
                ...(evictionGrace !== undefined && { evictionGrace }),
                ...(remembersRights !== undefined && { remembersRights }),
                ...(feedback && { feedback }),
                clock,
                log: patient,
                signal: current,
              });
          },
        });
      } finally {
        client.close();
      }
    },
  });
}

/**
 * Whether the hub lets the cluster in; as long as it does not say otherwise, it does. A server that asks for rights only
 * when a watch begins lets those go on that a denied cluster has, so the agent ends them by itself.
 */
function lettingIn(hub: Cluster, clusterName: string, signal: AbortSignal): Followed<boolean> {
  const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });
  return (tell) => {
    tell(true);
    clusters.start(signal);
    return clusters.onChange((_, cluster) => {
      const judged = findCondition(cluster?.status?.conditions, ClusterCondition.HubAccepted);
      tell(!judged || cluster?.spec?.hubAcceptsClient === true);
    });
  };
}

/** Agents take turns seldom, and are many: they renew their Leases as slowly as upstream's do. */
const TIMING = { duration: 137_000, renewDeadline: 107_000, retry: 26_000 };

/** Works only while no other program holds the Lease. Throws LeadershipLost at once when it is lost. */
export async function whileLeading(
  { signal, lease: { namespace, name, identity }, ...parts }: LeadingOptions,
  work: (leading: AbortSignal) => Promise<void>,
): Promise<void> {
  const election = createElection({
    ...parts,
    lease: { namespace, name },
    timing: TIMING,
    ...(identity !== undefined && { identity }),
  });
  await election.run(signal, (leading) => work(AbortSignal.any([signal, leading])));
}

export interface LeadingOptions {
  /** Of the cluster that has the Lease. */
  readonly client: Client;
  readonly lease: Pick<HubLease, "namespace" | "name" | "identity">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Only what was given: an option that is there and undefined is not the same as one that is not. */
function agentWishes(options: RegistrationOptions) {
  const { clusterName, agentId, namespace, spokeNamespace, grantAccess, certificateSeconds } = options;
  const { clusterAnnotations, claims, onStart, metrics, endpoints, clock } = options;
  return {
    endpoints,
    ...(clusterName !== undefined && { clusterName }),
    ...(agentId !== undefined && { agentName: agentId }),
    ...(namespace !== undefined && { namespace }),
    ...(spokeNamespace !== undefined && { spokeNamespace }),
    ...(grantAccess !== undefined && { grantAccess }),
    ...(certificateSeconds !== undefined && { certificateSeconds }),
    ...(clusterAnnotations && { clusterAnnotations }),
    ...(claims && { claims }),
    ...(onStart && { onStart }),
    ...(metrics && { metrics: metrics.runtime }),
    clock,
  };
}

/** The text of a bootstrap kubeconfig in a file, as Secrets are mounted. */
export function bootstrapFile(file: string, { clock, log }: Pick<HalfOptions, "clock" | "log">): Followed<string> {
  let isMissing = false;
  return followedFile({
    file,
    clock,
    async read() {
      const text = await textOf(file);
      if (text === undefined && !isMissing) log.warn("there is no bootstrap kubeconfig; waiting for it", { file });
      isMissing = text === undefined;
      return text;
    },
    fail: (error) => log.warn("the bootstrap kubeconfig cannot be read", { file, error }),
  });
}

const CLUSTER_NAME_FILE = "cluster-name";

/** The way to the hub that a kubeconfig in a file describes; the name of the cluster lies beside it. */
export function wayInFile(
  file: string,
  { clusterName, clock, log }: Pick<HalfOptions, "clusterName" | "clock" | "log">,
): Followed<HubWay> {
  let waitsFor: string | undefined;
  const missing = (what: string) => {
    if (waitsFor !== what) log.info("waiting for the way to the hub", { file: what });
    waitsFor = what;
    return undefined;
  };
  return followedFile({
    file,
    clock,
    async read() {
      if ((await textOf(file)) === undefined) return missing(file);
      const named = file.replace(/[^/]*$/, CLUSTER_NAME_FILE);
      const name = clusterName || (await textOf(named))?.trim();
      if (!name) return missing(named);
      return { connection: await connectionOf(await loadKubeconfig({ path: file })), clusterName: name };
    },
    fail: (error) => log.warn("the kubeconfig of the hub cannot be read; what was read before stays", { file, error }),
  });
}

/** The way to the hub that the identity in the Secret describes. */
function wayInSecret(
  home: Cluster,
  namespace: string,
  { HUB_SECRET, hubAccess }: Awaited<ReturnType<typeof registrationHalf>>,
  { log, signal }: Pick<HalfOptions, "log" | "signal">,
): Followed<HubWay> {
  const secrets = home.cache(Secret, { namespace, fieldSelector: `metadata.name=${HUB_SECRET}` });
  const wayIn = async (secret: Secret | undefined): Promise<HubWay | undefined> => {
    const access = hubAccess(secret);
    if (!access) return undefined;
    const connection = await connectionOf(parseKubeconfig(access.kubeconfig, HUB_SECRET));
    return { connection, clusterName: access.clusterName };
  };
  return (tell) => {
    secrets.start(signal);
    return secrets.onChange((_, secret) => {
      wayIn(secret).then(tell, (error: unknown) =>
        log.warn("the identity on the hub cannot be read", { secret: `${namespace}/${HUB_SECRET}`, error }),
      );
    });
  };
}
