import type { Registry } from "./registry.ts";

/** What is to be known of the process; asked whenever the metrics are read. */
export interface ProcessFacts {
  readonly startTimeSeconds: number;
  cpuSeconds(): number;
  residentBytes(): number;
  /** Undefined where the system does not tell. */
  openFiles(): number | undefined;
}

/** The process_* metrics that every exporter has. */
export function registerProcessMetrics(registry: Registry, facts: ProcessFacts): void {
  const one = (type: "counter" | "gauge", name: string, help: string, read: () => number | undefined) =>
    registry.computed({
      type,
      name,
      help,
      read: () => {
        const value = read();
        return value === undefined ? [] : [{ labels: {}, value }];
      },
    });
  one("counter", "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", facts.cpuSeconds);
  one("gauge", "process_open_fds", "Number of open file descriptors.", facts.openFiles);
  one("gauge", "process_resident_memory_bytes", "Resident memory size in bytes.", facts.residentBytes);
  one(
    "gauge",
    "process_start_time_seconds",
    "Start time of the process since the Unix epoch in seconds.",
    () => facts.startTimeSeconds,
  );
}
