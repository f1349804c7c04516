import { cpSync } from "node:fs";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Disk } from "./directory.ts";
import { openStore, type Store, type Stored, type StoreEvent } from "./index.ts";

const object = (data: unknown): Stored => ({ apiVersion: "v1", kind: "T", metadata: { name: "x" }, data });

let dir: string;
beforeEach(async () => {
  dir = await fs.mkdtemp(join(tmpdir(), "capstan-store-"));
});
afterEach(async () => {
  await fs.rm(dir, { recursive: true, force: true });
});

/**
 * Calls `onStep` between any two changes of the disk, and in the middle of each write. Changes take turns, because the
 * log and a snapshot are written side by side, and a copy must not be made while something else moves.
 */
function steppedDisk(onStep: () => void): Disk {
  let turn: Promise<unknown> = Promise.resolve();
  const stepped =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> => {
      const mine = turn.then(async () => {
        onStep();
        const result = await call(...args);
        onStep();
        return result;
      });
      turn = mine.catch(() => {});
      return mine;
    };
  const open: Disk["open"] = async (path, ...rest) => {
    const handle = await fs.open(path, ...rest);
    const halved = async (bytes: Buffer, offset: number, length: number, position: number) => {
      const half = Math.floor(length / 2);
      await handle.write(bytes, offset, half, position);
      onStep();
      await handle.write(bytes, offset + half, length - half, position + half);
      return { bytesWritten: length, buffer: bytes };
    };
    return new Proxy(handle, {
      get(target, property) {
        if (property === "write") return stepped(halved);
        const value = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        return property === "truncate" || property === "writeFile" ? stepped(value.bind(target)) : value.bind(target);
      },
    });
  };
  const { rename, rm } = fs;
  return { ...fs, open: stepped(open) as Disk["open"], rename: stepped(rename), rm: stepped(rm) as Disk["rm"] };
}

describe("a crash at any moment", () => {
  it("loses nothing that was acknowledged and gives no revision out twice", async () => {
    const work = join(dir, "work");
    const acknowledged = new Map<string, { revision: number; data: unknown }>();
    /** The directory as it was at some moment, and what had been acknowledged by then. */
    const crashes: { copy: string; acknowledged: typeof acknowledged }[] = [];
    const disk = steppedDisk(() => {
      const copy = join(dir, `crash-${crashes.length}`);
      cpSync(work, copy, { recursive: true });
      crashes.push({ copy, acknowledged: new Map(acknowledged) });
    });
    await fs.mkdir(work);
    const store = await openStore({ dir: work, durability: "sync", disk, snapshotAfter: 600 });
    const byRevision = new Map<number, string>();
    store.subscribe(({ revision, key, object }) => byRevision.set(revision, `${key} ${object.data}`));
    for (let round = 0; round < 12; round++) {
      const write = async (key: string) => {
        const data = `${key} of round ${round}`.padEnd(40);
        const stored = await store.write("things", key, () => object(data));
        acknowledged.set(key, { revision: Number(stored?.metadata.resourceVersion), data });
      };
      await Promise.all([write(`a${round % 4}`), write("b"), write("b")]);
    }
    await store.close();
    expect(crashes.length).toBeGreaterThan(50);

    const reached = new Set<number>();
    for (const crash of crashes) {
      // The copy's lock names this very process, which is alive; the one that crashed was not.
      await fs.rm(join(crash.copy, "lock"), { force: true });
      const survivor = await openStore({ dir: crash.copy, durability: "os", warn: () => {} });
      for (const [key, { revision, data }] of crash.acknowledged) {
        const found = survivor.get("things", key);
        const foundRevision = Number(found?.metadata.resourceVersion);
        expect(foundRevision).toBeGreaterThanOrEqual(revision);
        if (foundRevision === revision) expect(found?.data).toBe(data);
        else expect(byRevision.get(foundRevision)).toBe(`${key} ${found?.data}`);
        expect(survivor.revision).toBeGreaterThanOrEqual(revision);
      }
      const { revision } = survivor;
      reached.add(revision);
      const next = await survivor.write("things", "next", () => object(null));
      expect(next?.metadata.resourceVersion).toBe(String(revision + 1));
      await survivor.close();
      await fs.rm(crash.copy, { recursive: true });
    }
    expect(reached.size).toBeGreaterThan(12);
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
