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
  /** Drops what was counted of a cluster that has left. */
  forgetCluster(name: string): void;
}

export interface RuntimeMetricsOptions {
  /** Counts reconciles by cluster too, which multiplies the number of series by that of clusters. */
  readonly clusterLabel?: boolean;
}

/** The metrics of all controllers of a process; make one for each registry. */
export function createRuntimeMetrics(registry: Registry, options: RuntimeMetricsOptions = {}): RuntimeMetrics {
  const { clusterLabel = false } = options;
  const measured = new Map<string, Measured>();
  const reconciles = reconcileFamilies(registry, clusterLabel);
  const queues = queueFamilies(registry, measured);
  const leader = registry.gauge({
    name: "leader_election_master_status",
    help: "Whether this process leads: 1 if it does, 0 if it does not.",
    labels: ["name"],
  });

  return {
    measure(controller) {
      measured.set(controller.name, controller);
      return { queue: queues(controller.name), ...reconciles.measure(controller) };
    },
    leading: (name, isLeader) => leader.set({ name }, isLeader ? 1 : 0),
    forgetCluster: (name) => {
      if (clusterLabel) reconciles.forgetCluster(name);
    },
  };
}

interface ReconcileFamilies {
  measure(controller: Measured): Pick<ControllerMeter, "began" | "ended">;
  forgetCluster(name: string): void;
}

function reconcileFamilies(registry: Registry, clusterLabel: boolean): ReconcileFamilies {
  type Label = "controller" | "cluster";
  const labels: readonly Label[] = clusterLabel ? ["controller", "cluster"] : ["controller"];
  const counter = (name: string, help: string) =>
    registry.counter<Label>({ name: `controller_runtime_${name}`, help, labels });
  const total = registry.counter<Label | "result">({
    name: "controller_runtime_reconcile_total",
    help: "Reconciles by how they ended.",
    labels: [...labels, "result"],
  });
  const errors = counter("reconcile_errors_total", "Reconciles that failed.");
  const terminal = counter("terminal_reconcile_errors_total", "Reconciles that failed and are not tried again.");
  const panics = counter("reconcile_panics_total", "Reconciles that failed by a mistake in the program.");
  const timeouts = counter("reconcile_timeouts_total", "Reconciles that were called off because they took too long.");
  const time = registry.histogram<Label>({
    name: "controller_runtime_reconcile_time_seconds",
    help: "How long reconciles took.",
    labels,
    buckets: RECONCILE_BUCKETS,
  });
  const most = registry.gauge({
    name: "controller_runtime_max_concurrent_reconciles",
    help: "How many reconciles may run at once.",
    labels: ["controller"],
  });
  const active = registry.gauge({
    name: "controller_runtime_active_workers",
    help: "How many reconciles run now.",
    labels: ["controller"],
  });

  return {
    measure({ name: controller, concurrency }) {
      const none = { controller, cluster: "" };
      for (const result of RESULTS) total.increment({ ...none, result }, 0);
      for (const family of [errors, terminal, panics, timeouts]) family.increment(none, 0);
      time.initialise(none);
      active.set({ controller }, 0);
      most.set({ controller }, concurrency);
      return {
        began: () => active.add({ controller }, 1),
        ended(record) {
          const of = { controller, cluster: record.hasLeft ? "" : (record.cluster ?? "") };
          active.add({ controller }, -1);
          total.increment({ ...of, result: resultOf(record) });
          time.observe(of, record.duration / 1000);
          if (resultOf(record) === "error") errors.increment(of);
          if (record.result === "terminal") terminal.increment(of);
          if (isMistake(record.error)) panics.increment(of);
          if (record.timedOut) timeouts.increment(of);
        },
      };
    },
    forgetCluster(cluster) {
      for (const family of [total, errors, terminal, panics, timeouts, time]) family.forget({ cluster });
    },
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

  registry.computed({
    type: "gauge",
    name: "capstan_parked_keys",
    help: "How many items are ready, but wait until their cluster answers again.",
    labels: ["controller"],
    read: () => all(({ controller }, queue) => [{ labels: { controller }, value: queue.parked }]),
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
