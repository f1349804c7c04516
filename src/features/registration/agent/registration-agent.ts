/** One spoke's registration, from the first question to the hub until the agent is told to stop. */
import { ClusterCondition, ManagedCluster } from "#api/cluster";
import type { Condition } from "#api/meta";
import {
  isForbidden,
  isNetworkError,
  isNotFound,
  isTimeout,
  isUnauthorized,
  isUnknownKind,
  type KubeconfigCluster,
  KubeconfigError,
  kubeconfigText,
  parseKubeconfig,
} from "#kube";
import type { Clock } from "#lib/clock";
import { setCondition } from "#lib/conditions";
import { errorText, type Logger } from "#lib/log";
import { backoffDelay } from "#lib/queue";
import { type Cluster, type Controller, done, every, type RuntimeMetrics, runControllers } from "#runtime";
import { accessTokenController } from "./access-token.controller.ts";
import { accessWithdrawalController, withdrawAccess } from "./access-withdrawal.controller.ts";
import { ensureNamespace, namesOf, storedSecret } from "./agent-home.ts";
import { type Asking, type CertificateOptions, certificateController } from "./certificate.controller.ts";
import { clusterEntryController, type SpokeEndpoint } from "./cluster-entry.controller.ts";
import { entranceController, type Standing, standingOf } from "./entrance.controller.ts";
import { AuthorityLooks, hubAuthorityController } from "./hub-authority.controller.ts";
import {
  anonymousKubeconfig,
  authorityMark,
  currentHub,
  HUB_SECRET,
  type HubIdentity,
  type HubTarget,
  hasAskedWith,
  hubIdentity,
  identityKubeconfig,
  isUnusable,
  markOf,
  trustedHub,
} from "./hub-identity.ts";
import { hubTrouble, type ShownAs } from "./hub-words.ts";
import { agentLeaseController } from "./lease.controller.ts";
import { managedNamespacesController } from "./managed-namespaces.controller.ts";
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
/** What goes on failing in the same way is said again after so long. */
const SAY_AGAIN = 600_000;
/** A hub that does not know our certificate may have just been started; after so long we believe it. */
const REFUSAL_PATIENCE = 30_000;
/** How often the hub is asked whether it knows the certificate again that it did not know. */
const ASK_AGAIN = 60_000;
/** A hub that does not show us our entry will do so soon, after it has accepted us, or never: it deleted us. */
const SHOWN_SOON = { base: 200, cap: 30_000 };
/** After so many looks it is said that we wait. */
const LOOKS_IN_SILENCE = 4;
/** A hub that accepts a connection and says nothing is no hub. */
const GREETING_TIMEOUT = 15_000;

/**
 * Joins the hub and stays joined: gets an identity if there is none that is good, works with it, and changes over
 * to the next when it is renewed. Ends when `signal` fires, and for a bootstrap kubeconfig that leads nowhere.
 */
export async function runRegistrationAgent(options: RegistrationAgentOptions): Promise<void> {
  const { spoke, home = spoke, namespace = AGENT_NAMESPACE, clock, log, signal, bootstrapKubeconfig } = options;
  const hub = bootstrapHub(bootstrapKubeconfig);
  const askedWith = markOf(bootstrapKubeconfig);
  let agent: RegistrationAgent | undefined;
  let said: { text: string; at: number } | undefined;
  const say = (error: unknown) => {
    const [text, now] = [errorText(error), clock.now().getTime()];
    if (said?.text === text && now < said.at + SAY_AGAIN) return;
    said = { text, at: now };
    const cluster = agent?.clusterName ?? options.clusterName;
    log.warn("registration failed and is tried again", { ...(cluster !== undefined && { cluster }), error });
  };
  try {
    for (let failures = 0; !signal.aborted; ) {
      try {
        agent ??= new RegistrationAgent(options, {
          hub,
          askedWith,
          ...(await namesOf({ ...options, home, namespace })),
        });
        await agent.nextPhase();
        [failures, said] = [0, undefined];
      } catch (error) {
        if (signal.aborted) return;
        say(error);
        await pause(clock, backoffDelay(BACKOFF, failures++), signal);
      }
    }
  } finally {
    await agent?.close();
  }
}

