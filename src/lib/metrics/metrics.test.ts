import { describe, expect, it } from "vitest";
import { createRegistry, registerProcessMetrics } from "./index.ts";

describe("a registry", () => {
  it("shows every family with help and type, in order of name", () => {
    const registry = createRegistry();
    const depth = registry.gauge({ name: "workqueue_depth", help: "How much waits.", labels: ["name"] });
    const total = registry.counter({ name: "reconcile_total", help: "How often.", labels: ["controller", "result"] });
    total.increment({ controller: "b", result: "success" });
    total.increment({ controller: "a", result: "error" }, 2);
    total.increment({ controller: "b", result: "success" });
    depth.set({ name: "a" }, 3);
    depth.add({ name: "a" }, -1);

    expect(registry.text()).toBe(
      [
        "# HELP reconcile_total How often.",
        "# TYPE reconcile_total counter",
        'reconcile_total{controller="a",result="error"} 2',
        'reconcile_total{controller="b",result="success"} 2',
        "# HELP workqueue_depth How much waits.",
        "# TYPE workqueue_depth gauge",
        'workqueue_depth{name="a"} 2',
        "",
      ].join("\n"),
    );
  });

  it("adds up the buckets of a histogram, because each holds all that is below its bound", () => {
    const registry = createRegistry();
    const seconds = registry.histogram({ name: "seconds", help: "Time.", labels: ["verb"], buckets: [0.1, 1] });
    for (const value of [0.05, 0.1, 0.5, 7]) seconds.observe({ verb: "GET" }, value);

    expect(registry.text().split("\n").slice(2)).toEqual([
      'seconds_bucket{verb="GET",le="0.1"} 2',
      'seconds_bucket{verb="GET",le="1"} 3',
      'seconds_bucket{verb="GET",le="+Inf"} 4',
      'seconds_sum{verb="GET"} 7.65',
      'seconds_count{verb="GET"} 4',
      "",
    ]);
  });

  it("forgets what is gone, and begins anew when it comes back", () => {
    const registry = createRegistry();
    const total = registry.counter({ name: "total", help: "", labels: ["cluster", "result"] });
    const seconds = registry.histogram({ name: "seconds", help: "", labels: ["cluster"], buckets: [1] });
    for (const cluster of ["east", "west"]) {
      total.increment({ cluster, result: "success" }, 2);
      total.increment({ cluster, result: "error" });
      seconds.observe({ cluster }, 0.5);
    }
    total.forget({ cluster: "east" });
    seconds.forget({ cluster: "east" });
    expect(registry.text()).not.toContain("east");
    expect(registry.text()).toContain('total{cluster="west",result="success"} 2');
    total.increment({ cluster: "east", result: "error" });
    expect(registry.text()).toContain('total{cluster="east",result="error"} 1');
  });

  it("escapes what would end a value or a line", () => {
    const registry = createRegistry();
    registry.gauge({ name: "a", help: "one\\two\nthree", labels: ["l"] }).set({ l: 'x"y\\z\n' }, 1);
    expect(registry.text()).toBe('# HELP a one\\\\two\\nthree\n# TYPE a gauge\na{l="x\\"y\\\\z\\n"} 1\n');
  });

  it("writes families without labels, and numbers that are none", () => {
    const registry = createRegistry();
    registry.gauge({ name: "a", help: "" }).set({}, Number.POSITIVE_INFINITY);
    registry.gauge({ name: "b", help: "" }).set({}, Number.NaN);
    expect(registry.text()).toContain("\na +Inf\n");
    expect(registry.text()).toContain("\nb NaN\n");
  });

  it("folds new series into one without labels when there are too many, so that totals stay right", () => {
    const registry = createRegistry();
    const counter = registry.counter({ name: "c", help: "", labels: ["who"], limit: 2 });
    for (const who of ["a", "b", "c", "d", "a"]) counter.increment({ who });
    expect(registry.text().split("\n").slice(2)).toEqual(['c{who=""} 2', 'c{who="a"} 2', 'c{who="b"} 1', ""]);
  });

  it("leaves out families that have no values yet", () => {
    const registry = createRegistry();
    registry.counter({ name: "c", help: "" });
    expect(registry.text()).toBe("");
  });

  it("refuses what no reader would understand", () => {
    const registry = createRegistry();
    registry.counter({ name: "c", help: "" });
    expect(() => registry.gauge({ name: "c", help: "" })).toThrow("registered twice");
    expect(() => registry.gauge({ name: "a-b", help: "" })).toThrow("not a name");
    expect(() => registry.gauge({ name: "a", help: "", labels: ["__x"] })).toThrow("label of a");
    expect(() => registry.histogram({ name: "h", help: "", buckets: [1, 1] })).toThrow("ascend");
    expect(() => registry.counter({ name: "d", help: "" }).increment({}, -1)).toThrow("cannot go back");
  });
});

describe("process metrics", () => {
  it("are read when the text is, and leave out what the system does not tell", () => {
    const registry = createRegistry();
    let cpu = 1;
    registerProcessMetrics(registry, {
      startTimeSeconds: 12.5,
      cpuSeconds: () => cpu,
      residentBytes: () => 1024,
      openFiles: () => undefined,
    });
    cpu = 2;
    expect(registry.text()).toContain("process_cpu_seconds_total 2\n");
    expect(registry.text()).toContain("process_start_time_seconds 12.5\n");
    expect(registry.text()).not.toContain("process_open_fds");
  });
});
