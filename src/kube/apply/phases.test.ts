import { describe, expect, it } from "vitest";
import type { ObjectId } from "./identity.ts";
import { isBuiltIn, Phase, placeOf } from "./phases.ts";

const id = (groupKind: string): ObjectId => {
  const [kind = "", ...group] = groupKind.split(".");
  return { group: group.join("."), version: "v1", kind, name: "x" };
};

describe("the order of kinds", () => {
  it("puts what others stand on first and what judges others last", () => {
    const order = [
      "Namespace",
      "CustomResourceDefinition.apiextensions.k8s.io",
      "ServiceAccount",
      "ConfigMap",
      "Service",
      "Deployment.apps",
      "Widget.example.com",
      "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
    ];
    const phases = order.map((each) => placeOf(id(each), false).phase);
    expect(phases).toEqual([...phases].sort((a, b) => a - b));
    expect(new Set(phases).size).toBe(order.length);
  });

  it("puts custom resources that a webhook of the set judges behind it", () => {
    expect(placeOf(id("Widget.example.com"), true).phase).toBe(Phase.guarded);
  });

  it("lets built-in kinds go in before a webhook that judges them, because the webhook itself stands on them", () => {
    expect(placeOf(id("ConfigMap"), true).phase).toBe(Phase.configuration);
    expect(placeOf(id("Lease.coordination.k8s.io"), true).phase).toBe(Phase.workloads);
  });

  it("knows that others define kinds under k8s.io too", () => {
    expect(isBuiltIn(id("Ingress.networking.k8s.io"))).toBe(true);
    expect(isBuiltIn(id("Gateway.gateway.networking.k8s.io"))).toBe(false);
  });
});
