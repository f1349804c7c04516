/** A hub with works and a spoke with an agent, in memory and with a clock that is held. */
import { onTestFinished } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { AppliedManifestWork, ManifestWork } from "#api/work";
import { workAgentControllers } from "#features/work/agent";
import { statusError } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type FakeCluster, fakeCluster, type RunningControllers, startControllers } from "./index.ts";

export const CLUSTER = "cluster1";
const MINUTE = 60_000;
const GRACE = 60 * MINUTE;
const HELD = "work.capstan.dev/removal-held";
const REMOVAL = "work.capstan.dev/removal";

export class FakeWorkStage {
  readonly clock = new ManualClock();
  hub: FakeCluster = this.#newHub();
  readonly spoke: FakeCluster = fakeCluster({ name: "spoke", clock: this.clock }, [AppliedManifestWork], [ConfigMap]);
  readonly told: string[] = [];
  agent: RunningControllers | undefined;

  constructor() {
    this.spoke.client.raw = async (path) => {
      const kinds = [{ name: "configmaps", kind: "ConfigMap", namespaced: true, verbs: ["get", "list", "watch"] }];
      if (path === "/api/v1") return JSON.stringify({ resources: kinds });
      throw statusError({
        apiVersion: "v1",
        kind: "Status",
        metadata: {},
        status: "Failure",
        code: 404,
        reason: "NotFound",
      });
    };
  }

  #newHub(uid = "membership-1"): FakeCluster {
    return fakeCluster(
      { name: "hub", clock: this.clock },
      [ManifestWork],
      [ConfigMap],
      [ManagedCluster, { metadata: { name: CLUSTER, uid }, spec: {} }],
    );
  }

  /** Another hub takes the place of the one that was: at the same address, or at another. */
  async replaceHub({ uid = "membership-1" } = {}): Promise<void> {
    await this.stop();
    this.hub = this.#newHub(uid);
  }

  async start({ grace = GRACE, mayFail = false } = {}): Promise<void> {
    const recorder = {
      tell: (_: unknown, { note }: { note: string }) => void this.told.push(note),
      close: async () => {},
    };
    const controllers = workAgentControllers({
      hub: this.hub,
      spoke: this.spoke,
      clusterName: CLUSTER,
      evictionGrace: grace,
      recorder,
      spokeRecorder: recorder,
      clock: this.clock,
      log: silentLog,
    });
    const agent = startControllers(controllers, { clock: this.clock, mayFail });
    this.agent = agent;
    onTestFinished(() => agent.stop());
    await this.calm();
  }

  async stop(): Promise<void> {
    await this.agent?.stop();
    this.agent = undefined;
  }

  async calm(): Promise<void> {
    for (let round = 0; round < 5; round++) {
      await this.agent?.quiet();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Time passes, and the agent has its turns in it. */
  async pass(ms: number, step = MINUTE): Promise<void> {
    for (let left = ms; left > 0; left -= step) {
      this.clock.advance(Math.min(step, left));
      await this.calm();
    }
  }

  wish(name: string, objects: readonly string[] = [name], metadata: object = {}): void {
    const current = this.hub.read(ManifestWork, `${CLUSTER}/${name}`);
    this.hub.put(ManifestWork, {
      ...current,
      metadata: { ...current?.metadata, name, namespace: CLUSTER, ...metadata },
      spec: { workload: { manifests: objects.map((each) => map(each)) } },
    });
  }

  forget(name: string): void {
    this.hub.drop(ManifestWork, `${CLUSTER}/${name}`);
  }

  get maps(): string[] {
    return this.spoke
      .readAll(ConfigMap)
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  applied(work: string): AppliedManifestWork | undefined {
    return this.spoke.readAll(AppliedManifestWork).find(({ spec }) => spec?.manifestWorkName === work);
  }

  held(work: string): string | undefined {
    return this.applied(work)?.metadata.annotations?.[HELD];
  }

  async confirm(work: string): Promise<void> {
    const { name = "" } = this.applied(work)?.metadata ?? {};
    await this.spoke.client.patch(AppliedManifestWork, name, { metadata: { annotations: { [REMOVAL]: "confirmed" } } });
    await this.calm();
  }
}

function map(name: string): DynamicObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" }, data: { k: "v" } };
}
