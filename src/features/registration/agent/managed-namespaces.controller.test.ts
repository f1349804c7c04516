import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { Namespace } from "#api/core";
import { KubeError } from "#kube";
import { ManualClock } from "#lib/clock";
import { fakeCluster, runUntilQuiet } from "../../../../test/support/index.ts";
import { managedNamespaceLabel, managedNamespacesController } from "./managed-namespaces.controller.ts";

const SERVER = "https://hub:6443";
const LABEL = managedNamespaceLabel(SERVER);
const clock = new ManualClock("2026-01-01T00:00:00Z");

function cluster(names: readonly string[], accepted = "True", more: Partial<ManagedCluster["metadata"]> = {}) {
  const condition = { type: "HubAcceptedManagedCluster", reason: "r", message: "", lastTransitionTime: "" };
  return {
    metadata: { name: "c1", ...more },
    status: {
      conditions: [{ ...condition, status: accepted as "True" | "False" }],
      managedNamespaces: names.map((name) => ({ name, clusterSet: "s" })),
    },
  };
}

function stage(entry: ReturnType<typeof cluster>, ...namespaces: { name: string; labels?: Record<string, string> }[]) {
  const hub = fakeCluster([ManagedCluster, entry]);
  const spoke = fakeCluster({ name: "c1" }, ...namespaces.map((metadata) => [Namespace, { metadata }] as const));
  const run = () =>
    runUntilQuiet(managedNamespacesController({ hub, spoke, clusterName: "c1", hubServer: SERVER, clock }));
  const labels = (name: string) => spoke.read(Namespace, name)?.metadata.labels;
  const told = () =>
    hub
      .read(ManagedCluster, "c1")
      ?.status?.managedNamespaces?.map(({ name, conditions }) => [
        name,
        conditions?.[0]?.status,
        conditions?.[0]?.reason,
      ]);
  return { hub, spoke, run, labels, told };
}

describe("namespaces that sets ask for", () => {
  it("have a label of which the hub's URL is the name, no longer than names of labels may be", () => {
    expect(LABEL).toMatch(/^clusterset\.open-cluster-management\.io\/[0-9a-f]{63}$/);
    expect(managedNamespaceLabel("https://other:6443")).not.toBe(LABEL);
  });

  it("are made, or labelled where they are", async () => {
    const { run, labels, told, hub, spoke } = stage(cluster(["a", "b"]), { name: "b", labels: { mine: "yes" } });
    await run();
    expect(labels("a")).toEqual({ [LABEL]: "true" });
    expect(labels("b")).toEqual({ mine: "yes", [LABEL]: "true" });
    expect(told()).toEqual([
      ["a", "True", "NamespaceApplied"],
      ["b", "True", "NamespaceApplied"],
    ]);
    hub.writes.length = 0;
    spoke.writes.length = 0;
    await run();
    expect([...hub.writes, ...spoke.writes]).toEqual([]);
  });

  it("that nobody asks for any more are let go of, and those of other hubs are not touched", async () => {
    const other = managedNamespaceLabel("https://other:6443");
    const { run, labels } = stage(cluster([]), { name: "a", labels: { [LABEL]: "true", [other]: "true" } });
    await run();
    expect(labels("a")).toEqual({ [LABEL]: "false", [other]: "true" });
  });

  it("are let go of when the cluster goes", async () => {
    const going = { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x/y"] };
    const { run, labels } = stage(cluster(["a"], "True", going), { name: "a", labels: { [LABEL]: "true" } });
    await run();
    expect(labels("a")).toEqual({ [LABEL]: "false" });
  });

  it("are nobody's business before the hub accepts the cluster", async () => {
    const { run, labels, told } = stage(cluster(["a"], "False"));
    await run();
    expect(labels("a")).toBeUndefined();
    expect(told()).toEqual([["a", undefined, undefined]]);
  });

  it("that cannot be made are told with the reason, and the others are made", async () => {
    const { run, labels, told, spoke } = stage(cluster(["a", "b"]));
    spoke.beforeWrite(({ key }) => {
      if (key === "a") throw new KubeError("status", "no room (403 Forbidden)", { code: 403, reason: "Forbidden" });
    });
    await run();
    expect(labels("b")).toEqual({ [LABEL]: "true" });
    expect(told()).toEqual([
      ["a", "False", "NamespaceApplyFailed"],
      ["b", "True", "NamespaceApplied"],
    ]);
  });
});
