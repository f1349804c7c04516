/** Runs the server's own controllers: store events in, one queue each, one key at a time. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { createQueue, Priority, type Queue } from "#lib/queue";
import type { Store, StoreEvent } from "../store/index.ts";

export type Occurrence = Pick<StoreEvent, "type" | "resource" | "key" | "object" | "previous">;

export interface ServerController {
  readonly name: string;
  /** The only resources that it is asked about, by where they are stored; absent means all. */
  readonly watches?: readonly string[];
  /** How many keys it works on at a time; one unless told. */
  readonly workers?: number;
  /** The keys that an event is about; at the start every stored object comes by as if it were added. */
  keysOf(event: Occurrence): readonly string[];
  /** Milliseconds until it wants to look again, if it does. */
  reconcile(key: string): Promise<number | undefined>;
}

export interface RunnerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly controllers: readonly ServerController[];
}

export interface RunningControllers {
  /** Whether nothing is being worked on and nothing could be taken up now. */
  readonly isQuiet: boolean;
  /** Stops them and waits for what they are doing. */
  stop(): Promise<void>;
}

export function runServerControllers({ store, clock, log, controllers }: RunnerOptions): RunningControllers {
  const running = controllers.map((controller) => ({ controller, queue: createQueue<string>({ clock }) }));
  const interested = (resource: string) =>
    running.filter(({ controller: { watches } }) => !watches || watches.includes(resource));
  const byResource = new Map<string, typeof running>();
  const route = (event: Occurrence, priority: number) => {
    let listeners = byResource.get(event.resource);
    if (!listeners) {
      listeners = interested(event.resource);
      byResource.set(event.resource, listeners);
    }
    for (const { controller, queue } of listeners) {
      for (const key of controller.keysOf(event)) queue.add(key, { priority });
    }
  };

  const unsubscribe = store.subscribe((event) => route(event, Priority.normal));
  for (const resource of store.resources()) {
    for (const object of store.list(resource).items) {
      const { namespace, name } = object.metadata;
      const key = namespace ? `${namespace}/${name}` : name;
      route({ type: "ADDED", resource, key, object }, Priority.background);
    }
  }
  const workers = running.flatMap(({ controller, queue }) =>
    Array.from({ length: controller.workers ?? 1 }, () =>
      work(controller, queue, log.with({ controller: controller.name })),
    ),
  );

  return {
    get isQuiet() {
      return running.every(({ queue }) => queue.ready === 0 && queue.running === 0);
    },
    async stop() {
      unsubscribe();
      for (const { queue } of running) queue.shutdown();
      await Promise.all(workers);
    },
  };
}

async function work({ reconcile }: ServerController, queue: Queue<string>, log: Logger): Promise<void> {
  for (;;) {
    const taken = await queue.get();
    if (!taken) return;
    const { item } = taken;
    try {
      const after = await reconcile(item);
      queue.forget(item);
      if (after !== undefined) queue.addAfter(item, after);
    } catch (error) {
      log.warn("will try again", { key: item, error });
      queue.addRateLimited(item);
    } finally {
      queue.done(item);
    }
  }
}
