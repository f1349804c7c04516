import { expect, it } from "vitest";
import type { Deployment } from "#api/apps";
import type { ClusterRole, PolicyRule, Role } from "#api/rbac";
import { managementObjects } from "./agents.ts";
import { klusterletInstallation, operatorRights } from "./installation.ts";
import { managedObjects } from "./managed-objects.ts";
import { isRefused, wishOf } from "./wish.ts";

it("is a namespace, an account, its rights and a Deployment, all called klusterlet", () => {
  const objects = klusterletInstallation({ image: "capstan:1", args: ["--enable-sync-labels"] });
  expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    "Namespace open-cluster-management",
    "ServiceAccount klusterlet",
    "ClusterRole klusterlet",
    "ClusterRoleBinding klusterlet",
    "Deployment klusterlet",
  ]);
  const { spec } = objects.at(-1) as unknown as Deployment;
  expect(spec.template.metadata?.labels?.app).toBe("klusterlet");
  expect(spec.template.spec.containers[0]).toMatchObject({ name: "klusterlet", image: "capstan:1" });
  expect(spec.template.spec.containers[0]?.args).toEqual(
    expect.arrayContaining(["operator", "klusterlet", "--image=capstan:1", "--enable-sync-labels"]),
  );
});

/** Whether some right covers one verb on one resource. */
function covers(rules: readonly PolicyRule[], group: string, resource: string, verb: string): boolean {
  return rules.some(
    ({ apiGroups = [], resources = [], verbs, resourceNames }) =>
      !resourceNames && apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb),
  );
}

it("holds all that it hands out without being told to, or may hand out what it does not hold", () => {
  const wish = wishOf({ apiVersion: "", kind: "", metadata: { name: "k", uid: "u" } });
  if (isRefused(wish)) throw new Error(wish.refusal);
  const held = operatorRights();
  const granted = [...managedObjects(wish), ...managementObjects(wish)]
    .filter(({ kind }) => kind === "ClusterRole" || kind === "Role")
    .flatMap((role) => (role as unknown as ClusterRole | Role).rules ?? []);
  const missing = granted.flatMap(({ apiGroups = [], resources = [], verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.filter((verb) => !covers(held, group, resource, verb)).map((verb) => `${verb} ${resource}.${group}`),
      ),
    ),
  );
  // Secrets of the agents are written under one name, and that is how the operator holds the right to it too.
  expect(missing.filter((right) => right !== "update secrets.")).toEqual([]);
  expect(covers(held, "rbac.authorization.k8s.io", "clusterroles", "escalate")).toBe(true);
});

it("may look at everything, because it removes namespaces, and do nothing else to what it does not know", () => {
  const everything = operatorRights().filter(({ verbs, apiGroups = [], resources = [] }) =>
    [...verbs, ...apiGroups, ...resources].includes("*"),
  );
  expect(everything).toEqual([{ apiGroups: ["*"], resources: ["*"], verbs: ["list"] }]);
});
