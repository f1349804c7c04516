import { describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace } from "#api/core";
import { ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../../../../test/support/eventually.ts";
import { fakeCluster } from "../../../../test/support/index.ts";
import { Arrivals } from "./arrivals.ts";

describe("those who wait", () => {
  it("hear of namespaces and definitions that come, and nobody watches when nobody waits", async () => {
    const cluster = fakeCluster([Namespace, { metadata: { name: "there" } }], [CustomResourceDefinition]);
    const told: string[] = [];
    const watches: (AbortSignal | undefined)[] = [];
    const client = {
      ...cluster.client,
      watch: async (...[kind, options]: Parameters<typeof cluster.client.watch>) => {
        watches.push(options?.signal);
        return cluster.client.watch(kind, options);
      },
    } as typeof cluster.client;
    const open = () => watches.filter((signal) => !signal?.aborted).length;
    const clock = new ManualClock();
    const arrivals = new Arrivals({ client, clock, log: silentLog, onArrival: (waiter) => told.push(waiter) });
    expect(open()).toBe(0);
    arrivals.wait("w1");
    arrivals.wait("w2");
    await eventually(() => expect(open()).toBe(2));
    // Until the first picture is taken everything is old; what comes after it is news.
    await eventually(() => {
      cluster.put(Namespace, { metadata: { name: `new-${Math.random()}` } });
      expect(new Set(told)).toEqual(new Set(["w1", "w2"]));
    });
    arrivals.leave("w1");
    told.length = 0;
    cluster.put(Namespace, { metadata: { name: "last" } });
    await eventually(() => expect(told).toContain("w2"));
    expect(told).not.toContain("w1");
    arrivals.leave("w2");
    expect(open()).toBe(0);
  });
});
