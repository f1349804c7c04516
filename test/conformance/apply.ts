/** Who owns which field, and server-side apply. */
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Reply } from "../support/raw.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";

/** By manager, operation and subresource. */
function owners({ body }: Reply): Record<string, unknown> {
  const entries = (body.metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) => {
    return [[manager, operation, subresource].filter(Boolean).join(" "), fieldsV1] as const;
  });
  return Object.fromEntries(entries);
}

const configMap = (name: string, data?: Record<string, unknown>, metadata: Record<string, unknown> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  ...(data && { data }),
});

export function applySuite(stage: Staged): void {
  let space: string;
  const path = (name: string) => at(space, "configmaps", name);
  const create = (manager: string, object: unknown) =>
    stage().admin.post(`${at(space, "configmaps")}?fieldManager=${manager}`, object);
  const merge = (name: string, manager: string, patch: unknown) =>
    stage().admin.patch(`${path(name)}?fieldManager=${manager}`, patch);
  const apply = (name: string, query: string, config: unknown) =>
    stage().admin.patch(`${path(name)}?fieldManager=${query}`, config, "apply");
  beforeAll(async () => {
    space = await stage().namespace();
  });

  describe("owners", () => {
    it("apply.owners: are those who wrote last, field by field", async () => {
      const made = await create("a", configMap("owned", { x: "1", y: "1" }, { finalizers: ["example.com/f"] }));
      expect(owners(made)).toEqual({
        "a Update": {
          "f:data": { ".": {}, "f:x": {}, "f:y": {} },
          "f:metadata": { "f:finalizers": { ".": {}, 'v:"example.com/f"': {} } },
        },
      });
      const changed = await merge("owned", "b", { data: { y: "2", z: "1" }, metadata: { finalizers: null } });
      expect(owners(changed)).toEqual({
        "a Update": { "f:data": { ".": {}, "f:x": {} } },
        "b Update": { "f:data": { "f:y": {}, "f:z": {} } },
      });
    });

    it("apply.default-manager: are named after their program when they give no name", async () => {
      const headers = { "User-Agent": "program/1.0 (linux)" };
      const made = await stage().admin.post(at(space, "configmaps"), configMap("agent", { x: "1" }), { headers });
      expect(Object.keys(owners(made))).toEqual(["program Update"]);
    });

    it("apply.owners-of-no-change: stay, and so does the object, when somebody writes what is there", async () => {
      const made = await create("a", configMap("same", { x: "1" }));
      const again = await merge("same", "b", { data: { x: "1" } });
      expect(again.body.metadata).toEqual(made.body.metadata);
    });

    it.each([[[]], [[{}]]])(
      "apply.owners-cleared: are cleared by managedFields %j, and not tracked before the next apply",
      async (managedFields) => {
        const name = `cleared-${managedFields.length}`;
        await create("a", configMap(name, { x: "1" }));
        expect(owners(await merge(name, "b", { metadata: { managedFields } }))).toEqual({});
        expect(owners(await merge(name, "b", { data: { x: "2" } }))).toEqual({});
        expect(owners(await apply(name, "m", configMap(name, { y: "1" })))).toEqual({
          "m Apply": { "f:data": { "f:y": {} } },
          "before-first-apply Update": { "f:data": { ".": {}, "f:x": {} } },
        });
      },
    );
  });

  describe("apply", () => {
    it("apply.create: creates what is not there, from YAML as well", async () => {
      const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: made\ndata: {a: '1'}\n";
      const made = await apply("made", "m", yaml);
      expect(made).toMatchObject({ code: 201, body: { data: { a: "1" } } });
      expect(owners(made)).toEqual({ "m Apply": { "f:data": { "f:a": {} } } });
    });

    it("apply.create-rights: creates only for those who may create", async () => {
      const user = await stage().user("apply-patcher");
      const role = { apiGroups: [""], resources: ["configmaps"], verbs: ["patch", "get"] };
      await stage().admin.post(inGroup("rbac.authorization.k8s.io", "v1", "roles", space), {
        metadata: { name: "p" },
        rules: [role],
      });
      await stage().admin.post(inGroup("rbac.authorization.k8s.io", "v1", "rolebindings", space), {
        metadata: { name: "p" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "p" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "apply-patcher" }],
      });
      await create("a", configMap("theirs", { x: "1" }));
      await eventually(async () => {
        const changed = await user.patch(`${path("theirs")}?fieldManager=m`, configMap("theirs", { y: "1" }), "apply");
        expect(changed.code).toBe(200);
      });
      const made = await user.patch(`${path("forbidden")}?fieldManager=m`, configMap("forbidden", { y: "1" }), "apply");
      expect(refusal(made)).toEqual(refused(403, "Forbidden"));
    });

    it("apply.dry-run: stores nothing when it is only tried", async () => {
      expect((await apply("tried", "m&dryRun=All", configMap("tried", { a: "1" }))).code).toBe(201);
      expect((await stage().admin.get(path("tried"))).code).toBe(404);
    });

    it("apply.repeated-key: names the line of a key that comes twice, or the warning does", async () => {
      const body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: repeated\ndata:\n  a: '1'\n  a: '2'\n";
      const send = (validation: string) =>
        stage().admin.patch(`${path("repeated")}?fieldManager=m&fieldValidation=${validation}`, body, "apply");
      const strict = await send("Strict");
      expect(refusal(strict)).toEqual(refused(400, "BadRequest"));
      expect(strict.body.message).toContain('line 7: key "a" already set in map');
      const { code, headers } = await send("Warn");
      expect([code, headers.warning]).toEqual([201, expect.stringContaining("already set in map")]);
    });

    it("apply.twice: twice changes nothing the second time", async () => {
      const first = await apply("twice", "m", configMap("twice", { a: "1" }));
      const second = await apply("twice", "m", configMap("twice", { a: "1" }));
      expect(second).toMatchObject({ code: 200, body: { metadata: first.body.metadata } });
    });

    it("apply.conflict: conflicts with owners of other values, shares with owners of the same, and wins by force", async () => {
      await apply("contested", "a", configMap("contested", { x: "1", y: "1" }));
      const lost = await apply("contested", "b", configMap("contested", { x: "2", y: "1" }));
      expect(refusal(lost)).toEqual(refused(409, "Conflict", ".data.x FieldManagerConflict"));
      expect(lost.body.message).toBe('Apply failed with 1 conflict: conflict with "a": .data.x');
      const won = await apply("contested", "b&force=true", configMap("contested", { x: "2", y: "1" }));
      expect(won.body.data).toEqual({ x: "2", y: "1" });
      expect(owners(won)).toEqual({
        "a Apply": { "f:data": { "f:y": {} } },
        "b Apply": { "f:data": { "f:x": {}, "f:y": {} } },
      });
    });

    it("apply.removal: takes away what a manager no longer applies and nobody else owns", async () => {
      await apply("pruned", "a", configMap("pruned", { x: "1", y: "1", z: "1" }, { labels: { l: "1" } }));
      await apply("pruned", "b", configMap("pruned", { y: "1" }));
      await merge("pruned", "c", { data: { w: "1" } });
      const left = await apply("pruned", "a", configMap("pruned", { z: "1" }));
      expect(left.body).toMatchObject({ data: { w: "1", y: "1", z: "1" } });
      expect(left.body.metadata.labels).toBeUndefined();
    });

    it.each([
      ["no manager", "", configMap("wrong"), refused(422, "Invalid", "fieldManager FieldValueRequired")],
      ["managedFields", "m", configMap("wrong", {}, { managedFields: [] }), refused(400, "BadRequest")],
      ["another kind", "m", { ...configMap("wrong"), kind: "Secret" }, refused(400, "BadRequest")],
      ["another version", "m", { ...configMap("wrong"), apiVersion: "v2" }, refused(400, "BadRequest")],
      ["another name", "m", configMap("else"), refused(400, "BadRequest")],
      ["no name", "m", { apiVersion: "v1", kind: "ConfigMap" }, refused(400, "BadRequest")],
      ["another namespace", "m", configMap("wrong", {}, { namespace: "else" }), refused(400, "BadRequest")],
      ["unknown fields", "m", { ...configMap("wrong"), nope: 1 }, refused(500, undefined)],
      ["fields of another type", "m", configMap("wrong", { a: 1 }), refused(500, undefined)],
      ["items twice", "m", configMap("wrong", {}, { finalizers: ["a.io/a", "a.io/a"] }), refused(500, undefined)],
    ] as const)("apply.refusals: refuses %s", async (_, manager, config, expected) => {
      expect(refusal(await apply("wrong", manager, config))).toEqual(expected);
    });

    it("apply.unknown-fields: says which field it does not know", async () => {
      const { body } = await apply("wrong", "m", { ...configMap("wrong"), data: {}, nope: 1 });
      expect(body.message).toBe(
        "failed to create typed patch object (/wrong; /v1, Kind=ConfigMap): .nope: field not declared in schema",
      );
    });

    it("apply.from-client-side: lets kubectl go on with what it applied on the client's side", async () => {
      const annotations = {
        "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify(configMap("migrated", { a: "1", b: "1" })),
      };
      await create("kubectl-client-side-apply", configMap("migrated", { a: "1", b: "1" }, { annotations }));
      await merge("migrated", "other", { data: { b: "2" } });
      expect(refusal(await apply("migrated", "kubectl", configMap("migrated", { a: "2", b: "3" })))).toEqual(
        refused(409, "Conflict", ".data.b FieldManagerConflict"),
      );
      const moved = await apply("migrated", "kubectl", configMap("migrated", { a: "2" }));
      expect(moved.body.data).toEqual({ a: "2", b: "2" });
      expect(Object.values(moved.body.metadata.annotations ?? {})).toEqual([
        '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"migrated"}}\n',
      ]);
    });
  });

  describe("apply to lists", () => {
    const deployments = (name: string) => inGroup("apps", "v1", "deployments", space, name);
    const containers = (list: unknown[]) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "listed" },
      spec: { template: { spec: { containers: list } } },
    });
    const applyTo = (query: string, config: unknown) =>
      stage().admin.patch(`${deployments("listed")}?fieldManager=${query}`, config, "apply");
    const listed = ({ body }: Reply) =>
      (body.spec as { template: { spec: { containers: { name: string; ports?: unknown }[] } } }).template.spec
        .containers;
    beforeAll(async () => {
      await stage().admin.post(
        `${inGroup("apps", "v1", "deployments", space)}?fieldManager=u`,
        deployment("listed", 0),
      );
    });

    it("apply.list-items: adds, orders and removes items by their keys", async () => {
      const added = await applyTo("m", containers([{ name: "second", image: "i:1", ports: [{ containerPort: 53 }] }]));
      expect(listed(added).map(({ name }) => name)).toEqual(["main", "second"]);
      const first = await applyTo("m", containers([{ name: "third", image: "i:1" }, { name: "main" }]));
      expect(listed(first).map(({ name }) => name)).toEqual(["third", "main"]);
      expect(owners(first)["m Apply"]).toEqual({
        "f:spec": {
          "f:template": {
            "f:spec": {
              "f:containers": {
                'k:{"name":"main"}': { ".": {}, "f:name": {} },
                'k:{"name":"third"}': { ".": {}, "f:image": {}, "f:name": {} },
              },
            },
          },
        },
      });
    });

    it("apply.list-key-defaults: counts the default of a key", async () => {
      const ports = [
        { containerPort: 53, name: "dns" },
        { containerPort: 53, protocol: "UDP" },
      ];
      await applyTo("n", containers([{ name: "main", ports: [{ containerPort: 53, protocol: "TCP" }] }]));
      const merged = await applyTo("o", containers([{ name: "main", ports }]));
      expect(listed(merged).find(({ name }) => name === "main")?.ports).toEqual([
        { containerPort: 53, protocol: "TCP", name: "dns" },
        { containerPort: 53, protocol: "UDP" },
      ]);
    });

    it("apply.subresources: has owners of its own in /status and /scale", async () => {
      const object = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "listed" } };
      const conditions = [{ type: "Tested", status: "True" }];
      const spec = { replicas: 9 };
      const status = await stage().admin.patch(
        `${deployments("listed")}/status?fieldManager=s`,
        { ...object, spec, status: { conditions } },
        "apply",
      );
      expect(status.body.spec).toMatchObject({ replicas: 0 });
      expect(owners(status)["s Apply status"]).toEqual({
        "f:status": { "f:conditions": { 'k:{"type":"Tested"}': { ".": {}, "f:status": {}, "f:type": {} } } },
      });
      await stage().admin.patch(`${deployments("listed")}/scale?fieldManager=c`, { spec: { replicas: 2 } });
      const scaled = await stage().admin.get(deployments("listed"));
      expect(owners(scaled)["c Update scale"]).toEqual({ "f:spec": { "f:replicas": {} } });
      expect(refusal(await applyTo("m", { ...object, spec: { replicas: 1 } }))).toEqual(
        refused(409, "Conflict", ".spec.replicas FieldManagerConflict"),
      );
      const view = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "listed" }, spec: { replicas: 3 } };
      const forced = await stage().admin.patch(
        `${deployments("listed")}/scale?fieldManager=d&force=true`,
        view,
        "apply",
      );
      expect(forced).toMatchObject({ code: 200, body: { kind: "Scale", spec: { replicas: 3 } } });
      const after = owners(await stage().admin.get(deployments("listed")));
      expect(after["d Apply scale"]).toEqual({ "f:spec": { "f:replicas": {} } });
      expect(after["c Update scale"]).toBeUndefined();
    });
  });
}
