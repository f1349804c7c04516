/** Patches: merge, JSON and strategic merge. */
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";

export function patchesSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
  });
  const configMaps = (name?: string) => at(space, "configmaps", name);
  const made = async (name: string, more: object = {}) =>
    (await stage().admin.post(configMaps(), { metadata: { name }, data: { a: "1" }, ...more })).body;

  it("patch.merge: merges, and null removes", async () => {
    await made("merge", { data: { a: "1", b: "2" } });
    const { body } = await stage().admin.patch(configMaps("merge"), { data: { a: null, c: "3" } });
    expect(body.data).toEqual({ b: "2", c: "3" });
  });

  it("patch.json: takes the operations of a JSON patch, all or none", async () => {
    const { metadata } = await made("json", { data: { a: "1", "b.c": "2" } });
    const good = [
      { op: "test", path: "/data/a", value: "1" },
      { op: "move", from: "/data/a", path: "/data/d" },
      { op: "replace", path: "/data/b.c", value: "3" },
    ];
    expect((await stage().admin.patch(configMaps("json"), good, "json")).body.data).toEqual({ d: "1", "b.c": "3" });
    const bad = [
      { op: "add", path: "/data/e", value: "1" },
      { op: "test", path: "/data/a", value: "1" },
    ];
    expect(refusal(await stage().admin.patch(configMaps("json"), bad, "json"))).toEqual(refused(422, "Invalid"));
    const { body } = await stage().admin.get(configMaps("json"));
    expect(body.data).toEqual({ d: "1", "b.c": "3" });
    expect(body.metadata.uid).toBe(metadata.uid);
  });

  it.each([
    ["a JSON patch that is no list", { op: "add" }, "json", refused(400, "BadRequest")],
    ["a merge patch that is no object", "[1]", "merge", refused(400, "BadRequest")],
    ["a merge patch that is no JSON", "{", "merge", refused(400, "BadRequest")],
    ["a stale resourceVersion", { metadata: { resourceVersion: "1" } }, "merge", refused(409, "Conflict")],
    ["another name", { metadata: { name: "else" } }, "merge", refused(400, "BadRequest")],
  ] as const)("patch.refusals: refuses %s", async (_, body, type, expected) => {
    await made("patched");
    expect(refusal(await stage().admin.patch(configMaps("patched"), body, type))).toEqual(expected);
  });

  it("patch.media-types: refuses force without apply, unknown media types and missing objects", async () => {
    await made("patched");
    expect(refusal(await stage().admin.patch(`${configMaps("patched")}?force=true`, { data: {} }))).toEqual(
      refused(422, "Invalid", "force FieldValueForbidden"),
    );
    const typed = await stage().admin.request("PATCH", configMaps("patched"), { body: {}, type: "application/json" });
    expect(refusal(typed)).toEqual(refused(415, "UnsupportedMediaType"));
    expect(refusal(await stage().admin.patch(configMaps("absent"), {}))).toEqual(refused(404, "NotFound"));
  });

  describe("strategic", () => {
    const deployments = (name?: string) => inGroup("apps", "v1", "deployments", space, name);
    const deployed = async (name: string) => {
      const { spec, ...rest } = deployment(name, 0);
      const containers = ["a", "b"].map((container) => ({ name: container, image: `${container}:1` }));
      const template = { ...spec.template, spec: { containers } };
      expect((await stage().admin.post(deployments(), { ...rest, spec: { ...spec, template } })).code).toBe(201);
      return deployments(name);
    };
    const pod = (spec: object) => ({ spec: { template: { spec } } });

    it("strategic-patch.items: merges items by their keys, and changes nothing the second time", async () => {
      const path = await deployed("merged");
      const patch = pod({ containers: [{ name: "b", image: "b:2" }] });
      const { code, body } = await stage().admin.patch(path, patch, "strategic");
      expect(code).toBe(200);
      expect(body).toMatchObject(
        pod({
          containers: [
            { name: "a", image: "a:1" },
            { name: "b", image: "b:2" },
          ],
        }),
      );
      expect(body.metadata.generation).toBe(2);
      // The controller of Deployments may write in between, until it is done.
      await eventually(async () => {
        const before = await stage().admin.get(path);
        const again = await stage().admin.patch(path, patch, "strategic");
        expect(again.body.metadata.resourceVersion).toBe(before.body.metadata.resourceVersion);
      });
    });

    it("strategic-patch.directives: removes and replaces where it is told to", async () => {
      const path = await deployed("directed");
      const removed = await stage().admin.patch(
        path,
        pod({ containers: [{ name: "a", $patch: "delete" }], nodeSelector: { disk: "fast", zone: "one" } }),
        "strategic",
      );
      expect(removed.body).toMatchObject(pod({ containers: [{ name: "b" }] }));
      const replaced = await stage().admin.patch(
        path,
        pod({
          containers: [{ $patch: "replace" }, { name: "c", image: "c:1" }],
          nodeSelector: { $patch: "replace", zone: "two" },
        }),
        "strategic",
      );
      expect(replaced.body).toMatchObject(pod({ containers: [{ name: "c" }] }));
      const { template } = replaced.body.spec as { template: { spec: { nodeSelector: object } } };
      expect(template.spec.nodeSelector).toEqual({ zone: "two" });
    });

    it.each([
      ["a value of the wrong type", { spec: { replicas: "x" } }, refused(422, "Invalid", "patch FieldValueInvalid")],
      ["an item without its key", pod({ containers: [{ image: "x" }] }), refused(500, undefined)],
      ["another name", { metadata: { name: "other" } }, refused(400, "BadRequest")],
      ["a stale resourceVersion", { metadata: { resourceVersion: "1" } }, refused(409, "Conflict")],
    ])("strategic-patch.refusals: refuses %s", async (because, patch, expected) => {
      const path = await deployed(because.replaceAll(" ", "-").toLowerCase());
      expect(refusal(await stage().admin.patch(path, patch, "strategic"))).toEqual(expected);
    });
  });
}
