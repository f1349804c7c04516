/** Controllers that live and end together, and what a program shows of them meanwhile. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Backoff } from "#lib/queue";
import { sharedAbort } from "./abort.ts";
import { AtOnce, type ClusterStanding, ControllerRun, type ReconcileRecord } from "./controller-run.ts";
import { type EndpointOptions, type Endpoints, serveEndpoints } from "./endpoints.ts";
import type { EventRecorder } from "./events.ts";
import type { Fleet, MemberState, MemberStatus } from "./fleet/types.ts";
import type { Election } from "./leader-election.ts";
import type { RuntimeMetrics } from "./metrics.ts";
import type { Controller } from "./types.ts";

export interface ManagerOptions {
  readonly controllers: readonly Controller[];
  readonly clock: Clock;
  readonly log: Logger;
  /** How failures slow down a key; 5 ms to 1000 s unless told. */
  readonly backoff?: Backoff;
  /** Hears of every reconcile that has ended. */
  readonly observe?: (record: ReconcileRecord) => void;
  readonly metrics?: RuntimeMetrics;
  /** Milliseconds that running reconciles have to end; 30 s unless told, none for 0, any number if negative. */
  readonly grace?: number;
  /** Only while it leads do controllers work; their caches are filled before. */
  readonly election?: Election;
  /** Where to show health, readiness and metrics. Readiness includes that all caches are filled. */
  readonly endpoints?: EndpointOptions;
  /**
   * Clusters that leave take their keys with them, and keys of clusters that do not answer wait until they do.
   * Readiness includes that all clusters are known that there are.
   */
  readonly fleet?: ManagedFleet;
  /** Closed at the very end, when nobody has anything more to tell. */
  readonly recorder?: EventRecorder;
  /** Called once, when the caches of all controllers are filled. */
  readonly onReady?: () => void;
}

/** What a manager must know of clusters. */
export type ManagedFleet = Pick<Fleet, "onRemoved" | "onChange" | "stateOf" | "members" | "whenListed">;

/** Controllers that live and end together. */
export interface Manager {
  /**
   * Starts every controller as soon as its caches are filled, independent of the others; with an election, as soon
   * as the caches of all are filled and we lead. Ends after `signal` has fired and running reconciles have ended, or
   * were given up after their grace: controllers first, then endpoints, then the Lease, then the recorder. Throws
   * when a controller cannot start, or, at once, when leadership is lost. A manager runs once.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Names of controllers that still wait for their caches. */
  readonly waiting: string[];
  /** Whether all have started and nothing can be done now; keys may wait for their time. */
  readonly idle: boolean;
  /** Where the endpoints are, while they are. */
  readonly port: number | undefined;
}

/** A manager of controllers, whose names must differ because logs and metrics tell them apart by name. */
export function createManager(options: ManagerOptions): Manager {
  return new ControllerManager(options);
}

/** Runs controllers until `signal` fires and what was running has ended. */
export function runControllers({ signal, ...options }: ManagerOptions & { signal: AbortSignal }): Promise<void> {
  return createManager(options).run(signal);
}

class ControllerManager implements Manager {
  readonly #options: ManagerOptions;
  readonly #runs: readonly ControllerRun[];
  /** Clusters to which no call comes through. */
  readonly #cutOff = new Set<string>();
  #endpoints: Endpoints | undefined;
  #isListed = false;
  #isReady = false;

  constructor(options: ManagerOptions) {
    const { controllers, ...settings } = options;
    this.#options = options;
    const names = controllers.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new Error(`two controllers are named ${twice}`);
    const clusters: ClusterStanding = {
      isCutOff: (name) => this.#cutOff.has(name),
      isKnown: (name) => settings.fleet?.stateOf(name) !== undefined,
    };
    this.#runs = controllers.map((controller) => new ControllerRun({ controller, clusters, ...settings }));
  }

  get waiting(): string[] {
    return this.#runs.filter(({ filled }) => !filled).map(({ name }) => name);
  }

  get idle(): boolean {
    return this.#runs.every(({ idle }) => idle);
  }

