import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Compacted, openStore, type Store, StoreDamaged, type Stored, StoreError, type StoreEvent } from "./index.ts";
import { frameAt } from "./record.ts";

const object = (data: unknown): Stored => ({ apiVersion: "v1", kind: "T", metadata: { name: "x" }, data });
const put = (store: Store, key: string, data: unknown = null) => store.write("things", key, () => object(data));
const LOG = "log-1.wal";

describe("opening a directory", () => {
  let dir: string;
  let warnings: string[];
  const open = (options: { snapshotAfter?: number; in?: string } = {}) =>
    openStore({
      dir: options.in ?? dir,
      durability: "os",
      warn: (message) => warnings.push(message),
      ...(options.snapshotAfter !== undefined && { snapshotAfter: options.snapshotAfter }),
    });
  const content = async (of = dir) => {
    const names = (await fs.readdir(of)).sort();
    return Promise.all(names.map(async (name) => [name, (await fs.readFile(join(of, name))).toString("hex")]));
  };
  const filled = async (count: number, options: { snapshotAfter?: number } = {}) => {
    const store = await open(options);
    for (let n = 0; n < count; n++) await put(store, `k${n % 3}`, n);
    const state = store.list("things");
    await store.close();
    return state;
  };
  const damage = async (name: string, change: (bytes: Buffer) => Buffer) => {
    const path = join(dir, name);
    await fs.writeFile(path, change(await fs.readFile(path)));
  };
  const failure = async () => {
    const before = await content();
    const error = await open().then(
      () => undefined,
      (error) => error,
    );
    expect(await content()).toEqual(before); // nothing was changed, and the lock is gone
    return error;
  };

  beforeEach(async () => {
    warnings = [];
    dir = await fs.mkdtemp(join(tmpdir(), "capstan-store-"));
  });
  afterEach(async () => {
    await fs.rm(dir, { recursive: true, force: true });
  });

  it("gives back everything, exactly, and goes on counting", async () => {
    const store = await open();
    const hostile = JSON.parse('{"__proto__":{"polluted":true}}');
    await put(store, "big", { int: 9223372036854775807n, text: "línea\n\u2028\ud800 \0", hostile });
    await put(store, "gone");
    await store.write("things", "gone", () => undefined);
    const state = store.list("things");
    await store.close();
    const again = await open();
    expect(again.list("things")).toEqual(state);
    expect(again.revision).toBe(4);
    expect((await put(again, "next"))?.metadata.resourceVersion).toBe("5");
    await again.close();
  });

  it("lets watches resume across a restart, because the log tells what happened", async () => {
    const store = await open();
    await put(store, "x", 1);
    await put(store, "x", 2);
    await store.write("things", "x", () => undefined);
    const seen: StoreEvent[] = [];
    store.watch("things", 1, (event) => seen.push(event));
    await store.close();
    const again = await open();
    const replayed: StoreEvent[] = [];
    again.watch("things", 1, (event) => replayed.push(event));
    expect(replayed).toEqual(seen);
    expect(again.list("things", { revision: 3 }).items).toMatchObject([{ data: 2 }]);
    await again.close();
  });

  it("keeps its files to the owner, because they hold Secrets", async () => {
    await filled(10, { snapshotAfter: 200 });
    for (const name of await fs.readdir(dir)) expect((await fs.stat(join(dir, name))).mode & 0o077).toBe(0);
    expect(await fs.readFile(join(dir, "format.json"), "utf8")).toBe('{"format":1}\n');
  });

  it("writes nothing but the lock while nothing is written to it", async () => {
    const store = await open();
    expect(await fs.readdir(dir)).toEqual(["lock"]);
    await store.close();
    expect(await fs.readdir(dir)).toEqual([]);
  });

  it("refuses a format that it does not know", async () => {
    await filled(1);
    await fs.writeFile(join(dir, "format.json"), '{"format":2}');
    const error = await failure();
    expect(error).toBeInstanceOf(StoreError);
    expect(error.message).toContain(`${join(dir, "format.json")} says format 2`);
  });

  it.each(["missing", "empty"])("refuses data whose format.json is %s", async (how) => {
    await filled(1);
    if (how === "missing") await fs.rm(join(dir, "format.json"));
    else await fs.writeFile(join(dir, "format.json"), "");
    expect(await failure()).toMatchObject({ name: "StoreDamaged", file: join(dir, "format.json") });
  });

  it("cuts a torn record off wherever it was torn, and says so", async () => {
    await filled(4);
    const whole = await fs.readFile(join(dir, LOG));
    const ends = [0];
    for (let end = frameAt(whole, 0)?.end; end !== undefined; end = frameAt(whole, end)?.end) ends.push(end);
    expect(ends).toHaveLength(5);
    for (let length = ends[3] as number; length <= whole.length; length++) {
      await fs.writeFile(join(dir, LOG), whole.subarray(0, length));
      warnings = [];
      const store = await open();
      const frames = ends.filter((end) => end <= length).length - 1;
      expect(store.revision).toBe(1 + frames);
      const isTorn = !ends.includes(length);
      expect(warnings).toEqual(isTorn ? [expect.stringContaining(`from ${ends[frames]} on`)] : []);
      expect((await fs.stat(join(dir, LOG))).size).toBe(ends[frames]);
      expect((await put(store, "next"))?.metadata.resourceVersion).toBe(String(2 + frames));
      await store.close();
    }
  });

  it("takes zeros at the end for a write that was cut short, because file systems leave them after a power cut", async () => {
    const state = await filled(3);
    await damage(LOG, (bytes) => Buffer.concat([bytes, Buffer.alloc(5000)]));
    const store = await open();
    expect(store.list("things")).toEqual(state);
    expect(warnings).toHaveLength(1);
    await store.close();
  });

  it.each([
    ["a byte of its text", 8 + 30],
    ["its length", 0],
    ["its length made huge", 3],
    ["its checksum", 5],
  ])("refuses a record that is damaged in %s when others follow, because those were acknowledged", async (_, at) => {
    await filled(3);
    const first = frameAt(await fs.readFile(join(dir, LOG)), 0)?.end ?? 0;
    await damage(LOG, (bytes) => {
      bytes[first + at] = (bytes[first + at] as number) ^ 0x55;
      return bytes;
    });
    const error = await failure();
    expect(error).toBeInstanceOf(StoreDamaged);
    expect(error).toMatchObject({ file: join(dir, LOG), offset: first });
    expect(error.message).toContain(`${join(dir, LOG)} is damaged at byte ${first}`);
    expect(warnings).toEqual([]);
  });

  it("refuses a log from which a record in the middle was taken out", async () => {
    await filled(3);
    const bytes = await fs.readFile(join(dir, LOG));
    const first = frameAt(bytes, 0)?.end ?? 0;
    const second = frameAt(bytes, first)?.end ?? 0;
    await fs.writeFile(join(dir, LOG), Buffer.concat([bytes.subarray(0, first), bytes.subarray(second)]));
    expect(await failure()).toMatchObject({ name: "StoreDamaged", offset: first });
  });

  it("reads snapshot and log together, and keeps no old files", async () => {
    const state = await filled(100, { snapshotAfter: 1000 });
    const names = await fs.readdir(dir);
    expect(names.filter((name) => name.startsWith("snapshot-"))).toHaveLength(1);
    expect(names.filter((name) => name.startsWith("log-")).length).toBeLessThanOrEqual(1);
    const store = await open();
    expect(store.list("things")).toEqual(state);
    expect(store.revision).toBe(101);
    expect(() => store.watch("things", 1, () => {})).toThrow(Compacted);
    const at = store.oldest;
    expect(store.list("things", { revision: at }).revision).toBe(at);
    await store.close();
  });

  describe("with a snapshot in the middle", () => {
    /** Files as a crash leaves them that came after the snapshot and before the old log was removed. */
    const both = async () => {
      await filled(5);
      const old = await fs.readFile(join(dir, LOG));
      const store = await open({ snapshotAfter: 1 });
      await put(store, "k0", "then"); // revision 7: starts a snapshot
      await expect
        .poll(async () => (await fs.readdir(dir)).filter((name) => name !== "lock").sort(), { interval: 1 })
        .toEqual(["format.json", "snapshot-7.jsonl"]);
      await store.close();
      const last = await open();
      await put(last, "k1", "last");
      const state = last.list("things");
      await last.close();
      expect((await fs.readdir(dir)).sort()).toEqual(["format.json", "log-7.wal", "snapshot-7.jsonl"]);
      return { state, old };
    };

    it("ignores and removes what the snapshot covers, and what was never finished", async () => {
      const { state, old } = await both();
      await fs.writeFile(join(dir, LOG), old);
      await fs.writeFile(join(dir, "snapshot-9.jsonl.tmp"), "half");
      const store = await open();
      expect(store.list("things")).toEqual(state);
      await store.close();
      expect((await fs.readdir(dir)).sort()).toEqual(["format.json", "log-7.wal", "snapshot-7.jsonl"]);
    });

    it.each([
      ["cut", (bytes: Buffer) => bytes.subarray(0, bytes.length - 5)],
      ["without its last line", (bytes: Buffer) => bytes.subarray(0, bytes.lastIndexOf('{"objects"'))],
      ["changed", (bytes: Buffer) => Buffer.from(bytes.toString().replace('"then"', '"them"'))],
      ["longer", (bytes: Buffer) => Buffer.concat([bytes, Buffer.from("{}\n")])],
      ["empty", () => Buffer.alloc(0)],
    ])("refuses a snapshot that is %s when nothing else holds the data", async (_, change) => {
      await both();
      await damage("snapshot-7.jsonl", change);
      expect(await failure()).toMatchObject({ name: "StoreDamaged", file: join(dir, "snapshot-7.jsonl") });
      await fs.rm(join(dir, "log-7.wal"));
      expect(await failure()).toMatchObject({ name: "StoreDamaged", file: join(dir, "snapshot-7.jsonl") });
    });

    it("does without a damaged snapshot when the logs hold everything", async () => {
      await filled(5);
      await fs.writeFile(join(dir, "snapshot-4.jsonl"), '{"snapshot":4}\n');
      const store = await open();
      expect(store.revision).toBe(6);
      expect(warnings).toEqual([expect.stringContaining("snapshot-4.jsonl")]);
      await store.close();
    });

    it("refuses a torn record in a log that is not the last", async () => {
      await filled(5);
      const { length } = await fs.readFile(join(dir, LOG));
      await damage(LOG, (bytes) => Buffer.concat([bytes, Buffer.from("torn")]));
      await fs.writeFile(join(dir, "log-6.wal"), "");
      expect(await failure()).toMatchObject({ name: "StoreDamaged", file: join(dir, LOG), offset: length });
    });

    it("refuses logs between which one is missing", async () => {
      await filled(5);
      await fs.writeFile(join(dir, "log-9.wal"), "");
      expect(await failure()).toMatchObject({ name: "StoreDamaged", file: join(dir, "log-9.wal") });
    });

    it("begins a new log when the last one holds nothing newer than the snapshot", async () => {
      const { old } = await both();
      await fs.rm(join(dir, "log-7.wal"));
      await fs.writeFile(join(dir, LOG), old);
      const store = await open();
      await put(store, "x");
      expect(store.revision).toBe(8);
      await store.close();
      expect((await fs.readdir(dir)).sort()).toEqual(["format.json", "log-7.wal", "snapshot-7.jsonl"]);
    });
  });
});
