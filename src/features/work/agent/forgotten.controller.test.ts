import { describe, expect, it } from "vitest";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap } from "#api/core";
import { AppliedManifestWork, DETACH_LEDGER } from "#api/work";
import { KubeError, statusError } from "#kube";
import { CLUSTER, FakeWorkStage } from "../../../../test/support/fake-work.ts";

const MINUTE = 60_000;
const GRACE = 60 * MINUTE;
const REMOVAL = "work.capstan.dev/removal";

async function withWorks(...names: readonly string[]): Promise<FakeWorkStage> {
  const stage = new FakeWorkStage();
  for (const name of names) stage.wish(name);
  await stage.start();
  return stage;
}

describe("a work that its hub has lost", () => {
  it("takes along what it brought when the hub has lacked it for the whole grace period, and not before", async () => {
    const stage = await withWorks("gone", "other");
    stage.forget("gone");
    await stage.calm();
    expect(stage.applied("gone")?.status?.evictionStartTime).toBeDefined();
    await stage.pass(GRACE - MINUTE);
    expect(stage.maps).toEqual(["gone", "other"]);
    await stage.pass(2 * MINUTE);
    expect(stage.maps).toEqual(["other"]);
    expect(stage.applied("gone")).toBeUndefined();
  });

  it("stays if it comes back meanwhile, and the time begins anew when it goes again", async () => {
    const stage = await withWorks("gone", "other");
    stage.forget("gone");
    await stage.pass(GRACE - MINUTE);
    stage.wish("gone");
    await stage.calm();
    expect(stage.applied("gone")?.status?.evictionStartTime).toBeUndefined();
    stage.forget("gone");
    await stage.pass(GRACE - MINUTE);
    expect(stage.maps).toEqual(["gone", "other"]);
  });

  it("stays for ever with a grace period of a hundred years", async () => {
    const stage = new FakeWorkStage();
    stage.wish("gone");
    stage.wish("other");
    await stage.start({ grace: 100 * 365 * 24 * 60 * MINUTE });
    stage.forget("gone");
    await stage.pass(3 * GRACE, GRACE);
    expect(stage.maps).toEqual(["gone", "other"]);
    expect(stage.applied("gone")?.status?.evictionStartTime).toBeUndefined();
  });

  it("is not counted as lost while the hub does not answer, nor is what was counted before", async () => {
    const stage = new FakeWorkStage();
    stage.wish("gone");
    stage.wish("other");
    await stage.start({ mayFail: true });
    stage.forget("gone");
    await stage.pass(GRACE - 2 * MINUTE);
    const { list } = stage.hub.client;
    stage.hub.client.list = async () => {
      throw new KubeError("unreachable", "the hub does not answer");
    };
    await stage.pass(5 * MINUTE);
    expect(stage.maps).toEqual(["gone", "other"]);
    stage.hub.client.list = list;
    await stage.pass(GRACE - 6 * MINUTE);
    expect(stage.maps).toEqual(["gone", "other"]);
    await stage.pass(10 * MINUTE);
    expect(stage.maps).toEqual(["other"]);
  });

  it("is counted anew by an agent that was away, because nobody knows what it missed", async () => {
    const stage = await withWorks("gone", "other");
    stage.forget("gone");
    await stage.pass(GRACE - MINUTE);
    await stage.stop();
    stage.clock.advance(GRACE);
    await stage.start();
    await stage.pass(GRACE - MINUTE);
    expect(stage.maps).toEqual(["gone", "other"]);
    await stage.pass(2 * MINUTE);
    expect(stage.maps).toEqual(["other"]);
  });

  it("goes too if upstream's agent placed it, which leaves no mark of its hub", async () => {
    const stage = await withWorks("gone", "other");
    await stage.stop();
    const { metadata, ...rest } = stage.applied("gone") ?? {};
    if (!metadata) throw new Error("nothing was applied");
    const { annotations: _, resourceVersion: __, ...plain } = metadata;
    stage.spoke.put(AppliedManifestWork, { ...rest, metadata: plain } as AppliedManifestWork);
    stage.forget("gone");
    await stage.start();
    await stage.pass(GRACE + MINUTE);
    expect(stage.maps).toEqual(["other"]);
  });

  it("of another agent is none of ours", async () => {
    const stage = await withWorks("other");
    stage.spoke.put(AppliedManifestWork, {
      metadata: { name: "hash-foreign" },
      spec: { hubHash: "hash", agentID: "somebody-else", manifestWorkName: "foreign" },
    });
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.applied("foreign")?.metadata.annotations).toBeUndefined();
  });
});

