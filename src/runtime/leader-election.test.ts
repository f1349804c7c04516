import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Lease } from "#api/coordination";
import { Namespace } from "#api/core";
import { type Client, statusError } from "#kube";
import { type Clock, ManualClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { type FakeCluster, fakeCluster } from "../../test/support/index.ts";
import { startEmbedded, type TestServer } from "../../test/support/servers.ts";
import { aborted } from "./abort.ts";
import { createElection, type Election, type ElectionOptions, LeadershipLost } from "./leader-election.ts";

const LEASE = { namespace: "ns", name: "leader" };
const KEY = "ns/leader";

interface Candidate {
  readonly election: Election;
  /** Whether its work may write now. */
  readonly leads: boolean;
  /** How the run ended. */
  readonly outcome: Promise<unknown>;
  /** Asks it to stop; its work ends at once. */
  stop(): void;
}

function candidate(identity: string, client: Client, clock: Clock, options: Partial<ElectionOptions> = {}): Candidate {
  const settings = { client, clock, log: silentLog, lease: LEASE, identity, random: () => 0, ...options };
  const election = createElection(settings);
  const stop = new AbortController();
  let leads = false;
  const outcome = election
    .run(stop.signal, async (leading) => {
      leads = true;
      await Promise.race([aborted(stop.signal), aborted(leading)]);
      leads = false;
    })
    .catch((error: unknown) => error);
  return {
    election,
    get leads() {
      return leads && election.isLeader;
    },
    outcome,
    stop: () => stop.abort(),
  };
}

/** Lets everything happen that needs no time. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function advance(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    clock.advance(Math.min(500, left));
    await settle();
  }
}

const specOf = (cluster: FakeCluster) => cluster.read(Lease, KEY)?.spec;

describe("a candidate for a Lease", () => {
  it("takes one that does not exist, and writes it as others read it", async () => {
    const clock = new ManualClock("2026-01-01T00:00:00Z");
    const cluster = fakeCluster({ clock }, [Lease]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    expect(one.leads).toBe(true);
    expect(specOf(cluster)).toEqual({
      holderIdentity: "one",
      leaseDurationSeconds: 15,
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:00.000000Z",
      leaseTransitions: 0,
    });
    one.stop();
    await one.outcome;
  });

  it("renews every two seconds with one request, and keeps the time of taking over", async () => {
    const clock = new ManualClock("2026-01-01T00:00:00Z");
    const cluster = fakeCluster({ clock }, [Lease]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    cluster.writes.length = 0;
    await advance(clock, 4_000);
    expect(cluster.writes.map(({ verb }) => verb)).toEqual(["update", "update"]);
    expect(specOf(cluster)).toMatchObject({
      acquireTime: "2026-01-01T00:00:00.000000Z",
      renewTime: "2026-01-01T00:00:04.000000Z",
    });
    one.stop();
    await one.outcome;
  });

  it("gives it up when its work has ended", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    one.stop();
    expect(await one.outcome).toBeUndefined();
    expect(specOf(cluster)).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 });
  });

  it("keeps it if told, as one who dies does", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const one = candidate("one", cluster.client, clock, { release: false });
    await settle();
    one.stop();
    await one.outcome;
    expect(specOf(cluster)).toMatchObject({ holderIdentity: "one", leaseDurationSeconds: 15 });
  });

  it("keeps renewing while its work winds down, because that work still writes", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const election = createElection({ client: cluster.client, clock, log: silentLog, lease: LEASE, identity: "one" });
    const stop = new AbortController();
    let finish = () => {};
    const run = election.run(stop.signal, () => new Promise((resolve) => (finish = resolve)));
    await settle();
    stop.abort();
    await advance(clock, 30_000);
    expect(election.isLeader).toBe(true);
    expect(specOf(cluster)?.holderIdentity).toBe("one");
    finish();
    await run;
    expect(specOf(cluster)?.holderIdentity).toBe("");
  });

  it("never works when it is stopped before it leads", async () => {
    const clock = new ManualClock();
    const spec = { holderIdentity: "go", leaseDurationSeconds: 15 };
    const cluster = fakeCluster({ clock }, [Lease, { metadata: { ...LEASE }, spec }]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    expect(one.election.leader).toBe("go");
    one.stop();
    expect(await one.outcome).toBeUndefined();
    expect([one.leads, cluster.writes]).toEqual([false, []]);
  });

  it("does not believe the times of others: it waits for as long as it has seen no change", async () => {
    const clock = new ManualClock("2026-01-01T00:00:00Z");
    const renewTime = "2001-01-01T00:00:00.000000Z";
    const spec = { holderIdentity: "go", leaseDurationSeconds: 15, renewTime, leaseTransitions: 4 };
    const cluster = fakeCluster({ clock }, [Lease, { metadata: { ...LEASE }, spec }]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    await advance(clock, 14_500);
    expect(one.leads).toBe(false);
    await advance(clock, 500);
    expect(one.leads).toBe(true);
    expect(specOf(cluster)?.leaseTransitions).toBe(5);
    one.stop();
    await one.outcome;
  });

  it("stops leading when it cannot renew, before anybody else may take over", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    cluster.beforeWrite(() => {
      throw new Error("no way through");
    });
    await advance(clock, 9_500);
    expect(one.leads).toBe(true);
    await advance(clock, 500);
    expect(one.leads).toBe(false);
    expect(await one.outcome).toBeInstanceOf(LeadershipLost);
  });

  it("stops leading at once when it sees that somebody else holds it", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    const usurped = { holderIdentity: "go", leaseDurationSeconds: 15 };
    cluster.put(Lease, { metadata: { ...LEASE }, spec: usurped });
    await advance(clock, 2_000);
    expect(one.leads).toBe(false);
    expect(await one.outcome).toEqual(new LeadershipLost("leader election lost"));
    expect(specOf(cluster)).toEqual(usurped);
  });

  it("gives the Lease up too when its work fails, and says why", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const election = createElection({ client: cluster.client, clock, log: silentLog, lease: LEASE });
    const failing = election.run(new AbortController().signal, () => Promise.reject(new Error("broken")));
    await expect(failing).rejects.toThrow("broken");
    expect(specOf(cluster)?.holderIdentity).toBe("");
  });

  it.each([
    [{ duration: 15_500 }, "whole seconds"],
    [{ duration: 10_000 }, "outlast the deadline"],
    [{ retry: 9_000 }, "outlast a retry"],
  ])("refuses times that cannot be kept: %j", (timing, reason) => {
    const { client } = fakeCluster([Lease]);
    const options = { client, clock: new ManualClock(), log: silentLog, lease: LEASE, timing };
    expect(() => createElection(options)).toThrow(reason);
  });
});

describe("several candidates", () => {
  it("count from the last renewal of one that died, although they ask but now and then", async () => {
    const [diedClock, clock] = [new ManualClock(), new ManualClock()];
    const cluster = fakeCluster({ clock }, [Lease]);
    const died = candidate("died", cluster.client, diedClock);
    await settle();
    const next = candidate("next", cluster.client, clock, { random: () => 0.99 });
    await settle();
    await advance(clock, 2_000);
    await advance(diedClock, 2_000);
    await advance(clock, 14_500);
    expect([died.leads, next.leads]).toEqual([true, false]);
    await advance(clock, 500);
    expect(next.leads).toBe(true);
    next.stop();
    await next.outcome;
  });

  it("take over at once when the Lease is given up", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const one = candidate("one", cluster.client, clock);
    await settle();
    const two = candidate("two", cluster.client, clock);
    await settle();
    one.stop();
    await one.outcome;
    await settle();
    expect(two.leads).toBe(true);
    expect(specOf(cluster)).toMatchObject({ holderIdentity: "two", leaseDurationSeconds: 15, leaseTransitions: 1 });
    two.stop();
    await two.outcome;
  });

  it("do without watching where they may not", async () => {
    const clock = new ManualClock();
    const cluster = fakeCluster({ clock }, [Lease]);
    const status = { apiVersion: "v1", kind: "Status", status: "Failure", reason: "Forbidden", code: 403 } as const;
    const watch = () => Promise.reject(statusError({ ...status, metadata: {}, message: "no" }));
    const one = candidate("one", cluster.client, clock);
    await settle();
    const two = candidate("two", { ...cluster.client, watch }, clock);
    await settle();
    one.stop();
    await one.outcome;
    await advance(clock, 2_000);
    expect(two.leads).toBe(true);
    two.stop();
    await two.outcome;
  });

  it("never lead at the same time, whatever requests fail and however they stop", async () => {
    const who = fc.constantFrom(0, 1, 2);
    const step = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 6_000 }) }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("cut" as const), who, off: fc.boolean() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("stop" as const), who }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 15, maxLength: 40 }),
        fc.array(fc.double({ min: 0, max: 0.99, noNaN: true }), { minLength: 3, maxLength: 3 }),
        async (steps, jitter) => {
          const clock = new ManualClock();
          const cluster = fakeCluster({ clock }, [Lease]);
          const cut = [false, false, false];
          const candidates = cut.map((_, at) =>
            candidate(
              `c${at}`,
              breakable(cluster.client, () => cut[at] === true),
              clock,
              { random: () => jitter[at] ?? 0 },
            ),
          );
          const atMostOne = () => expect(candidates.filter(({ leads }) => leads).length).toBeLessThanOrEqual(1);
          for (const s of steps) {
            if (s.do === "cut") cut[s.who] = s.off;
            else if (s.do === "stop") candidates[s.who]?.stop();
            else clock.advance(s.ms);
            await settle();
            atMostOne();
          }
          for (const { stop } of candidates) stop();
          await settle();
          await Promise.all(candidates.map(({ outcome }) => outcome));
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("on an API server", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startEmbedded("election");
    await server.client.create(Namespace, { metadata: { name: "ns" } });
  });
  afterAll(() => server.close());

  it("one candidate takes over from another that was killed, once its Lease has run out and not before", async () => {
    const [killedClock, clock] = [new ManualClock(), new ManualClock()];
    const calls = counted(server.client);
    const killed = candidate("killed", calls.client, killedClock);
    await until(() => killed.leads);
    const next = candidate("next", calls.client, clock);
    await until(() => next.election.leader === "killed" && calls.open === 0);
    // A process that is gone renews nothing: its clock stands still for ever.
    for (let passed = 0; passed < 14_500; passed += 500) {
      clock.advance(500);
      await until(() => calls.open === 0);
      expect(next.leads).toBe(false);
    }
    clock.advance(500);
    await until(() => next.leads);
    const lease = await server.client.get(Lease, KEY);
    expect(lease.spec).toMatchObject({ holderIdentity: "next", leaseDurationSeconds: 15, leaseTransitions: 1 });
    // Should it only have been asleep, it finds out with its next renewal, and writes nothing.
    killedClock.advance(2_000);
    expect(await killed.outcome).toBeInstanceOf(LeadershipLost);
    next.stop();
    await next.outcome;
    expect((await server.client.get(Lease, KEY)).spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1 });
  });
});

/** The client, which fails while its connection is cut. */
function breakable(client: Client, isCut: () => boolean): Client {
  const through =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      isCut() ? Promise.reject(new Error("cut")) : call(...args);
  return { ...client, get: through(client.get), create: through(client.create), update: through(client.update) };
}

/** The client, and how many of its calls are under way. */
function counted(client: Client): { client: Client; readonly open: number } {
  let open = 0;
  const count = async <R>(call: Promise<R>): Promise<R> => {
    open++;
    try {
      return await call;
    } finally {
      open--;
    }
  };
  const counting: Pick<Client, "get" | "create" | "update" | "watch"> = {
    get: (kind, key, options) => count(client.get(kind, key, options)),
    create: (kind, object, options) => count(client.create(kind, object, options)),
    update: (kind, object, options) => count(client.update(kind, object, options)),
    watch: (kind, options) => client.watch(kind, options),
  };
  return {
    client: Object.assign(Object.create(client) as Client, counting),
    get open() {
      return open;
    },
  };
}

/** Turns of the event loop, until something is so. */
async function until(condition: () => boolean): Promise<void> {
  do await new Promise((resolve) => setImmediate(resolve));
  while (!condition());
}
