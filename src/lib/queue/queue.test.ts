import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import { createQueue, Priority, type Queue } from "./index.ts";

function given(): { clock: ManualClock; queue: Queue<string> } {
  const clock = new ManualClock();
  return { clock, queue: createQueue<string>({ clock }) };
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

describe("order", () => {
  it("hands out in the order of adding, each item once", () => {
    const { queue } = given();
    for (const item of ["b", "a", "b", "c"]) queue.add(item);
    expect(drain(queue)).toEqual(["b", "a", "c"]);
  });

  it("lets a change overtake the backlog of a restart", () => {
    const { queue } = given();
    queue.add("old-1", { priority: Priority.background });
    queue.add("old-2", { priority: Priority.background });
    queue.add("changed");
    queue.add("old-2");
    expect(drain(queue)).toEqual(["changed", "old-2", "old-1"]);
  });

  it("never lowers a priority and tells it, because a requeue keeps it", () => {
    const { queue } = given();
    queue.add("a", { priority: 5 });
    queue.add("a", { priority: -100 });
    expect(queue.tryGet()).toEqual({ item: "a", priority: 5 });
  });

  it("lines up by the time of getting ready, not of adding", () => {
    const { clock, queue } = given();
    queue.addAfter("late", 20);
    queue.addAfter("early", 10);
    clock.advance(15);
    queue.add("now");
    clock.advance(15);
    expect(drain(queue)).toEqual(["early", "now", "late"]);
  });
});

describe("time", () => {
  it("keeps the earliest of two times", () => {
    const { clock, queue } = given();
    queue.addAfter("a", 100);
    queue.addAfter("a", 50);
    queue.addAfter("a", 80);
    clock.advance(49);
    expect(drain(queue)).toEqual([]);
    clock.advance(1);
    expect(drain(queue)).toEqual(["a"]);
    clock.advance(100);
    expect(drain(queue)).toEqual([]);
  });

  it("wakes one who waits when the time comes", async () => {
    const { clock, queue } = given();
    queue.addAfter("a", 100);
    const next = queue.get();
    clock.advance(100);
    expect(await next).toEqual({ item: "a", priority: 0 });
  });

  it("wakes one who waits for a later item when an earlier one is added", async () => {
    const { clock, queue } = given();
    queue.addAfter("later", 100);
    const next = queue.get();
    queue.addAfter("sooner", 10);
    clock.advance(10);
    expect((await next)?.item).toBe("sooner");
  });
});

describe("many appointments", () => {
  it("keeps its promises when items are revised again and again", () => {
    const { clock, queue } = given();
    for (let round = 0; round < 500; round++) {
      queue.addAfter("a", 36_000_000);
      queue.add("a");
      expect(drain(queue)).toEqual(["a"]);
    }
    queue.addAfter("a", 10);
    queue.addAfter("b", 5);
    clock.advance(10);
    expect(drain(queue)).toEqual(["b", "a"]);
    clock.advance(36_000_000);
    expect(drain(queue)).toEqual([]);
  });
});

describe("work in progress", () => {
  it("is not handed out twice at a time, and comes again once", () => {
    const { queue } = given();
    queue.add("a");
    expect(queue.tryGet()?.item).toBe("a");
    queue.add("a");
    queue.add("a");
    expect(queue.tryGet()).toBeUndefined();
    expect([queue.ready, queue.running]).toEqual([0, 1]);
    queue.done("a");
    expect(drain(queue)).toEqual(["a"]);
    expect([queue.ready, queue.running]).toEqual([0, 0]);
  });

  it("is handed to one who waits when it is done and was asked for again", async () => {
    const { queue } = given();
    queue.add("a");
    queue.tryGet();
    queue.add("a");
    const next = queue.get();
    queue.done("a");
    expect((await next)?.item).toBe("a");
  });
});

describe("failures", () => {
  it("double the delay from 5 ms up to 1000 s, until forgotten", () => {
    const { queue } = given();
    const delays = Array.from({ length: 20 }, () => queue.addRateLimited("a"));
    expect(delays.slice(0, 4)).toEqual([5, 10, 20, 40]);
    expect(delays.slice(-2)).toEqual([1_000_000, 1_000_000]);
    queue.forget("a");
    expect(queue.addRateLimited("a")).toBe(5);
    expect(queue.addRateLimited("b")).toBe(5);
  });

  it("wait no longer than asked when both delays are given", () => {
    const { clock, queue } = given();
    queue.add("a", { rateLimited: true, after: 2 });
    clock.advance(2);
    expect(drain(queue)).toEqual(["a"]);
  });
});

describe("shutdown", () => {
  it("sends home those who wait and takes nothing more, while work in progress ends in peace", async () => {
    const { clock, queue } = given();
    queue.add("a");
    queue.tryGet();
    queue.addAfter("b", 10);
    const next = queue.get();
    queue.shutdown();
    expect(await next).toBeUndefined();
    queue.add("c");
    clock.advance(10);
    queue.done("a");
    expect(await queue.get()).toBeUndefined();
    expect([queue.ready, queue.waiting, queue.running]).toEqual([0, 0, 0]);
  });
});

/** The same rules, said as plainly as possible. */
class Model {
  entries: { item: string; priority: number; readyAt: number; order: number; ready: boolean }[] = [];
  running = new Set<string>();
  failures = new Map<string, number>();
  now = 0;
  order = 0;

  add(item: string, priority: number, after: number): void {
    const readyAt = this.now + after;
    const known = this.entries.find((e) => e.item === item);
    if (!known) {
      this.entries.push({ item, priority, readyAt, order: this.order++, ready: after === 0 });
      return;
    }
    if (priority > known.priority) {
      known.priority = priority;
      if (known.ready) known.order = this.order++;
    }
    if (known.ready || readyAt >= known.readyAt) return;
    known.readyAt = readyAt;
    known.order = this.order++;
    known.ready = after === 0;
  }

  addRateLimited(item: string, priority: number): void {
    const failures = this.failures.get(item) ?? 0;
    this.failures.set(item, failures + 1);
    this.add(item, priority, Math.min(5 * 2 ** failures, 1_000_000));
  }

  advance(ms: number): void {
    this.now += ms;
    const due = this.entries.filter((e) => !e.ready && e.readyAt <= this.now);
    for (const entry of due.sort((a, b) => a.readyAt - b.readyAt || a.order - b.order)) {
      entry.ready = true;
      entry.order = this.order++;
    }
  }

  get(): { item: string; priority: number } | undefined {
    const [next] = this.entries
      .filter((e) => e.ready && !this.running.has(e.item))
      .sort((a, b) => b.priority - a.priority || a.order - b.order);
    if (!next) return undefined;
    this.entries = this.entries.filter((e) => e !== next);
    this.running.add(next.item);
    return { item: next.item, priority: next.priority };
  }
}

describe("against the model", () => {
  const item = fc.constantFrom("a", "b", "c", "d", "e");
  const priority = fc.constantFrom(-100, 0, 10);
  const step = fc.oneof(
    fc.record({ do: fc.constant("add" as const), item, priority, after: fc.constantFrom(0, 0, 3, 7, 20) }),
    fc.record({ do: fc.constant("fail" as const), item, priority }),
    fc.record({ do: fc.constant("advance" as const), ms: fc.nat(12) }),
    fc.record({ do: fc.constant("get" as const) }),
    fc.record({ do: fc.constant("wait" as const) }),
    fc.record({ do: fc.constant("done" as const), item }),
    fc.record({ do: fc.constant("forget" as const), item }),
  );

  it("behaves alike, whatever happens in whatever order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { clock, queue } = given();
        const model = new Model();
        const received: unknown[] = [];
        const expected: unknown[] = [];
        let waiters = 0;
        const serve = () => {
          for (; waiters > 0; waiters--) {
            const next = model.get();
            if (!next) return;
            expected.push(next);
          }
        };
        for (const s of steps) {
          switch (s.do) {
            case "add":
              queue.add(s.item, { priority: s.priority, after: s.after });
              model.add(s.item, s.priority, s.after);
              break;
            case "fail":
              queue.addRateLimited(s.item, { priority: s.priority });
              model.addRateLimited(s.item, s.priority);
              break;
            case "advance":
              for (let ms = 0; ms < s.ms; ms++) {
                clock.advance(1);
                model.advance(1);
                serve();
              }
              break;
            case "get":
              if (waiters === 0) expect(queue.tryGet()).toEqual(model.get());
              break;
            case "wait":
              queue.get().then((taken) => received.push(taken));
              waiters++;
              break;
            case "done":
              queue.done(s.item);
              model.running.delete(s.item);
              break;
            case "forget":
              queue.forget(s.item);
              model.failures.delete(s.item);
              break;
          }
          serve();
          await Promise.resolve();
          expect(received).toEqual(expected);
          expect(queue.running).toBe(model.running.size);
          expect(queue.ready).toBe(model.entries.filter((e) => e.ready && !model.running.has(e.item)).length);
          expect(queue.waiting).toBe(model.entries.filter((e) => !e.ready).length);
        }
      }),
      { numRuns: 300 },
    );
  });
});
