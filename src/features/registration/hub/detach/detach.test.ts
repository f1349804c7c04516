import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace } from "#api/core";
import { type DynamicObject, kind } from "#api/meta";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/rbac";
import { ManifestWork } from "#api/work";
import { statusError } from "#kube";
import { ManualClock, timestamp } from "#lib/clock";
import { type FakeCluster, fakeCluster, startControllers } from "../../../../../test/support/index.ts";
import { acceptanceController } from "../acceptance.controller.ts";
import { commonRolesController } from "../common-roles.controller.ts";
import { ledgerController } from "./ledger.controller.ts";
import { resourceCleanupController } from "./resource-cleanup.controller.ts";

const GROUP = "addon.open-cluster-management.io";
const AddOn = kind<DynamicObject>({
  group: GROUP,
  version: "v1beta1",
  kind: "ManagedClusterAddOn",
  plural: "managedclusteraddons",
  namespaced: true,
});
const WORK_FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup";
const PRIORITY = "open-cluster-management.io/cleanup-priority";
const NAME = "open-cluster-management:managedcluster:c1";
const WORK_BINDING = `c1/${NAME}:work`;
const LEDGER = "c1/capstan-detach-ledger";
const LEDGER_ROLE = "c1/open-cluster-management:detach-ledger";
const PATIENCE = 60_000;

type Availability = "True" | "False" | "Unknown";

interface Given {
  hubAcceptsClient?: boolean;
  joined?: boolean;
  available?: Availability;
  isOn?: boolean;
  resources?: string[];
}

/** An accepted cluster with its rights, and controllers that run until they are stopped. */
async function started(given: Given = {}) {
  const { hubAcceptsClient = true, joined = true, available = "True", isOn = true, resources } = given;
  const clock = new ManualClock();
  const at = timestamp(clock.now());
  const condition = (type: string, status: Availability) => ({
    type,
    status,
    reason: "r",
    message: "",
    lastTransitionTime: at,
  });
  const hub = fakeCluster({ clock }, [
    ManagedCluster,
    {
      metadata: { name: "c1" },
      spec: { hubAcceptsClient },
      status: {
        conditions: [
          condition("HubAcceptedManagedCluster", "True"),
          ...(joined ? [condition("ManagedClusterJoined", "True")] : []),
          condition("ManagedClusterConditionAvailable", available),
        ],
      },
    },
  ]);
  hub.put(Namespace, { metadata: { name: "c1", labels: { "open-cluster-management.io/cluster-name": "c1" } } });
  const start = (isOn: boolean) =>
    startControllers(
      [
        acceptanceController({ hub, clock }),
        commonRolesController({ hub }),
        resourceCleanupController({ hub, clock, isOn, patience: PATIENCE, ...(resources && { resources }) }),
        ledgerController({ hub }),
      ],
      { clock },
    );
  const running = start(isOn);
  await running.quiet();
  return { clock, hub, running, start };
}

function work(
  hub: FakeCluster,
  name: string,
  { priority, applied = true }: { priority?: number; applied?: boolean } = {},
) {
  return hub.put(ManifestWork, {
    metadata: {
      name,
      namespace: "c1",
      uid: `uid-${name}`,
      ...(applied && { finalizers: [WORK_FINALIZER] }),
      ...(priority !== undefined && { annotations: { [PRIORITY]: String(priority) } }),
    },
    spec: {},
  } as never);
}

function addon(hub: FakeCluster, name: string, finalizers: string[] = []) {
  return hub.put(AddOn, { metadata: { name, namespace: "c1", finalizers } } as never);
}

/** What an agent does when it has cleaned up after a work that is being deleted. */
async function cleaned(hub: FakeCluster, name: string): Promise<void> {
  await hub.client.patch(ManifestWork, `c1/${name}`, { metadata: { finalizers: null } });
}

const cluster = (hub: FakeCluster) => hub.read(ManagedCluster, "c1");
const deleting = (hub: FakeCluster) => cluster(hub)?.status?.conditions?.find(({ type }) => type === "Deleting");
const worksGoing = (hub: FakeCluster) =>
  hub
    .readAll(ManifestWork)
    .filter(({ metadata }) => metadata.deletionTimestamp)
    .map(({ metadata }) => metadata.name);
