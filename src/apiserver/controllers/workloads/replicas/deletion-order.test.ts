import { describe, expect, it } from "vitest";
import type { Pod } from "#api/core";
import { deletionOrder } from "./deletion-order.ts";

const NOW = new Date("2026-01-02T00:00:00Z");
const HOUR_AGO = "2026-01-01T23:00:00Z";
const DAY_AGO = "2026-01-01T00:00:00Z";

interface Traits {
  node?: string;
  phase?: "Pending" | "Running" | "Unknown";
  readySince?: string;
  cost?: string;
  restarts?: number;
  sidecarRestarts?: number;
  created?: string;
}

function pod(uid: string, traits: Traits = {}): Pod {
  const { node = "n1", phase = "Running", readySince, cost, restarts = 0, sidecarRestarts, created = DAY_AGO } = traits;
  const counted = (restartCount: number) => ({ name: "c", image: "", imageID: "", ready: true, restartCount });
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: uid,
      uid,
      creationTimestamp: created,
      ...(cost !== undefined && { annotations: { "controller.kubernetes.io/pod-deletion-cost": cost } }),
    },
    spec: {
      ...(node && { nodeName: node }),
      containers: [],
      ...(sidecarRestarts !== undefined && { initContainers: [{ name: "c", restartPolicy: "Always" as const }] }),
    },
    status: {
      phase,
      ...(readySince && {
        conditions: [{ type: "Ready", status: "True" as const, lastTransitionTime: readySince }],
      }),
      containerStatuses: [counted(restarts)],
      ...(sidecarRestarts !== undefined && { initContainerStatuses: [counted(sidecarRestarts)] }),
    },
  };
}

describe("the order of deletion", () => {
  const rows: [why: string, first: Traits, second: Traits][] = [
    ["without a node before those with one", { node: "", readySince: DAY_AGO }, { phase: "Pending" }],
    ["pending before unknown", { phase: "Pending" }, { phase: "Unknown" }],
    ["unknown before running", { phase: "Unknown", readySince: DAY_AGO }, { phase: "Running" }],
    ["not ready before ready", { cost: "100" }, { readySince: HOUR_AGO, cost: "-100" }],
    ["cheap before dear", { cost: "-1", created: DAY_AGO }, { created: HOUR_AGO }],
    ["nonsense is worth nothing", { cost: "1e3", created: HOUR_AGO }, { cost: "5" }],
    ["more than 32 bits is worth nothing", { cost: "99999999999" }, { cost: "5", created: HOUR_AGO }],
    ["ready for an hour before ready for a day", { readySince: HOUR_AGO }, { readySince: DAY_AGO }],
    ["often restarted before seldom restarted", { restarts: 3 }, { restarts: 1, created: HOUR_AGO }],
    ["sidecars count after containers", { sidecarRestarts: 2 }, { sidecarRestarts: 1, created: HOUR_AGO }],
    ["young before old", { created: HOUR_AGO }, { created: DAY_AGO }],
    ["those that never said when before others", { created: "" }, { created: HOUR_AGO }],
  ];
  it.each(rows)("%s", (_, first, second) => {
    // The uids point the other way, so that chance never helps.
    const [a, b] = [pod("z", first), pod("a", second)];
    expect(deletionOrder([a, b], [], NOW)).toEqual([a, b]);
    expect(deletionOrder([b, a], [], NOW)).toEqual([a, b]);
  });

  it("spares the node that has fewer of them", () => {
    const crowded = [pod("a", { node: "n1" }), pod("b", { node: "n1" })];
    const alone = pod("0", { node: "n2" });
    expect(deletionOrder([alone, ...crowded], [alone, ...crowded], NOW)).toEqual([...crowded, alone]);
  });

  it("leaves it to chance between an hour and fifty minutes", () => {
    const [a, b] = [pod("a", { created: HOUR_AGO }), pod("b", { created: "2026-01-01T23:10:00Z" })];
    expect(deletionOrder([b, a], [], NOW)).toEqual([a, b]);
  });
});
