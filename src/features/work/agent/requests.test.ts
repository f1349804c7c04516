import { describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { ManifestWork } from "#api/work";
import { findCondition } from "#lib/conditions";
import { CLUSTER, FakeWorkStage } from "../../../../test/support/fake-work.ts";

const CALLS = ["get", "list", "watch", "create", "update", "patch", "delete", "raw"] as const;
const HOUR = 3_600_000;

/** A stage whose agent works, and every request that it makes from then on. */
async function listenedTo(): Promise<{ stage: FakeWorkStage; heard: string[] }> {
  const stage = new FakeWorkStage();
  const heard: string[] = [];
  for (const [where, { client }] of [
    ["hub", stage.hub],
    ["spoke", stage.spoke],
  ] as const) {
    for (const verb of CALLS) {
      const call = client[verb].bind(client) as (...args: unknown[]) => Promise<unknown>;
      const told = async (...args: unknown[]) => {
        heard.push(nameOf(where, verb, args));
        return call(...args);
      };
      (client as unknown as Record<string, unknown>)[verb] = told;
    }
  }
  // Kinds, copies and the hub's identity are asked for once, by the first.
  stage.wish("first");
  await stage.start();
  expect(stage.maps).toEqual(["first"]);
  heard.length = 0;
  return { stage, heard };
}

/** `spoke patch AppliedManifestWork/status` */
function nameOf(where: string, verb: string, args: readonly unknown[]): string {
  const [kind] = args as [{ kind?: string } | string];
  const { subresource } = (args.at(-1) ?? {}) as { subresource?: string };
  const what = typeof kind === "string" ? kind : kind.kind;
  return `${where} ${verb} ${what}${subresource ? `/${subresource}` : ""}`;
}

function appliedOf(stage: FakeWorkStage, name: string) {
  const work = stage.hub.read(ManifestWork, `${CLUSTER}/${name}`);
  return findCondition(work?.status?.conditions, "Applied");
}

describe("the requests of an agent", () => {
  it("for a new work are a finalizer, a record, its objects, what became of them, and one report", async () => {
    const { stage, heard } = await listenedTo();
    stage.wish("w", ["a", "b", "c"]);
    await stage.calm();
    expect(appliedOf(stage, "w")?.status).toBe("True");
    expect(heard.slice(0, 2)).toEqual(["hub patch ManifestWork", "spoke create AppliedManifestWork"]);
    expect(heard.slice(2, 5)).toEqual(Array.from({ length: 3 }, () => "spoke create ConfigMap"));
    expect(heard.slice(5).sort()).toEqual(["hub patch ManifestWork/status", "spoke patch AppliedManifestWork/status"]);
  });

  it("for an edited work are what has changed, its state, and one report", async () => {
    const { stage, heard } = await listenedTo();
    stage.wish("w", ["a", "b"]);
    await stage.calm();
    heard.length = 0;
    const work = stage.hub.read(ManifestWork, `${CLUSTER}/w`);
    const [first, ...rest] = work?.spec?.workload?.manifests ?? [];
    if (!work || !first) throw new Error("there is no work");
    const manifests = [{ ...first, data: { k: "other" } }, ...rest];
    stage.hub.put(ManifestWork, { ...work, spec: { workload: { manifests } } });
    await stage.calm();
    expect(stage.spoke.read(ConfigMap, "default/a")?.data).toEqual({ k: "other" });
    expect(heard.sort()).toEqual([
      "hub patch ManifestWork/status",
      "spoke patch AppliedManifestWork",
      "spoke update ConfigMap",
    ]);
  });

  it("for what somebody has changed on the spoke are the mending alone", async () => {
    const { stage, heard } = await listenedTo();
    const live = stage.spoke.read(ConfigMap, "default/first");
    if (!live) throw new Error("there is no object");
    stage.spoke.put(ConfigMap, { ...live, data: { k: "theirs" } });
    await stage.calm();
    expect(stage.spoke.read(ConfigMap, "default/first")?.data).toEqual({ k: "v" });
    expect(heard).toEqual(["spoke update ConfigMap"]);
  });

  it("are none at rest, however long it lasts", async () => {
    const { stage, heard } = await listenedTo();
    for (let index = 0; index < 5; index++) stage.wish(`w${index}`, [`a${index}`, `b${index}`]);
    await stage.calm();
    heard.length = 0;
    await stage.pass(24 * HOUR, HOUR);
    expect(heard).toEqual([]);
  });

  it("are none when a work is touched that says the same", async () => {
    const { stage, heard } = await listenedTo();
    const work = stage.hub.read(ManifestWork, `${CLUSTER}/first`);
    if (!work) throw new Error("there is no work");
    stage.hub.put(ManifestWork, { ...work, metadata: { ...work.metadata, labels: { touched: "yes" } } });
    await stage.calm();
    expect(heard).toEqual([]);
  });

  it("are none when two works want one object otherwise and have said so, because only one of them decides", async () => {
    const { stage, heard } = await listenedTo();
    const other = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "first", namespace: "default" } };
    stage.hub.put(ManifestWork, {
      metadata: { name: "second", namespace: CLUSTER, creationTimestamp: "2030-01-01T00:00:00Z" },
      spec: { workload: { manifests: [{ ...other, data: { k: "otherwise" } }] } },
    });
    await stage.calm();
    expect(stage.spoke.read(ConfigMap, "default/first")?.data).toEqual({ k: "v" });
    expect(appliedOf(stage, "second")).toMatchObject({ status: "False" });
    heard.length = 0;
    // The one that gives way looks again now and then, whether it still has to; it asks nobody.
    await stage.pass(HOUR, 60_000);
    expect(heard).toEqual([]);
    const live = stage.spoke.read(ConfigMap, "default/first");
    if (!live) throw new Error("there is no object");
    stage.spoke.put(ConfigMap, { ...live, data: { k: "theirs" } });
    await stage.calm();
    await stage.pass(HOUR, 60_000);
    expect(heard).toEqual(["spoke update ConfigMap"]);
    expect(stage.spoke.read(ConfigMap, "default/first")?.data).toEqual({ k: "v" });
  });

  it("follow a rival that leaves: whoever gave way has its way then", async () => {
    const { stage } = await listenedTo();
    const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "first", namespace: "default" } };
    stage.hub.put(ManifestWork, {
      metadata: { name: "second", namespace: CLUSTER, creationTimestamp: "2030-01-01T00:00:00Z" },
      spec: { workload: { manifests: [{ ...manifest, data: { k: "otherwise" } }] } },
    });
    await stage.calm();
    stage.wish("first", ["elsewhere"]);
    await stage.calm();
    await stage.pass(60_000, 10_000);
    expect(stage.spoke.read(ConfigMap, "default/first")?.data).toEqual({ k: "otherwise" });
    expect(appliedOf(stage, "second")?.status).toBe("True");
  });
});