const rights = (hub: FakeCluster) =>
  [ClusterRole, ClusterRoleBinding, Role, RoleBinding]
    .flatMap((each) => hub.readAll(each as typeof Role))
    .map(({ kind: word, metadata }) => `${word} ${metadata.name}`)
    .sort();

describe("a cluster that stays", () => {
  it("is held back by both finalizers, so that nothing of it is forgotten", async () => {
    const { hub, running } = await started();
    expect(cluster(hub)?.metadata.finalizers?.toSorted()).toEqual([
      "cluster.open-cluster-management.io/api-resource-cleanup",
      "cluster.open-cluster-management.io/resource-cleanup",
    ]);
    expect(hub.read(RoleBinding, WORK_BINDING)?.metadata.finalizers).toEqual([WORK_FINALIZER]);
    hub.writes.length = 0;
    work(hub, "w");
    await running.quiet();
    expect(hub.writes).toEqual([]);
    await running.stop();
  });

  it("is held back only by its rights without ResourceCleanup, also when the gate is closed later", async () => {
    const { hub, running, start } = await started();
    await running.stop();
    const closed = start(false);
    await closed.quiet();
    expect(cluster(hub)?.metadata.finalizers).toEqual(["cluster.open-cluster-management.io/api-resource-cleanup"]);
    await closed.stop();
  });

  it("gets its binding back at once when somebody deletes it", async () => {
    const { hub, running } = await started();
    const before = hub.read(RoleBinding, WORK_BINDING)?.metadata.uid;
    await hub.client.delete(RoleBinding, WORK_BINDING);
    await running.quiet();
    const after = hub.read(RoleBinding, WORK_BINDING)?.metadata;
    expect(after?.uid).not.toBe(before);
    expect(after?.deletionTimestamp).toBeUndefined();
    await running.stop();
  });
});

describe("a cluster that goes while its agent answers", () => {
  it("goes at once when nothing is left of it", async () => {
    const { hub, running } = await started();
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(rights(hub)).toEqual([]);
    expect(hub.read(Namespace, "c1")).toBeDefined();
    await running.stop();
  });

  it("loses its add-ons, then its works by their priority, and is told what it waits for", async () => {
    const { hub, clock, running } = await started();
    addon(hub, "proxy", ["addon.open-cluster-management.io/pre-delete"]);
    work(hub, "first", { priority: 0 });
    work(hub, "second", { priority: 5 });
    work(hub, "last", { priority: 100 });
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(hub.read(AddOn, "c1/proxy")?.metadata.deletionTimestamp).toBeDefined();
    expect(worksGoing(hub)).toEqual([]);
    expect(deleting(hub)).toMatchObject({ status: "False", reason: "ResourceRemaining" });
    expect(deleting(hub)?.message).toContain("managedclusteraddons: 1 remain, 1 of them pending on finalizers");

    // However long it takes: the agent is there, and nothing is done behind its back.
    clock.advance(3_600_000);
    await running.quiet();
    expect(hub.read(AddOn, "c1/proxy")).toBeDefined();

    await hub.client.patch(AddOn, "c1/proxy", { metadata: { finalizers: null } });
    await running.quiet();
    expect(worksGoing(hub)).toEqual(["first"]);
    await cleaned(hub, "first");
    await running.quiet();
    expect(worksGoing(hub)).toEqual(["second"]);
    expect(deleting(hub)?.message).toContain("manifestworks: 2 remain, 1 of them pending");
    await cleaned(hub, "second");
    await running.quiet();
    expect(worksGoing(hub)).toEqual(["last"]);
    expect(rights(hub).length).toBe(6);
    await cleaned(hub, "last");
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(rights(hub)).toEqual([]);
    expect(hub.read(ConfigMap, LEDGER)).toBeUndefined();
    await running.stop();
  });

  it("keeps its rights until then, and gets back what somebody takes, because nobody else can clean", async () => {
    const { hub, running } = await started();
    work(hub, "w");
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    hub.drop(RoleBinding, WORK_BINDING);
    hub.drop(ClusterRole, NAME);
    await running.quiet();
    expect(hub.read(RoleBinding, WORK_BINDING)).toBeDefined();
    expect(hub.read(ClusterRole, NAME)?.rules).toHaveLength(4);
    await running.stop();
  });

  it("says that all is gone while others still hold it back", async () => {
    const { hub, running } = await started();
    const current = cluster(hub);
    if (!current) throw new Error("no cluster");
    const finalizers = [...(current.metadata.finalizers ?? []), "example.com/x"];
    hub.put(ManagedCluster, { ...current, metadata: { ...current.metadata, finalizers } });
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(cluster(hub)?.metadata.finalizers).toEqual(["example.com/x"]);
    expect(deleting(hub)).toMatchObject({ status: "True", reason: "NoResource" });
    expect(rights(hub).filter((name) => name.includes("c1"))).toEqual([]);
    await running.stop();
  });

  it("says what went wrong when something cannot be removed, and goes on when it can", async () => {
    const { hub, clock, running } = await started();
    work(hub, "w", { applied: false });
    let isRefused = true;
    hub.beforeWrite(({ verb, kind: word }) => {
      if (isRefused && verb === "delete" && word === "manifestworks") {
        throw statusError({
          apiVersion: "v1",
          kind: "Status",
          metadata: {},
          status: "Failure",
          code: 500,
          message: "no",
        });
      }
    });
    await hub.client.delete(ManagedCluster, "c1");
    await expect(running.quiet()).rejects.toThrow("keeps failing");
    expect(deleting(hub)).toMatchObject({ status: "False", reason: "DeletingError" });
    expect(deleting(hub)?.message).toContain("could not be removed: no (500");
    isRefused = false;
    clock.advance(3_600_000);
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    await running.stop();
  });
});

