import { expect, it } from "vitest";
import { ClusterProperty } from "#api/about";
import { kind } from "#api/meta";
import { KubeError } from "#kube";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type Controller, done } from "#runtime";
import { fakeCluster, startControllers } from "../../../../test/support/index.ts";
import { followedKind } from "./followed-kind.ts";

const Newest = kind<ClusterProperty>({ ...ClusterProperty, version: "v1beta1" });

/** A spoke that serves the versions that the test says, and a controller that reads what there is. */
function stage(...versions: string[]) {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const served = new Set(versions);
  const spoke = fakeCluster({ clock, name: "c1" }, [
    ClusterProperty,
    { metadata: { name: "a" }, spec: { value: "1" } },
  ]);
  const asked: string[] = [];
  const list = (async (of: typeof Newest, ...more: never[]) => {
    asked.push(of.version);
    if (!served.has(of.version)) throw new KubeError("status", "not found (404 NotFound)", { code: 404 });
    return spoke.client.list(of, ...more);
  }) as typeof spoke.client.list;
  const cluster = { ...spoke, client: { ...spoke.client, list } };
  const followed = followedKind({ cluster, kinds: [Newest, ClusterProperty], clock, log: silentLog });
  const seen: number[] = [];
  const controller: Controller = {
    name: "reader",
    triggers: [followed.keyedBy("one")],
    async reconcile() {
      seen.push(followed.list().length);
      return done;
    },
  };
  const running = startControllers([controller], { clock });
  return { clock, served, spoke, asked, seen, running };
}

it.each([["v1beta1"], ["v1alpha1"], ["v1beta1", "v1alpha1"]])(
  "is read in what is served of it: %s",
  async (...versions) => {
    const { running, seen, spoke } = stage(...versions);
    await running.quiet();
    expect(seen.at(-1)).toBe(1);
    spoke.put(ClusterProperty, { metadata: { name: "b" }, spec: { value: "2" } });
    await running.quiet();
    expect(seen.at(-1)).toBe(2);
    await running.stop();
  },
);

it("is empty where it is not served, and read as soon as it is", async () => {
  const { running, seen, served, clock } = stage();
  await running.quiet();
  expect(seen.filter((count) => count > 0)).toEqual([]);
  served.add("v1alpha1");
  clock.advance(60_000);
  await running.quiet();
  expect(seen.at(-1)).toBe(1);
  served.delete("v1alpha1");
  clock.advance(60_000);
  await running.quiet();
  expect(seen.at(-1)).toBe(0);
  await running.stop();
});

it("holds nobody up for longer than the server cannot be asked", async () => {
  const { running, seen, asked, clock, served } = stage();
  const broken = new KubeError("unreachable", "nobody answers");
  const has = served.has.bind(served);
  served.has = () => {
    throw broken;
  };
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(seen).toEqual([]);
  served.has = has;
  served.add("v1beta1");
  clock.advance(1_000);
  await running.quiet();
  expect(seen.at(-1)).toBe(1);
  expect(asked[0]).toBe("v1beta1");
  await running.stop();
});
