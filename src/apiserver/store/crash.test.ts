import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStore, type Store, type Stored, type StoreEvent } from "./index.ts";
import { CRASH_POINTS, type CrashPoint, storyOf } from "./testing/crash-points.ts";
import { crashRun } from "./testing/crash-run.ts";

const object = (data: unknown): Stored => ({ apiVersion: "v1", kind: "T", metadata: { name: "x" }, data });

let dir: string;
beforeEach(async () => {
  dir = await fs.mkdtemp(join(tmpdir(), "capstan-store-"));
});
afterEach(async () => {
  await fs.rm(dir, { recursive: true, force: true });
});

/** Enough that every point meets a killed process, a power cut, and both ways to acknowledge. */
const SEEDS = 6;

describe("a crash at", () => {
  it.each(Object.entries(CRASH_POINTS) as [CrashPoint, string][])("%s loses nothing (%s)", async (point) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      expect(await crashRun({ points: storyOf(point), seed }), `seed ${seed}`).toContain(point);
    }
  });
});

type Step = { do: "put" | "remove"; resource: string; key: string; data: number } | { do: "settle" } | { do: "reopen" };

const resource = fc.constantFrom("pods", "services");
const key = fc.constantFrom("a/1", "a/2", "a-b/1", "b/1", "b/2");
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant("put" as const), resource, key, data: fc.nat() }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("remove" as const), resource, key, data: fc.constant(0) }) },
  { weight: 3, arbitrary: fc.constant({ do: "settle" as const }) },
  { weight: 1, arbitrary: fc.constant({ do: "reopen" as const }) },
);

/** Key and data of a list: what the model knows. */
const told = (items: Stored[]) => items.map(({ metadata, data }) => [metadata.name, data, metadata.resourceVersion]);

describe("any writes in any order", () => {
  it("give what a plain map gives, now and at every revision, and after a restart", async () => {
    let run = 0;
    const property = fc.asyncProperty(
      fc.array(step, { maxLength: 40 }),
      fc.constantFrom(1, 500, 1_000_000),
      async (steps, snapshotAfter) => {
        const options = { dir: join(dir, `run-${run++}`), durability: "os", snapshotAfter } as const;
        let store = await openStore(options);
        const model = new Map<string, Map<string, unknown[]>>([
          ["pods", new Map()],
          ["services", new Map()],
        ]);
        const expected = (of: string, namespace?: string) =>
          [...(model.get(of) ?? [])]
            .filter(([key]) => namespace === undefined || key.startsWith(`${namespace}/`))
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([, entry]) => entry);
        const past = new Map<number, Record<string, unknown[]>>();
        let revision = 1;
        let writes: Promise<unknown>[] = [];
        const remember = () => past.set(revision, { pods: expected("pods"), services: expected("services") });
        remember();

        const check = async () => {
          await Promise.all(writes);
          writes = [];
          expect(store.revision).toBe(revision);
          for (const of of ["pods", "services"]) {
            expect(told(store.list(of).items)).toEqual(expected(of));
            expect(told(store.list(of, { namespace: "a" }).items)).toEqual(expected(of, "a"));
            for (const [then, lists] of past) {
              if (then < store.oldest) continue;
              expect(told(store.list(of, { revision: then }).items)).toEqual(lists[of]);
              expect(replayed(store, of, then)).toEqual(expected(of));
            }
          }
        };

        for (const step of steps) {
          if (step.do === "settle") await check();
          else if (step.do === "reopen") {
            await check();
            await store.close();
            store = await openStore(options);
            await check();
          } else {
            const { resource: of, key, data } = step;
            const entries = model.get(of) as Map<string, unknown[]>;
            if (step.do === "remove") {
              if (entries.delete(key)) revision++;
              writes.push(store.write(of, key, () => undefined));
            } else {
              entries.set(key, [key, data, String(++revision)]);
              writes.push(store.write(of, key, () => ({ ...object(data), metadata: { name: key } })));
            }
            remember();
          }
        }
        await check();
        await store.close();
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });
});

/** A list of the past, brought up to now by a watch that starts there. */
function replayed(store: Store, resource: string, since: number): unknown[] {
  const objects = new Map(store.list(resource, { revision: since }).items.map((item) => [item.metadata.name, item]));
  let last = since;
  const end = store.watch(resource, since, ({ type, key, object, revision, previous }: StoreEvent) => {
    expect(revision).toBeGreaterThan(last);
    expect(object.metadata.resourceVersion).toBe(String(revision));
    expect(objects.get(key)).toEqual(previous);
    last = revision;
    if (type === "DELETED") objects.delete(key);
    else objects.set(key, object);
  });
  end();
  return told([...objects.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)));
}
