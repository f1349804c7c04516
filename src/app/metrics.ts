/** The numbers that a program of ours shows: about its process, its requests, its controllers and credential plugins. */
import { type ClientMetrics, type ExecMetrics, registerClientMetrics, registerExecMetrics } from "#kube";
import type { Clock } from "#lib/clock";
import { createRegistry, type Registry, registerProcessMetrics } from "#lib/metrics";
import { createRuntimeMetrics, type RuntimeMetrics } from "#runtime";
import { processFacts } from "./process-facts.ts";

export interface ProgramMetrics {
  readonly registry: Registry;
  /** For `createClient` and `createFleet`. */
  readonly client: ClientMetrics;
  /** For the manager of the controllers. */
  readonly runtime: RuntimeMetrics;
  /** For `createExecEngine`. */
  readonly exec: ExecMetrics;
}

export interface ProgramMetricsOptions {
  readonly clock: Clock;
  /** Counts by cluster, and measures every request: for fleets small enough, or monitoring strong enough. */
  readonly detailed?: boolean;
}

export function createProgramMetrics({ clock, detailed = false }: ProgramMetricsOptions): ProgramMetrics {
  const registry = createRegistry();
  registerProcessMetrics(registry, processFacts);
  return {
    registry,
    client: registerClientMetrics(registry, { detailed }),
    runtime: createRuntimeMetrics(registry, { clusterLabel: detailed }),
    exec: registerExecMetrics(registry, clock),
  };
}
