import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Namespace } from "#api/core";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/rbac";
import { ManualClock } from "#lib/clock";
import { type FakeCluster, fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { acceptanceController, verdictOn } from "./acceptance.controller.ts";
import { commonRolesController } from "./common-roles.controller.ts";
import { resourceCleanupController } from "./detach/resource-cleanup.controller.ts";

const clock = new ManualClock();
const NAME = "open-cluster-management:managedcluster:c1";
const LABEL = "open-cluster-management.io/cluster-name";

function cluster(hubAcceptsClient: boolean, more: Partial<ManagedCluster["metadata"]> = {}): ManagedCluster {
  return {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "c1", ...more },
    spec: { hubAcceptsClient },
  };
}

const run = (hub: FakeCluster) =>
  runUntilQuiet(
    acceptanceController({ hub, clock }),
    commonRolesController({ hub }),
    resourceCleanupController({ hub, clock, isOn: true, patience: 60_000 }),
  );
const accepted = (hub: FakeCluster) => hub.read(ManagedCluster, "c1")?.status?.conditions?.[0];

/** Everything that gives the agent rights, by name. */
function rights(hub: FakeCluster): string[] {
  return [ClusterRole, ClusterRoleBinding, RoleBinding]
    .flatMap((kind) => hub.readAll(kind))
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .filter((name) => name.includes("c1"))
    .sort();
}

const ALL = [
  `ClusterRole ${NAME}`,
  `ClusterRoleBinding ${NAME}`,
  `RoleBinding ${NAME}:registration`,
  `RoleBinding ${NAME}:work`,
];

describe("a cluster that nobody accepted", () => {
  it("gets nothing, not even a condition", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(false)]);
    await run(hub);
    expect(rights(hub)).toEqual([]);
    expect(hub.readAll(Namespace)).toEqual([]);
    expect(accepted(hub)).toBeUndefined();
  });
});

describe("a cluster that is accepted", () => {
  it("gets its namespace, its agent's rights and the condition", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true)]);
    await run(hub);
    expect(rights(hub)).toEqual(ALL);
    expect(hub.read(Namespace, "c1")?.metadata.labels).toEqual({ [LABEL]: "c1" });
    expect(hub.read(ClusterRole, NAME)?.rules).toHaveLength(4);
    expect(accepted(hub)).toMatchObject({
      type: "HubAcceptedManagedCluster",
      status: "True",
      reason: "HubClusterAdminAccepted",
      message: "Accepted by hub cluster admin",
    });
  });

  it("costs no write the second time", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true)]);
    await run(hub);
    hub.writes.length = 0;
    await run(hub);
    expect(hub.writes).toEqual([]);
  });

  it("keeps a namespace that was there before, with its labels", async () => {
    const labels = { team: "a" };
    const hub = fakeCluster([ManagedCluster, cluster(true)], [Namespace, { metadata: { name: "c1", labels } }]);
    await run(hub);
    expect(hub.read(Namespace, "c1")?.metadata.labels).toEqual({ team: "a", [LABEL]: "c1" });
  });

  it("gets back what somebody took or changed", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true)]);
    await run(hub);
    hub.drop(RoleBinding, `c1/${NAME}:work`);
    const role = hub.read(ClusterRole, NAME);
    if (role) hub.put(ClusterRole, { ...role, rules: [] });
    await run(hub);
    expect(rights(hub)).toEqual(ALL);
    expect(hub.read(ClusterRole, NAME)?.rules).toHaveLength(4);
  });

  it("gets its rights although an object of theirs lost its label, because caches only see labelled ones", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true)], [ClusterRole, { metadata: { name: NAME }, rules: [] }]);
    await run(hub);
    expect(hub.read(ClusterRole, NAME)).toMatchObject({ metadata: { labels: { [LABEL]: "c1" } } });
    expect(hub.read(ClusterRole, NAME)?.rules).toHaveLength(4);
  });

  it("does not keep a binding that leads to another role, because a role cannot be changed in place", async () => {
    const stolen = {
      metadata: { name: NAME, labels: { [LABEL]: "c1" } },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    } as const;
    const hub = fakeCluster([ManagedCluster, cluster(true)], [ClusterRoleBinding, stolen]);
    await run(hub);
    expect(hub.read(ClusterRoleBinding, NAME)?.roleRef.name).toBe(NAME);
  });
});

describe("a cluster that is denied after all", () => {
  it("may only look, and stays denied when somebody gives its rights back", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true)]);
    await run(hub);
    const given = hub.read(RoleBinding, `c1/${NAME}:work`);
    const current = hub.read(ManagedCluster, "c1");
    if (!given || !current) throw new Error("not accepted");

    hub.put(ManagedCluster, { ...current, spec: { hubAcceptsClient: false } });
    await run(hub);
    expect(rights(hub)).toEqual(ALL.slice(0, 2));
    expect(hub.read(ClusterRole, NAME)?.rules).toMatchObject([{ verbs: ["get", "list", "watch"] }]);
    expect(accepted(hub)).toMatchObject({ status: "False", reason: "HubClusterAdminDenied" });
    expect(hub.read(Namespace, "c1")).toBeDefined();

    hub.put(RoleBinding, given);
    await run(hub);
    expect(rights(hub)).toEqual(ALL.slice(0, 2));

    hub.writes.length = 0;
    await run(hub);
    expect(hub.writes).toEqual([]);
  });
});

describe("a cluster that goes", () => {
  it("leaves no rights behind, and its namespace stays", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true)]);
    await run(hub);
    hub.drop(ManagedCluster, "c1");
    await run(hub);
    expect(rights(hub)).toEqual([]);
    expect(hub.readAll(ClusterRole)).toEqual([]);
    expect(hub.read(Namespace, "c1")).toBeDefined();
  });

  it("loses its rights while others' finalizers hold it", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true, { finalizers: ["example.com/x"] })]);
    await run(hub);
    await hub.client.delete(ManagedCluster, "c1");
    await run(hub);
    expect(rights(hub)).toEqual([]);
    expect(hub.read(ManagedCluster, "c1")).toBeDefined();
  });

  it("takes the common roles along only if it was the last", async () => {
    const hub = fakeCluster([ManagedCluster, cluster(true), cluster(true, { name: "c2" })]);
    await run(hub);
    hub.drop(ManagedCluster, "c2");
    await run(hub);
    expect(
      hub
        .readAll(ClusterRole)
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual([
      NAME,
      "open-cluster-management:managedcluster:registration",
      "open-cluster-management:managedcluster:work",
    ]);
  });
});

describe("a cluster that cannot be accepted", () => {
  it.each(["registration", "work", "managed-clusters"])("is refused under the name %s", async (name) => {
    const hub = fakeCluster([ManagedCluster, cluster(true, { name })]);
    await run(hub);
    const [condition] = hub.read(ManagedCluster, name)?.status?.conditions ?? [];
    expect(condition).toMatchObject({ status: "False", reason: "Error" });
    expect(hub.readAll(ClusterRoleBinding)).toEqual([]);

    hub.drop(ManagedCluster, name);
    hub.put(ManagedCluster, cluster(false, { name: "other" }));
    await run(hub);
    expect(hub.readAll(ClusterRole)).toHaveLength(2);
  });

  it("waits for its namespace to be gone", () => {
    const going = {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "c1", deletionTimestamp: "2026-01-01T00:00:00Z" },
    };
    expect(verdictOn(cluster(true), going)).toMatchObject({ is: "blocked", reason: "Error" });
  });
});
