import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openStore } from "./index.ts";

let dir: string;
const open = () => openStore({ dir, durability: "os" });
const path = () => join(dir, "lock");

beforeEach(async () => {
  dir = await fs.mkdtemp(join(tmpdir(), "capstan-store-"));
});
afterEach(async () => {
  await fs.rm(dir, { recursive: true, force: true });
});

it("keeps a second store out until the first is closed, and names the process", async () => {
  const first = await open();
  await expect(open()).rejects.toThrow(`${dir} is in use by process ${process.pid}`);
  await first.close();
  expect(await fs.readdir(dir)).toEqual([]);
  await (await open()).close();
});

it("respects another process that lives, and takes over when it died without a word", async () => {
  const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  await once(other, "spawn");
  await fs.writeFile(path(), JSON.stringify({ pid: other.pid }));
  await expect(open()).rejects.toThrow(`process ${other.pid}`);
  other.kill("SIGKILL");
  await once(other, "exit");
  await (await open()).close();
});

it.each([
  ["names nobody", ""],
  ["is of a process whose number was given to another", JSON.stringify({ pid: process.pid, started: "before/1" })],
])("takes over a lock that %s", async (_, content) => {
  await fs.writeFile(path(), content);
  await (await open()).close();
});

it("lets one of many in at a time, also over a stale lock", async () => {
  await fs.writeFile(path(), "");
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, open));
  const inside = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  expect(inside).toHaveLength(1);
  await inside[0]?.close();
  expect(await fs.readdir(dir)).toEqual([]);
});

it("leaves a lock alone that is not its own any more", async () => {
  const store = await open();
  await fs.writeFile(path(), '{"pid":1}');
  await store.close();
  expect(await fs.readFile(path(), "utf8")).toBe('{"pid":1}');
});