describe("a cluster that goes and is lost", () => {
  it("is given up a minute after it became unknown, and a ledger tells what it has to clean", async () => {
    const { hub, clock, running } = await started({ available: "Unknown" });
    addon(hub, "proxy", ["addon.open-cluster-management.io/pre-delete"]);
    work(hub, "applied");
    work(hub, "untouched", { applied: false });
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(deleting(hub)?.message).toContain("given up at 2026-01-01T00:01:00.000Z");

    clock.advance(PATIENCE - 1);
    await running.quiet();
    expect(cluster(hub)).toBeDefined();
    expect(hub.read(ConfigMap, LEDGER)).toBeUndefined();

    clock.advance(1);
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(hub.readAll(ManifestWork)).toEqual([]);
    expect(hub.readAll(AddOn)).toEqual([]);
    expect(hub.read(ConfigMap, LEDGER)?.data).toEqual({
      applied: JSON.stringify({ uid: "uid-applied", since: "2026-01-01T00:01:00Z" }),
    });
    expect(hub.read(ConfigMap, LEDGER)?.metadata.labels).toEqual({ "open-cluster-management.io/cluster-name": "c1" });
    await running.stop();
  });

  it("leaves its agents no rights but those to work off the ledger, and none when they have", async () => {
    const { hub, clock, running } = await started({ available: "Unknown" });
    work(hub, "a");
    work(hub, "b");
    clock.advance(PATIENCE);
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    const [role] = hub.readAll(Role);
    expect(rights(hub)).toEqual([
      "Role open-cluster-management:detach-ledger",
      "RoleBinding open-cluster-management:detach-ledger",
    ]);
    expect(role?.rules).toEqual([
      { apiGroups: ["work.open-cluster-management.io"], resources: ["manifestworks"], verbs: ["list", "watch"] },
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["capstan-detach-ledger"],
        verbs: ["get", "list", "watch", "update", "patch"],
      },
    ]);
    await hub.client.patch(ConfigMap, LEDGER, { data: { a: null } });
    await running.quiet();
    expect(hub.read(Role, LEDGER_ROLE)).toBeDefined();
    await hub.client.patch(ConfigMap, LEDGER, { data: { b: null } });
    await running.quiet();
    expect(hub.read(ConfigMap, LEDGER)).toBeUndefined();
    expect(rights(hub)).toEqual([]);
    await running.stop();
  });

  it("keeps the ledger when it is accepted again, until its agent has worked it off", async () => {
    const { hub, clock, running } = await started({ available: "Unknown" });
    work(hub, "a");
    clock.advance(PATIENCE);
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    hub.put(ManagedCluster, { metadata: { name: "c1" }, spec: { hubAcceptsClient: true } });
    await running.quiet();
    expect(hub.read(ConfigMap, LEDGER)?.data).toHaveProperty("a");
    expect(hub.read(Role, LEDGER_ROLE)).toBeDefined();
    expect(hub.read(RoleBinding, WORK_BINDING)).toBeDefined();
    await hub.client.patch(ConfigMap, LEDGER, { data: { a: null } });
    await running.quiet();
    expect(hub.read(ConfigMap, LEDGER)).toBeUndefined();
    expect(hub.read(Role, LEDGER_ROLE)).toBeUndefined();
    expect(hub.read(RoleBinding, WORK_BINDING)).toBeDefined();
    await running.stop();
  });

  it("goes at once when it never joined, because nobody has anything to clean", async () => {
    const { hub, running } = await started({ joined: false, available: "Unknown" });
    work(hub, "w", { applied: false });
    addon(hub, "proxy", ["addon.open-cluster-management.io/pre-delete"]);
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(hub.read(ConfigMap, LEDGER)).toBeUndefined();
    await running.stop();
  });

  it("goes at once when it was denied, and gets no rights back by it", async () => {
    const { hub, running } = await started();
    work(hub, "w");
    const current = cluster(hub);
    if (!current) throw new Error("no cluster");
    hub.put(ManagedCluster, { ...current, spec: { hubAcceptsClient: false } });
    await running.quiet();
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(hub.read(ConfigMap, LEDGER)?.data).toHaveProperty("w");
    expect(rights(hub)).toEqual([]);

    // Let in again, it may clean like any other.
    hub.put(ManagedCluster, { metadata: { name: "c1" }, spec: { hubAcceptsClient: true } });
    await running.quiet();
    expect(hub.read(Role, LEDGER_ROLE)).toBeDefined();
    await running.stop();
  });

  it("is not given up when it comes back in time", async () => {
    const { hub, clock, running } = await started({ available: "Unknown" });
    work(hub, "w");
    await hub.client.delete(ManagedCluster, "c1");
    clock.advance(PATIENCE - 1_000);
    await running.quiet();
    const current = cluster(hub);
    const conditions = current?.status?.conditions?.map((each) =>
      each.type === "ManagedClusterConditionAvailable" ? { ...each, status: "True" as const } : each,
    );
    if (!current || !conditions) throw new Error("no cluster");
    hub.put(ManagedCluster, { ...current, status: { ...current.status, conditions } });
    clock.advance(3_600_000);
    await running.quiet();
    expect(worksGoing(hub)).toEqual(["w"]);
    expect(deleting(hub)?.message).not.toContain("given up");
    await cleaned(hub, "w");
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(hub.read(ConfigMap, LEDGER)).toBeUndefined();
    await running.stop();
  });

  it("ends although its namespace goes too, where no ledger can be kept", async () => {
    const { hub, clock, running } = await started({ available: "Unknown" });
    work(hub, "w");
    const home = hub.read(Namespace, "c1");
    if (!home) throw new Error("no namespace");
    hub.put(Namespace, { ...home, metadata: { ...home.metadata, deletionTimestamp: timestamp(clock.now()) } });
    clock.advance(PATIENCE);
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(hub.read(RoleBinding, WORK_BINDING)).toBeUndefined();
    expect(hub.read(ConfigMap, LEDGER)).toBeUndefined();
    await running.stop();
  });
});

