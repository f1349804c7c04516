import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { createQueue, Priority, type Queue, type QueueOptions } from "./index.ts";

function given(options: Partial<QueueOptions> = {}): { clock: ManualClock; queue: Queue<string> } {
  const clock = new ManualClock();
  return { clock, queue: createQueue<string>({ clock, ...options }) };
}

/** Everything that can be taken now, in order, each done at once. */
function drain(queue: Queue<string>): string[] {
  const items: string[] = [];
  for (let taken = queue.tryGet(); taken; taken = queue.tryGet()) {
    items.push(taken.item);
    queue.done(taken.item);
  }
  return items;
}

/** Items are called after their group: `hot/3` belongs to `hot`. */
function groupOf(item: string): string {
  return item.slice(0, item.indexOf("/"));
}

function fill(queue: Queue<string>, group: string, count: number, priority: number = Priority.normal): void {
  for (let n = 0; n < count; n++) queue.add(`${group}/${n}`, { group, priority });
}

describe("groups", () => {
  it("take turns, however long one of them is", () => {
    const { queue } = given();
    fill(queue, "hot", 4);
    fill(queue, "calm", 2);
    expect(drain(queue)).toEqual(["hot/0", "calm/0", "hot/1", "calm/1", "hot/2", "hot/3"]);
  });

  it("send as many in a row as they weigh", () => {
    const { queue } = given({ weightOf: (group) => (group === "big" ? 2 : 1) });
    fill(queue, "big", 4);
    fill(queue, "small", 2);
    expect(drain(queue)).toEqual(["big/0", "big/1", "small/0", "big/2", "big/3", "small/1"]);
  });

  it("take turns only within a priority, because a change goes before any backlog", () => {
    const { queue } = given();
    fill(queue, "a", 2, Priority.background);
    fill(queue, "b", 2);
    expect(drain(queue)).toEqual(["b/0", "b/1", "a/0", "a/1"]);
  });

  it("keep their turn while their limit holds them back", () => {
    const { queue } = given({ groupLimit: 1 });
    fill(queue, "a", 2);
    fill(queue, "b", 3);
    expect([queue.tryGet()?.item, queue.tryGet()?.item, queue.tryGet()?.item]).toEqual(["a/0", "b/0", undefined]);
    expect([queue.ready, queue.running]).toEqual([3, 2]);
    queue.done("b/0");
    expect(queue.tryGet()?.item).toBe("b/1");
    queue.done("a/0");
    queue.done("b/1");
    expect(queue.tryGet()?.item).toBe("a/1");
  });

  it("hand a free place to one who waits", async () => {
    const { queue } = given({ groupLimit: 1 });
    fill(queue, "a", 2);
    queue.tryGet();
    const next = queue.get();
    queue.done("a/0");
    expect(await next).toEqual({ item: "a/1", priority: 0, group: "a" });
  });

  it("that are parked keep what they have and what comes, and hand it out when they are resumed", () => {
    const { queue } = given();
    fill(queue, "a", 2);
    fill(queue, "b", 1);
    queue.park("a");
    queue.add("a/urgent", { group: "a", priority: 1 });
    expect(drain(queue)).toEqual(["b/0"]);
    expect([queue.ready, queue.parked]).toEqual([0, 3]);
    queue.resume("a");
    expect([queue.ready, queue.parked]).toEqual([3, 0]);
    expect(drain(queue)).toEqual(["a/urgent", "a/0", "a/1"]);
  });

  it("that are resumed wait for no failure any more, but for the time that was asked for", () => {
    const { clock, queue } = given();
    queue.addRateLimited("a/failed", { group: "a" });
    queue.addRateLimited("b/failed", { group: "b" });
    queue.addAfter("a/later", 60_000, { group: "a" });
    queue.park("a");
    queue.resume("a");
    expect(drain(queue)).toEqual(["a/failed"]);
    expect([queue.failures("a/failed"), queue.failures("b/failed")]).toEqual([0, 1]);
    clock.advance(60_000);
    expect(drain(queue)).toEqual(["b/failed", "a/later"]);
  });

  it("hand out at once to one who waits when they are resumed", async () => {
    const { queue } = given();
    queue.park("a");
    const next = queue.get();
    fill(queue, "a", 1);
    queue.resume("a");
    expect((await next)?.item).toBe("a/0");
  });

  it("that are parked and removed are forgotten, and begin anew", () => {
    const { queue } = given();
    fill(queue, "a", 2);
    queue.park("a");
    queue.removeGroup("a");
    expect([queue.ready, queue.parked, queue.waiting]).toEqual([0, 0, 0]);
    fill(queue, "a", 1);
    expect(drain(queue)).toEqual(["a/0"]);
  });

  it("have parts that take turns too, so that a namespace with much to do keeps no other waiting", () => {
    const { queue } = given({ partOf: (item) => item.split("/")[1] });
    const add = (...items: string[]) => items.forEach((item) => void queue.add(item, { group: groupOf(item) }));
    add("a/hot/1", "a/hot/2", "a/hot/3", "a/calm/1", "b/x/1", "a/calm/2", "a/third/1");
    expect(drain(queue)).toEqual(["a/hot/1", "b/x/1", "a/calm/1", "a/third/1", "a/hot/2", "a/calm/2", "a/hot/3"]);
  });

  it("do not limit what belongs to none", () => {
    const { queue } = given({ groupLimit: 1 });
    for (const item of ["x", "y", "z"]) queue.add(item);
    expect([queue.tryGet()?.item, queue.tryGet()?.item, queue.tryGet()?.item]).toEqual(["x", "y", "z"]);
  });
});

