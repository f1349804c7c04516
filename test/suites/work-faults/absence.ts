/** A hub that is away for hours, and one that comes back older than it was. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { Event } from "#api/events";
import { AppliedAnnotation, AppliedManifestWork } from "#api/work";
import { runWorkAgent } from "#features/work/agent";
import { connectionOf, createClient } from "#kube";
import { silentLog } from "#lib/log";
import { connectedCluster } from "#runtime";
import { eventually } from "../../support/eventually.ts";
import { Relay } from "../../support/relay.ts";
import { ShiftedClock } from "../../support/shifted-clock.ts";
import { Place } from "./place.ts";
import type { Restarted, WorkFaultStage } from "./stage.ts";

const HOUR = 3_600_000;

export function absenceCases(stageOf: () => WorkFaultStage): void {
  describe("a hub that is away for hours", () => {
    const clock = new ShiftedClock();
    let place: Place;
    let relay: Relay;
    let stop: () => Promise<void>;

    beforeAll(async () => {
      const stage = stageOf();
      place = new Place(stage, "lonely");
      await place.prepare();
      relay = await Relay.to(stage.hub.url);
      const way = { ...(await connectionOf(stage.hub.kubeconfig)), server: relay.url };
      const hub = createClient({ connection: way, keepAlive: { every: 300, patience: 300 } });
      const spoke = createClient({ connection: await connectionOf(stage.spoke.kubeconfig) });
      const stopping = new AbortController();
      const cluster = (name: string, client: typeof hub) => connectedCluster({ name, client, clock, log: silentLog });
      const ended = runWorkAgent({
        hub: cluster("hub", hub),
        spoke: cluster("spoke", spoke),
        clusterName: place.cluster,
        clock,
        log: silentLog,
        signal: stopping.signal,
      });
      stop = async () => {
        stopping.abort();
        await ended;
        hub.close();
        spoke.close();
      };
    });
    afterAll(async () => {
      await stop?.();
      await relay?.cut();
    });

    it("is missed by nobody on the spoke: what runs there runs on, and is mended when somebody changes it", async () => {
      await place.wish("lonely-edited", place.map("edited"));
      await place.wish("lonely-deleted", place.map("deleted"));
      await place.wish("lonely-forgotten", place.map("forgotten"));
      await place.untilReported("lonely-edited", "lonely-deleted", "lonely-forgotten");
      await relay.cut();
      clock.shift = 6 * HOUR;
      const { client } = stageOf().spoke;
      await client.patch(ConfigMap, `${place.namespace}/edited`, { data: { k: "by hand" } });
      await client.delete(ConfigMap, `${place.namespace}/deleted`);
      await eventually(async () => expect(await place.maps()).toEqual({ edited: "1", deleted: "1", forgotten: "1" }));
    });

    it("is caught up with when it is back: the last wish of each work counts, and nothing older comes after it", async () => {
      for (const k of ["2", "3", "4"]) await place.wish("lonely-edited", place.map("edited", k));
      await place.delete("lonely-deleted");
      await place.wish("lonely-new", place.map("new"));
      await place.forget("lonely-forgotten");
      expect(await place.maps()).toEqual({ edited: "1", deleted: "1", forgotten: "1" });

      const { client } = stageOf().spoke;
      const over = new AbortController();
      const events = await client.watch(ConfigMap, {
        namespace: place.namespace,
        fieldSelector: "metadata.name=edited",
        signal: over.signal,
      });
      const seen: string[] = [];
      const following = (async () => {
        for await (const { object } of events) seen.push(object.data?.k ?? "");
      })().catch(() => {});
      await relay.mend();
      await place.untilReported("lonely-edited", "lonely-new");
      await eventually(async () => expect(await place.maps()).toEqual({ edited: "4", new: "1", forgotten: "1" }));
      await eventually(() => expect(seen.at(-1)).toBe("4"));
      over.abort();
      await following;
      expect(seen).toEqual([...seen].sort());
    });

    it("has not been counted as lacking anything: the patience for what it has forgotten begins when it is back", async () => {
      await eventually(async () => {
        const { status, metadata } = await place.record("lonely-forgotten");
        expect(metadata.deletionTimestamp).toBeUndefined();
        expect(Date.parse(status?.evictionStartTime ?? "")).toBeGreaterThan(Date.now() + 5 * HOUR);
      });
      expect(await place.maps()).toMatchObject({ forgotten: "1" });
    });
  });

  describe("a hub that was restored from an older copy", () => {
    let place: Place;
    let agent: Restarted;
    const kept = new Map<string, string | undefined>();

    beforeAll(async () => {
      const stage = stageOf();
      place = new Place(stage, "older");
      await place.prepare();
      agent = await place.serve("--appliedmanifestwork-eviction-grace-period", "1s");
    });
    afterAll(() => agent?.stop());

    it("deletes nothing of what it has forgotten", async () => {
      await place.wish("older-edited", place.map("both"), place.map("before"));
      await place.wish("older-deleted", place.map("resurrected"));
      await place.untilReported("older-edited", "older-deleted");
      await stageOf().hub.backUp();
      await busy(stageOf());
      await place.wish("older-edited", place.map("both"), place.map("after"));
      await place.wish("older-new", place.map("new"));
      await place.delete("older-deleted");
      await place.untilReported("older-edited", "older-new");
      await eventually(async () => expect(await place.maps()).toEqual({ both: "1", after: "1", new: "1" }));
      for (const name of ["both", "after", "new"]) kept.set(name, await place.uidOf(name));

      await stageOf().hub.restore();
      await eventually(async () =>
        expect(Object.keys(await place.maps()).sort()).toEqual(["after", "before", "both", "new", "resurrected"]),
      );
    });

    it("and that is said where people look: what is held, why, and what lets it go", async () => {
      const held = async (work: string) => (await place.record(work)).metadata.annotations?.[AppliedAnnotation.held];
      await eventually(async () => expect(await held("older-new")).toMatch(/earlier state .*restored from a backup/));
      await eventually(async () => expect(await held("older-edited")).toMatch(/older state .*restored from a backup/));
      const notes = async () => {
        const { hub, spoke } = stageOf();
        const lists = await Promise.all([hub.client.list(Event), spoke.client.list(Event)]);
        return lists.flatMap(({ items }) => items).filter(({ reason }) => reason === "RemovalHeld");
      };
      await eventually(async () =>
        expect((await notes()).map(({ regarding }) => regarding?.name ?? "")).toEqual(
          expect.arrayContaining(["older-edited", expect.stringContaining("older-new")]),
        ),
      );
    });

    it("nor does an agent that starts anew delete it, until somebody confirms", async () => {
      await agent.kill();
      await place.wish("older-marker", place.map("marker"));
      await place.untilReported("older-marker");
      for (const [name, uid] of kept) expect([name, await place.uidOf(name)]).toEqual([name, uid]);
      const { name } = (await place.record("older-new")).metadata;
      const annotations = { [AppliedAnnotation.removal]: "confirmed" };
      await stageOf().spoke.client.patch(AppliedManifestWork, name, { metadata: { annotations } });
      await eventually(async () => expect(Object.keys(await place.maps())).not.toContain("new"));
      expect(Object.keys(await place.maps())).toContain("after");
    });
  });
}

/** So much happens on the hub that a restart does not catch up with it by itself. */
async function busy({ hub }: WorkFaultStage): Promise<void> {
  const metadata = { name: "busy", namespace: "default" };
  await hub.client.create(ConfigMap, { metadata });
  for (let times = 0; times < 500; times++) {
    await hub.client.patch(ConfigMap, "default/busy", { data: { times: String(times) } });
  }
}
