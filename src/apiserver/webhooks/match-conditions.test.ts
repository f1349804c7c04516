import { describe, expect, it } from "vitest";
import type { Attributes } from "../auth/index.ts";
import { type ConditionFacts, conditionErrors, conditionsOf } from "./match-conditions.ts";

const USER = { username: "alice", groups: ["devs"], extra: { team: ["blue"] } };
const facts = (more: Partial<ConditionFacts> = {}): ConditionFacts => ({
  request: {
    kind: { group: "apps", version: "v1", kind: "Deployment" },
    resource: { group: "apps", version: "v1", resource: "deployments" },
    requestKind: { group: "apps", version: "v1", kind: "Deployment" },
    requestResource: { group: "apps", version: "v1", resource: "deployments" },
    name: "web",
    namespace: "space",
    operation: "UPDATE",
    userInfo: { username: "alice", groups: ["devs"], extra: { team: ["blue"] } },
    dryRun: false,
    options: { kind: "UpdateOptions" },
  },
  object: { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec: { replicas: 3 } },
  oldObject: undefined,
  user: USER,
  authorize: () => ({ allowed: false, reason: "" }),
  ...more,
});
const verdict = (expressions: readonly string[], more: Partial<ConditionFacts> = {}) =>
  conditionsOf(expressions.map((expression, index) => ({ name: `c${index}`, expression })))(facts(more));

describe("conditions of a webhook", () => {
  it.each([
    ["object.spec.replicas > 2", true],
    ["oldObject == null", true],
    ["request.operation == 'UPDATE' && request.userInfo.groups.exists(g, g == 'devs')", true],
    ["request.userInfo.extra['team'][0] == 'red'", false],
    ["has(request.subResource)", false],
    ["request.options.kind == 'UpdateOptions' && !request.dryRun", true],
    ["namespaceObject == null", true],
  ])("look at the request: %s", (expression, holds) => {
    expect(verdict([expression])).toEqual({ holds, errors: [] });
  });

  it("ask who may do what, as the one who asks and as others", () => {
    const asked: Attributes[] = [];
    const authorize = (attributes: Attributes) => {
      asked.push(attributes);
      return { allowed: true, reason: "because" };
    };
    const expressions = [
      "authorizer.requestResource.check('delete').allowed()",
      "authorizer.group('').resource('pods').subresource('log').namespace('n').name('p').check('get').reason() == 'because'",
      "authorizer.serviceAccount('n', 'a').path('/metrics').check('get').allowed()",
      "!authorizer.path('/x').check('get').errored()",
    ];
    expect(verdict(expressions, { authorize })).toEqual({ holds: true, errors: [] });
    expect(asked).toEqual([
      { user: USER, verb: "delete", group: "apps", resource: "deployments", namespace: "space", name: "web" },
      { user: USER, verb: "get", group: "", resource: "pods", subresource: "log", namespace: "n", name: "p" },
      {
        user: {
          username: "system:serviceaccount:n:a",
          groups: ["system:serviceaccounts", "system:serviceaccounts:n"],
        },
        verb: "get",
        path: "/metrics",
      },
      { user: USER, verb: "get", path: "/x" },
    ]);
  });

  it("tell what could not be told, unless one of them settles it", () => {
    const failing = "object.nope.x == 1";
    const flaw = `expression '${failing}' resulted in error: no such key: nope`;
    expect(verdict([failing])).toEqual({ holds: true, errors: [flaw] });
    expect(verdict([failing, failing])).toEqual({ holds: true, errors: [flaw, flaw] });
    expect(verdict([failing, "false"])).toEqual({ holds: false, errors: [] });
  });

  it("may cost so much each, and so much together", () => {
    const digits = "[1,2,3,4,5,6,7,8,9,10]";
    const endless = `${[..."abcdef"].map((name) => `${digits}.all(${name}, `).join("")}true${")".repeat(6)}`;
    expect(verdict([endless]).errors[0]).toContain("operation cancelled: actual cost limit exceeded");
    const dear = "[1, 2].all(x, authorizer.path('/x').check('get').allowed() || true)";
    expect(verdict([dear, dear, dear])).toEqual({ holds: true, errors: [] });
    expect(verdict([dear, dear, dear, dear]).errors).toEqual([
      "validation failed due to running out of cost budget, no further validation rules will be run",
    ]);
  });

  it.each([
    ["a name that is missing", { name: "", expression: "true" }, "x[0].name: Required value"],
    ["a name that is none", { name: "a b", expression: "true" }, 'x[0].name: Invalid value: "a b": name part must'],
    ["nothing to evaluate", { name: "a", expression: " " }, "x[0].expression: Required value"],
    [
      "a variable that is not there",
      { name: "a", expression: "params.x" },
      "x[0].expression: Invalid value: \"params.x\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')",
    ],
    [
      "a field that a request does not have",
      { name: "a", expression: "request.nope == ''" },
      "x[0].expression: Invalid value: \"request.nope == ''\": compilation failed: ERROR: <input>:1:8: undefined field 'nope'",
    ],
    [
      "another result than true or false",
      { name: "a", expression: "1" },
      'x[0].expression: Invalid value: "1": must evaluate to bool but got int',
    ],
  ])("are refused with %s", (_, condition, complaint) => {
    const [first] = conditionErrors([condition], "x");
    expect(`${first?.field}: ${first?.message}`).toContain(complaint);
  });

  it("are refused when a name comes twice, and when there are too many", () => {
    const named = (name: string) => ({ name, expression: "true" });
    expect(conditionErrors([named("a"), named("a")], "x").map(({ field }) => field)).toEqual(["x[1].name"]);
    const many = Array.from({ length: 65 }, (_, index) => named(`c${index}`));
    expect(conditionErrors(many, "x")).toMatchObject([{ reason: "FieldValueTooMany", field: "x" }]);
  });
});
