/**
 * The credentials of one identity, from a plugin: asked for once however many wait, kept until they end, renewed a
 * little before, and not asked for again at once by everyone when the plugin is broken.
 */
import type { Clock } from "#lib/clock";
import {
  type Credential,
  CredentialHolder,
  type Credentials,
  isSameCertificate,
  isSameCredential,
} from "../credentials.ts";
import { ExecError } from "./error.ts";
import type { ExecMetrics } from "./metrics.ts";
import type { Answer } from "./protocol.ts";

export interface ExecCredentialsOptions {
  /** Runs the plugin. */
  readonly ask: () => Promise<Answer>;
  /** What the identity is called in metrics. */
  readonly identity: string;
  readonly clock: Clock;
  /** In [0, 1); spreads renewals. */
  readonly random: () => number;
  readonly metrics: ExecMetrics;
}

/** A credential is renewed when so much of its life is left, or a minute, whichever is more… */
const SPARE_PART = 0.2;
const SPARE_MS = 60_000;
/** …but never before half of its life is over. */
const MOST_SPARE_PART = 0.5;

/** The pause after a failure, doubled with every further one. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 60_000;

export class ExecCredentials implements Credentials {
  readonly #options: ExecCredentialsOptions;
  readonly #holder = new CredentialHolder();
  /** When to look for a newer one, and when the one we have ends. */
  #renewAt = Number.POSITIVE_INFINITY;
  #expires = Number.POSITIVE_INFINITY;
  #certificateFrom: number | undefined;
  #running: Promise<Credential> | undefined;
  /** Until then the plugin is left alone. */
  #quietUntil = Number.NEGATIVE_INFINITY;
  #pauses = 0;
  #failure: ExecError | undefined;

  constructor(options: ExecCredentialsOptions) {
    this.#options = options;
  }

  async current(): Promise<Credential> {
    const { credential } = this.#holder;
    const now = this.#now();
    if (credential === undefined || now >= this.#expires) return this.#newest();
    if (now >= this.#renewAt && now >= this.#quietUntil) this.#run().catch(() => {}); // there is one that still serves
    return credential;
  }

  async refresh(refused: Credential): Promise<Credential> {
    const { credential } = this.#holder;
    if (credential !== undefined && !isSameCredential(credential, refused)) return credential;
    if (this.#running === undefined && this.#now() < this.#quietUntil && credential !== undefined && !this.#failure) {
      return credential; // the plugin has just been asked, and the server liked the answer no better
    }
    return this.#newest();
  }

  onChange(listener: (credential: Credential) => void): () => void {
    return this.#holder.onChange(listener);
  }

  /** Asks the plugin, unless it has failed so lately that it would fail again. */
  #newest(): Promise<Credential> {
    if (this.#running === undefined && this.#failure && this.#now() < this.#quietUntil) {
      return Promise.reject(this.#failure);
    }
    return this.#run();
  }

  #run(): Promise<Credential> {
    this.#running ??= this.#ask().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #ask(): Promise<Credential> {
    let answer: Answer;
    try {
      answer = await this.#options.ask();
    } catch (error) {
      this.#failure =
        error instanceof ExecError ? error : new ExecError("not-started", (error as Error).message, { cause: error });
      this.#pause();
      throw this.#failure;
    }
    this.#accept(answer);
    return answer.credential;
  }

  #accept({ credential, expires = Number.POSITIVE_INFINITY, ...certificate }: Answer): void {
    const { metrics, identity } = this.#options;
    const now = this.#now();
    const before = this.#holder.credential;
    if (before && this.#certificateFrom !== undefined && !isSameCertificate(before, credential)) {
      metrics.rotated((now - this.#certificateFrom) / 1000);
    }
    metrics.certificate(identity, certificate.certificateUntil);
    this.#certificateFrom = certificate.certificateFrom;
    this.#expires = expires;
    this.#renewAt = this.#renewalOf(now, expires);
    this.#failure = expires <= now ? expiredAt(expires) : undefined;
    // An answer that is not a new one, or of no use any more, is as good as none: do not ask again at once.
    if (this.#failure || (before && isSameCredential(before, credential))) this.#pause();
    else this.#rest();
    this.#holder.set(credential);
  }

  #renewalOf(now: number, expires: number): number {
    const life = expires - now;
    if (life <= 0 || life === Number.POSITIVE_INFINITY) return expires;
    const spare = Math.min(Math.max(life * SPARE_PART, SPARE_MS), life * MOST_SPARE_PART);
    const jitter = 1 + this.#options.random() * 0.25; // a fleet that started together does not renew together
    return expires - Math.min(spare * jitter, life * MOST_SPARE_PART);
  }

  #pause(): void {
    this.#quietUntil = this.#now() + Math.min(FIRST_PAUSE * 2 ** this.#pauses, LONGEST_PAUSE);
    this.#pauses++;
  }

  /** Also what is new may be refused; then the plugin is asked again, but not faster than this. */
  #rest(): void {
    this.#pauses = 0;
    this.#quietUntil = this.#now() + FIRST_PAUSE;
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

function expiredAt(expires: number): ExecError {
  const when = new Date(expires).toISOString();
  return new ExecError("expired", `exec plugin gave a credential that had expired at ${when}; is the clock right?`);
}
