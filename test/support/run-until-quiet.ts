import { ManualClock } from "#lib/clock";
import { type Logger, silentLog } from "#lib/log";
import { type Controller, createManager, type ReconcileRecord } from "#runtime";

export interface QuietOptions {
  /** The clock of the queues: advance it to let `again(ms)` come true. One of its own unless told. */
  clock?: ManualClock;
  log?: Logger;
  /** Whether a reconcile that keeps failing is what the test is about, and no reason to fail. */
  mayFail?: boolean;
}

export interface RunningControllers {
  /**
   * Waits until no key is ready and no reconcile runs. Keys that failed are retried a few times on the way; keys
   * that wait for their time (`again`) are left waiting. Throws what still failed at the end.
   */
  quiet(): Promise<void>;
  /** Every reconcile so far, oldest first. */
  readonly records: readonly ReconcileRecord[];
  stop(): Promise<void>;
}

/** A failure that is still there after so many tries will not go away. */
const TRIES = 6;
/** More reconciles than this without rest are a loop. */
const ENDLESS = 2_000;

/** Runs controllers as the program does until nothing is left to do, then stops them. Options may come first. */
export async function runUntilQuiet(...args: readonly (QuietOptions | Controller)[]): Promise<void> {
  const controllers = args.filter(isController);
  const [options = {}] = args.filter((arg): arg is QuietOptions => !isController(arg));
  const running = startControllers(controllers, options);
  try {
    await running.quiet();
  } finally {
    await running.stop();
  }
}

/** Starts controllers for tests that go on in several steps: let it get quiet, advance the clock, look again. */
export function startControllers(controllers: readonly Controller[], options: QuietOptions = {}): RunningControllers {
  const { clock = new ManualClock(), log = silentLog, mayFail = false } = options;
  const records: ReconcileRecord[] = [];
  const failing = new Map<string, { record: ReconcileRecord; tries: number }>();
  const manager = createManager({
    controllers,
    clock,
    log,
    observe(record) {
      records.push(record);
      const id = `${record.controller} ${record.key}`;
      const tries = (failing.get(id)?.tries ?? 0) + 1;
      if (record.result === "error" || record.result === "conflict") failing.set(id, { record, tries });
      else failing.delete(id);
    },
  });
  const stop = new AbortController();
  let broken: unknown;
  const ended = manager.run(stop.signal).catch((error) => {
    broken = error;
  });

  /** Lets everything happen that can happen without the clock. */
  async function settle(): Promise<void> {
    const start = records.length;
    for (let calm = 0; calm < 2; calm = manager.idle ? calm + 1 : 0) {
      await new Promise((resolve) => setImmediate(resolve));
      if (broken) throw broken;
      const last = records.at(-1);
      if (last && records.length - start > ENDLESS) {
        throw new Error(`${last.controller} never gets quiet: it reconciles ${last.key} again and again`);
      }
    }
  }

  return {
    records,
    async quiet() {
      for (;;) {
        await settle();
        const retried = [...failing.values()].filter(({ tries }) => tries < TRIES);
        if (retried.length === 0) break;
        clock.advance(Math.max(...retried.map(({ record }) => record.retryIn ?? 0)));
      }
      if (failing.size === 0 || mayFail) return;
      const errors = [...failing.values()].map(
        ({ record: { controller, key, error } }) =>
          new Error(`${controller} keeps failing for ${key}`, { cause: error }),
      );
      throw errors.length === 1 ? errors[0] : new AggregateError(errors, `${errors.length} keys keep failing`);
    },
    async stop() {
      stop.abort();
      await ended;
    },
  };
}

function isController(arg: QuietOptions | Controller): arg is Controller {
  return "reconcile" in arg;
}
