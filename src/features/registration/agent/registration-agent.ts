/** One spoke's registration, from the first question to the hub until the agent is told to stop. */
import { randomInt, randomUUID } from "node:crypto";
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import { Namespace, Secret, SecretType } from "#api/core";
import type { Condition } from "#api/meta";
import { isAlreadyExists, isForbidden, isNotFound, type KubeconfigCluster, KubeconfigError } from "#kube";
import type { Clock } from "#lib/clock";
import { setCondition } from "#lib/conditions";
import type { Logger } from "#lib/log";
import { backoffDelay } from "#lib/queue";
import { type Cluster, type Controller, type RuntimeMetrics, runControllers } from "#runtime";
import { accessTokenController } from "./access-token.controller.ts";
import { accessWithdrawalController } from "./access-withdrawal.controller.ts";
import { type Asking, certificateController } from "./certificate.controller.ts";
import { clusterEntryController, type SpokeEndpoint } from "./cluster-entry.controller.ts";
import {
  currentHub,
  DataKey,
  HUB_SECRET,
  type HubIdentity,
  type HubTarget,
  hubIdentity,
  identityKubeconfig,
  isUnusable,
  textIn,
} from "./hub-identity.ts";
import { agentLeaseController } from "./lease.controller.ts";
import { agentStatusController, type ReportedClaims } from "./status.controller.ts";

/** Where agents live on a spoke, unless told otherwise. */
export const AGENT_NAMESPACE = "open-cluster-management-agent";

export interface RegistrationAgentOptions {
  /** The cluster that joins. Its ClusterClaim and ClusterProperty kinds must be installed, as far as they are reported. */
  spoke: Cluster;
  /** Where the identity is kept; on the spoke unless told. */
  home?: Cluster;
  /** What the stored identity says, or a random name that is kept beside it, unless told. */
  clusterName?: string;
  /** One agent of possibly several of this cluster; what the stored identity says, or a random name, unless told. */
  agentName?: string;
  /** Text of a kubeconfig for the hub that may ask to join and no more. */
  bootstrapKubeconfig: string;
  /** Connects to the hub as the kubeconfig says; the agent closes the connection. */
  connectHub(kubeconfig: string): Cluster | Promise<Cluster>;
  /** Where the spoke's API server is reached by others. */
  endpoints?: readonly SpokeEndpoint[];
  /** Written when the ManagedCluster is created. */
  leaseDurationSeconds?: number;
  /** Written when the ManagedCluster is created: those whose names begin as agents' do. */
  clusterAnnotations?: Readonly<Record<string, string>>;
  /** Which claims are reported. */
  claims?: ReportedClaims;
  /** Asked for with every certificate; the hub's choice unless told. */
  certificateSeconds?: number;
  /**
   * Puts a token of this cluster on the hub, for those who reach clusters through the inventory, with this ClusterRole;
   * nobody gets one unless told, and what was granted before is taken back.
   */
  grantAccess?: string;
  /** Of the identity, where it is kept. */
  namespace?: string;
  /** Of the service account for those to whom access is granted, on the spoke; that of the identity unless told. */
  spokeNamespace?: string;
  /** Called once, when the place of the identity has answered and the agent begins. */
  onStart?: () => void;
  clock: Clock;
  log: Logger;
  signal: AbortSignal;
  /** Counts what the controllers do. */
  metrics?: RuntimeMetrics;
  random?: () => number;
}

/** A hub that comes back should hear from us before it gives us up, even with a short lease. */
const BACKOFF = { base: 100, cap: 5_000 };

/**
 * Joins the hub and stays joined: gets an identity if there is none that is good, works with it, and changes over
 * to the next when it is renewed. Ends when `signal` fires, and for a bootstrap kubeconfig that leads nowhere.
 */
