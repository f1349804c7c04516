import { describe, expect, it } from "vitest";
import { Namespace } from "#api/core";
import { Event } from "#api/events";
import type { KubeObject } from "#api/meta";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../../test/support/eventually.ts";
import { fakeCluster } from "../../test/support/index.ts";
import { startEmbedded } from "../../test/support/servers.ts";
import { createEventRecorder, type Telling } from "./events.ts";

const MINUTE = 60_000;
const SUBJECT: KubeObject = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: { name: "a", namespace: "ns", uid: "u1", resourceVersion: "7" },
};
const BROKEN: Telling = { type: "Warning", reason: "Broken", action: "Mend", note: "it broke" };

function given() {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const hub = fakeCluster({ clock }, [Event]);
  const options = { client: hub.client, clock, log: silentLog, random: () => 0 };
  const recorder = createEventRecorder({ ...options, controller: "mender", instance: "mender-host" });
  return { clock, hub, recorder };
}

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("telling people", () => {
  it("once makes an Event with everything that the server wants to know", async () => {
    const { hub, recorder } = given();
    recorder.tell(SUBJECT, BROKEN);
    await settle();
    const [event] = hub.readAll(Event);
    expect(event).toMatchObject({
      metadata: { namespace: "ns", name: expect.stringMatching(/^a\.[0-9a-f]{16}$/) },
      eventTime: "2026-01-01T00:00:00.000000Z",
      reportingController: "mender",
      reportingInstance: "mender-host",
      type: "Warning",
      reason: "Broken",
      action: "Mend",
      note: "it broke",
      regarding: { apiVersion: "example.com/v1", kind: "Widget", namespace: "ns", name: "a", uid: "u1" },
    });
    expect(event?.series).toBeUndefined();
  });

  it("of an object without a namespace goes to default, and what is too long is cut", async () => {
    const { hub, recorder } = given();
    const subject = { ...SUBJECT, metadata: { name: "n".repeat(253) } };
    recorder.tell(subject, { reason: "Long", note: "x".repeat(2_000) });
    await settle();
    const [event] = hub.readAll(Event);
    expect(event?.metadata.namespace).toBe("default");
    expect(event?.metadata.name).toHaveLength(253);
    expect(event?.note).toHaveLength(1_024);
    expect([event?.type, event?.action]).toEqual(["Normal", "Long"]);
  });

  it("the same again is a series: the second is written, later ones are counted", async () => {
    const { clock, hub, recorder } = given();
    recorder.tell(SUBJECT, BROKEN);
    await settle();
    clock.advance(1_000);
    recorder.tell({ ...SUBJECT, metadata: { ...SUBJECT.metadata, resourceVersion: "8" } }, BROKEN);
    await settle();
    for (let n = 0; n < 5; n++) recorder.tell(SUBJECT, BROKEN);
    await settle();
    expect(hub.writes.map(({ verb }) => verb)).toEqual(["create", "patch"]);
    expect(hub.readAll(Event)).toMatchObject([
      { series: { count: 2, lastObservedTime: "2026-01-01T00:00:01.000000Z" } },
    ]);
  });

  it("twice before the first was written ends in the same series", async () => {
    const { hub, recorder } = given();
    recorder.tell(SUBJECT, BROKEN);
    recorder.tell(SUBJECT, BROKEN);
    await settle();
    expect(hub.readAll(Event)).toMatchObject([{ series: { count: 2 } }]);
  });

  it("something else is another Event", async () => {
    const { hub, recorder } = given();
    recorder.tell(SUBJECT, BROKEN);
    recorder.tell(SUBJECT, { ...BROKEN, reason: "Mended" });
    recorder.tell({ ...SUBJECT, metadata: { ...SUBJECT.metadata, name: "b" } }, BROKEN);
    await settle();
    expect(hub.readAll(Event)).toHaveLength(3);
  });
});

describe("a series", () => {
  it("is written with its last count when it falls silent, and what comes later is another Event", async () => {
    const { clock, hub, recorder } = given();
    for (let n = 0; n < 4; n++) {
      recorder.tell(SUBJECT, BROKEN);
      await settle();
    }
    clock.advance(6 * MINUTE);
    await settle();
    expect(hub.readAll(Event)).toMatchObject([{ series: { count: 4 } }]);
    recorder.tell(SUBJECT, BROKEN);
    await settle();
    expect(hub.readAll(Event)).toHaveLength(2);
  });

  it("is refreshed every half hour while it goes on", async () => {
    const { clock, hub, recorder } = given();
    for (let minute = 0; minute <= 30; minute++) {
      recorder.tell(SUBJECT, BROKEN);
      await settle();
      clock.advance(MINUTE);
    }
    await settle();
    expect(hub.writes.map(({ verb }) => verb)).toEqual(["create", "patch"]);
    for (let minute = 0; minute < 6; minute++) {
      recorder.tell(SUBJECT, BROKEN);
      clock.advance(MINUTE);
    }
    await settle();
    expect(hub.writes.map(({ verb }) => verb)).toEqual(["create", "patch", "patch"]);
  });

  it("is written anew when the server has forgotten it", async () => {
    const { hub, recorder } = given();
    recorder.tell(SUBJECT, BROKEN);
    await settle();
    for (const { metadata } of hub.readAll(Event)) hub.drop(Event, `ns/${metadata.name}`);
    recorder.tell(SUBJECT, BROKEN);
    await settle();
    expect(hub.readAll(Event)).toMatchObject([{ series: { count: 2 } }]);
  });
});

describe("a server that does not take them", () => {
  it("is asked again after ten seconds, and twelve times at most", async () => {
    const { clock, hub, recorder } = given();
    hub.beforeWrite(() => {
      throw new Error("no way through");
    });
    recorder.tell(SUBJECT, BROKEN);
    for (let attempt = 0; attempt < 20; attempt++) {
      await settle();
      clock.advance(10_000);
    }
    expect(hub.writes).toHaveLength(12);
  });

  it("keeps nobody from ending", async () => {
    const { hub, recorder } = given();
    hub.beforeWrite(() => {
      throw new Error("no way through");
    });
    recorder.tell(SUBJECT, BROKEN);
    await settle();
    await recorder.close();
    recorder.tell(SUBJECT, { ...BROKEN, reason: "TooLate" });
    await settle();
    expect(hub.writes.map(({ body }) => (body as Event).reason)).toEqual(["Broken", "Broken"]);
  });
});

describe("an API server", () => {
  it("takes Events and series as they are written", async () => {
    const server = await startEmbedded("events");
    try {
      await server.client.create(Namespace, { metadata: { name: "ns" } });
      const clock = new ManualClock("2026-01-01T00:00:00Z");
      const recorder = createEventRecorder({ client: server.client, clock, log: silentLog, controller: "mender" });
      const read = async () => (await server.client.list(Event, { namespace: "ns" })).items;
      recorder.tell(SUBJECT, BROKEN);
      await eventually(async () => expect(await read()).toHaveLength(1));
      recorder.tell(SUBJECT, BROKEN);
      await eventually(async () => expect(await read()).toMatchObject([{ reason: "Broken", series: { count: 2 } }]));
      await recorder.close();
    } finally {
      await server.close();
    }
  });
});