describe("a cluster whose entry is gone already", () => {
  it("loses its add-ons, works and rights all the same, and what nobody cleans is written down", async () => {
    const { hub, clock, running } = await started();
    addon(hub, "proxy");
    work(hub, "w");
    hub.drop(ManagedCluster, "c1");
    await running.quiet();
    expect(hub.readAll(AddOn)).toEqual([]);
    expect(worksGoing(hub)).toEqual(["w"]);
    expect(rights(hub).filter((name) => name.includes("c1"))).toEqual([`RoleBinding ${NAME}:work`]);
    expect(hub.read(ClusterRole, "open-cluster-management:managedcluster:work")).toBeDefined();

    clock.advance(PATIENCE);
    await running.quiet();
    expect(hub.readAll(ManifestWork)).toEqual([]);
    expect(hub.read(ConfigMap, LEDGER)?.data).toHaveProperty("w");
    expect(hub.read(RoleBinding, WORK_BINDING)).toBeUndefined();
    expect(hub.readAll(ClusterRole)).toEqual([]);
    await running.stop();
  });

  it("does so too when it went while no hub ran", async () => {
    const { hub, running, start } = await started();
    work(hub, "w", { applied: false });
    await running.stop();
    hub.drop(ManagedCluster, "c1");
    const next = start(true);
    await next.quiet();
    expect(hub.readAll(ManifestWork)).toEqual([]);
    expect(rights(hub)).toEqual([]);
    await next.stop();
  });

  it("leaves a cluster of its name that comes while it is looked for what that one has", async () => {
    const { hub, running, start } = await started();
    await running.stop();
    hub.drop(ManagedCluster, "c1");
    const list = hub.client.list.bind(hub.client);
    let hasCome = false;
    hub.client.list = (asked, options) => {
      if (asked.plural === ManifestWork.plural && !hasCome) {
        hub.put(ManagedCluster, { metadata: { name: "c1", uid: "another" }, spec: { hubAcceptsClient: true } });
        work(hub, "new", { applied: false });
        hasCome = true;
      }
      return list(asked, options);
    };
    const next = start(true);
    await next.quiet();
    expect(hasCome).toBe(true);
    expect(hub.readAll(ManifestWork).map(({ metadata }) => [metadata.name, metadata.deletionTimestamp])).toEqual([
      ["new", undefined],
    ]);
    await next.stop();
  });

  it("leaves alone what lies ready for a cluster that is to come", async () => {
    const { hub, running } = await started();
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    work(hub, "early", { applied: false });
    await running.stop();
    const again = startControllers(
      [resourceCleanupController({ hub, clock: new ManualClock(), isOn: true, patience: 0 })],
      {},
    );
    await again.quiet();
    expect(hub.read(ManifestWork, "c1/early")?.metadata.deletionTimestamp).toBeUndefined();
    await again.stop();
  });
});