export async function runRegistrationAgent(options: RegistrationAgentOptions): Promise<void> {
  const { clock, log, signal, bootstrapKubeconfig } = options;
  const hub = bootstrapHub(bootstrapKubeconfig);
  let agent: RegistrationAgent | undefined;
  for (let failures = 0; !signal.aborted; ) {
    try {
      agent ??= new RegistrationAgent(options, { hub, clusterName: await clusterNameFor(options) });
      await agent.nextPhase();
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      const cluster = agent?.clusterName ?? options.clusterName;
      log.warn("registration failed and is tried again", { ...(cluster !== undefined && { cluster }), error });
      await pause(clock, backoffDelay(BACKOFF, failures++), signal);
    }
  }
}

/** The name that was given, else the one that is kept with the identity, else a new one, which is kept from then on. */
async function clusterNameFor(options: RegistrationAgentOptions): Promise<string> {
  if (options.clusterName) return options.clusterName;
  const { spoke, home = spoke, namespace = AGENT_NAMESPACE, log } = options;
  const secret = await storedSecret(home, namespace);
  const kept = textIn(secret, DataKey.clusterName);
  if (kept !== "") return kept;
  const name = randomUUID();
  const data = { [DataKey.clusterName]: Buffer.from(name).toString("base64") };
  await ensureNamespace(home, namespace);
  if (secret) await home.commit(Secret, secret, { ...secret, data: { ...secret.data, ...data } });
  else {
    const metadata = { name: HUB_SECRET, namespace };
    await home.commit(Secret, undefined, { metadata, type: SecretType.opaque, data });
  }
  log.info("nobody gave this cluster a name, so it has one of its own now", { cluster: name });
  return name;
}

class RegistrationAgent {
  readonly clusterName: string;
  readonly #options: RegistrationAgentOptions;
  readonly #home: Cluster;
  readonly #namespace: string;
  readonly #target: HubTarget;
  readonly #random: () => number;
  /** Outlives the phases: a certificate asked for in one may be answered in the next. */
  readonly #asking: Asking = {};
  #agentName: string | undefined;
  #hasStarted = false;

  constructor(options: RegistrationAgentOptions, target: Omit<HubTarget, "agentName">) {
    const { spoke, home = spoke, agentName, namespace = AGENT_NAMESPACE, random = Math.random } = options;
    this.clusterName = target.clusterName;
    this.#options = options;
    this.#home = home;
    this.#namespace = namespace;
    this.#random = random;
    this.#agentName = agentName;
    this.#target = { ...target, ...(agentName !== undefined && { agentName }) };
  }

  /** Works with the stored identity, or gets one; returns when the next phase begins. */
  async nextPhase(): Promise<void> {
    const { clock, log, onStart } = this.#options;
    const identity = hubIdentity(await storedSecret(this.#home, this.#namespace), this.#target, clock.now());
    if (!this.#hasStarted) onStart?.();
    this.#hasStarted = true;
    if (!isUnusable(identity)) {
      this.#agentName = identity.agentName;
      return await this.#work(identity);
    }
    this.#agentName ??= randomName();
    log.info("asks to join the hub", { cluster: this.clusterName, agent: this.#agentName, because: identity.why });
    await this.#bootstrap(this.#agentName);
  }

  async #bootstrap(agentName: string): Promise<void> {
    const { connectHub, bootstrapKubeconfig } = this.#options;
    await ensureNamespace(this.#home, this.#namespace);
    await this.#phase(await connectHub(bootstrapKubeconfig), (hub, end) => [
      this.#clusterEntry(hub, "bootstrap"),
      this.#certificate({ hub, agentName, found: end }),
    ]);
  }

  async #work(identity: HubIdentity): Promise<void> {
    const { spoke, connectHub, claims, clock, log } = this.#options;
    const { clusterName } = this;
    const random = this.#random;
    const hub = await connectHub(identityKubeconfig(this.#target.hub, identity));
    const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });

    const report = async (claim: Pick<Condition, "status" | "reason" | "message">) => {
      const cluster = clusters.get(clusterName);
      if (!cluster) return;
      const type = ClusterCondition.CertificateRotated;
      const conditions = setCondition(cluster.status?.conditions, { type, ...claim }, clock.now());
      await hub.commit(ManagedCluster, cluster, { ...cluster, status: { ...cluster.status, conditions } });
    };
    const found = (end: () => void) => (other: HubIdentity) => {
      if (other.certificate !== identity.certificate) end(); // renewed: change over
    };
    await this.#phase(
      hub,
      (_, end) => [
        this.#certificate({ hub, agentName: identity.agentName, found: found(end), report }),
        this.#clusterEntry(hub, "joined"),
        agentStatusController({ hub, spoke, clusterName, ...(claims && { claims }), clock, log }),
        agentLeaseController({ hub, clusterName, clock, random }),
        ...this.#access(hub),
      ],
      identity.notAfter,
    );
  }

  /** Runs controllers until one of them ends the phase, its time is over, or the agent stops. */
  async #phase(
    hub: Cluster,
    controllers: (hub: Cluster, end: () => void) => Controller[],
    until?: Date,
  ): Promise<void> {
    const { clock, log, signal, metrics } = this.#options;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end, { once: true });
    const cancel = until ? clock.after(until.getTime() - clock.now().getTime(), end) : () => {};
    try {
      if (signal.aborted) return;
      await runControllers({
        controllers: controllers(hub, end),
        clock,
        log,
        backoff: BACKOFF,
        signal: over.signal,
        ...(metrics && { metrics }),
      });
    } finally {
      cancel();
      signal.removeEventListener("abort", end);
      hub.client.close();
    }
  }