  get port(): number | undefined {
    return this.#endpoints?.port;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { endpoints, election, fleet, recorder } = this.#options;
    const stopListening = fleet && this.#listenTo(fleet);
    try {
      if (endpoints) this.#endpoints = await serveEndpoints(this.#withReadiness(endpoints));
      await (election ? this.#runLed(election, signal) : this.#runAll(this.#runs, signal));
    } finally {
      stopListening?.();
      await this.#closeEndpoints();
      await recorder?.close();
    }
  }

  /** Lets keys go, wait and come again with their clusters. The answer ends it. */
  #listenTo(fleet: ManagedFleet): () => void {
    const { metrics } = this.#options;
    const look = ({ name, circuit }: Pick<MemberStatus, "name" | "circuit">) => {
      if (circuit === "open") this.#cutOff.add(name);
      else if (this.#cutOff.delete(name)) for (const run of this.#runs) run.resumeCluster(name);
    };
    const stops = [
      fleet.onChange(look),
      fleet.onRemoved((name, why) => {
        this.#cutOff.delete(name);
        for (const run of this.#runs) run.removeCluster(name, why === "removed");
        metrics?.forgetCluster(name);
      }),
    ];
    fleet.members.forEach(look);
    void fleet.whenListed().then(() => {
      this.#isListed = true;
    });
    return () => {
      for (const stop of stops) stop();
    };
  }

  #withReadiness(endpoints: EndpointOptions): EndpointOptions {
    const caches = () => {
      if (this.waiting.length > 0) throw new Error(`${this.waiting.join(", ")} wait for their caches`);
    };
    const { fleet } = this.#options;
    const clusters = fleet && { fleet: () => this.#describe(fleet) };
    return { ...endpoints, readyz: { caches, ...clusters, ...endpoints.readyz } };
  }

  /** A cluster that is not well makes nobody else unready: how many there are of each sort is only told. */
  #describe({ members }: ManagedFleet): string {
    if (!this.#isListed) throw new Error("not all clusters are known yet");
    const counts = new Map<MemberState, number>();
    for (const { state } of members) counts.set(state, (counts.get(state) ?? 0) + 1);
    return [...counts]
      .map(([state, count]) => `${count} ${state}`)
      .sort()
      .join(", ");
  }

  #sayReady(): void {
    if (this.#isReady || this.waiting.length > 0) return;
    this.#isReady = true;
    this.#options.onReady?.();
  }

  async #closeEndpoints(): Promise<void> {
    await this.#endpoints?.close();
    this.#endpoints = undefined;
  }

  /** Fills all caches, then campaigns, then works; those that need no leader begin before. */
  async #runLed(election: Election, signal: AbortSignal): Promise<void> {
    const [unled, led] = [this.#runs.filter((run) => run.isUnled), this.#runs.filter((run) => !run.isUnled)];
    const stop = linkedAbort(signal);
    const elected = gate();
    const filled = gate();
    let unfilled = led.length;
    const mayStart = () => {
      if (--unfilled === 0) filled.open();
      return elected.opened;
    };
    if (unfilled === 0) filled.open();
    const leading = this.#runAll(led, stop.signal, mayStart).finally(() => filled.open());
    const ended = Promise.all([this.#runAll(unled, stop.signal), leading]);
    ended.catch(() => stop.abort()); // one that cannot run ends the campaign too
    try {
      await filled.opened;
      await election.run(stop.signal, async (leads) => {
        leads.addEventListener("abort", () => stop.abort(new AtOnce("leader election lost")), { once: true });
        elected.open();
        await ended;
        await this.#closeEndpoints();
      });
      await ended;
    } finally {
      stop.abort();
      stop.unlink();
    }
  }

  /** All of them, or none: one that cannot run stops the others. */
  async #runAll(runs: readonly ControllerRun[], signal: AbortSignal, mayStart?: () => Promise<void>): Promise<void> {
    const stop = linkedAbort(signal);
    const failures: unknown[] = [];
    const one = async (run: ControllerRun) => {
      try {
        await run.run(stop.signal, async () => {
          this.#sayReady();
          await mayStart?.();
        });
      } catch (cause) {
        failures.push(new Error(`controller ${run.name} cannot run`, { cause }));
        stop.abort();
      }
    };
    await Promise.all(runs.map(one));
    stop.unlink();
    if (failures.length > 0) throw failures[0];
  }
}

/** A controller that follows a signal, reason and all, until it is unlinked. */
function linkedAbort(signal: AbortSignal): AbortController & { unlink(): void } {
  const follow = () => controller.abort(signal.reason);
  const controller = Object.assign(sharedAbort(), { unlink: () => signal.removeEventListener("abort", follow) });
  if (signal.aborted) follow();
  signal.addEventListener("abort", follow, { once: true });
  return controller;
}

/** Closed until somebody opens it. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
