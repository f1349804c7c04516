/** Counts and times requests under the names that dashboards for kube-apiserver look for. */
import type { Registry } from "#lib/metrics";
import { mediaTypeOf } from "./body.ts";
import { type Exchange, type ExchangeObserver, isLongRunning } from "./exchange.ts";
import type { Limiter } from "./limiter.ts";

const WHAT = ["verb", "group", "version", "resource", "subresource", "scope"] as const;
type What = Record<(typeof WHAT)[number], string>;

const BUCKETS = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];

/** The verbs that are counted by name, as kube-apiserver writes them. */
const VERBS = new Map([
  ["get", "GET"],
  ["head", "GET"],
  ["list", "LIST"],
  ["watch", "WATCH"],
  ["create", "POST"],
  ["post", "POST"],
  ["update", "PUT"],
  ["put", "PUT"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
  ["deletecollection", "DELETE"],
]);

const APPLY = "application/apply-patch+yaml";

export function requestMetrics(registry: Registry, limiter: Limiter): ExchangeObserver {
  const total = registry.counter({
    name: "apiserver_request_total",
    help: "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope and HTTP response code.",
    labels: [...WHAT, "dry_run", "code"],
  });
  const seconds = registry.histogram({
    name: "apiserver_request_duration_seconds",
    help: "Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource and scope.",
    labels: [...WHAT, "dry_run"],
    buckets: BUCKETS,
  });
  const longRunning = registry.gauge({
    name: "apiserver_longrunning_requests",
    help: "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource and scope.",
    labels: WHAT,
  });
  const kinds = ["mutating", "readOnly"] as const;
  const perKind = (read: (kind: (typeof kinds)[number]) => number) => () =>
    kinds.map((kind) => ({ labels: { request_kind: kind }, value: read(kind) }));
  registry.computed({
    type: "gauge",
    name: "apiserver_current_inflight_requests",
    help: "Number of requests that are being worked on, by kind.",
    labels: ["request_kind"],
    read: perKind(limiter.inFlight),
  });
  registry.computed({
    type: "counter",
    name: "apiserver_dropped_requests_total",
    help: "Number of requests dropped with 'Try again later' response, by kind.",
    labels: ["request_kind"],
    read: perKind(limiter.rejected),
  });

  const streaming = new WeakSet<Exchange>();
  return {
    streaming(exchange) {
      streaming.add(exchange);
      longRunning.add(whatOf(exchange), 1);
    },
    completed(exchange) {
      const what = whatOf(exchange);
      if (streaming.has(exchange)) longRunning.add(what, -1);
      const dry_run = exchange.info.query.get("dryRun") === "All" ? "All" : "";
      total.increment({ ...what, dry_run, code: String(exchange.code ?? 0) });
      if (!isLongRunning(exchange))
        seconds.observe({ ...what, dry_run }, (performance.now() - exchange.startedAt) / 1000);
    },
  };
}

/** Only what the server knows becomes a label: a client may ask for anything, and every name would be kept for good. */
function whatOf({ info, target, contentType }: Exchange): What {
  const isApply = info.verb === "patch" && mediaTypeOf(contentType) === APPLY;
  const verb = isApply ? "APPLY" : (VERBS.get(info.verb) ?? "other");
  if (!target) return { verb, group: "", version: "", resource: "", subresource: "", scope: "" };
  const { resource, subresource, namespace, name } = target;
  const scope = name !== undefined || verb === "POST" ? "resource" : namespace !== undefined ? "namespace" : "cluster";
  return {
    verb,
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource: subresource?.name ?? "",
    scope,
  };
}