  #clusterEntry(hub: Cluster, phase: "bootstrap" | "joined"): Controller {
    const { endpoints = [], leaseDurationSeconds, clusterAnnotations, grantAccess } = this.#options;
    return clusterEntryController({
      hub,
      clusterName: this.clusterName,
      endpoints,
      phase,
      ...(clusterAnnotations && { clusterAnnotations }),
      ...(leaseDurationSeconds !== undefined && { leaseDurationSeconds }),
      ...(grantAccess !== undefined && { grantAccess }),
    });
  }

  #access(hub: Cluster): Controller[] {
    const { spoke, grantAccess: clusterRole, spokeNamespace: namespace = this.#namespace, clock, log } = this.#options;
    const place = { hub, spoke, clusterName: this.clusterName, namespace };
    const withdrawal = accessWithdrawalController({ ...place, isGranted: clusterRole !== undefined });
    if (clusterRole === undefined) return [withdrawal];
    return [withdrawal, accessTokenController({ ...place, clusterRole, clock, log, random: this.#random })];
  }

  #certificate(phase: Pick<Parameters<typeof certificateController>[0], "hub" | "agentName" | "found" | "report">) {
    const { clock, log, certificateSeconds } = this.#options;
    return certificateController({
      home: this.#home,
      namespace: this.#namespace,
      target: this.#target,
      asking: this.#asking,
      ...(certificateSeconds !== undefined && { expirationSeconds: certificateSeconds }),
      clock,
      log,
      random: this.#random,
      ...phase,
    });
  }
}

async function storedSecret(home: Cluster, namespace: string): Promise<Secret | undefined> {
  try {
    return await home.client.get(Secret, `${namespace}/${HUB_SECRET}`);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whoever installs agents makes their namespace; on a bare cluster there is nobody else. */
async function ensureNamespace(home: Cluster, namespace: string): Promise<void> {
  try {
    await home.client.create(Namespace, { metadata: { name: namespace } });
  } catch (error) {
    if (!isAlreadyExists(error) && !isForbidden(error)) throw error;
  }
}

function bootstrapHub(kubeconfig: string): KubeconfigCluster {
  const hub = currentHub(kubeconfig, "the bootstrap kubeconfig");
  if (hub) return hub;
  throw new KubeconfigError("the bootstrap kubeconfig has no current context that leads to a cluster");
}

const NAME_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Five characters, as upstream names its agents. */
function randomName(): string {
  return Array.from({ length: 5 }, () => NAME_CHARACTERS.charAt(randomInt(NAME_CHARACTERS.length))).join("");
}

function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, finish);
    signal.addEventListener("abort", finish, { once: true });
    function finish(): void {
      cancel();
      signal.removeEventListener("abort", finish);
      resolve();
    }
  });
}
