/** Watches: what is, and then what happens, in order. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { RawEvent, RawWatch } from "../support/raw.ts";
import { at, refusal, refused, type Staged } from "./stage.ts";

const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

export function watchesSuite(stage: Staged): void {
  let space: string;
  const open: RawWatch[] = [];
  beforeAll(async () => {
    space = await stage().namespace();
    for (const name of ["a", "b"]) await put(name, { team: "red" });
  });
  afterEach(() => {
    for (const watch of open.splice(0)) watch.close();
  });

  const secrets = (name?: string) => at(space, "secrets", name);
  const put = (name: string, labels: Record<string, string>) =>
    stage().admin.post(secrets(), { metadata: { name, labels } });
  const label = (name: string, team: string | null) =>
    stage().admin.patch(secrets(name), { metadata: { labels: { team } } });
  const watch = async (query: string, accept?: string) => {
    const watching = await stage().admin.watch(
      `${secrets()}?watch=true&${query}`,
      accept === undefined ? {} : { accept },
    );
    open.push(watching);
    return watching;
  };
  const now = async () => (await stage().admin.get(secrets())).body.metadata.resourceVersion ?? "";
  const seen = (events: readonly RawEvent[]) => events.map(({ type, object }) => `${type} ${object.metadata.name}`);

  it("watch.headers: answers before anything happens", async () => {
    const watching = await watch(`resourceVersion=${await now()}`);
    expect(watching.code).toBe(200);
    expect(watching.headers["content-type"]).toBe("application/json");
    expect(watching.events).toEqual([]);
  });

  it("watch.order: tells changes in order, each with the state and the revision it led to", async () => {
    const { admin } = stage();
    const watching = await watch(`resourceVersion=${await now()}`);
    const made = await put("ordered", { team: "red" });
    const changed = await label("ordered", "blue");
    await admin.delete(secrets("ordered"));
    const events = await watching.seen(3);
    expect(seen(events)).toEqual(["ADDED ordered", "MODIFIED ordered", "DELETED ordered"]);
    expect(events.map(({ object }) => object.metadata.labels?.team)).toEqual(["red", "blue", "blue"]);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions.slice(0, 2)).toEqual([made, changed].map(({ body }) => Number(body.metadata.resourceVersion)));
    expect(versions[2]).toBeGreaterThan(versions[1] ?? 0);
    expect(events[0]?.object).toMatchObject({ kind: "Secret", apiVersion: "v1" });
  });

  it("watch.from-now: without a revision starts with what there is", async () => {
    for (const query of ["", "resourceVersion=0"]) {
      const watching = await watch(query);
      expect(seen(await watching.seen(2)).slice(0, 2)).toEqual(["ADDED a", "ADDED b"]);
    }
  });

  it("watch.resume: goes on where another one ended", async () => {
    const start = await now();
    await put("resumed", {});
    await stage().admin.delete(secrets("resumed"));
    const first = await watch(`resourceVersion=${start}`);
    const [added] = await first.seen(1);
    first.close();
    const second = await watch(`resourceVersion=${added?.object.metadata.resourceVersion}`);
    expect(seen(await second.seen(1))).toEqual(["DELETED resumed"]);
  });

  it("watch.selected: tells a selecting watcher only of what it can see", async () => {
    const watching = await watch(`resourceVersion=${await now()}&labelSelector=team%3Dred`);
    await put("moving", { team: "blue" });
    await label("moving", "red");
    const left = await label("moving", "green");
    await stage().admin.delete(secrets("moving"));
    await put("marker", { team: "red" });
    const events = await watching.seen(3);
    expect(seen(events)).toEqual(["ADDED moving", "DELETED moving", "ADDED marker"]);
    const gone = events[1]?.object.metadata;
    expect(gone?.labels?.team).toBe("red");
    expect(gone?.resourceVersion).toBe(left.body.metadata.resourceVersion);
    await stage().admin.delete(secrets("marker"));
  });

  it("watch.single-name: of a single name, by selector and by the old path", async () => {
    const bySelector = await watch("fieldSelector=metadata.name%3Da");
    expect(seen(await bySelector.seen(1))).toEqual(["ADDED a"]);
    const byPath = await stage().admin.watch(`/api/v1/watch/namespaces/${space}/secrets/b`);
    open.push(byPath);
    expect(seen(await byPath.seen(1))).toEqual(["ADDED b"]);
    await label("a", "red2");
    await label("b", "red2");
    expect(seen(await bySelector.seen(2))).toEqual(["ADDED a", "MODIFIED a"]);
    expect(seen(await byPath.seen(2))).toEqual(["ADDED b", "MODIFIED b"]);
  });

  it("watch-list.initial-events: streams the initial list and says where it ends", async () => {
    const watching = await watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    const events = await watching.seen(3);
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "BOOKMARK"]);
    expect(events[2]?.object).toMatchObject({
      kind: "Secret",
      apiVersion: "v1",
      metadata: { annotations: { [INITIAL_EVENTS_END]: "true" } },
    });
    expect(Number(events[2]?.object.metadata.resourceVersion)).toBeGreaterThan(0);
    await put("after", {});
    expect(seen(await watching.seen(4)).at(-1)).toBe("ADDED after");
    await stage().admin.delete(secrets("after"));
  });

  it("watch-list.no-initial-events: leaves the present out when told to", async () => {
    const watching = await watch(
      `sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=${await now()}&allowWatchBookmarks=true`,
    );
    await put("only", {});
    const events = await watching.seen(1);
    expect(seen(events.filter(({ type }) => type !== "BOOKMARK"))).toEqual(["ADDED only"]);
    await stage().admin.delete(secrets("only"));
  });

  it("watch.timeout: ends by itself when its time is up", async () => {
    const watching = await watch(`resourceVersion=${await now()}&timeoutSeconds=1`);
    await watching.ended;
    expect(watching.events).toEqual([]);
  });

  it("watch.future: waits silently for a revision of the future", async () => {
    const watching = await watch("resourceVersion=999999999&timeoutSeconds=1");
    expect(watching.code).toBe(200);
    await watching.ended;
    expect(watching.events.filter(({ type }) => type !== "ERROR")).toEqual([]);
  });

  it("watch.flag: takes every value but false for yes", async () => {
    const watching = await stage().admin.watch(`${secrets()}?watch=perhaps&timeoutSeconds=1`);
    open.push(watching);
    expect((await watching.seen(1))[0]?.type).toBe("ADDED");
    expect((await stage().admin.get(`${secrets()}?watch=false`)).body.kind).toBe("SecretList");
    expect((await stage().admin.get(`${secrets("a")}?watch=true`)).body.kind).toBe("Secret");
  });

  describe("refuses", () => {
    it.each([
      ["resourceVersion=abc", refused(500, undefined)],
      ["timeoutSeconds=abc", refused(400, "BadRequest")],
      ["sendInitialEvents=true", refused(422, "Invalid", "resourceVersionMatch FieldValueForbidden")],
      [
        "resourceVersionMatch=NotOlderThan&resourceVersion=1",
        refused(422, "Invalid", "resourceVersionMatch FieldValueForbidden"),
      ],
      ["labelSelector=((", refused(400, "BadRequest")],
      ["fieldSelector=foo%3Dbar", refused(400, "BadRequest")],
    ])("watch.refusals: %s", async (query, expected) => {
      expect(refusal(await stage().admin.get(`${secrets()}?watch=true&${query}`))).toEqual(expected);
    });
  });

  describe("forms", () => {
    it("table.watch: sends tables, with columns once", async () => {
      const watching = await watch("", "application/json;as=Table;g=meta.k8s.io;v=v1");
      const [first, second] = await watching.seen(2);
      expect(first?.object).toMatchObject({ kind: "Table", rows: [{ object: { kind: "PartialObjectMetadata" } }] });
      const columns = (event: RawEvent | undefined) => event?.object.columnDefinitions as { name: string }[] | null;
      expect(columns(first)?.map(({ name }) => name)).toEqual(["Name", "Type", "Data", "Age"]);
      expect(columns(second)).toBeNull();
    });

    it("metadata.watch: sends metadata alone", async () => {
      const watching = await watch("", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
      const [first] = await watching.seen(1);
      expect(first?.object).toMatchObject({
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: { name: "a" },
      });
      expect(first?.object).not.toHaveProperty("type");
    });
  });
}
