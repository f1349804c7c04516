import { describe, expect, it } from "vitest";
import type { Attributes } from "../auth/index.ts";
import { context, find } from "./testing/drafts.ts";

const ask = async (kind: string, spec: object, namespace?: string) => {
  const asked: Attributes[] = [];
  const authorize = (attributes: Attributes) => {
    asked.push(attributes);
    return { allowed: true, reason: "because" };
  };
  const resource = find(kind, undefined, { authorize });
  const body = { apiVersion: "", kind, metadata: { name: "", ...(namespace && { namespace }) }, spec };
  const answer = await resource.answer?.(resource.strategy.decode(body).object, context);
  return { answer, asked };
};

const resourceAttributes = { namespace: "n", verb: "get", resource: "pods" };

describe("access reviews", () => {
  it("are about whom they name", async () => {
    const { answer, asked } = await ask("SubjectAccessReview", { user: "bob", groups: ["g"], resourceAttributes });
    expect(asked).toMatchObject([
      { user: { username: "bob", groups: ["g"] }, verb: "get", group: "", resource: "pods", namespace: "n" },
    ]);
    expect(answer).toMatchObject({
      kind: "SubjectAccessReview",
      spec: { user: "bob" },
      status: { allowed: true, reason: "because" },
    });
  });

  it("are about the caller, when they are about oneself", async () => {
    const { asked } = await ask("SelfSubjectAccessReview", {
      nonResourceAttributes: { path: "/version", verb: "get" },
    });
    expect(asked).toEqual([{ user: context.user, path: "/version", verb: "get" }]);
  });

  const rows: [why: string, kind: string, spec: object, text: string][] = [
    ["they ask something", "SelfSubjectAccessReview", {}, "exactly one of nonResourceAttributes or resourceAttributes"],
    [
      "they ask one thing",
      "SelfSubjectAccessReview",
      { resourceAttributes, nonResourceAttributes: { path: "/" } },
      "cannot be specified in combination",
    ],
    [
      "they name someone",
      "SubjectAccessReview",
      { resourceAttributes },
      "at least one of user or group must be specified",
    ],
    [
      "local ones stay at home",
      "LocalSubjectAccessReview",
      { user: "a", resourceAttributes },
      "must match metadata.namespace",
    ],
    ["rules have a place", "SelfSubjectRulesReview", {}, "no namespace on request"],
  ];
  it.each(rows)("%s", async (_, kind, spec, text) => {
    await expect(ask(kind, spec, "other")).rejects.toThrow(text);
  });

  it("tell callers who they are", async () => {
    const { answer } = await ask("SelfSubjectReview", {});
    expect(answer).toMatchObject({
      status: { userInfo: { username: "alice", uid: "u-1", groups: ["devs", "system:authenticated"] } },
    });
  });
});
