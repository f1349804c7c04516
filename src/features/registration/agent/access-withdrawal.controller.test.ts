import { expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { ServiceAccount } from "#api/core";
import { ClusterRoleBinding } from "#api/rbac";
import { statusError } from "#kube";
import { type FakeCluster, fakeCluster, runUntilQuiet, startControllers } from "../../../../test/support/index.ts";
import { accessAccount, accessBinding } from "./access-account.ts";
import { accessWithdrawalController } from "./access-withdrawal.controller.ts";

const agent = { clusterName: "c1", namespace: "agents" };

function cluster(accepted?: "True" | "False") {
  const condition = { type: "HubAcceptedManagedCluster", reason: "r", message: "", lastTransitionTime: "" };
  return {
    metadata: { name: "c1" },
    ...(accepted && { status: { conditions: [{ ...condition, status: accepted }] } }),
  };
}

/** A spoke on which the agent of a cluster granted access before. */
function spokeOf(clusterName = "c1"): FakeCluster {
  const granted = { ...agent, clusterName };
  return fakeCluster(
    { name: "c1" },
    [ServiceAccount, accessAccount(granted)],
    [ClusterRoleBinding, accessBinding(granted, "cluster-admin")],
  );
}

const writes = (spoke: FakeCluster) => spoke.writes.map(({ verb, kind }) => `${verb} ${kind}`);
const BOTH = ["delete ServiceAccount", "delete ClusterRoleBinding"];

it.each<["True" | "False" | undefined, boolean, string[]]>([
  ["True", true, []],
  // The hub has not got round to it.
  [undefined, true, []],
  ["False", true, BOTH],
  ["True", false, BOTH],
  [undefined, false, BOTH],
])("when the hub's acceptance is %s and access is granted: %s, it does %j", async (accepted, isGranted, expected) => {
  const [hub, spoke] = [fakeCluster([ManagedCluster, cluster(accepted)]), spokeOf()];
  await runUntilQuiet(accessWithdrawalController({ hub, spoke, ...agent, isGranted }));
  expect(writes(spoke)).toEqual(expected);
});

it.each([true, false])("takes it back when the cluster is gone from the hub (granted: %s)", async (isGranted) => {
  const [hub, spoke] = [fakeCluster([ManagedCluster, cluster("True")]), spokeOf()];
  const running = startControllers([accessWithdrawalController({ hub, spoke, ...agent, isGranted })]);
  await running.quiet();
  hub.drop(ManagedCluster, "c1");
  await running.quiet();
  await running.stop();
  expect(writes(spoke)).toEqual(BOTH);
});

it("leaves alone what another cluster's agent granted", async () => {
  const [hub, spoke] = [fakeCluster([ManagedCluster, cluster("True")]), spokeOf("c2")];
  await runUntilQuiet(accessWithdrawalController({ hub, spoke, ...agent, isGranted: false }));
  expect(spoke.writes).toEqual([]);
});

it("asks once, and no more of an agent without rights, because that one never granted anything", async () => {
  const [hub, spoke] = [fakeCluster([ManagedCluster, cluster("True")]), spokeOf()];
  const asked: unknown[] = [];
  const get = async (_: unknown, key: string) => {
    asked.push(key);
    const status = { apiVersion: "v1", kind: "Status", metadata: {}, status: "Failure" } as const;
    throw statusError({ ...status, code: 403, reason: "Forbidden", message: "no" });
  };
  const shy = { ...spoke, client: { ...spoke.client, get } };
  const running = startControllers([accessWithdrawalController({ hub, spoke: shy, ...agent, isGranted: false })]);
  await running.quiet();
  hub.put(ManagedCluster, { ...cluster("True"), spec: { leaseDurationSeconds: 7 } });
  await running.quiet();
  await running.stop();
  expect(asked).toEqual(["agents/cluster-access", "open-cluster-management:cluster-access:agents"]);
});

it("withdraws again when a cluster that was let in again is put out again", async () => {
  const [hub, spoke] = [fakeCluster([ManagedCluster, cluster("False")]), spokeOf()];
  const running = startControllers([accessWithdrawalController({ hub, spoke, ...agent, isGranted: true })]);
  for (const accepted of ["True", "False"] as const) {
    await running.quiet();
    hub.put(ManagedCluster, cluster(accepted));
    if (accepted === "True") spoke.put(ServiceAccount, accessAccount(agent));
  }
  await running.quiet();
  await running.stop();
  expect(spoke.read(ServiceAccount, "agents/cluster-access")).toBeUndefined();
});