describe("a hub in doubt holds the removal", () => {
  const confirmLine =
    /If it is to go nevertheless: kubectl annotate appliedmanifestwork \S+ work.capstan.dev\/removal=confirmed$/;

  it("if it has not one work, until somebody confirms", async () => {
    const stage = await withWorks("a", "b");
    stage.forget("a");
    stage.forget("b");
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual(["a", "b"]);
    expect(stage.held("a")).toMatch(/the hub has not one work for this cluster/);
    expect(stage.held("a")).toMatch(confirmLine);
    expect(stage.told).toHaveLength(2);
    await stage.confirm("a");
    expect(stage.maps).toEqual(["b"]);
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual(["b"]);
  });

  it("if it lacks more than a handful at once, also when some of them have been confirmed", async () => {
    const lost = ["a", "b", "c", "d", "e", "f"];
    const stage = await withWorks(...lost, "other");
    // All of them at once: the agent was away.
    await stage.stop();
    for (const name of lost) stage.forget(name);
    await stage.start();
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual([...lost, "other"]);
    expect(stage.held("f")).toMatch(/the hub lacks many works at once/);
    for (const name of ["a", "b", "c"]) await stage.confirm(name);
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual(["d", "e", "f", "other"]);
  });

  it("if it is another one at the same address", async () => {
    const stage = await withWorks("a", "b");
    await stage.replaceHub({ uid: "membership-2" });
    stage.wish("b");
    await stage.start();
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual(["a", "b"]);
    expect(stage.held("a")).toMatch(/another hub placed it than the one that answers now/);
  });

  it("if it was restored from a backup that is older than the work", async () => {
    const stage = await withWorks("b");
    const revisions = 50;
    for (let at = 0; at < revisions; at++) stage.wish("b", ["b"], { labels: { at: String(at) } });
    stage.wish("a");
    await stage.calm();
    // The same hub by its uid, and back at its beginning.
    await stage.replaceHub();
    stage.wish("b");
    await stage.start();
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual(["a", "b"]);
    expect(stage.held("a")).toMatch(/earlier state than when it placed it/);
  });

  it("if it does not say who it is", async () => {
    const stage = await withWorks("a", "b");
    stage.hub.drop(ManagedCluster, CLUSTER);
    stage.forget("a");
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual(["a", "b"]);
    expect(stage.held("a")).toMatch(/does not tell whether it is the one/);
  });

  it("until the work is back, which ends it without a person", async () => {
    const stage = await withWorks("a");
    stage.forget("a");
    await stage.calm();
    expect(stage.held("a")).toBeDefined();
    stage.wish("a");
    await stage.calm();
    expect(stage.held("a")).toBeUndefined();
    expect(stage.maps).toEqual(["a"]);
  });
});

describe("a hub that was restored from a backup, and has older works", () => {
  async function restored(): Promise<FakeWorkStage> {
    const stage = new FakeWorkStage();
    stage.wish("w", ["a", "b"], { uid: "u", generation: 5 });
    await stage.start();
    expect(stage.maps).toEqual(["a", "b"]);
    await stage.stop();
    // As it was before b was added.
    stage.wish("w", ["a"], { uid: "u", generation: 3 });
    await stage.start();
    return stage;
  }

  it("removes nothing that the older work lacks, and says so on hub and spoke", async () => {
    const stage = await restored();
    await stage.pass(2 * GRACE, 10 * MINUTE);
    expect(stage.maps).toEqual(["a", "b"]);
    expect(stage.held("w")).toMatch(/an older state of the work than before/);
    expect(stage.told).toHaveLength(1);
  });

  it("removes it when somebody confirms, and goes on as ever", async () => {
    const stage = await restored();
    await stage.confirm("w");
    expect(stage.maps).toEqual(["a"]);
    expect(stage.applied("w")?.metadata.annotations?.[REMOVAL]).toBeUndefined();
    expect(stage.held("w")).toBeUndefined();
    stage.wish("w", ["a", "c"], { uid: "u", generation: 4 });
    await stage.calm();
    stage.wish("w", ["c"], { uid: "u", generation: 5 });
    await stage.calm();
    expect(stage.maps).toEqual(["c"]);
  });
});

