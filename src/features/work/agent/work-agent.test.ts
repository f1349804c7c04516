import { afterEach, describe, expect, it } from "vitest";
import { ConfigMap, Secret } from "#api/core";
import type { DynamicObject, KubeObject } from "#api/meta";
import { AppliedManifestWork, ManifestWork } from "#api/work";
import { type Client, KubeError, statusError } from "#kube";
import { ManualClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { eventually } from "../../../../test/support/eventually.ts";
import {
  type FakeCluster,
  fakeCluster,
  type RunningControllers,
  startControllers,
} from "../../../../test/support/index.ts";
import { workAgentControllers } from "./index.ts";

const NAMESPACE = "cluster1";
const resource = (kind: string) => ({
  name: `${kind.toLowerCase()}s`,
  kind,
  namespaced: true,
  verbs: ["get", "list", "watch"],
});
const SERVED: Readonly<Record<string, object>> = {
  "/api/v1": { resources: [resource("ConfigMap"), resource("Secret")] },
};

const running: RunningControllers[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
});

class Stage {
  readonly clock = new ManualClock();
  readonly hub: FakeCluster = fakeCluster({ name: "hub", clock: this.clock }, [ManifestWork]);
  readonly spoke: FakeCluster = fakeCluster(
    { name: "spoke", clock: this.clock },
    [AppliedManifestWork],
    [ConfigMap],
    [Secret],
  );

  /** What was told in Events. */
  readonly told: string[] = [];

  constructor() {
    this.serve(this.spoke.client);
  }

  serve(client: Client): void {
    client.raw = async (path) => {
      const served = SERVED[path];
      if (served) return JSON.stringify(served);
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

  start({ mayFail = false } = {}): RunningControllers {
    const controllers = workAgentControllers({
      hub: this.hub,
      spoke: this.spoke,
      clusterName: NAMESPACE,
      recorder: { tell: (_, { note }) => void this.told.push(note), close: async () => {} },
      spokeRecorder: { tell: (_, { note }) => void this.told.push(note), close: async () => {} },
      clock: this.clock,
      log: silentLog,
    });
    const agent = startControllers(controllers, { clock: this.clock, mayFail });
    running.push(agent);
    return agent;
  }

  wish(name: string, ...manifests: readonly DynamicObject[]): void {
    const current = this.work(name);
    this.hub.put(ManifestWork, {
      ...current,
      metadata: { ...current?.metadata, name, namespace: NAMESPACE },
      spec: { ...current?.spec, workload: { manifests: [...manifests] } },
    });
  }

  work(name: string): ManifestWork | undefined {
    return this.hub.read(ManifestWork, `${NAMESPACE}/${name}`);
  }

  appliedOf(name: string, ordinal = 0) {
    const entry = this.work(name)?.status?.resourceStatus?.manifests?.[ordinal];
    return findCondition(entry?.conditions, "Applied");
  }

  /** The ConfigMaps of the spoke, by name. */
  get maps(): Record<string, unknown> {
    return Object.fromEntries(this.spoke.readAll(ConfigMap).map(({ metadata, data }) => [metadata.name, data ?? {}]));
  }

  get listed(): string[] {
    return this.spoke
      .readAll(AppliedManifestWork)
      .flatMap(({ status }) => (status?.appliedResources ?? []).map(({ name }) => name));
  }
}

const map = (name: string, value = "v"): DynamicObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default" },
  data: { value },
});

