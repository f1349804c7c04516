/** What controllers count, under the names by which dashboards of controllers know it. */
import type { Registry } from "#lib/metrics";
import { Priority, type Queue, type QueueObserver } from "#lib/queue";
import type { ReconcileRecord } from "./controller-run.ts";

/** Seconds, as the dashboards expect them. */
const RECONCILE_BUCKETS = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
] as const;
/** Ten nanoseconds, and eleven times ten times as much. */
const QUEUE_BUCKETS = Array.from({ length: 12 }, (_, exponent) => Number(`1e${exponent - 8}`));

const RESULTS = ["success", "error", "requeue", "requeue_after"] as const;

/** One controller, as it is measured. */
export interface ControllerMeter {
  readonly queue: QueueObserver;
  /** A reconcile begins. */
  began(): void;
  ended(record: ReconcileRecord): void;
}

export interface Measured {
  readonly name: string;
  readonly concurrency: number;
  /** Looked at whenever somebody reads the metrics. */
  readonly queue: () => Queue<string>;
}

export interface RuntimeMetrics {
  /** Measures a controller from now on; one of the same name that ran before goes on counting where it was. */
  measure(controller: Measured): ControllerMeter;
  /** Whether we lead in an election. */
  leading(election: string, isLeader: boolean): void;
}

/** The metrics of all controllers of a process; make one for each registry. */
export function createRuntimeMetrics(registry: Registry): RuntimeMetrics {
  const measured = new Map<string, Measured>();
  const reconciles = reconcileFamilies(registry);
  const queues = queueFamilies(registry, measured);
  const leader = registry.gauge({
    name: "leader_election_master_status",
    help: "Whether this process leads: 1 if it does, 0 if it does not.",
    labels: ["name"],
  });

  return {
    measure(controller) {
      measured.set(controller.name, controller);
      return { queue: queues(controller.name), ...reconciles(controller) };
    },
    leading: (name, isLeader) => leader.set({ name }, isLeader ? 1 : 0),
  };
}

function reconcileFamilies(registry: Registry): (controller: Measured) => Pick<ControllerMeter, "began" | "ended"> {
  const labels = ["controller"] as const;
  const counter = (name: string, help: string) =>
    registry.counter({ name: `controller_runtime_${name}`, help, labels });
  const total = registry.counter({
    name: "controller_runtime_reconcile_total",
    help: "Reconciles by how they ended.",
    labels: ["controller", "result"],
  });
  const errors = counter("reconcile_errors_total", "Reconciles that failed.");
  const terminal = counter("terminal_reconcile_errors_total", "Reconciles that failed and are not tried again.");
  const panics = counter("reconcile_panics_total", "Reconciles that failed by a mistake in the program.");
  const timeouts = counter("reconcile_timeouts_total", "Reconciles that were called off because they took too long.");
  const time = registry.histogram({
    name: "controller_runtime_reconcile_time_seconds",
    help: "How long reconciles took.",
    labels,
    buckets: RECONCILE_BUCKETS,
  });
  const most = registry.gauge({
    name: "controller_runtime_max_concurrent_reconciles",
    help: "How many reconciles may run at once.",
    labels,
  });
  const active = registry.gauge({
    name: "controller_runtime_active_workers",
    help: "How many reconciles run now.",
    labels,
  });

  return ({ name: controller, concurrency }) => {
    const of = { controller };
    for (const result of RESULTS) total.increment({ controller, result }, 0);
    for (const family of [errors, terminal, panics, timeouts]) family.increment(of, 0);
    time.initialise(of);
    active.set(of, 0);
    most.set(of, concurrency);
    return {
      began: () => active.add(of, 1),
      ended(record) {
        active.add(of, -1);
        total.increment({ controller, result: resultOf(record) });
        time.observe(of, record.duration / 1000);
        if (resultOf(record) === "error") errors.increment(of);
        if (record.result === "terminal") terminal.increment(of);
        if (isMistake(record.error)) panics.increment(of);
        if (record.timedOut) timeouts.increment(of);
      },
    };
  };
}

function queueFamilies(registry: Registry, measured: Map<string, Measured>): (name: string) => QueueObserver {
  const labels = ["name", "controller"] as const;
  const adds = registry.counter({ name: "workqueue_adds_total", help: "Items that were added.", labels });
  const retries = registry.counter({
    name: "workqueue_retries_total",
    help: "Items that were added for later.",
    labels,
  });
  const durations = (name: string, help: string) => registry.histogram({ name, help, labels, buckets: QUEUE_BUCKETS });
  const waited = durations("workqueue_queue_duration_seconds", "How long items were ready before they were taken.");
  const worked = durations("workqueue_work_duration_seconds", "How long items were worked on.");
  const all = <S>(samples: (of: { name: string; controller: string }, queue: Queue<string>) => S[]) =>
    [...measured.values()].flatMap(({ name, queue }) => samples({ name, controller: name }, queue()));

  registry.computed({
    type: "gauge",
    name: "workqueue_depth",
    help: "How many items are ready.",
    labels: ["name", "controller", "priority"],
    read: () =>
      all((of, queue) => {
        const usual = Object.values(Priority).map((priority) => [priority, 0] as const);
        const depths = new Map<number, number>([...usual, ...queue.depths()]);
        return [...depths].map(([priority, value]) => ({ labels: { ...of, priority: String(priority) }, value }));
      }),
  });
  registry.computed({
    type: "gauge",
    name: "workqueue_unfinished_work_seconds",
    help: "For how long, taken together, the items that are being worked on have been worked on.",
    labels,
    read: () => all((of, queue) => [{ labels: of, value: sum(queue.runningFor()) / 1000 }]),
  });
  registry.computed({
    type: "gauge",
    name: "workqueue_longest_running_processor_seconds",
    help: "For how long the oldest of the items that are being worked on has been worked on.",
    labels,
    read: () => all((of, queue) => [{ labels: of, value: Math.max(0, ...queue.runningFor()) / 1000 }]),
  });

  return (name) => {
    const of = { name, controller: name };
    for (const family of [adds, retries]) family.increment(of, 0);
    for (const family of [waited, worked]) family.initialise(of);
    return {
      added: () => adds.increment(of),
      delayed: () => retries.increment(of),
      taken: (ms) => waited.observe(of, ms / 1000),
      finished: (ms) => worked.observe(of, ms / 1000),
    };
  };
}

/** A conflict is nobody's error: another look settles it. */
function resultOf({ result }: ReconcileRecord): (typeof RESULTS)[number] {
  if (result === "conflict") return "requeue";
  return result === "terminal" ? "error" : result;
}

/** What the language throws, and not the program. */
function isMistake(error: unknown): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
