import { describe, expect, it } from "vitest";
import { configMap, service, serving, thing } from "./testing/objects.ts";

describe("[spec.config] fills ConfigMaps by name", () => {
  const changed = (name: string, config: Record<string, Record<string, string>>, data?: Record<string, string>) =>
    serving({ config }, [configMap(name, data)])[0]?.data;

  it.each<[string, Record<string, Record<string, string>>, string]>([
    ["config-logging", { logging: { level: "debug" } }, "the short name"],
    ["config-logging", { "config-logging": { level: "debug" } }, "the whole name"],
    [
      "config-logging",
      { "config-logging": { level: "debug" }, logging: { level: "no" } },
      "both, and the whole name wins",
    ],
    ["domain", { domain: { level: "debug" } }, "a name without the prefix"],
    ["x", { x: { level: "debug" } }, "a name shorter than the prefix, which stops upstream"],
  ])("reaches %s by %j: %s", (name, config) => {
    expect(changed(name, config, { level: "info", kept: "1" })).toEqual({ level: "debug", kept: "1" });
  });

  it("fills a ConfigMap that has no data", () => {
    expect(changed("config-logging", { logging: { level: "debug" } })).toEqual({ level: "debug" });
  });

  it.each<[string, Record<string, Record<string, string>>, string]>([
    ["other-x", { x: { a: "1" } }, "only the real prefix may be left out"],
    ["config-a", { b: { a: "1" } }, "it is another one"],
    ["config-a", { a: {} }, "nothing is said"],
    ["config-constructor", {}, "nothing is said of it, whatever every object has"],
  ])("leaves %s alone with %j, because %s", (name, config) => {
    expect(changed(name, config, { kept: "1" })).toEqual({ kept: "1" });
  });

  it("reaches nothing but ConfigMaps", () => {
    expect(serving({ config: { x: { a: "1" } } }, [thing("v1", "Secret", "config-x")])[0]).not.toHaveProperty("data");
  });
});

describe("[spec.services.name] names a Service", () => {
  const services = [{ name: "webhook", labels: { a: "b" }, annotations: { n: "o" }, selector: { role: "x" } }];

  it("[spec.services.labels] [spec.services.annotations] [spec.services.selector] are merged into that Service", () => {
    const before = { ...service("webhook", { selector: { app: "webhook" }, ports: [] }) };
    const [changed, other] = serving({ services }, [before, service("other", { selector: { app: "o" } })]);
    expect(changed?.metadata).toMatchObject({ labels: { a: "b" }, annotations: { n: "o" } });
    expect(changed?.spec).toEqual({ selector: { app: "webhook", role: "x" }, ports: [] });
    expect(other?.spec).toEqual({ selector: { app: "o" } });
  });

  it("means a Service of Kubernetes, not one of Knative", () => {
    const [knative] = serving({ services }, [thing("serving.knative.dev/v1", "Service", "webhook", { spec: {} })]);
    expect(knative?.spec).toEqual({});
  });

  it("adds no selector where none is wished for, because a Service without one has endpoints of its own", () => {
    const [changed] = serving({ services: [{ name: "webhook", labels: { a: "b" } }] }, [
      service("webhook", { ports: [] }),
    ]);
    expect(changed?.spec).toEqual({ ports: [] });
  });
});

describe("[spec.podDisruptionBudgets.name] names a budget", () => {
  const budget = (spec: object) => thing("policy/v1", "PodDisruptionBudget", "activator-pdb", { spec });
  const changed = (wish: object, spec: object = { minAvailable: "80%", selector: {} }) =>
    serving({ podDisruptionBudgets: [{ name: "activator-pdb", ...wish }] }, [budget(spec)])[0]?.spec;

  it.each<[string, object, object]>([
    [
      "[spec.podDisruptionBudgets.minAvailable] replaces a number",
      { minAvailable: 1 },
      { minAvailable: 1, selector: {} },
    ],
    [
      "[spec.podDisruptionBudgets.minAvailable] replaces a percentage",
      { minAvailable: "50%" },
      { minAvailable: "50%", selector: {} },
    ],
    [
      "[spec.podDisruptionBudgets.maxUnavailable] takes the place of minAvailable",
      { maxUnavailable: 1 },
      { maxUnavailable: 1, selector: {} },
    ],
    [
      "[spec.podDisruptionBudgets.selector] does nothing, as ever",
      { selector: { matchLabels: { a: "b" } } },
      { minAvailable: "80%", selector: {} },
    ],
    [
      "[spec.podDisruptionBudgets.unhealthyPodEvictionPolicy] does nothing, as ever",
      { unhealthyPodEvictionPolicy: "AlwaysAllow" },
      { minAvailable: "80%", selector: {} },
    ],
  ])("%s", (_, wish, spec) => {
    expect(changed(wish)).toEqual(spec);
  });

  it("cannot have both", () => {
    expect(() => changed({ minAvailable: 1, maxUnavailable: 1 })).toThrow(
      "both minAvailable and maxUnavailable are set for PodDisruptionBudget activator-pdb",
    );
  });

  it("leaves others alone", () => {
    const podDisruptionBudgets = [{ name: "other", minAvailable: 1 }];
    expect(serving({ podDisruptionBudgets }, [budget({ minAvailable: "80%" })])[0]?.spec).toEqual({
      minAvailable: "80%",
    });
  });
});
