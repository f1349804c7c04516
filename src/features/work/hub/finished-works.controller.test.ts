import { describe, expect, it } from "vitest";
import { ManifestWork } from "#api/work";
import { ManualClock, timestamp } from "#lib/clock";
import { fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { finishedWorksController } from "./index.ts";

const SET = "work.open-cluster-management.io/manifestworkreplicaset";

async function started(works: Record<string, { ttl?: number; complete?: boolean; labels?: Record<string, string> }>) {
  const clock = new ManualClock();
  const hub = fakeCluster({ clock }, [ManifestWork]);
  for (const [name, { ttl, complete, labels }] of Object.entries(works)) {
    const status = complete === true ? "True" : "False";
    const condition = {
      type: "Complete",
      status,
      reason: "R",
      message: "",
      lastTransitionTime: timestamp(clock.now()),
    };
    hub.put(ManifestWork, {
      metadata: { name, namespace: "c1", ...(labels && { labels }) },
      spec: { deleteOption: { ...(ttl !== undefined && { ttlSecondsAfterFinished: ttl }) } },
      status: { conditions: complete === undefined ? [] : [condition] },
    } as ManifestWork);
  }
  const running = startControllers([finishedWorksController({ hub, clock })], { clock });
  await running.quiet();
  const left = () =>
    hub
      .readAll(ManifestWork)
      .map(({ metadata }) => metadata.name)
      .sort();
  return { clock, hub, running, left };
}

describe("a finished work", () => {
  it("goes when its time is over, and not before", async () => {
    const { clock, running, left } = await started({
      short: { ttl: 30, complete: true },
      long: { ttl: 60, complete: true },
    });
    clock.advance(29_000);
    await running.quiet();
    expect(left()).toEqual(["long", "short"]);
    clock.advance(1_000);
    await running.quiet();
    expect(left()).toEqual(["long"]);
    clock.advance(30_000);
    await running.quiet();
    expect(left()).toEqual([]);
    await running.stop();
  });

  it("goes at once without any time", async () => {
    const { running, left } = await started({ now: { ttl: 0, complete: true } });
    expect(left()).toEqual([]);
    await running.stop();
  });

  it("stays without a time to live, while it is not finished, and if it belongs to a set", async () => {
    const { clock, hub, running, left } = await started({
      plain: { complete: true },
      running: { ttl: 1, complete: false },
      silent: { ttl: 1 },
      member: { ttl: 1, complete: true, labels: { [SET]: "ns.set" } },
    });
    clock.advance(3_600_000);
    await running.quiet();
    expect(left()).toEqual(["member", "plain", "running", "silent"]);
    expect(hub.writes).toEqual([]);
    await running.stop();
  });

  it("of which more is left than a timer can hold goes all the same", async () => {
    const days = 40;
    const { clock, running, left } = await started({ slow: { ttl: days * 86_400, complete: true } });
    for (let day = 0; day < days; day++) {
      expect(left()).toEqual(["slow"]);
      clock.advance(86_400_000);
      await running.quiet();
    }
    expect(left()).toEqual([]);
    await running.stop();
  });
});