describe("removing a group", () => {
  it("drops what is ready, what waits and what failed, and leaves the others alone", () => {
    const { clock, queue } = given();
    fill(queue, "gone", 2);
    queue.addAfter("gone/later", 10, { group: "gone" });
    queue.addRateLimited("gone/failed", { group: "gone" });
    queue.addRateLimited("stays/failed", { group: "stays" });
    queue.removeGroup("gone");
    expect([queue.ready, queue.waiting]).toEqual([0, 1]);
    expect([queue.failures("gone/failed"), queue.failures("stays/failed")]).toEqual([0, 1]);
    clock.advance(100);
    expect(drain(queue)).toEqual(["stays/failed"]);
  });

  it("lets what is being worked on end, and the group come back", () => {
    const { queue } = given({ groupLimit: 1 });
    fill(queue, "a", 1);
    queue.tryGet();
    queue.add("a/0", { group: "a" });
    queue.removeGroup("a");
    fill(queue, "a", 2);
    expect(queue.tryGet()).toBeUndefined();
    queue.done("a/0");
    expect(drain(queue)).toEqual(["a/0", "a/1"]);
  });
});

describe("what an observer hears", () => {
  it("who came, who waits, and how long things took", () => {
    const heard: unknown[] = [];
    const { clock, queue } = given({
      observer: {
        added: () => heard.push("added"),
        delayed: () => heard.push("delayed"),
        taken: (waited) => heard.push(["taken", waited]),
        finished: (worked) => heard.push(["finished", worked]),
      },
    });
    queue.add("a", { priority: 7 });
    queue.add("a");
    clock.advance(30);
    expect([...queue.depths()]).toEqual([[7, 1]]);
    queue.tryGet();
    clock.advance(12);
    expect(queue.runningFor()).toEqual([12]);
    queue.addRateLimited("a");
    queue.done("a");
    expect(heard).toEqual(["added", ["taken", 30], "delayed", "added", ["finished", 12]]);
  });
});

const GROUPS = ["a", "b", "c", "d"];
const PRIORITIES = [-100, 0, 10];
const LIMIT = 2;

const item = fc.tuple(fc.constantFrom(...GROUPS), fc.nat(3)).map(([group, n]) => `${group}/${n}`);
const priority = fc.constantFrom(...PRIORITIES);
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("add" as const), item, priority }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("get" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("done" as const), item }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("requeue" as const), item, after: fc.constantFrom(0, 5, 9) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("advance" as const), ms: fc.nat(12) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("remove" as const), group: fc.constantFrom(...GROUPS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("park" as const), group: fc.constantFrom(...GROUPS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("resume" as const), group: fc.constantFrom(...GROUPS) }) },
);

/** What must be true of whatever is handed out, said without regard to how it is found. */
class Witness {
  /** Items that were asked for and not handed out since. */
  readonly asked = new Map<string, { priority: number; readyAt: number }>();
  readonly running = new Map<string, number>();
  readonly parked = new Set<string>();
  now = 0;

  add(item: string, priority: number, after = 0): void {
    const known = this.asked.get(item);
    const readyAt = this.now + after;
    this.asked.set(item, {
      priority: Math.max(priority, known?.priority ?? priority),
      readyAt: Math.min(readyAt, known?.readyAt ?? readyAt),
    });
  }

  remove(group: string): void {
    for (const item of [...this.asked.keys()]) if (groupOf(item) === group) this.asked.delete(item);
    this.parked.delete(group);
  }

