/** Numbers about credential plugins, under the names that dashboards of Kubernetes clients know. */
import type { Clock } from "#lib/clock";
import type { Registry } from "#lib/metrics";

export type CallStatus = "no_error" | "plugin_execution_error" | "plugin_not_found_error" | "client_internal_error";

/** Told by the engine of what it does. */
export interface ExecMetrics {
  /** A plugin was run, or should have been. `plugin` is the bare name of its program. */
  called(call: { plugin: string; status: CallStatus; code: number; seconds: number }): void;
  /** The policy was asked. */
  decided(verdict: "allowed" | "denied"): void;
  /** An identity has a certificate that ends then, in milliseconds since 1970; undefined: it has none. */
  certificate(identity: string, until: number | undefined): void;
  /** A certificate was replaced that had been valid for so long. */
  rotated(ageSeconds: number): void;
}

export const noExecMetrics: ExecMetrics = { called() {}, decided() {}, certificate() {}, rotated() {} };

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Half an hour is too often, a month is well, a year too seldom: the bounds are those of other Kubernetes clients. */
const AGES = [
  ...[10 * MINUTE, 30 * MINUTE, HOUR, 4 * HOUR, DAY, 7 * DAY],
  ...[30 * DAY, 90 * DAY, 180 * DAY, 360 * DAY, 4 * 360 * DAY],
];
const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function registerExecMetrics(registry: Registry, clock: Clock): ExecMetrics {
  const calls = registry.counter<"code" | "call_status">({
    name: "rest_client_exec_plugin_call_total",
    help: "Number of calls to an exec plugin, partitioned by exit code and call status.",
    labels: ["code", "call_status"],
  });
  const verdicts = registry.counter<"allowed">({
    name: "rest_client_exec_plugin_policy_call_total",
    help: "Number of decisions about an exec plugin, partitioned by whether it may run.",
    labels: ["allowed"],
  });
  const ages = registry.histogram({
    name: "rest_client_exec_plugin_certificate_rotation_age",
    help: "Seconds that the last client certificate of an exec plugin lived before it was replaced.",
    buckets: AGES,
  });
  const durations = registry.histogram<"plugin">({
    name: "exec_plugin_duration_seconds",
    help: "Seconds that a run of an exec plugin took.",
    labels: ["plugin"],
    buckets: SECONDS,
  });
  const ends = new Map<string, number>();
  registry.computed({
    type: "gauge",
    name: "rest_client_exec_plugin_ttl_seconds",
    help: "Seconds until the first client certificate of an exec plugin expires; +Inf where there is none.",
    read: () => [{ labels: {}, value: (Math.min(...ends.values()) - clock.now().getTime()) / 1000 }],
  });
  return {
    called({ plugin, status, code, seconds }) {
      calls.increment({ code: String(code), call_status: status });
      durations.observe({ plugin }, seconds);
    },
    decided: (verdict) => verdicts.increment({ allowed: String(verdict === "allowed") }),
    certificate(identity, until) {
      if (until === undefined) ends.delete(identity);
      else ends.set(identity, until);
    },
    rotated: (ageSeconds) => ages.observe({}, ageSeconds),
  };
}
