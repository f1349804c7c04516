/** Agent and hub killed at every point of the handshake, and once more wherever a seed says. */
import { describe, expect, it } from "vitest";
import { type Deed, Life } from "../../support/mortal-client.ts";
import type { FaultStage, RunningAgent } from "./stage.ts";

type Point = (deed: Deed) => boolean;

const before =
  (verb: Deed["verb"], kind: string): Point =>
  (deed) =>
    deed.when === "before" && deed.verb === verb && deed.kind === kind;
const after =
  (verb: Deed["verb"], kind: string): Point =>
  (deed) =>
    deed.when === "after" && deed.verb === verb && deed.kind === kind;

/** What the hub has said to a request that the agent sees. */
const answered =
  (isSo: (answer: { approved: boolean; issued: boolean }) => boolean): Point =>
  ({ when, kind, object }) => {
    if (when !== "seen" || kind !== "CertificateSigningRequest") return false;
    const { status } = object as { status?: { certificate?: string; conditions?: { type: string }[] } };
    const approved = (status?.conditions ?? []).some(({ type }) => type === "Approved");
    return isSo({ approved, issued: status?.certificate !== undefined });
  };

const statusOf =
  (when: Deed["when"]): Point =>
  (deed) =>
    deed.when === when && deed.kind === "ManagedCluster" && deed.subresource === "status";

/** The points of the handshake at which an agent may die. */
const AGENT_POINTS: Readonly<Record<string, Point>> = {
  "before its names are kept": before("create", "Secret"),
  "after its names are kept": after("create", "Secret"),
  "before the ManagedCluster is created": before("create", "ManagedCluster"),
  "after the ManagedCluster was created": after("create", "ManagedCluster"),
  "before it asks for a certificate": before("create", "CertificateSigningRequest"),
  "after it asked for a certificate": after("create", "CertificateSigningRequest"),
  "after its request was approved": answered(({ approved }) => approved),
  "after its certificate was issued": answered(({ issued }) => issued),
  "before its identity is stored": before("patch", "Secret"),
  "after its identity was stored": after("patch", "Secret"),
  "before it says that it joined": statusOf("before"),
  "after it said that it joined": statusOf("after"),
  "before its first beat": before("update", "Lease"),
  "after its first beat": after("update", "Lease"),
};

const writes = new Set(["create", "update", "patch"]);
const written =
  (when: Deed["when"], kind: string, cluster: string): Point =>
  (deed) =>
    deed.when === when && deed.kind === kind && writes.has(deed.verb) && deed.key.includes(cluster);

/** The points at which a hub may die, each about one cluster. */
const HUB_POINTS: Readonly<Record<string, (cluster: string) => Point>> = {
  "after it saw the cluster": (cluster) => (deed) =>
    deed.when === "seen" && deed.kind === "ManagedCluster" && deed.key === cluster,
  "before it makes the namespace": (cluster) => written("before", "Namespace", cluster),
  "after it made the namespace": (cluster) => written("after", "Namespace", cluster),
  "after it made the ClusterRole": (cluster) => written("after", "ClusterRole", cluster),
  "after it made the ClusterRoleBinding": (cluster) => written("after", "ClusterRoleBinding", cluster),
  "after it made a RoleBinding": (cluster) => written("after", "RoleBinding", cluster),
  "before it says that it accepts": (cluster) => (deed) =>
    deed.key === cluster && deed.subresource === "status" && statusOf("before")(deed),
  "after it said that it accepts": (cluster) => (deed) =>
    deed.key === cluster && deed.subresource === "status" && statusOf("after")(deed),
  "after it made the Lease": (cluster) => written("after", "Lease", cluster),
};

export interface HandshakeOptions {
  /** A second death for each of them. */
  readonly seeds: readonly number[];
}

export function handshakeCases(stageOf: () => FaultStage, { seeds }: HandshakeOptions): void {
  describe.concurrent("an agent that is killed", () => {
    it.each(Object.entries(AGENT_POINTS))("%s comes back as the same", async (point, isFatal) => {
      const stage = stageOf();
      await Promise.all(
        seeds.map(async (seed) => {
          const id = `a-${idOf(point)}-${seed}`;
          const admitted = stage.admitCase(id);
          const first = new Life(isFatal);
          await ended(stage.start(id, { life: first }));
          expect(first.isOver, `it died ${point}`).toBe(true);

          const second = Life.of(callsOf(seed));
          const again = stage.start(id, { life: second });
          await Promise.race([ended(again), admitted]);
          await (await again).stop().catch(() => {});

          const last = await stage.start(id);
          await admitted;
          await stage.expectOne(id);
          await last.stop();
        }),
      );
    });
  });

  describe("a hub that is killed", () => {
    it.each(Object.entries(HUB_POINTS))("%s finishes when it is back", async (point, isFatal) => {
      const stage = stageOf();
      const id = `h-${idOf(point)}`;
      await stage.stopHub();
      const life = new Life(isFatal(id));
      stage.startHub(life);
      const agent = await stage.start(id, { clusterName: id });
      const admitted = stage.admit(id);
      await new Promise<void>((resolve) => {
        if (life.isOver) resolve();
        else life.over.addEventListener("abort", () => resolve(), { once: true });
      });
      await stage.stopHub();
      stage.startHub();
      await admitted;
      await stage.expectOne(id);
      await agent.stop();
    });
  });
}

function idOf(point: string): string {
  return point.toLowerCase().replace(/\W+/g, "-");
}

/** Whoever is killed ends in whatever way. */
async function ended(agent: Promise<RunningAgent>): Promise<void> {
  await (await agent).ended.catch(() => {});
}

/** Where the second death comes: somewhere in the calls that a handshake takes. */
function callsOf(seed: number): number {
  return 3 + ((seed * 7_919) % 40);
}