/** A connection to the hub, and the kubeconfig that it was made with. */
interface Way {
  readonly kubeconfig: string;
  readonly hub: Cluster;
  /** What the hub shows us of ourselves; nothing where it has not let us in yet, or has deleted us. */
  readonly entry: ManagedCluster | undefined;
}

class RegistrationAgent {
  readonly clusterName: string;
  readonly #options: RegistrationAgentOptions;
  readonly #home: Cluster;
  readonly #namespace: string;
  readonly #random: () => number;
  /** Outlives the phases: a certificate asked for in one may be answered in the next. */
  readonly #asking: Asking = {};
  /** Phases that are over and finish what they had begun. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #looks: AuthorityLooks;
  #target: HubTarget;
  /** A way to the hub that was tried and is good: the next phase begins with it. */
  #proved: Way | undefined;
  /** Since when the hub has not known our certificate (milliseconds). */
  #refusedSince: number | undefined;
  /** Whether the entry was seen to go, so that what was granted has to go too. */
  #wasDeleted = false;
  /** Whether it was said that the hub does not let us in. */
  #isOutSaid = false;
  #hasStarted = false;

  constructor(options: RegistrationAgentOptions, target: HubTarget) {
    const { spoke, home = spoke, namespace = AGENT_NAMESPACE, random = Math.random } = options;
    this.clusterName = target.clusterName;
    this.#options = options;
    this.#home = home;
    this.#namespace = namespace;
    this.#random = random;
    this.#looks = new AuthorityLooks(options.clock);
    this.#target = target;
  }

