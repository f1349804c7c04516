import { describe, expect, it } from "vitest";
import { createRegistry } from "#lib/metrics";
import type { Target } from "../registry/index.ts";
import type { Exchange } from "./exchange.ts";
import { requestInfo } from "./request-info.ts";
import { requestMetrics } from "./request-metrics.ts";

const limiter = { enter: () => () => {}, inFlight: () => 3, rejected: () => 1 };
const deployments = { group: "apps", version: "v1", plural: "deployments" } as Target["resource"];

function exchange(method: string, uri: string, more: Partial<Exchange> = {}): Exchange {
  return {
    auditId: "1",
    receivedAt: new Date(0),
    startedAt: performance.now(),
    uri,
    info: requestInfo(method, uri),
    userAgent: undefined,
    sourceIp: undefined,
    code: 200,
    ...more,
  };
}

function counted(...exchanges: Exchange[]): string[] {
  const registry = createRegistry();
  const metrics = requestMetrics(registry, limiter);
  for (const each of exchanges) metrics.completed(each);
  return registry
    .text()
    .split("\n")
    .filter((line) => line.startsWith("apiserver_request_total"));
}

describe("request metrics", () => {
  it("count requests by what they ask for and what they got", () => {
    const target = { resource: deployments, namespace: "a", name: "b" } as Target;
    const uri = "/apis/apps/v1/namespaces/a/deployments/b?dryRun=All";
    expect(counted(exchange("PUT", uri, { target, code: 409 }))).toEqual([
      'apiserver_request_total{verb="PUT",group="apps",version="v1",resource="deployments",subresource="",scope="resource",dry_run="All",code="409"} 1',
    ]);
  });

  it("call an apply by its name, and the deletion of many as that of one", () => {
    const target = { resource: deployments, namespace: "a" } as Target;
    const all = "/apis/apps/v1/namespaces/a/deployments";
    const verbs = counted(
      exchange("PATCH", `${all}/b`, { target: { ...target, name: "b" }, contentType: "application/apply-patch+yaml" }),
      exchange("PATCH", `${all}/b`, { target: { ...target, name: "b" }, contentType: "application/merge-patch+json" }),
      exchange("DELETE", all, { target }),
    ).map((line) => /verb="(\w+)".*scope="(\w+)"/.exec(line)?.slice(1));
    expect(verbs).toEqual([
      ["APPLY", "resource"],
      ["DELETE", "namespace"],
      ["PATCH", "resource"],
    ]);
  });

  it("put everything that is not served under one name, because clients can make up as many as they like", () => {
    const asked = ["/apis/a/v1/b", "/apis/c/v1/d/e", "/f"].map((uri) => exchange("GET", uri, { code: 404 }));
    const lines = counted(...asked, exchange("BREW", "/coffee", { code: 405 }));
    expect(lines).toHaveLength(3);
    expect(lines.every((line) => line.includes('group="",version="",resource="",subresource="",scope=""'))).toBe(true);
    expect(lines.some((line) => line.includes('verb="other"'))).toBe(true);
  });

  it("show open watches while they last, and do not time them", () => {
    const registry = createRegistry();
    const metrics = requestMetrics(registry, limiter);
    const target = { resource: deployments } as Target;
    const watch = exchange("GET", "/apis/apps/v1/deployments?watch=true", { target });
    const open = () => /apiserver_longrunning_requests\{[^}]*scope="cluster"\} (\d+)/.exec(registry.text())?.[1];

    metrics.streaming(watch);
    expect(open()).toBe("1");
    metrics.completed(watch);
    expect(open()).toBe("0");
    expect(registry.text()).not.toContain("apiserver_request_duration_seconds");
  });

  it("show what the limiter has under way", () => {
    const registry = createRegistry();
    requestMetrics(registry, limiter);
    expect(registry.text()).toContain('apiserver_current_inflight_requests{request_kind="mutating"} 3');
    expect(registry.text()).toContain('apiserver_dropped_requests_total{request_kind="readOnly"} 1');
  });
});
