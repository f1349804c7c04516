/**
 * Works that wait for a kind or a namespace hear when one comes, so that a work may stand on what another work, or
 * somebody else, brings. Definitions and namespaces are watched only for as long as somebody waits.
 */
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace } from "#api/core";
import type { KubeObject } from "#api/meta";
import { type Client, createCache } from "#kube";
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";

export interface ArrivalsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Something has come that this waiter may have waited for. */
  readonly onArrival: (waiter: string) => void;
}

export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #waiters = new Set<string>();
  #watching: AbortController | undefined;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  wait(waiter: string): void {
    this.#waiters.add(waiter);
    this.#watching ??= this.#watch();
  }

  leave(waiter: string): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) this.close();
  }

  close(): void {
    this.#watching?.abort();
    this.#watching = undefined;
  }

  #watch(): AbortController {
    const { client, clock, log, onArrival } = this.#options;
    const life = new AbortController();
    const tell = (_: KubeObject | undefined, after: KubeObject | undefined, initial: boolean) => {
      // A definition is served only some changes after it has come, so that each of them may be the one.
      if (!initial && after && !life.signal.aborted) for (const waiter of this.#waiters) onArrival(waiter);
    };
    for (const kind of [CustomResourceDefinition, Namespace]) {
      const cache = createCache<KubeObject>({
        client,
        kind,
        scope: { projection: "metadata" },
        clock,
        log: (message) => log.debug(message),
      });
      cache.onChange(tell);
      cache.start(life.signal);
    }
    return life;
  }
}