/** Lets everything happen that can; watches of copies take a few more turns than the queues know of. */
async function calm(agent: RunningControllers): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await agent.quiet();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("an agent that dies before any of its writes", () => {
  /** How many writes a whole life takes, and what is there after it if the process ends before write `at`. */
  async function life(at: number): Promise<{ writes: number; stage: Stage }> {
    const stage = new Stage();
    let writes = 0;
    let isDead = false;
    const count = () => {
      isDead ||= ++writes === at;
      if (isDead) throw new KubeError("aborted", "the process has ended");
    };
    stage.hub.beforeWrite(count);
    stage.spoke.beforeWrite(count);
    const steps = [
      () => stage.wish("w", map("a"), map("b")),
      () => stage.wish("w", map("a", "2"), map("c")),
      () => {
        const work = stage.work("w");
        if (!work) throw new Error("the work is gone");
        // Deleted by somebody while the finalizer holds it.
        stage.hub.put(ManifestWork, {
          ...work,
          metadata: { ...work.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
        });
      },
    ];
    const ends = [{ a: { value: "v" }, b: { value: "v" } }, { a: { value: "2" }, c: { value: "v" } }, {}];
    for (const [step, act] of steps.entries()) {
      act();
      const agent = stage.start({ mayFail: true });
      await calm(agent);
      await agent.stop();
      if (isDead) {
        isDead = false;
        // The next process finds what the former has left, and perhaps another wish already.
        continue;
      }
      await eventually(() => expect(stage.maps).toEqual(ends[step]), 2_000);
    }
    const last = stage.start();
    await calm(last);
    await last.stop();
    return { writes, stage };
  }

  it("leaves nothing behind that the next one does not take up, wherever it was", async () => {
    const { writes: all } = await life(Number.POSITIVE_INFINITY);
    expect(all).toBeGreaterThan(12);
    for (let at = 1; at <= all; at++) {
      const { stage } = await life(at);
      const what = `after the end before write ${at}`;
      expect(stage.maps, what).toEqual({});
      expect(stage.spoke.readAll(AppliedManifestWork), what).toEqual([]);
      expect(stage.work("w"), what).toBeUndefined();
    }
  });
});

describe("a second look", () => {
  it("writes nothing", async () => {
    const stage = new Stage();
    stage.wish("w", map("a"), map("b"));
    const agent = stage.start();
    await calm(agent);
    expect(stage.maps).toEqual({ a: { value: "v" }, b: { value: "v" } });
    await agent.stop();
    stage.hub.writes.length = 0;
    stage.spoke.writes.length = 0;
    await calm(stage.start());
    expect([...stage.hub.writes, ...stage.spoke.writes]).toEqual([]);
  });
});

describe("somebody who keeps changing an object", () => {
  it("is answered a few times, then now and then, and the work says so", async () => {
    const stage = new Stage();
    stage.wish("w", map("a"));
    const agent = stage.start();
    await calm(agent);
    let changes = 0;
    const mends = () => stage.spoke.writes.filter(({ verb, kind }) => verb === "update" && kind === "ConfigMap").length;
    for (let round = 0; round < 20; round++) {
      const live = stage.spoke.read(ConfigMap, "default/a");
      if (live?.data?.value === "v") {
        changes++;
        stage.spoke.put(ConfigMap, { ...live, data: { value: "theirs" } });
      }
      await calm(agent);
    }
    expect(mends()).toBe(5);
    expect(changes).toBe(6);
    expect(stage.appliedOf("w")).toMatchObject({ status: "False", reason: "AppliedManifestFailed" });
    expect(stage.appliedOf("w")?.message).toContain("keeps changing it");

    stage.clock.advance(20_000);
    await calm(agent);
    expect(stage.maps).toEqual({ a: { value: "v" } });
    expect(stage.appliedOf("w")?.status).toBe("True");
  });
});

describe("reads that cannot be trusted", () => {
  it("of works remove nothing: a work that is absent is not deleted", async () => {
    const stage = new Stage();
    stage.wish("w", map("a"));
    const agent = stage.start();
    await calm(agent);
    stage.hub.drop(ManifestWork, `${NAMESPACE}/w`);
    await calm(agent);
    expect(stage.maps).toEqual({ a: { value: "v" } });
    expect(stage.listed).toEqual(["a"]);
  });

  it("of objects remove nothing, and hold the work until they can be had", async () => {
    const stage = new Stage();
    stage.wish("w", map("a"), map("b"));
    const agent = stage.start({ mayFail: true });
    await calm(agent);
    const { get } = stage.spoke.client;
    stage.spoke.client.get = async (kind, ...rest) => {
      if ((kind as { kind: string }).kind === "ConfigMap") throw new KubeError("timeout", "no answer within 30 s");
      return get(kind, ...rest);
    };
    stage.wish("w", map("a"));
    await calm(agent);
    expect(Object.keys(stage.maps)).toEqual(["a", "b"]);
    expect(stage.listed).toEqual(["a", "b"]);
    stage.spoke.client.get = get;
    stage.clock.advance(60_000);
    await calm(agent);
    expect(Object.keys(stage.maps)).toEqual(["a"]);
    expect(stage.listed).toEqual(["a"]);
  });

  it("do not keep back what can be removed beside them", async () => {
    const stage = new Stage();
    stage.wish("w", map("a"), map("b"), map("c"));
    const agent = stage.start({ mayFail: true });
    await calm(agent);
    const { get } = stage.spoke.client;
    stage.spoke.client.get = async (kind, key, ...rest) => {
      if (key === "default/b") throw forbidden("b");
      return get(kind, key, ...rest);
    };
    stage.wish("w", map("a"));
    await calm(agent);
    expect(Object.keys(stage.maps)).toEqual(["a", "b"]);
    expect(stage.listed).toEqual(["a", "b"]);
  });
});

describe("a kind that the agent may not list", () => {
  it("is applied and reported all the same, and looked at now and then", async () => {
    const stage = new Stage();
    const { list, watch } = stage.spoke.client;
    const refuse = (kind: KubeObject | { kind: string }) => {
      if (kind.kind === "ConfigMap") throw forbidden("");
    };
    stage.spoke.client.list = async (kind, ...rest) => {
      refuse(kind);
      return list(kind, ...rest);
    };
    stage.spoke.client.watch = async (kind, ...rest) => {
      refuse(kind);
      return watch(kind, ...rest);
    };
    stage.wish("w", map("a"));
    const agent = stage.start();
    await calm(agent);
    expect(stage.appliedOf("w")?.status).toBe("True");
    stage.spoke.put(ConfigMap, { metadata: { name: "a", namespace: "default" }, data: { value: "changed" } });
    stage.clock.advance(10_000);
    await calm(agent);
    expect(stage.maps).toEqual({ a: { value: "v" } });
  });
});

describe("a manifest that cannot be applied", () => {
  it("is told of once in an Event, and again when it fails otherwise", async () => {
    const stage = new Stage();
    stage.spoke.beforeWrite(({ kind }) => {
      if (kind === "ConfigMap") throw forbidden("a");
    });
    stage.wish("w", map("a"));
    const agent = stage.start();
    await calm(agent);
    stage.clock.advance(60_000);
    await calm(agent);
    expect(stage.told).toEqual(["ConfigMap default/a: Failed to apply manifest: you may not"]);
    const tries = stage.spoke.writes.filter(({ kind }) => kind === "ConfigMap").length;
    // Once at the start, once more because the report is heard of before it is acknowledged here, and after the pause.
    expect(tries).toBe(3);
    stage.spoke.beforeWrite(() => {});
    stage.clock.advance(60_000);
    await calm(agent);
    expect(stage.appliedOf("w")?.status).toBe("True");
    expect(stage.told).toHaveLength(1);
  });
});

describe("a name that is too long for the record on the spoke", () => {
  it("is told, and nothing is applied", async () => {
    const stage = new Stage();
    const name = "w".repeat(200);
    stage.wish(name, map("a"));
    await calm(stage.start());
    const applied = findCondition(stage.work(name)?.status?.conditions, "Applied");
    expect(applied).toMatchObject({ status: "False", reason: "AppliedManifestWorkFailed" });
    expect(applied?.message).toContain("12 characters more");
    expect(stage.maps).toEqual({});
  });
});

describe("a hub that cannot be written to", () => {
  it("keeps nobody from mending the spoke", async () => {
    const stage = new Stage();
    stage.wish("w", map("a"));
    const agent = stage.start({ mayFail: true });
    await calm(agent);
    stage.hub.beforeWrite(() => {
      throw new KubeError("unreachable", "no route to the hub");
    });
    stage.spoke.drop(ConfigMap, "default/a");
    await calm(agent);
    expect(stage.maps).toEqual({ a: { value: "v" } });
  });
});

function forbidden(name: string): KubeError {
  return statusError({
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    code: 403,
    reason: "Forbidden",
    message: "you may not",
    details: { name },
  });
}
