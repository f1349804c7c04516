import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import type { Backoff } from "#lib/queue";
import { sharedAbort } from "./abort.ts";
import { ControllerRun, type ReconcileRecord } from "./controller-run.ts";
import type { Controller } from "./types.ts";

export interface ManagerOptions {
  readonly controllers: readonly Controller[];
  readonly clock: Clock;
  readonly log: Logger;
  /** How failures slow down a key; 5 ms to 1000 s unless told. */
  readonly backoff?: Backoff;
  /** Hears of every reconcile that has ended. */
  readonly observe?: (record: ReconcileRecord) => void;
}

/** Controllers that live and end together. */
export interface Manager {
  /**
   * Starts every controller as soon as its caches are filled, independent of the others. Ends after `signal` has
   * fired and running reconciles have ended, or were given up after 30 s. Throws when a controller cannot start.
   * A manager runs once.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Names of controllers that still wait for their caches. */
  readonly waiting: string[];
  /** Whether all have started and nothing can be done now; keys may wait for their time. */
  readonly idle: boolean;
}

/** A manager of controllers, whose names must differ because logs and metrics tell them apart by name. */
export function createManager({ controllers, ...settings }: ManagerOptions): Manager {
  const runs = controllers.map((controller) => new ControllerRun({ controller, ...settings }));
  const names = runs.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two controllers are named ${twice}`);

  return {
    async run(signal) {
      const stop = sharedAbort();
      const onAbort = () => stop.abort();
      if (signal.aborted) stop.abort();
      signal.addEventListener("abort", onAbort, { once: true });
      const failures: unknown[] = [];
      const one = async (run: ControllerRun) => {
        try {
          await run.run(stop.signal);
        } catch (cause) {
          failures.push(new Error(`controller ${run.name} cannot run`, { cause }));
          stop.abort();
        }
      };
      await Promise.all(runs.map(one));
      signal.removeEventListener("abort", onAbort);
      if (failures.length > 0) throw failures[0];
    },
    get waiting() {
      return runs.filter(({ filled }) => !filled).map(({ name }) => name);
    },
    get idle() {
      return runs.every(({ idle }) => idle);
    },
  };
}

/** Runs controllers until `signal` fires and what was running has ended. */
export function runControllers({ signal, ...options }: ManagerOptions & { signal: AbortSignal }): Promise<void> {
  return createManager(options).run(signal);
}
