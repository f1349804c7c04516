/** A manager under test: triggers that the test pulls, clusters that stand as it says, and everything that happened. */
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import {
  type Controller,
  createManager,
  type Departure,
  type Manager,
  type ManagerOptions,
  type MemberState,
  type MemberStatus,
  type ReconcileRecord,
  type Trigger,
} from "#runtime";

/** Turns of the event loop, until something is so. */
export async function until(condition: () => boolean): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (!condition());
}

/** A trigger that the test pulls. */
export function handle(): Trigger<string> & { pull(...keys: string[]): void } {
  let enqueue: (key: string) => void = () => {};
  return {
    subscribe(next) {
      enqueue = next;
      return () => {};
    },
    pull(...keys) {
      for (const key of keys) enqueue(key);
    },
  };
}

export function startManager(options: Partial<ManagerOptions> & { controllers: readonly Controller[] }) {
  const clock = new ManualClock();
  const stop = new AbortController();
  const records: ReconcileRecord[] = [];
  const manager: Manager = createManager({ clock, log: silentLog, observe: (r) => records.push(r), ...options });
  const outcome = manager.run(stop.signal).then(
    () => "ended",
    (error: unknown) => error,
  );
  return { clock, manager, outcome, records, stop: () => stop.abort() };
}

/** Clusters that stand as the test says. */
export function standInFleet(...names: string[]) {
  const listeners: ((status: MemberStatus) => void)[] = [];
  const removals: ((name: string, why: Departure) => void)[] = [];
  const members = new Map<string, MemberStatus>();
  const stand = (name: string, state: MemberState, circuit: MemberStatus["circuit"] = "closed") => {
    const status: MemberStatus = { name, state, circuit, since: new Date(0), unfilled: [] };
    members.set(name, status);
    for (const listener of listeners) listener(status);
  };
  for (const name of names) stand(name, "Engaged");
  return {
    stand,
    leave(name: string, why: Departure) {
      if (why === "removed") members.delete(name);
      for (const listener of removals) listener(name, why);
    },
    get members() {
      return [...members.values()];
    },
    stateOf: (name: string) => members.get(name)?.state,
    whenListed: async () => {},
    onChange(listener: (status: MemberStatus) => void) {
      listeners.push(listener);
      return () => {};
    },
    onRemoved(listener: (name: string, why: Departure) => void) {
      removals.push(listener);
      return () => {};
    },
  };
}
