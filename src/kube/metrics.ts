/** Numbers about requests to API servers, under the names that dashboards of Kubernetes clients know. */
import type { Registry } from "#lib/metrics";

/** Told by clients of what they send; one may serve many. */
export interface ClientMetrics {
  /** A request was answered, or failed without an answer. A call that is repeated is several requests. */
  requested(request: SentRequest): void;
  /** The whole body of an answer was read. */
  received(answer: { readonly method: string; readonly host: string; readonly bytes: number }): void;
}

export interface SentRequest {
  readonly method: string;
  /** With its port, if it is not the usual one. */
  readonly host: string;
  /** The HTTP status; undefined where there was no answer. */
  readonly code?: number;
  readonly seconds: number;
  readonly bytes: number;
  /** How often the call had been sent before. */
  readonly retries: number;
}

export interface ClientMetricsOptions {
  /** Durations, sizes and retries too: a histogram for every host. */
  readonly detailed?: boolean;
}

const SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
const BYTES = [64, 256, 512, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];
/** What stands for the status of a request that was not answered. */
const NO_ANSWER = "<error>";

/** The metrics of all clients of a process; make one for each registry. */
export function registerClientMetrics(
  registry: Registry,
  { detailed = false }: ClientMetricsOptions = {},
): ClientMetrics {
  const requests = registry.counter({
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host.",
    labels: ["code", "method", "host"],
  });
  const details = detailed ? detailFamilies(registry) : undefined;
  return {
    requested(request) {
      const { method, host } = request;
      const code = request.code === undefined ? NO_ANSWER : String(request.code);
      requests.increment({ code, method, host });
      details?.requested(request, code);
    },
    received: (answer) => details?.received(answer),
  };
}

function detailFamilies(registry: Registry) {
  const labels = ["verb", "host"] as const;
  const durations = registry.histogram({
    name: "rest_client_request_duration_seconds",
    help: "Request latency in seconds. Broken down by verb, and host.",
    labels,
    buckets: SECONDS,
  });
  const sent = registry.histogram({
    name: "rest_client_request_size_bytes",
    help: "Request size in bytes. Broken down by verb and host.",
    labels,
    buckets: BYTES,
  });
  const received = registry.histogram({
    name: "rest_client_response_size_bytes",
    help: "Response size in bytes. Broken down by verb and host.",
    labels,
    buckets: BYTES,
  });
  const retries = registry.counter({
    name: "rest_client_request_retries_total",
    help: "Number of request retries, partitioned by status code, verb, and host.",
    labels: ["code", "verb", "host"],
  });
  return {
    requested({ method: verb, host, seconds, bytes, retries: before }: SentRequest, code: string): void {
      durations.observe({ verb, host }, seconds);
      sent.observe({ verb, host }, bytes);
      if (before > 0) retries.increment({ code, verb, host });
    },
    received: ({ method: verb, host, bytes }: Parameters<ClientMetrics["received"]>[0]) =>
      received.observe({ verb, host }, bytes),
  };
}