  /** Works with the stored identity, or gets one; returns when the next phase begins. */
  async nextPhase(): Promise<void> {
    const { clock, onStart } = this.#options;
    const secret = await storedSecret(this.#home, this.#namespace);
    const identity = hubIdentity(secret, this.#target, clock.now());
    const hub = trustedHub(secret, this.#target.hub);
    if (!this.#hasStarted) onStart?.();
    this.#hasStarted = true;
    if (isUnusable(identity)) return this.#bootstrap(hub, identity.why);
    const kubeconfig = identityKubeconfig(hub, identity);
    const way = await this.#known(kubeconfig, identity);
    if (!way.entry && !hasAskedWith(secret, this.#target)) return this.#askAnew(identity, way);
    const shown = way.entry ? way : await this.#untilShown(identity, way);
    if (!shown) return;
    if (standingOf(shown.entry) === "denied") return this.#standBy(identity, shown);
    return this.#work(identity, shown, hub);
  }

  /** A cluster that is deleted on the hub stays so, until somebody lets it join again. */
  #askAnew({ certificate }: HubIdentity, { hub }: Way): void {
    hub.client.close();
    const why = "the hub has no such cluster any more, and it was told to join again";
    this.#target = { ...this.#target, refused: { certificate, why, mayReturn: false } };
  }

  /** Asks for its own entry, ever more seldom, and for nothing else; undefined when it has to begin anew. */
  async #untilShown({ notAfter }: HubIdentity, way: Way): Promise<Way | undefined> {
    const { spoke, spokeNamespace: namespace = this.#namespace, clock, log, signal } = this.#options;
    const { clusterName } = this;
    try {
      if (this.#wasDeleted) await withdrawAccess({ spoke, clusterName, namespace });
      this.#wasDeleted = false;
      for (let looks = 0; !signal.aborted && clock.now() < notAfter; looks++) {
        if (looks === LOOKS_IN_SILENCE && !this.#isOutSaid) {
          const next = `capstan accept --clusters ${clusterName} on the hub; where it was deleted, let it join again`;
          log.warn("the hub does not let this cluster in, and is asked for nothing else", {
            cluster: clusterName,
            next,
          });
          this.#isOutSaid = true;
        }
        await pause(clock, backoffDelay(SHOWN_SOON, looks), signal);
        const entry = signal.aborted ? undefined : await this.#entry(way.hub, "certificate");
        if (!entry) continue;
        this.#isOutSaid = false;
        return { ...way, entry };
      }
    } catch (error) {
      way.hub.client.close();
      throw error;
    }
    way.hub.client.close();
    return undefined;
  }

  /** A denied cluster may look at its entry, and no more. */
  async #standBy({ notAfter }: HubIdentity, { hub }: Way): Promise<void> {
    const { log } = this.#options;
    const { clusterName } = this;
    const next = `capstan accept --clusters ${clusterName} on the hub`;
    log.warn("the hub has denied this cluster, and is asked for nothing until it accepts it", {
      cluster: clusterName,
      next,
    });
    await this.#phase(hub, (end) => [this.#entrance(hub, "denied", end), this.#withdrawal(hub, false)], notAfter);
  }

  /** Ends when all that was begun has ended. */
  async close(): Promise<void> {
    this.#looks.close();
    this.#proved?.hub.client.close();
    await Promise.all(this.#leaving);
  }

  async #bootstrap(hub: KubeconfigCluster, because: string): Promise<void> {
    await ensureNamespace(this.#home, this.#namespace);
    const kubeconfig = trusting(this.#options.bootstrapKubeconfig, hub);
    const way = await this.#reached(kubeconfig, "bootstrap kubeconfig");
    const { clusterName: cluster, agentName: agent } = this.#target;
    this.#options.log.info("asks to join the hub", { cluster, agent, because });
    this.#looks.done();
    await this.#phase(way.hub, (end) => [
      this.#clusterEntry(way.hub, "bootstrap"),
      this.#certificate({ hub: way.hub, as: "bootstrap", found: end }),
      ...(this.#target.refused?.mayReturn ? [this.#formerIdentity(hub, end)] : []),
    ]);
  }

  async #work(identity: HubIdentity, { hub, kubeconfig }: Way, trusted: KubeconfigCluster): Promise<void> {
    const { spoke, claims, clock, log } = this.#options;
    const { clusterName } = this;
    const random = this.#random;
    const clusters = hub.cache(ManagedCluster, { fieldSelector: `metadata.name=${clusterName}` });

    const report = async (claim: Pick<Condition, "status" | "reason" | "message">) => {
      const cluster = clusters.get(clusterName);
      if (!cluster) return;
      const type = ClusterCondition.CertificateRotated;
      const conditions = setCondition(cluster.status?.conditions, { type, ...claim }, clock.now());
      await hub.commit(ManagedCluster, cluster, { ...cluster, status: { ...cluster.status, conditions } });
    };
    // The old connection goes on beating until the new one has been answered.
    const found = (end: () => void) => async (other: HubIdentity, way: KubeconfigCluster) => {
      const next = identityKubeconfig(way, other);
      if (next === kubeconfig) return;
      this.#keep(await this.#reached(next, "certificate"));
      end();
    };
    const prove = async (renewed: KubeconfigCluster) => {
      const way = await this.#reached(identityKubeconfig(renewed, identity), "certificate");
      way.hub.client.close();
    };
    await this.#phase(
      hub,
      (end) => [
        this.#entrance(hub, "let in", end),
        this.#certificate({ hub, as: "itself", found: found(end), report }),
        this.#clusterEntry(hub, "joined"),
        agentStatusController({ hub, spoke, clusterName, ...(claims && { claims }), clock, log }),
        managedNamespacesController({ hub, spoke, clusterName, hubServer: trusted.server, clock }),
        agentLeaseController({ hub, clusterName, clock, random, heard: this.#hearing(hub, identity, end) }),
        this.#authority(hub, prove),
        ...this.#access(hub),
      ],
      identity.notAfter,
    );
  }

  /** A way that the hub answers on; throws in words for people. */
  async #reached(kubeconfig: string, shown: ShownAs): Promise<Way> {
    const hub = await this.#options.connectHub(kubeconfig);
    try {
      return { kubeconfig, hub, entry: await this.#entry(hub, shown) };
    } catch (error) {
      hub.client.close();
      throw error;
    }
  }

  /** What the hub shows us of ourselves, if anything; throws in words for people. */
  async #entry(hub: Cluster, shown: ShownAs): Promise<ManagedCluster | undefined> {
    const { clusterName } = this;
    try {
      return await hub.client.get(ManagedCluster, clusterName, { timeout: GREETING_TIMEOUT });
    } catch (error) {
      const { server } = this.#target.hub;
      const trouble = isUnknownCluster(error) ? undefined : hubTrouble(error, { server, shown, clusterName });
      if (trouble === undefined) return undefined;
      throw isUnauthorized(error) ? new Refusal(trouble) : new Error(trouble);
    }
  }

  /** The way of an identity: one that was tried already, or a new one. A certificate that the hub does not know is given up. */
  async #known(kubeconfig: string, identity: HubIdentity): Promise<Way> {
    const proved = this.#proved;
    this.#proved = undefined;
    if (proved?.kubeconfig === kubeconfig) return proved;
    proved?.hub.client.close();
    try {
      const way = await this.#reached(kubeconfig, "certificate");
      this.#refusedSince = undefined;
      return way;
    } catch (error) {
      if (error instanceof Refusal) this.#refuse(identity);
      throw error;
    }
  }

  #keep(way: Way): void {
    this.#proved?.hub.client.close();
    this.#proved = way;
  }

  /** True when the hub has not known the certificate for so long that it never will. */
  #refuse({ certificate }: HubIdentity): boolean {
    const now = this.#options.clock.now().getTime();
    this.#refusedSince ??= now;
    if (now < this.#refusedSince + REFUSAL_PATIENCE) return false;
    this.#refusedSince = undefined;
    const why = "the hub does not know its certificate any more";
    this.#target = { ...this.#target, refused: { certificate, why, mayReturn: true } };
    return true;
  }

  /** Listens to the beats, which tell first when the hub does not know us, has put us out, or is somebody else. */
  #hearing(hub: Cluster, identity: HubIdentity, end: () => void): (failure: unknown) => void {
    const { log } = this.#options;
    const { clusterName } = this;
    const { server } = this.#target.hub;
    let said = "";
    return (failure) => {
      if (!isUnauthorized(failure)) this.#refusedSince = undefined;
      else if (this.#refuse(identity)) return end();
      if (isForbidden(failure)) void this.#endIfPutOut(hub, end);
      const isOurs = isUnauthorized(failure) || isNetworkError(failure) || isTimeout(failure);
      const trouble = isOurs ? (hubTrouble(failure, { server, shown: "certificate", clusterName }) ?? "") : "";
      if (trouble !== "" && trouble !== said) log.warn("the cluster's beat does not come through", { why: trouble });
      said = trouble;
    };
  }

  /** One right that is missing may be on its way; without its entry a cluster has none. */
  async #endIfPutOut(hub: Cluster, end: () => void): Promise<void> {
    try {
      if (!(await this.#entry(hub, "certificate"))) end();
    } catch {
      // the next beat will tell
    }
  }

  #entrance(hub: Cluster, standing: Standing, end: () => void): Controller {
    const changed = (now: Standing) => {
      if (now === "gone") this.#wasDeleted = true;
      end();
    };
    return entranceController({ hub, clusterName: this.clusterName, standing, changed });
  }

  /** Asks now and then whether the hub knows the certificate again that it did not know: it may have been restored. */
  #formerIdentity(trusted: KubeconfigCluster, end: () => void): Controller {
    const { refused: _, ...target } = this.#target;
    const { clock, log } = this.#options;
    return {
      name: "former-identity",
      triggers: [every(clock, ASK_AGAIN, HUB_SECRET)],
      reconcile: async () => {
        const identity = hubIdentity(await storedSecret(this.#home, this.#namespace), target, clock.now());
        if (isUnusable(identity)) return done;
        try {
          this.#keep(await this.#reached(identityKubeconfig(trusted, identity), "certificate"));
        } catch {
          return done; // the next look will tell
        }
        log.info("the hub knows the agent's certificate again", { cluster: this.clusterName });
        this.#target = target;
        end();
        return done;
      },
    };
  }

  /**
   * Runs controllers until one of them ends the phase, its time is over, or the agent stops. What they had begun by then
   * they finish while the next phase begins: a beat must not wait for it.
   */
  async #phase(hub: Cluster, controllers: (end: () => void) => Controller[], until?: Date): Promise<void> {
    const { clock, log, signal, metrics } = this.#options;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end, { once: true });
    const cancel = until ? clock.after(until.getTime() - clock.now().getTime(), end) : () => {};
    const ended = new Promise<void>((resolve) => {
      over.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    if (signal.aborted) end();
    const running = runControllers({
      controllers: controllers(end),
      clock,
      log,
      backoff: BACKOFF,
      signal: over.signal,
      ...(metrics && { metrics }),
    }).finally(() => hub.client.close());
    try {
      await Promise.race([running, ended]);
    } finally {
      cancel();
      signal.removeEventListener("abort", end);
      const leaving = running.catch(() => {}).finally(() => this.#leaving.delete(leaving));
      this.#leaving.add(leaving);
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
    const withdrawal = this.#withdrawal(hub, clusterRole !== undefined);
    if (clusterRole === undefined) return [withdrawal];
    const place = { hub, spoke, clusterName: this.clusterName, namespace };
    return [withdrawal, accessTokenController({ ...place, clusterRole, clock, log, random: this.#random })];
  }

  #withdrawal(hub: Cluster, isGranted: boolean): Controller {
    const { spoke, spokeNamespace: namespace = this.#namespace } = this.#options;
    return accessWithdrawalController({ hub, spoke, clusterName: this.clusterName, namespace, isGranted });
  }

  #authority(hub: Cluster, prove: (renewed: KubeconfigCluster) => Promise<void>): Controller {
    const { connectHub, log } = this.#options;
    return hubAuthorityController({
      hub,
      connectAnonymously: async (trusted) => connectHub(anonymousKubeconfig(trusted)),
      prove,
      home: this.#home,
      namespace: this.#namespace,
      target: this.#target,
      looks: this.#looks,
      log,
    });
  }

  #certificate(phase: Pick<CertificateOptions, "hub" | "as" | "found" | "report">) {
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

/** The hub does not know who we are. */
class Refusal extends Error {
  override readonly name = "Refusal";
}

/** The hub knows the kind, and not this cluster. */
function isUnknownCluster(error: unknown): boolean {
  return isNotFound(error) && !isUnknownKind(error);
}

/** The bootstrap kubeconfig, with the hub trusted as it is to be now. */
function trusting(bootstrapKubeconfig: string, hub: KubeconfigCluster): string {
  const config = parseKubeconfig(bootstrapKubeconfig, BOOTSTRAP);
  const told = currentHub(bootstrapKubeconfig, BOOTSTRAP);
  if (!told || authorityMark(told) === authorityMark(hub)) return bootstrapKubeconfig;
  const clusters = config.clusters.map((cluster) => (cluster.name === hub.name ? hub : cluster));
  return kubeconfigText({ ...config, clusters });
}

const BOOTSTRAP = "the bootstrap kubeconfig";

function bootstrapHub(kubeconfig: string): KubeconfigCluster {
  const hub = currentHub(kubeconfig, BOOTSTRAP);
  if (hub) return hub;
  throw new KubeconfigError(`${BOOTSTRAP} has no current context that leads to a cluster`);
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
