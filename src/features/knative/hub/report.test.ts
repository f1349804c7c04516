import { describe, expect, it } from "vitest";
import type { ApplyReport, ObjectReport } from "#kube";
import { departedIn, hindranceIn } from "./report.ts";

function told(name: string, action: ObjectReport["action"], reason: ObjectReport["reason"], group = ""): ObjectReport {
  const id = { group, version: "v1", kind: "Thing", name };
  return { id, action, reason, message: `about ${name}`, changes: [], moreChanges: 0, conflicts: [], checked: true };
}

const report = (...objects: ObjectReport[]): ApplyReport => ({ objects, complete: false });
const created = told("a", "created", "Applied");

describe("what keeps an installation from being complete", () => {
  it.each<[string, ApplyReport, { isStarting?: boolean }, string | undefined]>([
    ["nothing", report(created, told("b", "unchanged", "AsWished")), {}, undefined],
    ["not what is still to be removed", report(created, told("b", "held back", "LeftTheSet")), {}, undefined],
    ["not a definition that stays", report(told("b", "held back", "Container")), {}, undefined],
    ["what was refused", report(created, told("b", "refused", "Invalid")), {}, "Thing b: about b"],
    ["a webhook without Pods", report(told("w", "waiting", "WebhookUnbacked")), {}, "Thing w: about w"],
    [
      "not so while Deployments start",
      report(told("w", "waiting", "WebhookUnbacked")),
      { isStarting: true },
      undefined,
    ],
    ["what is refused even then", report(told("b", "refused", "Forbidden")), { isStarting: true }, "Thing b: about b"],
    ["a record that cannot be written", { objects: [created], complete: false, problem: "no" }, {}, "no"],
    [
      "three by name, and the number of the others",
      report(...["b", "c", "d", "e"].map((name) => told(name, "refused", "Invalid"))),
      {},
      "Thing b: about b; Thing c: about c; Thing d: about d; and 1 more",
    ],
    [
      "a kind of somebody else's, and what to do",
      report(told("g", "waiting", "UnknownKind", "networking.istio.io")),
      { isStarting: true },
      "Thing g: about g (install Istio first, or choose another ingress in spec.ingress)",
    ],
  ])("%s", (_, given, how, expected) => {
    expect(hindranceIn(given, how)).toBe(expected);
  });

  it("counts what an earlier wish brought", () => {
    expect(
      departedIn(report(created, told("b", "held back", "LeftTheSet"), told("c", "held back", "Incomplete"))),
    ).toBe(2);
  });
});
