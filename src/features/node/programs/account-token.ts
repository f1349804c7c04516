/** A token of a Pod's service account: bound to the Pod, so that it ends with it, and renewed in good time. */
import type { TokenRequest } from "#api/authentication";
import { type Pod, ServiceAccount } from "#api/core";
import { type Client, isNotFound } from "#kube";
import type { Clock } from "#lib/clock";
import { errorText } from "#lib/log";
import type { Reference, References } from "./references.ts";

export interface AccountTokenOptions {
  readonly client: Client;
  readonly references: References;
  readonly clock: Clock;
  readonly pod: Pod;
  /** The server's own unless told. */
  readonly audience: string | undefined;
  readonly expirationSeconds: number;
  /** Called with every new token, and when there is trouble. */
  readonly changed: () => void;
}

/** As kubelets do: when this share of its life is over, a token is replaced. */
const RENEWAL_SHARE = 0.8;
/** The pause after a refusal; it doubles up to the longest. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

export class AccountToken {
  readonly #options: AccountTokenOptions;
  readonly #stop = new AbortController();
  #token: string | undefined;
  #trouble: string | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #cancel: () => void = () => {};
  /** Followed only while it is missing. */
  #account: Reference<ServiceAccount> | undefined;

  constructor(options: AccountTokenOptions) {
    this.#options = options;
    void this.#ask();
  }

  /** Undefined until there is one. */
  get token(): string | undefined {
    return this.#token;
  }

  /** Why there is none. */
  get trouble(): string | undefined {
    return this.#token === undefined ? this.#trouble : undefined;
  }

  close(): void {
    this.#stop.abort();
    this.#cancel();
    this.#account?.close();
  }

  async #ask(): Promise<void> {
    const { client, clock, pod, audience, expirationSeconds } = this.#options;
    const { name, uid } = pod.metadata;
    const body = {
      metadata: {},
      spec: {
        ...(audience !== undefined && { audiences: [audience] }),
        expirationSeconds,
        boundObjectRef: { apiVersion: "v1", kind: "Pod", name, ...(uid !== undefined && { uid }) },
      },
    };
    const { signal } = this.#stop;
    try {
      const { status } = await client.createSub<TokenRequest, ServiceAccount>(
        ServiceAccount,
        this.#accountKey(),
        "token",
        body,
        { signal },
      );
      if (signal.aborted) return;
      if (!status) throw new Error("the server gave no token");
      this.#token = status.token;
      this.#pauseMs = FIRST_PAUSE_MS;
      const life = Date.parse(status.expirationTimestamp) - clock.now().getTime();
      this.#askAfter(life * RENEWAL_SHARE);
    } catch (error) {
      if (signal.aborted) return;
      this.#trouble = `failed to fetch token: ${errorText(error)}`;
      if (isNotFound(error)) this.#awaitAccount();
      else this.#askLater();
    }
    this.#options.changed();
  }

  /** There is no such service account, as it seems: as soon as it comes, there may be a token. */
  #awaitAccount(): void {
    let wasMissing = false;
    const look = () => {
      const account = this.#account;
      if (!account?.isKnown || this.#stop.signal.aborted) return;
      if (!account.object) {
        wasMissing = true;
        return;
      }
      this.#account = undefined;
      account.close();
      if (wasMissing) void this.#ask();
      else this.#askLater(); // it is there, so something else was not found
    };
    this.#account = this.#options.references.follow(ServiceAccount, this.#accountKey(), look);
    look();
  }

  #askLater(): void {
    this.#askAfter(this.#pauseMs);
    this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2);
  }

  #askAfter(ms: number): void {
    this.#cancel = this.#options.clock.after(ms, () => void this.#ask());
  }

  #accountKey(): string {
    const { metadata, spec } = this.#options.pod;
    return `${metadata.namespace}/${spec.serviceAccountName ?? "default"}`;
  }
}
