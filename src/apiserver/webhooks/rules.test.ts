import { describe, expect, it } from "vitest";
import type { Operation } from "#api/admission";
import type { WebhookRule } from "#api/admissionregistration";
import { find } from "../kinds/testing/drafts.ts";
import { versionFor } from "./rules.ts";

const webhook = (rule: WebhookRule, more: object = {}) => ({
  name: "x.example.com",
  clientConfig: {},
  sideEffects: "None" as const,
  admissionReviewVersions: ["v1"],
  rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], ...rule }],
  ...more,
});

describe("the rules of a webhook", () => {
  it.each<[string, WebhookRule, string, string, Operation, boolean]>([
    ["name a resource", { resources: ["pods"] }, "Pod", "", "CREATE", true],
    ["name another one", { resources: ["services"] }, "Pod", "", "CREATE", false],
    ["do not mean parts by a resource", { resources: ["pods"] }, "Pod", "status", "UPDATE", false],
    ["name a part", { resources: ["pods/status"] }, "Pod", "status", "UPDATE", true],
    ["do not mean the whole by a part", { resources: ["pods/status"] }, "Pod", "", "UPDATE", false],
    ["mean the whole, too, by all parts", { resources: ["pods/*"] }, "Pod", "", "UPDATE", true],
    ["mean every part by all parts", { resources: ["pods/*"] }, "Pod", "binding", "CREATE", true],
    ["mean all resources by a star", { resources: ["*"] }, "Pod", "", "CREATE", true],
    ["do not mean parts by a star", { resources: ["*"] }, "Pod", "status", "UPDATE", false],
    ["name one part of all resources", { resources: ["*/scale"] }, "Deployment", "scale", "UPDATE", true],
    ["mean everything by two stars", { resources: ["*/*"] }, "Deployment", "scale", "UPDATE", true],
    ["name operations", { resources: ["*"], operations: ["DELETE"] }, "Pod", "", "CREATE", false],
    ["name groups", { resources: ["*"], apiGroups: ["apps"] }, "Pod", "", "CREATE", false],
    ["name the core group", { resources: ["*"], apiGroups: [""] }, "Pod", "", "CREATE", true],
    ["name versions", { resources: ["*"], apiVersions: ["v2"] }, "Pod", "", "CREATE", false],
    ["are about what lies in namespaces", { resources: ["*"], scope: "Namespaced" }, "Pod", "", "CREATE", true],
    ["are not about Namespaces then", { resources: ["*"], scope: "Namespaced" }, "Namespace", "", "CREATE", false],
    ["are about the cluster", { resources: ["*"], scope: "Cluster" }, "Namespace", "", "CREATE", true],
    ["leave out what lies in namespaces then", { resources: ["*"], scope: "Cluster" }, "Pod", "", "CREATE", false],
    ["mean nothing when they are empty", {}, "Pod", "", "CREATE", false],
  ])("%s", (_, rule, kind, subresource, operation, matches) => {
    const resource = find(kind);
    const found = versionFor(webhook(rule), { operation, resource, subresource }, []);
    expect(found === resource).toBe(matches);
  });

  const [v1, v2] = [
    find("HorizontalPodAutoscaler", "autoscaling/v1"),
    find("HorizontalPodAutoscaler", "autoscaling/v2"),
  ];
  const rule = { resources: ["horizontalpodautoscalers"], apiVersions: ["v2"] };
  const subject = { operation: "CREATE", resource: v1, subresource: "" } as const;

  it("mean other versions of a resource, too, which are shown in the one that was named", () => {
    expect(versionFor(webhook(rule), subject, [v2])).toBe(v2);
    expect(versionFor(webhook({ ...rule, apiVersions: ["v1", "v2"] }), subject, [v2])).toBe(v1);
  });

  it("mean no other versions when they are exact", () => {
    expect(versionFor(webhook(rule, { matchPolicy: "Exact" }), subject, [v2])).toBeUndefined();
  });

  it("mean no other version that does not have the part", () => {
    const parts = { resources: ["*/*"], apiVersions: ["v2"] };
    const bare = { ...v2, subresources: [] };
    expect(versionFor(webhook(parts), { ...subject, subresource: "status" }, [bare])).toBeUndefined();
    expect(versionFor(webhook(parts), { ...subject, subresource: "status" }, [v2])).toBe(v2);
  });
});
