import { describe, expect, it } from "vitest";
import { type DynamicObject, kind } from "#api/meta";
import type { ConditionRule } from "#api/work";
import { ruledConditions } from "./condition-rules.ts";

const Job = kind({ group: "batch", version: "v1", kind: "Job", plural: "jobs", namespaced: true });
const Pod = kind({ group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true });
const object = (status: object): DynamicObject => ({ apiVersion: "v1", kind: "X", metadata: { name: "a" }, status });
const cel = (...celExpressions: string[]): ConditionRule => ({ condition: "Ready", type: "CEL", celExpressions });

describe("rules by expression", () => {
  it.each([
    [cel("object.status.n == 1"), "True", "Manifest is Ready"],
    [cel("object.status.n == 1", "object.status.n > 5"), "False", "Manifest is not Ready"],
    [{ ...cel("true"), message: "said" }, "True", "said"],
    [{ ...cel("false"), messageExpression: "result ? 'yes' : 'no, ' + object.metadata.name" }, "False", "no, a"],
    [cel("hasConditions(object.status)"), "False", "Manifest is not Ready"],
    [cel("object.?status.?gone.orValue(3) == 3"), "True", "Manifest is Ready"],
  ])("%#", (rule, status, message) => {
    expect(ruledConditions([rule], object({ n: 1 }), Job)).toEqual([
      { type: "Ready", status, reason: "ConditionRuleEvaluated", message },
    ]);
  });

  it("know whether there are conditions", () => {
    const [claim] = ruledConditions([cel("hasConditions(object.status)")], object({ conditions: [{}] }), Job);
    expect(claim?.status).toBe("True");
  });

  it.each([
    ["cannot be read", cel("object.status ==")],
    ["fails", cel("object.status.gone == 1")],
    ["is neither true nor false", cel("object.status.n")],
    [
      "takes too long",
      cel(
        "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, a + b + c + d + e + f > 0))))))",
      ),
    ],
    ["has a message that is no text", { ...cel("true"), messageExpression: "1" }],
  ])("is false and says why when it %s", (_, rule) => {
    const [claim] = ruledConditions([rule], object({ n: 1 }), Job);
    expect(claim).toMatchObject({ status: "False", reason: "ConditionRuleExpressionError" });
    expect(claim?.message).not.toBe("");
  });

  it("stop at the first that does not hold", () => {
    const [claim] = ruledConditions([cel("false", "object.status.gone == 1")], object({}), Job);
    expect(claim?.reason).toBe("ConditionRuleEvaluated");
  });
});

describe("rules by what is known", () => {
  const complete: ConditionRule = { condition: "Complete", type: "WellKnownConditions" };
  it.each([
    [Job, { conditions: [{ type: "Failed", status: "True" }] }, "True", "Job is finished"],
    [Job, { conditions: [{ type: "Complete", status: "False" }] }, "False", "Job is not finished"],
    [Pod, { phase: "Succeeded" }, "True", "Pod is in phase Succeeded"],
    [Pod, { phase: "Running" }, "False", "Pod is in phase Running"],
  ])("%#", (of, status, is, message) => {
    expect(ruledConditions([complete], object(status), of)).toMatchObject([{ status: is, message }]);
  });

  it("say nothing of what is not known", () => {
    expect(ruledConditions([{ ...complete, condition: "Ready" }], object({}), Job)).toEqual([]);
    const Other = kind({ group: "", version: "v1", kind: "Secret", plural: "secrets", namespaced: true });
    expect(ruledConditions([complete], object({}), Other)).toEqual([]);
  });
});
