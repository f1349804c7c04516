import { expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Namespace } from "#api/core";
import { Role, RoleBinding } from "#api/rbac";
import { ManifestWork } from "#api/work";
import { ManualClock, timestamp } from "#lib/clock";
import { type FakeCluster, fakeCluster, startControllers } from "../../../../../test/support/index.ts";
import { acceptanceController } from "../acceptance.controller.ts";
import { commonRolesController } from "../common-roles.controller.ts";
import { ledgerController } from "./ledger.controller.ts";
import { resourceCleanupController } from "./resource-cleanup.controller.ts";

const PATIENCE = 60_000;
const FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup";

function hubProgram(hub: FakeCluster, clock: ManualClock) {
  return startControllers(
    [
      acceptanceController({ hub, clock }),
      commonRolesController({ hub }),
      resourceCleanupController({ hub, clock, isOn: true, patience: PATIENCE }),
      ledgerController({ hub }),
    ],
    { clock, mayFail: true },
  );
}

/** A lost cluster is accepted, gets works and is deleted; at the n-th write the hub dies, and the next one takes over. */
async function detachedThough(dies: number): Promise<{ hub: FakeCluster; writes: number }> {
  const clock = new ManualClock();
  const at = timestamp(clock.now());
  const said = (type: string, status: "True" | "Unknown") => ({
    type,
    status,
    reason: "r",
    message: "",
    lastTransitionTime: at,
  });
  const conditions = [
    said("HubAcceptedManagedCluster", "True"),
    said("ManagedClusterJoined", "True"),
    said("ManagedClusterConditionAvailable", "Unknown"),
  ];
  const hub = fakeCluster({ clock }, [
    ManagedCluster,
    { metadata: { name: "c1" }, spec: { hubAcceptsClient: true }, status: { conditions } },
  ]);
  for (const name of ["a", "b"]) {
    hub.put(ManifestWork, { metadata: { name, namespace: "c1", uid: name, finalizers: [FINALIZER] } });
  }
  let isDead = false;
  let writes = 0;
  hub.beforeWrite(({ verb, kind }) => {
    const isByPerson = verb === "delete" && kind === "ManagedCluster";
    if (isByPerson || (!isDead && writes++ !== dies)) return;
    isDead = true;
    throw new Error("the hub is dead");
  });

  const first = hubProgram(hub, clock);
  const steps = async (program: typeof first) => {
    await program.quiet();
    if (!isDead && hub.read(ManagedCluster, "c1")) await hub.client.delete(ManagedCluster, "c1");
    await program.quiet();
    clock.advance(PATIENCE);
    await program.quiet();
  };
  await steps(first);
  await first.stop();
  isDead = false;
  hub.beforeWrite(() => {});
  const second = hubProgram(hub, clock);
  await steps(second);
  await second.stop();
  return { hub, writes };
}

it("a lost cluster is gone in the end, and in its ledger, at whichever write the hub dies", async () => {
  const { writes } = await detachedThough(-1);
  expect(writes).toBeGreaterThan(15);
  for (let dies = 0; dies < writes; dies++) {
    const { hub } = await detachedThough(dies);
    const when = `dead at write ${dies}`;
    expect(hub.read(ManagedCluster, "c1"), when).toBeUndefined();
    expect(hub.readAll(ManifestWork), when).toEqual([]);
    expect(Object.keys(hub.read(ConfigMap, "c1/capstan-detach-ledger")?.data ?? {}), when).toEqual(["a", "b"]);
    expect(
      hub.readAll(RoleBinding).map(({ metadata }) => metadata.name),
      when,
    ).toEqual(["open-cluster-management:detach-ledger"]);
    expect(hub.readAll(Role), when).toHaveLength(1);
    expect(hub.read(Namespace, "c1"), when).toBeDefined();
  }
});
