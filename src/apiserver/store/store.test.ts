import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "#lib/clock";
import {
  Compacted,
  type Durability,
  openStore,
  type Store,
  type Stored,
  StoreError,
  type StoreEvent,
  type StoreOptions,
} from "./index.ts";

const pod = (name: string, data: unknown = null): Stored => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "a" },
  data,
});
const put = (store: Store, key: string, data: unknown = null, resource = "pods") =>
  store.write(resource, key, () => pod(key, data));
const remove = (store: Store, key: string, resource = "pods") => store.write(resource, key, () => undefined);
const names = (items: Stored[]) => items.map(({ metadata }) => metadata.name);
const told = (events: StoreEvent[]) => events.map(({ type, key, revision }) => `${type} ${key} ${revision}`);

describe.each(["memory", "os", "sync"] satisfies Durability[])("a store with durability %s", (durability) => {
  let dir: string;
  let store: Store;
  let warnings: string[];
  const open = (options: Partial<Pick<StoreOptions, "history" | "clock">> = {}) =>
    openStore({ dir, durability, warn: (message) => warnings.push(message), ...options });

  beforeEach(async () => {
    warnings = [];
    dir = await mkdtemp(join(tmpdir(), "capstan-store-"));
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await rm(dir, { recursive: true, force: true });
  });

  it("begins at revision 1, because clients take 0 for any revision", () => {
    expect(store.revision).toBe(1);
    expect(store.list("pods")).toEqual({ items: [], revision: 1 });
  });

  it("gives each write the next revision and writes it into a copy of the object", async () => {
    const given = pod("x");
    const stored = await store.write("pods", "a/x", () => given);
    expect(stored?.metadata.resourceVersion).toBe("2");
    expect(given.metadata.resourceVersion).toBeUndefined();
    expect(store.get("pods", "a/x")).toBe(stored);
    await put(store, "a/y", 1, "services");
    expect(store.revision).toBe(3);
    expect(store.resources()).toEqual(["pods", "services"]);
  });

  it("gives a delete a revision and answers with the last state", async () => {
    await put(store, "a/x", 7);
    const last = await remove(store, "a/x");
    expect(last).toMatchObject({ data: 7, metadata: { resourceVersion: "3" } });
    expect(store.get("pods", "a/x")).toBeUndefined();
    expect(store.resources()).toEqual([]);
  });

  it("writes nothing when the current state is returned", async () => {
    const stored = await put(store, "a/x");
    expect(await store.write("pods", "a/x", (current) => current)).toBe(stored);
    expect(await remove(store, "a/missing")).toBeUndefined();
    expect(store.revision).toBe(2);
  });

  it("lets what decide throws reject the write and writes nothing", async () => {
    const refuse = () => {
      throw new Error("conflict");
    };
    await expect(store.write("pods", "a/x", refuse)).rejects.toThrow("conflict");
    expect(store.revision).toBe(1);
  });

  it("refuses a write inside of decide, because it would slip in between", async () => {
    let inner: Promise<unknown> = Promise.resolve();
    await store.write("pods", "a/x", () => {
      inner = expect(put(store, "a/x")).rejects.toThrow(StoreError);
      return pod("x");
    });
    await inner;
  });

  it("shows a write at once to the next writer and to readers only when it is durable", async () => {
    const first = put(store, "a/x", 1);
    expect(store.get("pods", "a/x")).toBeUndefined();
    expect(store.revision).toBe(1);
    expect(store.head("pods", "a/x")?.data).toBe(1);
    const second = store.write("pods", "a/x", (current) => ({ ...pod("x"), data: Number(current?.data) + 1 }));
    const third = remove(store, "a/x");
    expect(store.head("pods", "a/x")).toBeUndefined();
    const same = store.write("pods", "a/x", (current) => current);
    const answers = await Promise.all([first, second, third, same]);
    expect(answers.map((answer) => answer?.data)).toEqual([1, 2, 2, undefined]);
    expect(store.revision).toBe(4);
  });

  it("loses no update among many writers of one object", async () => {
    const increment = () => store.write("pods", "a/x", (now) => pod("x", Number(now?.data ?? 0) + 1));
    await Promise.all(Array.from({ length: 500 }, increment));
    expect(store.get("pods", "a/x")?.data).toBe(500);
    expect(store.revision).toBe(501);
  });

  it("answers in order of revision, after the events were told", async () => {
    const seen: string[] = [];
    store.subscribe(({ revision }) => seen.push(`event ${revision}`));
    const write = async (key: string) => {
      const stored = await put(store, key);
      seen.push(`answer ${stored?.metadata.resourceVersion}`);
    };
    await Promise.all(["a/1", "a/2", "a/3"].map(write));
    expect(seen).toEqual(["event 2", "event 3", "event 4", "answer 2", "answer 3", "answer 4"]);
  });

  it("lists in order of key, of one namespace or of all", async () => {
    const keys = ["b/z", "a/y", "a-b/x", "a/b", "ab/c", "b/a"];
    await Promise.all(keys.map((key) => put(store, key)));
    await remove(store, "b/a");
    expect(names(store.list("pods").items)).toEqual(["a-b/x", "a/b", "a/y", "ab/c", "b/z"]);
    expect(names(store.list("pods", { namespace: "a" }).items)).toEqual(["a/b", "a/y"]);
    expect(store.list("pods", { namespace: "none" }).items).toEqual([]);
  });

  it("lists the past", async () => {
    await put(store, "a/x", "old");
    await put(store, "a/y");
    const then = store.list("pods");
    await put(store, "a/x", "new");
    await remove(store, "a/y");
    await put(store, "a/z");
    await put(store, "b/q");
    expect(store.list("pods", { revision: then.revision })).toEqual(then);
    expect(names(store.list("pods", { revision: then.revision, namespace: "b" }).items)).toEqual([]);
    expect(store.list("pods", { revision: 1 }).items).toEqual([]);
    expect(() => store.list("pods", { revision: 99 })).toThrow("has not happened yet");
    expect(names(store.list("pods", { key: "b/q" }).items)).toEqual(["b/q"]);
    expect(store.list("pods", { key: "a/y" }).items).toEqual([]);
  });

  it("tells a watch what it missed and what follows, of its resource only", async () => {
    await put(store, "a/x", 1);
    await put(store, "a/x", 2);
    await put(store, "a/s", 0, "services");
    const events: StoreEvent[] = [];
    const end = store.watch("pods", 2, (event) => events.push(event));
    expect(told(events)).toEqual(["MODIFIED a/x 3"]);
    await remove(store, "a/x");
    await put(store, "a/x", 3);
    end();
    await put(store, "a/x", 4);
    expect(told(events)).toEqual(["MODIFIED a/x 3", "DELETED a/x 5", "ADDED a/x 6"]);
    expect(events.map(({ previous }) => previous?.data)).toEqual([1, 2, undefined]);
    expect(events[1]?.object).toMatchObject({ data: 2, metadata: { resourceVersion: "5" } });
  });

  it.each([
    ["one object", { key: "a/x" }, ["ADDED a/x 2", "MODIFIED a/x 6", "DELETED a/x 7"]],
    ["one namespace", { namespace: "a" }, ["ADDED a/x 2", "ADDED a/xy 3", "MODIFIED a/x 6", "DELETED a/x 7"]],
    // What loses the label is told too: whoever saw it has to know that it is gone.
    ["one label", { label: "set", value: "one" }, ["ADDED a/x 2", "ADDED b/x 5", "MODIFIED a/x 6"]],
  ])("tells a watch that cares for %s of nothing else", async (_, interest, expected) => {
    const labelled = (key: string, set?: string) =>
      store.write("pods", key, () => ({ ...pod(key), metadata: { name: key, ...(set && { labels: { set } }) } }));
    const events: StoreEvent[] = [];
    const late: StoreEvent[] = [];
    const end = store.watch("pods", 1, (event) => events.push(event), interest);
    await labelled("a/x", "one");
    await labelled("a/xy", "two");
    await labelled("c/x");
    await labelled("b/x", "one");
    await labelled("a/x", "two");
    await remove(store, "a/x");
    expect(told(events)).toEqual(expected);
    end();
    const endLate = store.watch("pods", store.revision, (event) => late.push(event), interest);
    endLate();
    await labelled("a/x", "one");
    expect([told(events), late]).toEqual([expected, []]);
  });

  it("keeps a watch from the future silent until then", async () => {
    const events: StoreEvent[] = [];
    store.watch("pods", 3, (event) => events.push(event));
    for (const key of ["a/1", "a/2", "a/3"]) await put(store, key);
    expect(told(events)).toEqual(["ADDED a/3 4"]);
  });

  it("tells a watch that begins amid a batch everything once", async () => {
    const late: StoreEvent[] = [];
    const all: StoreEvent[] = [];
    const end = store.subscribe(({ revision }) => {
      end();
      store.watch("pods", revision, (event) => late.push(event));
      store.subscribe((event) => all.push(event));
    });
    await Promise.all(["a/1", "a/2", "a/3"].map((key) => put(store, key)));
    await put(store, "a/4");
    expect(told(late)).toEqual(["ADDED a/2 3", "ADDED a/3 4", "ADDED a/4 5"]);
    expect(told(all)).toEqual(["ADDED a/4 5"]); // the batch was durable before it subscribed
  });

  it("lets a broken listener harm nobody", async () => {
    const events: StoreEvent[] = [];
    const broken = () => {
      throw new Error("broken");
    };
    store.subscribe(broken);
    store.onRevision(broken);
    store.watch("pods", store.revision, (event) => events.push(event));
    await put(store, "a/x");
    expect(told(events)).toEqual(["ADDED a/x 2"]);
    expect(warnings).toEqual([expect.stringContaining("broken"), expect.stringContaining("broken")]);
  });

  it("says the new revision after every batch", async () => {
    const revisions: number[] = [];
    const end = store.onRevision((revision) => revisions.push(revision));
    await Promise.all([put(store, "a/x"), put(store, "a/y")]);
    await put(store, "a/x", 1);
    end();
    await put(store, "a/x", 2);
    expect(revisions).toEqual([3, 4]);
  });

  it("finishes what was accepted when it is closed, and accepts no more", async () => {
    const accepted = put(store, "a/x");
    const closed = store.close();
    await expect(put(store, "a/y")).rejects.toThrow("closed");
    await closed;
    expect((await accepted)?.metadata.resourceVersion).toBe("2");
    await store.close();
  });

  it("forgets per resource, and says so rather than leave events out", async () => {
    await store.close();
    const clock = new ManualClock();
    store = await open({ history: { seconds: 75, least: 2, most: 4 }, clock });
    await put(store, "a/quiet", 0, "services"); // 2
    for (const data of [1, 2, 3, 4]) await put(store, "a/x", data); // 3 to 6
    expect(store.oldest).toBe(0);
    await put(store, "a/x", 5); // 7: more than `most`, the event of 3 goes
    expect(store.oldest).toBe(3);
    expect(() => store.watch("pods", 2, () => {})).toThrow(Compacted);
    expect(() => store.list("pods", { revision: 2 })).toThrow(new Compacted(2, 3).message);
    expect(store.list("pods", { revision: 3 }).items).toMatchObject([{ data: 1 }]);
    const events: StoreEvent[] = [];
    store.watch("services", 0, (event) => events.push(event))();
    expect(told(events)).toEqual(["ADDED a/quiet 2"]);

    clock.advance(75_000);
    expect(store.oldest).toBe(5); // only `least` are left
    expect(store.list("pods", { revision: 5 }).items).toMatchObject([{ data: 3 }]);
  });
});
