/**
 * Credentials that lie in a Secret on the hub, read by one of our own plugins without a process. While a client
 * uses them the Secret is watched, so a rotated token is in use at once; where watching is not allowed the Secret
 * is read again after a minute, and when the server refuses what it held.
 */
import { Secret } from "#api/core";
import {
  type Client,
  type Credential,
  CredentialHolder,
  type Credentials,
  createCache,
  isForbidden,
  type Reading,
  readCredential,
} from "#kube";
import type { Clock } from "#lib/clock";

export interface SecretCredentialsOptions {
  readonly reading: Reading;
  /** The hub. */
  readonly client: Pick<Client, "get" | "list" | "watch" | "server">;
  readonly clock: Clock;
}

const KEPT_MS = 60_000;
/** After a failure the hub is left alone for so long. */
const PAUSE_MS = 1_000;

export class SecretCredentials implements Credentials {
  readonly #options: SecretCredentialsOptions;
  readonly #holder = new CredentialHolder();
  #until = Number.NEGATIVE_INFINITY;
  #reading: Promise<Credential> | undefined;
  #failure: { error: unknown; until: number } | undefined;
  #listeners = 0;
  #watch: { stop: AbortController; isCurrent: () => boolean } | undefined;

  constructor(options: SecretCredentialsOptions) {
    this.#options = options;
  }

  async current(): Promise<Credential> {
    const { credential } = this.#holder;
    const isCurrent = this.#watch?.isCurrent() || this.#now() < this.#until;
    return credential && isCurrent ? credential : this.#read();
  }

  async refresh(refused: Credential): Promise<Credential> {
    const { credential } = this.#holder;
    return credential && credential.token !== refused.token ? credential : this.#read();
  }

  onChange(listener: (credential: Credential) => void): () => void {
    const stop = this.#holder.onChange(listener);
    if (this.#listeners++ === 0) this.#startWatching();
    let listens = true;
    return () => {
      if (!listens) return;
      listens = false;
      stop();
      if (--this.#listeners === 0) this.#stopWatching();
    };
  }

  #read(): Promise<Credential> {
    if (this.#failure && this.#now() < this.#failure.until) return Promise.reject(this.#failure.error);
    this.#reading ??= readCredential(this.#options.client, this.#options.reading)
      .then(
        (credential) => this.#have(credential),
        (error: unknown) => {
          this.#failure = { error, until: this.#now() + PAUSE_MS };
          throw error;
        },
      )
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  #have(credential: Credential): Credential {
    this.#failure = undefined;
    this.#until = this.#now() + KEPT_MS;
    this.#holder.set(credential);
    return credential;
  }

  #startWatching(): void {
    const { client, clock, reading } = this.#options;
    const { namespace, name } = reading;
    const stop = new AbortController();
    const cache = createCache({
      client: { ...boundTo(client), watch: this.#watchUntilForbidden(stop) },
      kind: Secret,
      scope: { namespace, fieldSelector: `metadata.name=${name}` },
      clock,
    });
    cache.onChange((_, secret) => this.#changed(secret));
    cache.start(stop.signal);
    this.#watch = { stop, isCurrent: () => cache.synced && cache.state === "following" };
  }

  /** Plugins need only to read; who may not watch as well is not asked again and again. */
  #watchUntilForbidden(stop: AbortController): Client["watch"] {
    const { client } = this.#options;
    return async (kind, options) => {
      try {
        return await client.watch(kind, options);
      } catch (error) {
        if (isForbidden(error)) stop.abort();
        throw error;
      }
    };
  }

  #changed(secret: Secret | undefined): void {
    try {
      if (secret) this.#have(this.#options.reading.credential(secret));
      else this.#forget();
    } catch {
      this.#forget(); // the next call reads it and says what is wrong
    }
  }

  #forget(): void {
    this.#holder.credential = undefined;
    this.#until = Number.NEGATIVE_INFINITY;
  }

  #stopWatching(): void {
    this.#watch?.stop.abort();
    this.#watch = undefined;
  }

  #now(): number {
    return this.#options.clock.now().getTime();
  }
}

function boundTo(client: SecretCredentialsOptions["client"]): Pick<Client, "list" | "server"> {
  return { server: client.server, list: (kind, options) => client.list(kind, options) };
}
