/** Runs the server's own controllers: store events in, one queue each, one key at a time. */
import type { Clock } from "#lib/clock";
import type { Logger } from "#lib/log";
import { createQueue, Priority, type Queue } from "#lib/queue";
import type { Store, StoreEvent } from "../store/index.ts";

export interface ServerController {
  readonly name: string;
  /** The keys that an event is about; at the start every stored object comes by as if it were added. */
  keysOf(event: Pick<StoreEvent, "type" | "resource" | "key" | "object">): readonly string[];
  /** Milliseconds until it wants to look again, if it does. */
  reconcile(key: string): Promise<number | undefined>;
}

export interface RunnerOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly controllers: readonly ServerController[];
}

/** Starts them; the answer stops them and waits for what they are doing. */
export function runServerControllers({ store, clock, log, controllers }: RunnerOptions): () => Promise<void> {
  const running = controllers.map((controller) => ({ controller, queue: createQueue<string>({ clock }) }));
  const route = (event: Pick<StoreEvent, "type" | "resource" | "key" | "object">, priority: number) => {
    for (const { controller, queue } of running)
      for (const key of controller.keysOf(event)) queue.add(key, { priority });
  };

  const unsubscribe = store.subscribe((event) => route(event, Priority.normal));
  for (const resource of store.resources()) {
    for (const object of store.list(resource).items) {
      const { namespace, name } = object.metadata;
      const key = namespace ? `${namespace}/${name}` : name;
      route({ type: "ADDED", resource, key, object }, Priority.background);
    }
  }
  const workers = running.map(({ controller, queue }) =>
    work(controller, queue, log.with({ controller: controller.name })),
  );

  return async () => {
    unsubscribe();
    for (const { queue } of running) queue.shutdown();
    await Promise.all(workers);
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
