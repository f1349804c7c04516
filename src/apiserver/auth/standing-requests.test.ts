import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { MemoryReader } from "./memory-reader.ts";
import { Stored } from "./object-reader.ts";
import { RBAC_VERSION } from "./policy.ts";
import { createRbacAuthorizer } from "./rbac.ts";
import { createStandingRequests } from "./standing-requests.ts";

const role = (...resources: string[]): DynamicObject => ({
  apiVersion: RBAC_VERSION,
  kind: "Role",
  metadata: { name: "r", namespace: "c1" },
  rules: [{ apiGroups: [""], resources, verbs: ["watch"] }],
});
const binding: DynamicObject = {
  apiVersion: RBAC_VERSION,
  kind: "RoleBinding",
  metadata: { name: "b", namespace: "c1" },
  roleRef: { kind: "Role", name: "r" },
  subjects: [{ kind: "Group", name: "agents" }],
};

function stage() {
  const clock = new ManualClock();
  const reader = new MemoryReader();
  reader.put(Stored.roles, role("pods", "secrets"));
  reader.put(Stored.roleBindings, binding);
  const standing = createStandingRequests({ reader, authorizer: createRbacAuthorizer({ reader }), clock });
  const watch = (resource: string, groups = ["agents"], over = new AbortController().signal) =>
    standing.whileAllowed(
      { user: { username: "u", groups }, verb: "watch", group: "", version: "v1", resource, namespace: "c1" },
      over,
    );
  return { clock, reader, standing, watch };
}

describe("an open watch", () => {
  it("ends when the binding goes that allowed it", () => {
    const { clock, reader, watch } = stage();
    const pods = watch("pods");
    reader.remove(Stored.roleBindings, "c1/b");
    clock.advance(1_000);
    expect(pods.aborted).toBe(true);
  });

  it("ends when the role shrinks, and others that are still allowed go on", () => {
    const { clock, reader, watch } = stage();
    const [pods, secrets, root] = [watch("pods"), watch("secrets"), watch("secrets", ["system:masters"])];
    reader.put(Stored.roles, role("pods"));
    clock.advance(1_000);
    expect([pods.aborted, secrets.aborted, root.aborted]).toEqual([false, true, false]);
  });

  it("goes on when the right comes back before anybody looked", () => {
    const { clock, reader, watch } = stage();
    const pods = watch("pods");
    reader.remove(Stored.roleBindings, "c1/b");
    reader.put(Stored.roleBindings, binding);
    clock.advance(1_000);
    expect(pods.aborted).toBe(false);
  });

  it("is forgotten when it is over", () => {
    const { clock, reader, watch } = stage();
    const over = new AbortController();
    const pods = watch("pods", ["agents"], over.signal);
    over.abort();
    reader.remove(Stored.roleBindings, "c1/b");
    clock.advance(1_000);
    expect(pods.aborted).toBe(false);
  });

  it("is not looked at any more when the server stops", () => {
    const { clock, reader, standing, watch } = stage();
    const pods = watch("pods");
    reader.remove(Stored.roleBindings, "c1/b");
    standing.close();
    clock.advance(1_000);
    expect(pods.aborted).toBe(false);
  });
});
