import { describe, expect, it } from "vitest";
import type { Attributes } from "../auth/index.ts";
import { impersonated } from "./impersonation.ts";

const caller = { username: "alice", groups: ["devs"] };
const request: Attributes = { user: caller, verb: "list", group: "", resource: "pods", namespace: "default" };

/** A question in short: verb, resource and name. */
function question({ verb, ...more }: Attributes): string {
  if (more.resource === undefined) return `${verb} ${more.path}`;
  const { group, resource, subresource, name } = more;
  return [verb, [group, resource, subresource].filter(Boolean).join("/"), name].filter(Boolean).join(" ");
}

function act(headers: Record<string, string>, allowed: readonly string[], from: Attributes = request) {
  return impersonated({ headers, request: from, isAllowed: (attributes) => allowed.includes(question(attributes)) });
}

describe("impersonation", () => {
  it("is not asked for without headers", () => {
    expect(act({}, [])).toBe(caller);
  });

  it("needs a user", () => {
    expect(() => act({ "impersonate-group": "g" }, [])).toThrow("without impersonating a user");
  });

  it.each<[string, Record<string, string>, string[], string[]]>([
    [
      "a user, by the old verb",
      { "impersonate-user": "bob", "impersonate-group": "g" },
      ["impersonate users bob", "impersonate groups g"],
      ["g", "system:authenticated"],
    ],
    [
      "a user, for this verb only",
      { "impersonate-user": "bob" },
      ["impersonate-on:user-info:list pods", "impersonate:user-info authentication.k8s.io/users bob"],
      ["system:authenticated"],
    ],
    [
      "a service account",
      { "impersonate-user": "system:serviceaccount:ns:sa" },
      [
        "impersonate-on:serviceaccount:list pods",
        "impersonate:serviceaccount authentication.k8s.io/serviceaccounts sa",
      ],
      ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"],
    ],
    [
      "a node, which is in its group then",
      { "impersonate-user": "system:node:n1" },
      ["impersonate-on:arbitrary-node:list pods", "impersonate:arbitrary-node authentication.k8s.io/nodes n1"],
      ["system:nodes", "system:authenticated"],
    ],
  ])("turns the caller into %s", (_, headers, allowed, groups) => {
    expect(act(headers, allowed)).toEqual({ username: headers["impersonate-user"], groups });
    for (const missing of allowed) {
      expect(() =>
        act(
          headers,
          allowed.filter((each) => each !== missing),
        ),
      ).toThrow("cannot impersonate");
    }
  });

  it("lets a service account be the node that it runs on", () => {
    const extra = { "authentication.kubernetes.io/node-name": ["n1"] };
    const user = { username: "system:serviceaccount:ns:sa", groups: [], extra };
    const allowed = [
      "impersonate-on:associated-node:list pods",
      "impersonate:associated-node authentication.k8s.io/nodes *",
    ];
    const asNode = (node: string) => act({ "impersonate-user": `system:node:${node}` }, allowed, { ...request, user });
    expect(asNode("n1").username).toBe("system:node:n1");
    expect(() => asNode("n2")).toThrow("cannot impersonate-on:arbitrary-node:list");
  });

  it("reaches system:masters by the old verb only, because nothing constrains them", () => {
    const headers = { "impersonate-user": "bob", "impersonate-group": "system:masters" };
    const constrained = [
      "impersonate-on:user-info:list pods",
      "impersonate:user-info authentication.k8s.io/users bob",
      "impersonate:user-info authentication.k8s.io/groups system:masters",
    ];
    expect(() => act(headers, constrained)).toThrow("system:masters group is not allowed");
    const old = ["impersonate users bob", "impersonate groups system:masters"];
    expect(act(headers, old).groups).toContain("system:masters");
  });
});
