/** How clusters go: in order, while their agents clean; and to an end, whether their agents come or not. */
import { describe, expect, it } from "vitest";
import { ManagedClusterAddOn, managedClusterAddOnCrd } from "#api/addon";
import type { CustomResourceDefinition } from "#api/apiextensions";
import { ManagedCluster } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Namespace } from "#api/core";
import { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from "#api/rbac";
import { ManifestWork } from "#api/work";
import { DEFAULT_GATES } from "#app";
import { isForbidden } from "#kube";
import { eventually } from "../../support/eventually.ts";
import { installDefinitions } from "../../support/prepared.ts";
import { type HubStage, LEDGER } from "./stage.ts";

const LEDGER_ROLE = "open-cluster-management:detach-ledger";

export function detachCases(at: () => HubStage): void {
  const rbac = (name: string) => `open-cluster-management:managedcluster:${name}`;
  const deleting = (name: string) => at().condition(name, "Deleting");
  const untilGone = (name: string) => at().untilGone(ManagedCluster, name);
  const ledger = async (name: string) => (await at().client.get(ConfigMap, `${name}/${LEDGER}`)).data ?? {};

  async function expectNoRights(name: string): Promise<void> {
    await at().untilGone(ClusterRole, rbac(name));
    await at().untilGone(ClusterRoleBinding, rbac(name));
    await at().untilGone(RoleBinding, `${name}/${rbac(name)}:registration`);
    await at().untilGone(RoleBinding, `${name}/${rbac(name)}:work`);
  }

  it("a cluster of which nothing is left goes at once; its namespace and Lease stay", async () => {
    await at().joined("leaver");
    await at().client.delete(ManagedCluster, "leaver");
    await untilGone("leaver");
    await expectNoRights("leaver");
    expect(await at().isThere(Namespace, "leaver")).toBe(true);
    expect(await at().isThere(Lease, "leaver/managed-cluster-lease")).toBe(true);
    expect(await at().isThere(ConfigMap, `leaver/${LEDGER}`)).toBe(false);
  });

  it("its works go by their priority, each when those before it are cleaned, and its agent may do so", async () => {
    const name = "ordered";
    await at().joined(name);
    await at().work(name, "first", { priority: "0" });
    await at().work(name, "second", { priority: "50" });
    await at().work(name, "third", { priority: "100" });
    const agent = await at().agent(name);
    await at().client.delete(ManagedCluster, name);
    await eventually(async () => expect(await at().works(name)).toEqual(["first going", "second", "third"]));
    await at().untilCondition(name, "Deleting", { status: "False", reason: "ResourceRemaining" });
    await eventually(async () =>
      expect((await deleting(name))?.message).toContain("manifestworks: 3 remain, 1 of them pending on finalizers"),
    );

    // It beats and works with the rights that it had.
    const lease = await agent.get(Lease, `${name}/managed-cluster-lease`);
    await agent.update(Lease, {
      ...lease,
      spec: { ...lease.spec, renewTime: new Date().toISOString().replace("Z", "000Z") },
    });
    const finished = async (work: string) =>
      agent.patch(ManifestWork, `${name}/${work}`, { metadata: { finalizers: null } });
    await finished("first");
    await eventually(async () => expect(await at().works(name)).toEqual(["second going", "third"]));
    await finished("second");
    await eventually(async () => expect(await at().works(name)).toEqual(["third going"]));
    await finished("third");
    await untilGone(name);
    await expectNoRights(name);
    await expect(agent.list(ManifestWork, { namespace: name })).rejects.toSatisfy(isForbidden);
  });

  describe("where there are add-ons", () => {
    const name = "adorned";
    /** Both versions say the same here, so nobody has to convert between them. */
    const plain: CustomResourceDefinition = {
      ...managedClusterAddOnCrd,
      spec: { ...managedClusterAddOnCrd.spec, conversion: { strategy: "None" } },
    };

    it("they are as unknown as their cluster, and are seen on it as labels", async () => {
      await installDefinitions(at().client, [plain]);
      await at().joined(name);
      await at().client.create(ManagedClusterAddOn, { metadata: { name: "proxy", namespace: name }, spec: {} });
      const label = "feature.open-cluster-management.io/addon-proxy";
      const shown = async () => (await at().cluster(name)).metadata.labels?.[label];
      await eventually(async () => expect(await shown()).toBe("unreachable"));
      const available = {
        type: "Available",
        status: "True",
        reason: "Test",
        message: "",
        lastTransitionTime: new Date().toISOString(),
      } as const;
      const key = `${name}/proxy`;
      await at().client.patch(
        ManagedClusterAddOn,
        key,
        { status: { conditions: [available] } },
        { subresource: "status" },
      );
      await eventually(async () => expect(await shown()).toBe("available"));
      await at().report(name, { ManagedClusterConditionAvailable: "Unknown" });
      await eventually(async () => {
        const { status } = await at().client.get(ManagedClusterAddOn, key);
        expect(status?.conditions).toMatchObject([{ type: "Available", status: "Unknown", reason: "Test" }]);
      });
      await eventually(async () => expect(await shown()).toBe("unreachable"));
      await at().report(name, { ManagedClusterConditionAvailable: "True" });
    });

    it("they go before the works", async () => {
      const key = `${name}/proxy`;
      await at().work(name, "w");
      await at().client.patch(ManagedClusterAddOn, key, { metadata: { finalizers: ["example.com/pre-delete"] } });
      await at().client.delete(ManagedCluster, name);
      await eventually(async () =>
        expect((await at().client.get(ManagedClusterAddOn, key)).metadata.deletionTimestamp).toBeDefined(),
      );
      await eventually(async () =>
        expect((await deleting(name))?.message).toContain("managedclusteraddons: 1 remain, 1 of them pending"),
      );
      expect(await at().works(name)).toEqual(["w"]);
      await at().client.patch(ManagedClusterAddOn, key, { metadata: { finalizers: null } });
      await eventually(async () => expect(await at().works(name)).toEqual(["w going"]));
      await at().cleaned(name, "w");
      await untilGone(name);
    });

    it("those of a lost cluster hold nothing up either", async () => {
      await at().joined("adorned-lost", { leaseDurationSeconds: 1 });
      const metadata = { name: "proxy", namespace: "adorned-lost", finalizers: ["example.com/pre-delete"] };
      await at().client.create(ManagedClusterAddOn, { metadata, spec: {} });
      await at().client.delete(ManagedCluster, "adorned-lost");
      await untilGone("adorned-lost");
      expect(await at().isThere(ManagedClusterAddOn, "adorned-lost/proxy")).toBe(false);
    });
  });

  describe("a cluster that is lost", () => {
    const name = "lost";

    it("is waited for, and then given up; a ledger tells what it has to clean", async () => {
      await at().joined(name, { leaseDurationSeconds: 1 });
      await at().work(name, "applied");
      await at().work(name, "untouched", { applied: false });
      const { uid } = (await at().client.get(ManifestWork, `${name}/applied`)).metadata;
      await at().client.delete(ManagedCluster, name);
      await eventually(async () => expect((await deleting(name))?.message).toContain("given up at"));
      await untilGone(name);
      expect(await at().works(name)).toEqual([]);
      const data = await ledger(name);
      expect(Object.keys(data)).toEqual(["applied"]);
      expect(JSON.parse(data.applied ?? "")).toMatchObject({ uid });
      await expectNoRights(name);
    });

    it("may read and cross out its ledger when it comes back, and nothing else; then that ends too", async () => {
      const agent = await at().agent(name);
      await eventually(() => agent.list(ManifestWork, { namespace: name }));
      await expect(agent.get(ManifestWork, `${name}/applied`)).rejects.toSatisfy(isForbidden);
      await expect(agent.list(ConfigMap, { namespace: name })).rejects.toSatisfy(isForbidden);
      await expect(agent.get(Lease, `${name}/managed-cluster-lease`)).rejects.toSatisfy(isForbidden);
      await expect(agent.get(ManagedCluster, name)).rejects.toSatisfy(isForbidden);
      await agent.list(ConfigMap, { namespace: name, fieldSelector: `metadata.name=${LEDGER}` });
      await agent.patch(ConfigMap, `${name}/${LEDGER}`, { data: { applied: null } });
      await at().untilGone(ConfigMap, `${name}/${LEDGER}`);
      await at().untilGone(Role, `${name}/${LEDGER_ROLE}`);
      await at().untilGone(RoleBinding, `${name}/${LEDGER_ROLE}`);
      await eventually(() => expect(agent.list(ManifestWork, { namespace: name })).rejects.toSatisfy(isForbidden));
    });

    it("keeps its ledger when it is let in again before", async () => {
      const again = "lost-again";
      await at().joined(again, { leaseDurationSeconds: 1 });
      await at().work(again, "w");
      await at().client.delete(ManagedCluster, again);
      await untilGone(again);
      await at().joined(again);
      expect(Object.keys(await ledger(again))).toEqual(["w"]);
      const agent = await at().agent(again);
      await agent.patch(ConfigMap, `${again}/${LEDGER}`, { data: { w: null } });
      await at().untilGone(ConfigMap, `${again}/${LEDGER}`);
      expect(await at().isThere(RoleBinding, `${again}/${rbac(again)}:work`)).toBe(true);
    });

    it("and that never joined goes at once", async () => {
      await at().accepted("never");
      await at().work("never", "w", { applied: false });
      await at().client.delete(ManagedCluster, "never");
      await untilGone("never");
      expect(await at().works("never")).toEqual([]);
      expect(await at().isThere(ConfigMap, `never/${LEDGER}`)).toBe(false);
    });

    it("and that was denied goes at once, without a right to its ledger", async () => {
      await at().joined("outcast");
      await at().work("outcast", "w");
      await at().client.patch(ManagedCluster, "outcast", { spec: { hubAcceptsClient: false } });
      await at().untilCondition("outcast", "HubAcceptedManagedCluster", { status: "False" });
      await at().client.delete(ManagedCluster, "outcast");
      await untilGone("outcast");
      expect(Object.keys(await ledger("outcast"))).toEqual(["w"]);
      const agent = await at().agent("outcast");
      await expect(agent.get(ConfigMap, `outcast/${LEDGER}`)).rejects.toSatisfy(isForbidden);
    });

    it("ends although its namespace is taken away at the same time", async () => {
      await at().joined("homeless", { leaseDurationSeconds: 1 });
      await at().work("homeless", "w");
      await at().client.delete(ManagedCluster, "homeless");
      await at().client.delete(Namespace, "homeless");
      await untilGone("homeless");
      await at().untilGone(Namespace, "homeless");
    });
  });

  describe("a cluster whose entry is gone already", () => {
    it("loses its works and its rights all the same", async () => {
      const name = "vanished";
      await at().joined(name);
      await at().work(name, "w");
      await at().work(name, "untouched", { applied: false });
      await at().stopHub();
      await at().client.patch(ManagedCluster, name, { metadata: { finalizers: null } });
      await at().client.delete(ManagedCluster, name);
      at().startHub();
      await untilGone(name);
      await eventually(async () => expect(await at().works(name)).toEqual([]));
      await expectNoRights(name);
      expect(Object.keys(await ledger(name))).toEqual(["w"]);
    });
  });

  describe("without ResourceCleanup", () => {
    it("clusters are not held back by their works, and those stay", async () => {
      const name = "unswept";
      await at().joined(name);
      await at().work(name, "w");
      await at().stopHub();
      at().startHub({ gates: { ...DEFAULT_GATES, ResourceCleanup: false } });
      await eventually(async () =>
        expect((await at().cluster(name)).metadata.finalizers).toEqual([
          "cluster.open-cluster-management.io/api-resource-cleanup",
        ]),
      );
      await at().client.delete(ManagedCluster, name);
      await untilGone(name);
      expect(await at().works(name)).toEqual(["w"]);
      await at().untilGone(ClusterRole, rbac(name));

      // Its agent may finish what somebody deletes; if nobody comes, that ends too.
      expect(await at().isThere(RoleBinding, `${name}/${rbac(name)}:work`)).toBe(true);
      await at().client.delete(ManifestWork, `${name}/w`);
      await eventually(async () => expect(await at().works(name)).toEqual([]));
      await at().untilGone(RoleBinding, `${name}/${rbac(name)}:work`);
      expect(Object.keys(await ledger(name))).toEqual(["w"]);
    });

    it("and when it is there again, clusters are held back again", async () => {
      await at().stopHub();
      at().startHub();
      await at().joined("swept");
      await eventually(async () =>
        expect((await at().cluster("swept")).metadata.finalizers).toContain(
          "cluster.open-cluster-management.io/resource-cleanup",
        ),
      );
    });
  });
}