describe("the ledger of a cluster that was given up", () => {
  const ledgerOf = (stage: FakeWorkStage) => stage.hub.read(ConfigMap, `${CLUSTER}/${DETACH_LEDGER}`)?.data;
  const givenUp = (stage: FakeWorkStage, entries: Record<string, string>) =>
    stage.hub.put(ConfigMap, { metadata: { name: DETACH_LEDGER, namespace: CLUSTER }, data: entries });
  const entry = (uid: string) => JSON.stringify({ uid, since: "2026-01-01T00:00:00Z" });

  it("is worked off at once when the agent comes back: what it names goes, and its keys with it", async () => {
    const stage = new FakeWorkStage();
    stage.wish("a", ["a"], { uid: "uid-a" });
    stage.wish("b", ["b"], { uid: "uid-b" });
    await stage.start();
    await stage.stop();
    stage.forget("a");
    stage.forget("b");
    stage.hub.drop(ManagedCluster, CLUSTER);
    givenUp(stage, { a: entry("uid-a"), never: entry("uid-never") });
    await stage.start();
    await stage.pass(10_000, 1_000);
    expect(stage.maps).toEqual(["b"]);
    expect(ledgerOf(stage)).toEqual({});
    expect(stage.held("b")).toBeDefined();
  });

  it("is worked off by an agent that was there all the time", async () => {
    const stage = new FakeWorkStage();
    stage.wish("a", ["a"], { uid: "uid-a" });
    await stage.start();
    givenUp(stage, { a: entry("uid-a") });
    stage.forget("a");
    await stage.calm();
    await stage.pass(10_000, 1_000);
    expect(stage.maps).toEqual([]);
    expect(ledgerOf(stage)).toEqual({});
  });

  it("keeps the key of a work until all that it brought is gone", async () => {
    const stage = new FakeWorkStage();
    stage.wish("a", ["a"], { uid: "uid-a" });
    await stage.start();
    await stage.stop();
    await stage.spoke.client.patch(ConfigMap, "default/a", { metadata: { finalizers: ["example.com/wait"] } });
    stage.forget("a");
    givenUp(stage, { a: entry("uid-a") });
    await stage.start();
    await stage.pass(10_000, 1_000);
    expect(ledgerOf(stage)).toEqual({ a: entry("uid-a") });
    await stage.spoke.client.patch(ConfigMap, "default/a", { metadata: { finalizers: null } });
    await stage.pass(10_000, 1_000);
    expect(ledgerOf(stage)).toEqual({});
  });

  it("does not touch a work of that name that came afterwards", async () => {
    const stage = new FakeWorkStage();
    stage.wish("a", ["a"], { uid: "uid-new" });
    await stage.start();
    await stage.stop();
    givenUp(stage, { a: entry("uid-old") });
    await stage.start();
    await stage.pass(10_000, 1_000);
    expect(stage.maps).toEqual(["a"]);
    expect(ledgerOf(stage)).toEqual({});
  });

  it("is nothing to an agent that may not read it", async () => {
    const stage = await withWorks("a");
    await stage.stop();
    const { get } = stage.hub.client;
    stage.hub.client.get = (async (kind: { plural: string }, ...rest: unknown[]) => {
      if (kind.plural === ConfigMap.plural) {
        throw statusError({
          apiVersion: "v1",
          kind: "Status",
          metadata: {},
          status: "Failure",
          code: 403,
          reason: "Forbidden",
        });
      }
      return (get as (...args: unknown[]) => Promise<unknown>).call(stage.hub.client, kind, ...rest);
    }) as typeof get;
    await stage.start();
    stage.wish("b");
    await stage.calm();
    expect(stage.maps).toEqual(["a", "b"]);
  });
});
