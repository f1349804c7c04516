import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Disk } from "./directory.ts";
import { openStore, type Store, type Stored, StoreError } from "./index.ts";

const object = (data: unknown): Stored => ({ apiVersion: "v1", kind: "T", metadata: { name: "x" }, data });
const put = (store: Store, key: string, data: unknown = null) => store.write("things", key, () => object(data));
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => "stored",
    (error) => error,
  );

/** Says before each call of a file what happens to it: nothing, or that it throws, or that it waits. */
type Interfere = (operation: string, path: string, args: unknown[]) => Promise<unknown> | undefined;

function unreliableDisk(interfere: Interfere): Disk {
  const open: Disk["open"] = async (path, ...rest) => {
    const handle = await fs.open(path, ...rest);
    return new Proxy(handle, {
      get(target, property) {
        const value = Reflect.get(target, property, target);
        if (typeof value !== "function") return value;
        return async (...args: unknown[]) => {
          await interfere(String(property), String(path), args);
          return value.apply(target, args);
        };
      },
    });
  };
  return { ...fs, open };
}

const full = () => Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

describe("a disk that is slow or fails", () => {
  let dir: string;
  let interfere: Interfere;
  let warnings: string[];
  const disk = unreliableDisk((...call) => interfere(...call));
  const open = (snapshotAfter?: number) =>
    openStore({
      dir,
      durability: "sync",
      disk,
      warn: (message) => warnings.push(message),
      ...(snapshotAfter !== undefined && { snapshotAfter }),
    });

  beforeEach(async () => {
    warnings = [];
    interfere = () => undefined;
    dir = await fs.mkdtemp(join(tmpdir(), "capstan-store-"));
  });
  afterEach(async () => {
    await fs.rm(dir, { recursive: true, force: true });
  });

  it("shows and answers nothing before fdatasync has returned, and syncs once for all that wait", async () => {
    const store = await open();
    await put(store, "first");
    const gates: (() => void)[] = [];
    const calls: string[] = [];
    interfere = (operation, path) => {
      if (path.endsWith(".wal")) calls.push(operation);
      return operation === "datasync" ? new Promise<void>((resolve) => gates.push(resolve)) : undefined;
    };
    const events: string[] = [];
    store.subscribe(({ key }) => events.push(key));
    const answers: string[] = [];
    const write = (key: string) => put(store, key).then(() => answers.push(key));

    const a = write("a");
    await expect.poll(() => gates.length, { interval: 1 }).toBe(1);
    const rest = ["b", "c", "d"].map(write);
    expect(store.revision).toBe(2);
    expect([store.get("things", "a"), store.list("things").items.length, events, answers]).toEqual([
      undefined,
      1,
      [],
      [],
    ]);
    expect(store.head("things", "d")).toBeDefined();

    gates.shift()?.();
    await a;
    expect([events, answers, store.revision]).toEqual([["a"], ["a"], 3]);
    await expect.poll(() => gates.length, { interval: 1 }).toBe(1);
    gates.shift()?.();
    await Promise.all(rest);
    expect(events).toEqual(["a", "b", "c", "d"]);
    expect(calls).toEqual(["write", "datasync", "write", "datasync"]);
    await store.close();
  });

  it.each(["write", "datasync"])(
    "rejects everything on its way when %s fails, and goes on when the disk does",
    async (op) => {
      const store = await open();
      await put(store, "kept", 1);
      const before = await fs.readFile(join(dir, "log-1.wal"));
      interfere = async (operation) => {
        if (operation === op) throw full();
      };
      const events: string[] = [];
      store.subscribe(({ key }) => events.push(key));
      const writes = [put(store, "kept", 2), put(store, "new"), store.write("things", "kept", (now) => now)];
      const error = await outcome(writes[0] as Promise<unknown>);
      expect(error).toBeInstanceOf(StoreError);
      expect((error as StoreError).message).toBe(
        `cannot write ${join(dir, "log-1.wal")}: ENOSPC: no space left on device, write`,
      );
      expect(await Promise.all(writes.map(outcome))).toEqual([error, error, error]);

      expect(store.get("things", "kept")?.data).toBe(1);
      expect(store.head("things", "kept")?.data).toBe(1);
      expect(store.head("things", "new")).toBeUndefined();
      expect([events, store.revision]).toEqual([[], 2]);
      expect(await fs.readFile(join(dir, "log-1.wal"))).toEqual(before);

      interfere = () => undefined;
      const stored = await put(store, "kept", 3);
      expect(Number(stored?.metadata.resourceVersion)).toBeGreaterThan(4); // head has shown 3 and 4
      const state = store.list("things");
      await store.close();
      const again = await open();
      expect(again.list("things")).toEqual(state);
      expect(warnings).toEqual([]);
      await again.close();
    },
  );

  it("rejects writes that were decided on top of a failed one", async () => {
    const store = await open();
    await put(store, "x", 1);
    let fail: ((error: unknown) => void) | undefined;
    const held = (_: unknown, reject: (error: unknown) => void) => {
      fail = reject;
    };
    interfere = (operation) => (operation === "datasync" ? new Promise(held) : undefined);
    const first = outcome(put(store, "x", 2));
    await expect.poll(() => fail, { interval: 1 }).toBeDefined(); // the first batch has left
    const second = outcome(store.write("things", "x", (now) => object([now?.data, 3])));
    expect(store.head("things", "x")?.data).toEqual([2, 3]);
    fail?.(full());
    expect(await first).toBeInstanceOf(StoreError);
    expect(await second).toBeInstanceOf(StoreError);
    expect(store.head("things", "x")?.data).toBe(1);
    interfere = () => undefined;
    await store.close();
  });

  it("cuts torn bytes off before it writes again, when they could not be cut at once", async () => {
    const store = await open();
    await put(store, "x", 1);
    const log = join(dir, "log-1.wal");
    const { size } = await fs.stat(log);
    interfere = async (operation) => {
      if (operation === "write") await fs.appendFile(log, "torn bytes");
      if (operation === "write" || operation === "truncate") throw full();
    };
    expect(await outcome(put(store, "x", 2))).toBeInstanceOf(StoreError);
    expect((await fs.stat(log)).size).toBe(size + 10);
    expect(await outcome(put(store, "x", 3))).toBeInstanceOf(StoreError); // not before the tail is gone
    interfere = () => undefined;
    await put(store, "x", 4);
    await store.close();
    const again = await open();
    expect(again.get("things", "x")?.data).toBe(4);
    expect(warnings).toEqual([]);
    await again.close();
  });

  it("writes all of a batch though the disk takes it in pieces", async () => {
    const short: Disk["open"] = async (path, ...rest) => {
      const handle = await fs.open(path, ...rest);
      return new Proxy(handle, {
        get(target, property) {
          if (property === "write") {
            return (bytes: Buffer, offset: number, length: number, position: number) =>
              target.write(bytes, offset, Math.min(length, 7), position);
          }
          const value = Reflect.get(target, property, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    };
    const store = await openStore({ dir, durability: "os", disk: { ...fs, open: short } });
    await Promise.all([put(store, "x", "long enough"), put(store, "y")]);
    const state = store.list("things");
    await store.close();
    const again = await open();
    expect(again.list("things")).toEqual(state);
    await again.close();
  });

  it("goes on with the log when a snapshot cannot be written, and tries again later", async () => {
    const store = await open(2000);
    let attempts = 0;
    interfere = async (operation, path) => {
      if (path.endsWith(".jsonl.tmp") && operation === "sync") {
        attempts++;
        throw full();
      }
    };
    const fill = async (times: number) => {
      for (let time = 0; time < times; time++) await put(store, `x${time % 3}`, `${time}`.padEnd(100));
    };
    while (warnings.length === 0) await fill(1);
    await fill(3);
    expect(attempts).toBe(1); // not at every write
    while (attempts === 1) await fill(1);
    await expect.poll(() => warnings.length, { interval: 1 }).toBe(2);
    expect(warnings[0]).toContain("cannot write a snapshot");
    expect((await fs.readdir(dir)).filter((name) => /snapshot/.test(name))).toEqual([]);

    const state = store.list("things");
    interfere = () => undefined;
    await store.close();
    const again = await open(2000);
    expect(again.list("things")).toEqual(state);
    await put(again, "one more"); // the log is longer than it should be: now it works
    await again.close();
    expect((await fs.readdir(dir)).filter((name) => /snapshot/.test(name))).toHaveLength(1);
  });
});