  /** Those of whom one may be handed out now. */
  eligible(): { item: string; priority: number }[] {
    return [...this.asked]
      .filter(([item, { readyAt }]) => readyAt <= this.now && !this.running.has(item) && this.#isOpen(groupOf(item)))
      .map(([item, { priority }]) => ({ item, priority }));
  }

  take(item: string, priority: number): void {
    this.asked.delete(item);
    this.running.set(item, priority);
  }

  #isOpen(group: string): boolean {
    if (this.parked.has(group)) return false;
    return [...this.running.keys()].filter((item) => groupOf(item) === group).length < LIMIT;
  }
}

function takeAsAllowed(queue: Queue<string>, witness: Witness): string | undefined {
  const eligible = witness.eligible();
  const taken = queue.tryGet();
  expect(taken === undefined).toBe(eligible.length === 0);
  if (!taken) return undefined;
  expect(eligible).toContainEqual({ item: taken.item, priority: taken.priority });
  expect(taken.priority).toBe(Math.max(...eligible.map((each) => each.priority)));
  expect(taken.group).toBe(groupOf(taken.item));
  witness.take(taken.item, taken.priority);
  return taken.item;
}

describe("whatever happens in whatever order", () => {
  it("no key is lost, none is out twice at once, no group exceeds its limit or goes while it is parked, and the most urgent goes first", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const { clock, queue } = given({ groupLimit: LIMIT, partOf: (item) => String(Number(item.slice(-1)) % 2) });
        const witness = new Witness();
        const finish = (item: string) => {
          queue.done(item);
          witness.running.delete(item);
        };
        for (const s of steps) {
          if (s.do === "add") {
            queue.add(s.item, { group: groupOf(s.item), priority: s.priority });
            witness.add(s.item, s.priority);
          } else if (s.do === "get") {
            takeAsAllowed(queue, witness);
          } else if (s.do === "done") {
            finish(s.item);
          } else if (s.do === "requeue") {
            const priority = witness.running.get(s.item);
            if (priority === undefined) continue;
            queue.addAfter(s.item, s.after, { group: groupOf(s.item), priority });
            witness.add(s.item, priority, s.after);
            finish(s.item);
          } else if (s.do === "advance") {
            clock.advance(s.ms);
            witness.now += s.ms;
          } else if (s.do === "park") {
            queue.park(s.group);
            witness.parked.add(s.group);
          } else if (s.do === "resume") {
            queue.resume(s.group);
            witness.parked.delete(s.group);
          } else {
            queue.removeGroup(s.group);
            witness.remove(s.group);
          }
        }
        for (const group of GROUPS) queue.resume(group);
        witness.parked.clear();
        clock.advance(100);
        witness.now += 100;
        for (const item of [...witness.running.keys()]) finish(item);
        for (let taken = takeAsAllowed(queue, witness); taken; taken = takeAsAllowed(queue, witness)) finish(taken);
        expect(witness.asked.size).toBe(0);
        expect([queue.ready, queue.waiting, queue.running]).toEqual([0, 0, 0]);
      }),
      { numRuns: 500 },
    );
  });

  it("one lone item waits for at most one round: as many of each other group as it weighs", () => {
    const backlog = fc.array(fc.record({ group: fc.constantFrom(...GROUPS), size: fc.integer({ min: 1, max: 20 }) }));
    const weights = fc.record({ a: fc.nat(3), b: fc.nat(3), c: fc.nat(3), d: fc.nat(3) });
    fc.assert(
      fc.property(backlog, fc.nat(30), weights, fc.boolean(), (groups, takenBefore, weighed, refills) => {
        const weightOf = (group: string) => Math.max(1, weighed[group as keyof typeof weighed] ?? 1);
        const { queue } = given({ weightOf });
        for (const { group, size } of groups) fill(queue, group, size);
        for (let n = 0; n < takenBefore; n++) {
          const taken = queue.tryGet();
          if (taken) queue.done(taken.item);
        }
        queue.add("lone/0", { group: "lone" });
        const before = new Map<string, number>();
        for (let taken = queue.tryGet(); taken && taken.item !== "lone/0"; taken = queue.tryGet()) {
          const group = groupOf(taken.item);
          before.set(group, (before.get(group) ?? 0) + 1);
          expect(before.get(group)).toBeLessThanOrEqual(weightOf(group));
          queue.done(taken.item);
          if (refills) queue.add(taken.item, { group });
        }
      }),
      { numRuns: 500 },
    );
  });
});
