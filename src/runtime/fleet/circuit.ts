/**
 * A breaker between controllers and one server. Calls that do not come through cost whoever waits for them half a
 * minute each; after a few in a row nobody tries any more until the server has answered a question of the fleet.
 */
import { isNetworkError, isTimeout, KubeError } from "#kube";

/** One call that did not come through may be an accident, and two may be the same one. */
const MOST_FAILURES = 3;

export interface CircuitOptions {
  /** It has opened. `relapses`: how often before, without a call that came through since. */
  onOpen(error: KubeError, relapses: number): void;
}

export class Circuit {
  readonly #options: CircuitOptions;
  #failures = 0;
  #openings = 0;
  #reason: KubeError | undefined;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#reason !== undefined;
  }

  /** Why a call to `server` is not tried; undefined while it may be. */
  refusal(server: string): KubeError | undefined {
    const cause = this.#reason;
    if (!cause) return undefined;
    const why = `the last ${MOST_FAILURES} calls did not come through: ${cause.message}`;
    return new KubeError("unreachable", `calls to ${server} are not tried until it answers again, because ${why}`, {
      cause,
    });
  }

  /** A call has come through, whatever the answer was. */
  answered(): void {
    this.#failures = 0;
    this.#openings = 0;
  }

  /** A call has failed; only those that did not come through count. */
  failed(error: unknown): void {
    if (this.isOpen) return;
    if (!isNetworkError(error) && !isTimeout(error)) {
      if (error instanceof KubeError && SAYS_NOTHING.has(error.kind)) return;
      this.answered();
      return;
    }
    if (++this.#failures < MOST_FAILURES) return;
    this.#reason = error;
    this.#options.onOpen(error, this.#openings++);
  }

  /** The server answers again. While it is closed this says nothing: that it is ready does not mean that it works. */
  close(): void {
    if (!this.isOpen) return;
    this.#reason = undefined;
    this.#failures = 0;
  }
}

/** Failures of calls that the server has not heard of, and that it has nothing to do with. */
const SAYS_NOTHING: ReadonlySet<KubeError["kind"]> = new Set(["aborted", "credentials", "misuse"]);