describe("without ResourceCleanup", () => {
  it("a cluster goes at once, its works stay, and its agent may work until they are gone", async () => {
    const { hub, running } = await started({ isOn: false });
    work(hub, "w");
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(cluster(hub)).toBeUndefined();
    expect(worksGoing(hub)).toEqual([]);
    expect(rights(hub).filter((name) => name.includes("c1"))).toEqual([`RoleBinding ${NAME}:work`]);

    await hub.client.delete(ManifestWork, "c1/w");
    await cleaned(hub, "w");
    await running.quiet();
    expect(rights(hub)).toEqual([]);
    await running.stop();
  });

  it("a work that somebody deletes afterwards does not wait for ever for an agent that is gone", async () => {
    const { hub, clock, running } = await started({ isOn: false });
    work(hub, "w");
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    await hub.client.delete(ManifestWork, "c1/w");
    await running.quiet();
    expect(worksGoing(hub)).toEqual(["w"]);
    clock.advance(PATIENCE);
    await running.quiet();
    expect(hub.readAll(ManifestWork)).toEqual([]);
    expect(hub.read(ConfigMap, LEDGER)?.data).toHaveProperty("w");
    await running.stop();
  });

  it("a cluster that was being cleaned when the gate was closed is let go", async () => {
    const { hub, running, start } = await started();
    work(hub, "w");
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    await running.stop();
    const closed = start(false);
    await closed.quiet();
    expect(cluster(hub)).toBeUndefined();
    await closed.stop();
  });
});

describe("a list of other kinds", () => {
  it("is cleaned in its order, and works still hold their binding", async () => {
    const { hub, running } = await started({ resources: [`${GROUP}/v1beta1/managedclusteraddons`] });
    addon(hub, "proxy");
    work(hub, "w");
    await hub.client.delete(ManagedCluster, "c1");
    await running.quiet();
    expect(hub.readAll(AddOn)).toEqual([]);
    expect(worksGoing(hub)).toEqual([]);
    expect(cluster(hub)).toBeUndefined();
    expect(hub.read(RoleBinding, WORK_BINDING)).toBeDefined();
    await running.stop();
  });
});
