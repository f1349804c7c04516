import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import { openStore, type Store } from "../store/index.ts";
import { clusterRoleAggregationController } from "./cluster-role-aggregation.controller.ts";
import type { SystemWriter } from "./system.ts";

const ROLES = "rbac.authorization.k8s.io/clusterroles";
const pods = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
const secrets = { verbs: ["list"], apiGroups: [""], resources: ["secrets"] };

function role(name: string, more: Record<string, unknown> = {}, labels: Record<string, string> = {}): DynamicObject {
  return { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name, labels }, ...more };
}

const gathering = (...selectors: unknown[]) => ({ aggregationRule: { clusterRoleSelectors: selectors } });

async function withRoles(...roles: DynamicObject[]) {
  const store = await openStore({ durability: "memory" });
  let writes = 0;
  const writer: Pick<SystemWriter, "change"> = {
    async change(storage, key, change) {
      writes++;
      await store.write(storage, key, (current) => current && change(current));
    },
  };
  for (const each of roles) await store.write(ROLES, each.metadata.name, () => each);
  const controller = clusterRoleAggregationController({ store, writer: writer as SystemWriter });
  return { store, controller, writes: () => writes, rules: (name: string) => rulesOf(store, name) };
}

function rulesOf(store: Store, name: string): unknown {
  return store.get(ROLES, name)?.rules;
}

describe("the aggregation of cluster roles", () => {
  const view = role("view", { ...gathering({ matchLabels: { to: "view" } }), rules: [] });

  it("gathers the rules of the roles that match, and writes nothing the second time", async () => {
    const { controller, rules, writes } = await withRoles(
      view,
      role("a", { rules: [pods] }, { to: "view" }),
      role("b", { rules: [secrets] }, { to: "edit" }),
    );
    await controller.reconcile("view");
    expect(rules("view")).toEqual([pods]);
    await controller.reconcile("view");
    expect(writes()).toBe(1);
  });

  it("undoes what somebody else wrote there", async () => {
    const { controller, rules } = await withRoles(
      { ...view, rules: [secrets] },
      role("a", { rules: [pods] }, { to: "view" }),
    );
    await controller.reconcile("view");
    expect(rules("view")).toEqual([pods]);
  });

  it("looks at an aggregated role when it changes itself, and when one that it gathers from comes, changes or goes", async () => {
    const { controller } = await withRoles();
    const edit = role("edit", gathering({ matchLabels: { to: "edit" } }));
    const a = (to?: string) => role("a", {}, to === undefined ? undefined : { to });
    const keys = (type: "ADDED" | "MODIFIED" | "DELETED", object: DynamicObject, previous?: DynamicObject) =>
      controller.keysOf({
        type,
        resource: ROLES,
        key: object.metadata.name,
        object,
        ...(previous && { previous }),
      });
    expect(keys("ADDED", view)).toEqual(["view"]);
    expect(keys("ADDED", edit)).toEqual(["edit"]);
    expect(keys("ADDED", a())).toEqual([]);
    expect(keys("MODIFIED", a("view"), a())).toEqual(["view"]);
    expect(keys("MODIFIED", a("edit"), a("view"))).toEqual(["view", "edit"]);
    expect(keys("DELETED", a("edit"), a("edit"))).toEqual(["edit"]);
    expect(keys("DELETED", edit, edit)).toEqual([]);
    expect(keys("ADDED", a("edit"))).toEqual([]);
  });

  it("leaves roles alone that gather nothing, are gone, or have a selector without sense", async () => {
    const senseless = gathering({ matchExpressions: [{ key: "a", operator: "Sideways" }] });
    const { controller, rules, writes } = await withRoles(
      role("plain", { rules: [pods] }),
      role("senseless", { ...senseless, rules: [pods] }),
    );
    for (const name of ["plain", "senseless", "gone"]) await controller.reconcile(name);
    expect([writes(), rules("plain"), rules("senseless")]).toEqual([0, [pods], [pods]]);
  });
});
