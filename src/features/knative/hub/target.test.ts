import { describe, expect, it } from "vitest";
import { Namespace } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { type KnativeServing, TargetReason } from "#api/knative";
import type { Condition } from "#api/meta";
import { type Cluster, type Fleet, FleetReason, type Unreachable } from "#runtime";
import { fakeCluster } from "../../../../test/support/index.ts";
import { Note } from "./installation.ts";
import { createTargets, isUnresolved, type Unresolved } from "./target.ts";

const kubeSystem = { metadata: { name: "kube-system", uid: "spoke-uid" } };
const healthy: Condition = {
  type: "ControlPlaneHealthy",
  status: "True",
  reason: "Ok",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};
const profile = (conditions = [healthy]) => ({
  metadata: { name: "one", namespace: "fleet" },
  spec: { clusterManager: { name: "test" } },
  status: { conditions },
});
const wish = (status?: KnativeServing["status"]): KnativeServing => ({
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeServing",
  metadata: { name: "ks", namespace: "knative-serving" },
  spec: { clusterProfileRef: { namespace: "fleet", name: "one" } },
  ...(status && { status }),
});
const noWay: Unresolved = { reason: TargetReason.accessNotConfigured, message: "no file" };
const down: Unreachable = { reason: FleetReason.unreachable, message: "nobody answers" };

interface Scene {
  readonly profiles?: Parameters<typeof profile>[0][];
  readonly hindrance?: Unresolved;
  readonly spoke?: Cluster | Unreachable;
  readonly known?: Cluster;
  readonly isClosing?: boolean;
  readonly installation?: KnativeServing;
  /** Hears how long the fleet is waited for. */
  readonly waits?: (ms: number) => void;
}

/** How an installation is resolved where the world is so. */
async function resolved(scene: Scene) {
  const { profiles = [[healthy]], hindrance, spoke = down, known, isClosing, installation, waits } = scene;
  const hub = fakeCluster(
    [ClusterProfile, ...profiles.map((conditions) => profile(conditions))],
    [Namespace, kubeSystem],
  );
  const reach: Fleet["reach"] = async (_, { patience } = {}) => {
    if (patience !== undefined) waits?.(patience);
    return spoke;
  };
  const fleet = { reach, get: () => known } as Partial<Fleet> as Fleet;
  const ways = { hindranceTo: () => hindrance, onChange: () => () => {} };
  const closing = isClosing ? AbortSignal.abort() : new AbortController().signal;
  hub.cache(ClusterProfile).start(new AbortController().signal);
  await hub.cache(ClusterProfile).whenSynced();
  return createTargets({ hub, fleet, ways, closing }).resolve(installation ?? wish());
}

describe("the target of an installation", () => {
  it("is the cluster of its profile, with the uid by which it is known again", async () => {
    const spoke = fakeCluster({ name: "fleet/one" }, [Namespace, kubeSystem]);
    expect(await resolved({ spoke })).toMatchObject({ cluster: spoke, identity: "spoke-uid" });
  });

  it("is the hub where no profile is named", async () => {
    const { spec: _, ...local } = wish();
    const target = await resolved({ installation: local });
    expect(isUnresolved(target) ? target : target.cluster.name).toBe("hub");
  });

  const sick: Condition = { ...healthy, status: "False" };
  const answered = wish({ annotations: { [Note.cluster]: "spoke-uid" } });
  it.each<[TargetReason, string, Scene]>([
    [TargetReason.profileNotFound, "before all else", { profiles: [], hindrance: noWay, isClosing: true }],
    [TargetReason.profileNotReady, "before the way in is looked for", { profiles: [[sick]], hindrance: noWay }],
    [TargetReason.profileNotReady, "if the profile says nothing", { profiles: [[]] }],
    [TargetReason.accessNotConfigured, "before the cluster is asked", { hindrance: noWay }],
    [TargetReason.disabled, "as the way in says it", { hindrance: { ...noWay, reason: TargetReason.disabled } }],
    [TargetReason.accessFailed, "when the plugin fails", { spoke: { reason: TargetReason.accessFailed, message: "" } }],
    [TargetReason.accessFailed, "when credentials fail", { spoke: { ...down, reason: FleetReason.credentials } }],
    [
      TargetReason.profileUnavailable,
      "while it is being connected",
      { spoke: { ...down, reason: FleetReason.engaging } },
    ],
    [TargetReason.clientFailed, "if it has never answered", {}],
    [TargetReason.stale, "if it has answered before", { known: fakeCluster() }],
    [TargetReason.stale, "if it has answered before we were started", { installation: answered }],
    [TargetReason.closed, "when we end", { isClosing: true }],
  ])("is unresolved: %s %s", async (reason, _, scene) => {
    expect(await resolved(scene)).toMatchObject({ reason });
  });

  it("is waited for longer where it has answered before, so that nothing that works is said to be lost", async () => {
    const waited: number[] = [];
    const spoke = { ...down, reason: FleetReason.engaging };
    await resolved({ spoke, waits: (ms) => waited.push(ms) });
    await resolved({ spoke, waits: (ms) => waited.push(ms), installation: answered });
    const [first = 0, again = 0] = waited;
    expect(again).toBeGreaterThan(first);
  });
});
