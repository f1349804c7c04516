/** The one place that runs credential plugins: whoever needs a credential from a program asks here. */
import { setMaxListeners } from "node:events";
import { availableParallelism } from "node:os";
import { type Clock, systemClock } from "#lib/clock";
import type { Credentials } from "../credentials.ts";
import { fingerprint } from "../fingerprint.ts";
import type { ExecCluster, ExecConfig } from "./config.ts";
import type { Environment } from "./environment.ts";
import { ExecCredentials } from "./exec-credentials.ts";
import { Gate } from "./gate.ts";
import { type ExecMetrics, noExecMetrics } from "./metrics.ts";
import { askPlugin } from "./plugin-run.ts";
import { checkPolicy, type PluginPolicy } from "./policy.ts";

export interface ExecEngineOptions {
  /** Our environment, of which plugins get the harmless part. */
  readonly env: Environment;
  /** Names of further variables that plugins get; one that ends in `*` stands for all that begin so. */
  readonly alsoPass?: readonly string[];
  /** What may be run; everything that a configuration names unless told. */
  readonly policy?: PluginPolicy;
  /** Milliseconds that a plugin may take; 30 s unless told. */
  readonly timeoutMs?: number;
  /** How many plugins may be busy at once; twice the number of cores unless told. */
  readonly concurrency?: number;
  /** Whether a person sits at our terminal and may be asked. */
  readonly terminal?: boolean;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly metrics?: ExecMetrics;
}

export interface ExecEngine {
  /**
   * The credentials that a plugin gives for a cluster. Nothing is run before somebody asks for them. Whoever asks
   * for the same identity while somebody else has it shares it: one process, one credential.
   */
  credentials(config: ExecConfig, cluster: ExecCluster): Credentials;
  /** Ends all plugins that are running, and runs no more. */
  close(): void;
}

const DEFAULT_TIMEOUT = 30_000;

export function createExecEngine(options: ExecEngineOptions): ExecEngine {
  return new Engine(options);
}

class Engine implements ExecEngine {
  readonly #options: ExecEngineOptions;
  readonly #clock: Clock;
  readonly #metrics: ExecMetrics;
  readonly #gate: Gate;
  readonly #closing = new AbortController();
  /** Those that somebody still has. Who lets go of a cluster lets go of its credential too. */
  readonly #known = new Map<string, WeakRef<ExecCredentials>>();
  readonly #forgotten = new FinalizationRegistry((identity: string) => this.#forget(identity));

  constructor(options: ExecEngineOptions) {
    if (options.policy) checkPolicy(options.policy);
    setMaxListeners(0, this.#closing.signal); // every plugin that runs listens
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#metrics = options.metrics ?? noExecMetrics;
    this.#gate = new Gate(options.concurrency ?? 2 * availableParallelism(), this.#clock);
  }

  credentials(config: ExecConfig, cluster: ExecCluster): Credentials {
    const identity = fingerprint([config, cluster]);
    const known = this.#known.get(identity)?.deref();
    if (known) return known;
    const made = this.#make(config, cluster, identity);
    this.#known.set(identity, new WeakRef(made));
    this.#forgotten.register(made, identity);
    return made;
  }

  close(): void {
    this.#closing.abort();
  }

  #make(config: ExecConfig, cluster: ExecCluster, identity: string): ExecCredentials {
    const { env, alsoPass = [], terminal = false, timeoutMs = DEFAULT_TIMEOUT, random = Math.random } = this.#options;
    const policy = this.#options.policy ?? ({ type: "AllowAll" } as const);
    const [clock, metrics, signal] = [this.#clock, this.#metrics, this.#closing.signal];
    const run = { config, cluster, env, alsoPass, policy, terminal, timeoutMs, clock, metrics, signal };
    return new ExecCredentials({
      ask: () => this.#gate.through(() => askPlugin(run)),
      identity,
      clock,
      random,
      metrics,
    });
  }

  #forget(identity: string): void {
    if (this.#known.get(identity)?.deref()) return;
    this.#known.delete(identity);
    this.#metrics.certificate(identity, undefined);
  }
}
