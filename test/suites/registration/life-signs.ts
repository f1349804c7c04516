/** What the hub makes of a cluster's heartbeat and of what its agent says. */
import { expect, it } from "vitest";
import { ManagedCluster, ManagedClusterSet } from "#api/cluster";
import { Lease } from "#api/coordination";
import { eventually } from "../../support/eventually.ts";
import type { HubStage } from "./stage.ts";

const AVAILABLE = "ManagedClusterConditionAvailable";
const CLOCK = "ManagedClusterConditionClockSynced";
const UNREACHABLE = "cluster.open-cluster-management.io/unreachable";
const UNAVAILABLE = "cluster.open-cluster-management.io/unavailable";

export function lifeSignCases(at: () => HubStage): void {
  const name = "alive";
  const taints = async (cluster = name) =>
    ((await at().cluster(cluster)).spec?.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);

  it("a new cluster is unreachable until something is heard of it", async () => {
    await at().client.create(ManagedCluster, { metadata: { name } });
    await eventually(async () => expect(await taints()).toEqual([`${UNREACHABLE}:NoSelect`]));
    expect(await at().isThere(Lease, `${name}/managed-cluster-lease`)).toBe(false);
  });

  it("its Lease is made when it is judged", async () => {
    await at().client.patch(ManagedCluster, name, { spec: { hubAcceptsClient: true, leaseDurationSeconds: 60 } });
    const lease = await eventually(() => at().client.get(Lease, `${name}/managed-cluster-lease`));
    expect(lease.metadata.labels).toMatchObject({ "open-cluster-management.io/cluster-name": name });
    expect(lease.spec).toMatchObject({ holderIdentity: "managed-cluster-lease" });
  });

  it("its taints follow its availability, and those of others stay", async () => {
    await at().report(name, { ManagedClusterJoined: "True", [AVAILABLE]: "True" });
    await eventually(async () => expect(await taints()).toEqual([]));
    await at().client.patch(ManagedCluster, name, {
      spec: { taints: [{ key: "example.com/own", effect: "PreferNoSelect" }] },
    });
    await at().report(name, { [AVAILABLE]: "False" });
    const own = "example.com/own:PreferNoSelect";
    await eventually(async () => expect(await taints()).toEqual([own, `${UNAVAILABLE}:NoSelect`]));
    await at().report(name, { [AVAILABLE]: "Unknown" });
    await eventually(async () => expect(await taints()).toEqual([own, `${UNREACHABLE}:NoSelect`]));
    await at().report(name, { [AVAILABLE]: "True" });
    await eventually(async () => expect(await taints()).toEqual([own]));
  });

  it("its clock is compared with every beat, off by an hour and back again", async () => {
    await at().beat(name);
    await at().untilCondition(name, CLOCK, { status: "True", reason: "ManagedClusterClockSynced" });
    await at().beat(name, 3_600_000);
    await at().untilCondition(name, CLOCK, { status: "False", reason: "ManagedClusterClockOutOfSync" });
    await at().beat(name);
    await at().untilCondition(name, CLOCK, { status: "True" });
  });

  it("its clock is as good as any where nobody wants to know", async () => {
    const skip = { "registration.open-cluster-management.io/skip-clock-sync-check": "true" };
    await at().client.patch(ManagedCluster, name, { metadata: { annotations: skip } });
    await at().beat(name, -3_600_000);
    await at().untilCondition(name, CLOCK, { status: "True" });
    await at().beat(name);
  });

  it("it is unknown when its agent falls silent, whatever it said last, and known again when it says so", async () => {
    await at().joined("silent", { leaseDurationSeconds: 1 });
    await at().untilCondition("silent", AVAILABLE, {
      status: "Unknown",
      reason: "ManagedClusterLeaseUpdateStopped",
      message: "Registration agent stopped updating its lease.",
    });
    await eventually(async () => expect(await taints("silent")).toEqual([`${UNREACHABLE}:NoSelect`]));
    await at().client.patch(ManagedCluster, "silent", { spec: { leaseDurationSeconds: 60 } });
    await at().beat("silent");
    await at().report("silent", { [AVAILABLE]: "True" });
    await eventually(async () => expect(await taints("silent")).toEqual([]));
    expect((await at().condition("silent", AVAILABLE))?.status).toBe("True");
  });

  it("the namespaces that its sets want are told to it, and what its agent says of them is kept", async () => {
    await at().client.create(ManagedClusterSet, {
      metadata: { name: "spacious" },
      spec: {
        clusterSelector: { selectorType: "LabelSelector", labelSelector: { matchLabels: { space: "much" } } },
        managedNamespaces: [{ name: "b" }, { name: "a" }],
      },
    });
    await at().client.patch(ManagedCluster, name, { metadata: { labels: { space: "much" } } });
    const told = async () => (await at().cluster(name)).status?.managedNamespaces ?? [];
    await eventually(async () =>
      expect((await told()).map(({ clusterSet, name: each }) => `${clusterSet}/${each}`)).toEqual([
        "spacious/a",
        "spacious/b",
      ]),
    );
    const applied = {
      type: "NamespaceAvailable",
      status: "True",
      reason: "NamespaceApplied",
      message: "",
      lastTransitionTime: new Date().toISOString(),
    } as const;
    await at().report(
      name,
      {},
      { managedNamespaces: (await told()).map((each) => ({ ...each, conditions: [applied] })) },
    );
    await at().client.patch(ManagedClusterSet, "spacious", {
      spec: { managedNamespaces: [{ name: "a" }, { name: "c" }] },
    });
    await eventually(async () =>
      expect((await told()).map((each) => `${each.name} ${each.conditions?.[0]?.status}`)).toEqual([
        "a True",
        "c undefined",
      ]),
    );
    await at().client.delete(ManagedClusterSet, "spacious");
    await eventually(async () => expect(await told()).toEqual([]));
  });
}
