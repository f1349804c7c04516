import { describe, expect, it } from "vitest";
import type { ConditionRule, FeedbackRule, ManifestConfig } from "#api/work";
import { chosenConfig, isOwned, matchesPattern } from "./config.ts";

const name = { group: "apps", resource: "deployments", namespace: "demo", name: "web" };
const identifier = { group: "apps", resource: "deployments", namespace: "demo", name: "web" };
const wellKnown: FeedbackRule = { type: "WellKnownStatus" };
const complete: ConditionRule = { condition: "Complete", type: "WellKnownConditions" };

describe("what is configured for a manifest", () => {
  it("is the first of each that a matching entry brings, wherever it comes from", () => {
    const configs: ManifestConfig[] = [
      { resourceIdentifier: { ...identifier, name: "other" }, updateStrategy: { type: "ReadOnly" } },
      { resourceIdentifier: identifier, feedbackRules: [wellKnown] },
      { resourceIdentifier: { ...identifier, name: "*" }, updateStrategy: { type: "CreateOnly" }, feedbackRules: [] },
      { resourceIdentifier: identifier, conditionRules: [complete], updateStrategy: { type: "Update" } },
    ];
    expect(chosenConfig(configs, name)).toEqual({
      updateStrategy: { type: "CreateOnly" },
      feedbackRules: [wellKnown],
      conditionRules: [complete],
    });
  });

  it.each([
    ["another group", { ...identifier, group: "extensions" }],
    ["no group, because that is the core group", { resource: "deployments", namespace: "demo", name: "web" }],
    ["another namespace", { ...identifier, namespace: "d" }],
    ["no namespace, because that is an object without one", { group: "apps", resource: "deployments", name: "web" }],
    ["a pattern for the plural, because only names have patterns", { ...identifier, resource: "*" }],
  ])("is nothing for %s", (_, resourceIdentifier) => {
    const configs = [{ resourceIdentifier, updateStrategy: { type: "ReadOnly" as const } }];
    expect(chosenConfig(configs, name)).toEqual({ feedbackRules: [], conditionRules: [] });
  });
});

describe("patterns", () => {
  it.each([
    ["*", "", true],
    ["*", "anything", true],
    ["web-*", "web-1", true],
    ["web-*", "web", false],
    ["*-web", "my-web", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
    ["ab*ba", "aba", false],
    ["a.b", "axb", false],
    ["web", "web", true],
  ])("%s and %s: %s", (pattern, text, isMatch) => {
    expect(matchesPattern(pattern, text)).toBe(isMatch);
  });

  it("are matched in a time that does not explode, because strangers write them", () => {
    expect(matchesPattern(`${"*a".repeat(2_000)}*b`, "a".repeat(4_000))).toBe(false);
  });
});

describe("whether an object goes with its work", () => {
  const rule = { group: "apps", resource: "deployments", namespace: "demo", name: "web" };
  const selectively = (orphaningRules: (typeof rule)[]) =>
    ({ propagationPolicy: "SelectivelyOrphan", selectivelyOrphans: { orphaningRules } }) as const;
  it.each([
    ["nothing said", undefined, true],
    ["Foreground", { propagationPolicy: "Foreground" } as const, true],
    ["Orphan", { propagationPolicy: "Orphan" } as const, false],
    ["SelectivelyOrphan and named", selectively([rule]), false],
    ["SelectivelyOrphan and another named", selectively([{ ...rule, name: "db" }]), true],
    ["SelectivelyOrphan with a pattern, which is no pattern there", selectively([{ ...rule, name: "*" }]), true],
    ["SelectivelyOrphan without rules", { propagationPolicy: "SelectivelyOrphan" } as const, true],
  ])("%s", (_, option, expected) => {
    expect(isOwned(option, name)).toBe(expected);
  });
});
