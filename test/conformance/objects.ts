/** One object: made, read, changed, refused, deleted. */
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";

export function objectsSuite(stage: Staged): void {
  let space: string;
  beforeAll(async () => {
    space = await stage().namespace();
  });
  const configMaps = (name?: string) => at(space, "configmaps", name);
  const deployments = (name?: string) => inGroup("apps", "v1", "deployments", space, name);
  const made = async (name: string, more: object = {}) =>
    (await stage().admin.post(configMaps(), { metadata: { name }, data: { a: "1" }, ...more })).body;

  describe("creating", () => {
    it("crud.create: answers 201 with what the server filled in", async () => {
      const { code, body } = await stage().admin.post(configMaps(), { metadata: { name: "new" }, data: { a: "1" } });
      expect(code).toBe(201);
      expect(body).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", metadata: { name: "new", namespace: space } });
      expect(body.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
      expect(body.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
      expect(body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(body.metadata.generation).toBeUndefined();
    });

    it("concurrency.generate-name: makes up a name from generateName", async () => {
      const { body } = await stage().admin.post(configMaps(), { metadata: { generateName: "made-" } });
      expect(body.metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
      const long = await stage().admin.post(configMaps(), { metadata: { generateName: "x".repeat(80) } });
      expect(long.body.metadata.name).toHaveLength(63);
    });

    it("crud.system-metadata: ignores system metadata of the client", async () => {
      const { body } = await stage().admin.post(configMaps(), {
        metadata: {
          name: "mine",
          uid: "my-uid",
          creationTimestamp: "2001-01-01T00:00:00Z",
          deletionTimestamp: "2001-01-01T00:00:00Z",
        },
      });
      expect(body.metadata.uid).not.toBe("my-uid");
      expect(body.metadata.creationTimestamp).not.toMatch(/^2001/);
      expect(body.metadata.deletionTimestamp).toBeUndefined();
    });

    it.each([
      ["a taken name", { metadata: { name: "taken" } }, refused(409, "AlreadyExists")],
      ["no name", {}, refused(422, "Invalid", "metadata.name FieldValueRequired")],
      ["a bad name", { metadata: { name: "Bad_Name" } }, refused(422, "Invalid", "metadata.name FieldValueInvalid")],
      ["a name like a path", { metadata: { name: ".." } }, refused(422, "Invalid", "metadata.name FieldValueInvalid")],
      ["another namespace", { metadata: { name: "x", namespace: "default" } }, refused(400, "BadRequest")],
      ["another kind", { kind: "Secret", apiVersion: "v1", metadata: { name: "x" } }, refused(400, "BadRequest")],
      ["another version", { kind: "ConfigMap", apiVersion: "v9", metadata: { name: "x" } }, refused(400, "BadRequest")],
      ["a resourceVersion", { metadata: { name: "x", resourceVersion: "5" } }, refused(500, undefined)],
      ["a wrong type", { metadata: { name: "x" }, data: { a: 1 } }, refused(400, "BadRequest")],
      [
        "a bad label",
        { metadata: { name: "x", labels: { "a b": "c" } } },
        refused(422, "Invalid", "metadata.labels FieldValueInvalid"),
      ],
      [
        "a bad finalizer",
        { metadata: { name: "x", finalizers: ["plain"] } },
        refused(422, "Invalid", "metadata.finalizers[0] FieldValueInvalid"),
      ],
      ["a list", [], refused(400, "BadRequest")],
      ["no JSON", "{", refused(400, "BadRequest")],
    ])("crud.create-refusals: refuses %s", async (_, body, expected) => {
      await stage().admin.post(configMaps(), { metadata: { name: "taken" } });
      expect(refusal(await stage().admin.post(configMaps(), body))).toEqual(expected);
    });

    it("crud.owner-references: refuses an owner without uid", async () => {
      const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o" };
      const reply = await stage().admin.post(configMaps(), { metadata: { name: "owned", ownerReferences: [owner] } });
      expect(refusal(reply)).toMatchObject({ code: 422, reason: "Invalid" });
      // Newer servers count the owners and say Required.
      expect(refusal(reply).causes?.[0]).toMatch(
        /^metadata\.ownerReferences(\[0\])?\.uid FieldValue(Invalid|Required)$/,
      );
    });

    it("crud.refusal-details: names kind, group and name in the details of a refusal", async () => {
      const { body } = await stage().admin.post(deployments(), { ...deployment("d"), spec: {} });
      expect(body.details).toMatchObject({ name: "d", group: "apps", kind: "Deployment" });
      expect(body.message).toMatch(/^Deployment\.apps "d" is invalid: \[/);
      const missing = await stage().admin.get(deployments("nobody"));
      expect(missing.body).toMatchObject({
        kind: "Status",
        apiVersion: "v1",
        status: "Failure",
        message: 'deployments.apps "nobody" not found',
        reason: "NotFound",
        details: { name: "nobody", group: "apps", kind: "deployments" },
        code: 404,
      });
    });
  });

  describe("options of writes", () => {
    it("dry-run.no-trace: runs dry without a trace", async () => {
      const dry = await stage().admin.post(`${configMaps()}?dryRun=All`, { metadata: { name: "dry" } });
      expect(dry.code).toBe(201);
      expect(dry.body.metadata.uid).toBeTruthy();
      expect(dry.body.metadata.resourceVersion).toBeUndefined();
      expect((await stage().admin.get(configMaps("dry"))).code).toBe(404);

      const { metadata } = await made("wet");
      const patched = await stage().admin.patch(`${configMaps("wet")}?dryRun=All`, { data: { a: "2" } });
      expect(patched.body.data).toEqual({ a: "2" });
      const deleted = await stage().admin.delete(`${configMaps("wet")}?dryRun=All`);
      expect(deleted.code).toBe(200);
      const after = (await stage().admin.get(configMaps("wet"))).body;
      expect(after).toMatchObject({ data: { a: "1" }, metadata: { resourceVersion: metadata.resourceVersion } });
    });

    it.each([
      ["?dryRun=Some", "CreateOptions", "dryRun FieldValueNotSupported"],
      ["?fieldValidation=Maybe", "CreateOptions", "fieldValidation FieldValueNotSupported"],
      [`?fieldManager=${"x".repeat(129)}`, "CreateOptions", "fieldManager FieldValueTooLong"],
      ["?fieldManager=a%07b", "CreateOptions", "fieldManager FieldValueInvalid"],
    ])("dry-run.refusals: refuses %s", async (query, kind, cause) => {
      const reply = await stage().admin.post(`${configMaps()}${query}`, { metadata: { name: "options" } });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
      expect(reply.body.details).toMatchObject({ group: "meta.k8s.io", kind });
    });

    it("field-validation.modes: refuses, reports or forgives unknown and repeated fields, as asked", async () => {
      const text = (name: string) => `{"metadata":{"name":"${name}"},"foo":1,"data":{"a":"1","a":"2"}}`;
      const strict = await stage().admin.post(`${configMaps()}?fieldValidation=Strict`, text("f1"));
      expect(refusal(strict)).toEqual(refused(400, "BadRequest"));
      expect(strict.body.message).toContain("strict decoding error: ");
      expect(strict.body.message).toContain('unknown field "foo"');
      expect(strict.body.message).toContain('duplicate field "data.a"');
      const warned = await stage().admin.post(configMaps(), text("f2"));
      expect(warned.code).toBe(201);
      expect(warned.headers.warning).toContain('299 - "unknown field \\"foo\\""');
      const silent = await stage().admin.post(`${configMaps()}?fieldValidation=Ignore`, text("f3"));
      expect(silent.code).toBe(201);
      expect(silent.headers.warning).toBeUndefined();
      expect(silent.body).toMatchObject({ data: { a: "2" } });
      expect(silent.body.foo).toBeUndefined();
    });
  });

  describe("updating", () => {
    it("concurrency.conflict: replaces the object, and needs the newest resourceVersion when it names one", async () => {
      const first = await made("put");
      const second = await stage().admin.put(configMaps("put"), { ...first, data: { b: "2" } });
      expect(second.code).toBe(200);
      expect(second.body.data).toEqual({ b: "2" });
      expect(Number(second.body.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
      const late = await stage().admin.put(configMaps("put"), { ...first, data: { c: "3" } });
      expect(refusal(late)).toEqual(refused(409, "Conflict"));
      expect(late.body.message).toBe(
        'Operation cannot be fulfilled on configmaps "put": the object has been modified; please apply your changes to the latest version and try again',
      );
    });

    it("concurrency.no-change: writes nothing when nothing changes", async () => {
      const first = await made("same");
      const again = await stage().admin.put(configMaps("same"), first);
      expect(again.body.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
      const patched = await stage().admin.patch(configMaps("same"), { data: { a: "1" } });
      expect(patched.body.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });

    it("crud.update-keeps: keeps what belongs to the server", async () => {
      const first = await made("kept");
      const { body } = await stage().admin.put(configMaps("kept"), {
        metadata: { name: "kept", creationTimestamp: "2001-01-01T00:00:00Z", generation: 9 },
      });
      expect(body.metadata).toMatchObject({
        uid: first.metadata.uid,
        creationTimestamp: first.metadata.creationTimestamp,
      });
      expect(body.metadata.generation).toBeUndefined();
    });

    it.each([
      ["another name", { metadata: { name: "other" } }, refused(400, "BadRequest")],
      [
        "another uid",
        { metadata: { name: "target", uid: "9b7be5bb-9a90-4d55-a0e0-6a1c0bd0a8a0" } },
        refused(409, "Conflict"),
      ],
    ])("crud.update-refusals: refuses %s", async (_, body, expected) => {
      await made("target");
      expect(refusal(await stage().admin.put(configMaps("target"), body))).toEqual(expected);
    });

    it("crud.create-by-put: creates by PUT only the kinds that allow it", async () => {
      expect(refusal(await stage().admin.put(configMaps("absent"), { metadata: { name: "absent" } }))).toEqual(
        refused(404, "NotFound"),
      );
      const role = { metadata: { name: "by-put" }, rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }] };
      const put = await stage().admin.put(inGroup("rbac.authorization.k8s.io", "v1", "roles", space, "by-put"), role);
      expect(put.code).toBe(201);
    });
  });

  describe("generation and status", () => {
    it("concurrency.generation: counts changes of the wish, and not those of metadata and status", async () => {
      const { body: first } = await stage().admin.post(deployments(), {
        ...deployment("counted"),
        status: { replicas: 7 },
      });
      expect(first.metadata.generation).toBe(1);
      expect((first.status as { replicas?: number }).replicas).toBeUndefined();
      const labelled = await stage().admin.patch(deployments("counted"), { metadata: { labels: { a: "b" } } });
      expect(labelled.body.metadata.generation).toBe(1);
      const scaled = await stage().admin.patch(deployments("counted"), { spec: { replicas: 0 } });
      expect(scaled.body.metadata.generation).toBe(2);
      const status = await stage().admin.patch(`${deployments("counted")}/status`, {
        spec: { replicas: 9 },
        status: { collisionCount: 4 },
      });
      expect(status.code).toBe(200);
      expect(status.body).toMatchObject({
        spec: { replicas: 0 },
        status: { collisionCount: 4 },
        metadata: { generation: 2 },
      });
      const ignored = await stage().admin.patch(deployments("counted"), { status: { collisionCount: 9 } });
      expect(ignored.body).toMatchObject({ status: { collisionCount: 4 } });
    });

    it("subresources.scale: shows and changes the scale", async () => {
      await stage().admin.post(deployments(), deployment("scaled", 0));
      const scale = await stage().admin.get(`${deployments("scaled")}/scale`);
      expect(scale.body).toMatchObject({
        kind: "Scale",
        apiVersion: "autoscaling/v1",
        metadata: { name: "scaled", namespace: space },
        status: { replicas: 0, selector: "app=scaled" },
      });
      const wished = await stage().admin.patch(`${deployments("scaled")}/scale`, { spec: { replicas: 1 } });
      expect(wished.body).toMatchObject({ kind: "Scale", spec: { replicas: 1 } });
      const refusedScale = await stage().admin.patch(`${deployments("scaled")}/scale`, { spec: { replicas: -1 } });
      expect(refusal(refusedScale)).toEqual(refused(422, "Invalid", "spec.replicas FieldValueInvalid"));
    });
  });

  describe("deleting", () => {
    it("delete.status: answers with a Status that names what is gone", async () => {
      const { metadata } = await made("gone");
      const { code, body } = await stage().admin.delete(configMaps("gone"));
      expect(code).toBe(200);
      expect(body).toMatchObject({
        kind: "Status",
        status: "Success",
        details: { name: "gone", kind: "configmaps", uid: metadata.uid },
      });
      expect(refusal(await stage().admin.delete(configMaps("gone")))).toEqual(refused(404, "NotFound"));
    });

    it("delete.finalizers: waits for finalizers, and lets the last one go with the object", async () => {
      await made("held", { metadata: { name: "held", finalizers: ["example.com/a", "example.com/b"] } });
      const marked = await stage().admin.delete(configMaps("held"));
      expect(marked.body).toMatchObject({ kind: "ConfigMap", metadata: { deletionGracePeriodSeconds: 0 } });
      const { deletionTimestamp } = marked.body.metadata;
      expect(deletionTimestamp).toBeTruthy();
      const again = await stage().admin.delete(configMaps("held"));
      expect(again.body.metadata.deletionTimestamp).toBe(deletionTimestamp);

      const more = await stage().admin.patch(configMaps("held"), {
        metadata: { finalizers: ["example.com/a", "example.com/c"] },
      });
      expect(refusal(more)).toEqual(refused(422, "Invalid", "metadata.finalizers FieldValueForbidden"));
      const fewer = await stage().admin.patch(configMaps("held"), { metadata: { finalizers: ["example.com/b"] } });
      expect(fewer.code).toBe(200);
      const last = await stage().admin.patch(configMaps("held"), { metadata: { finalizers: null } });
      expect(last.code).toBe(200);
      expect(last.body.metadata.finalizers).toBeUndefined();
      expect((await stage().admin.get(configMaps("held"))).code).toBe(404);
    });

    it("delete.preconditions: asks for the uid and the version that it is told to expect", async () => {
      const { metadata } = await made("expected");
      for (const preconditions of [{ uid: "x" }, { resourceVersion: "1" }]) {
        const reply = await stage().admin.delete(configMaps("expected"), { preconditions });
        expect(refusal(reply)).toEqual(refused(409, "Conflict"));
        expect(reply.body.details).toMatchObject({ name: "expected", kind: "ConfigMap" });
      }
      const { uid, resourceVersion } = metadata;
      expect(
        (await stage().admin.delete(configMaps("expected"), { preconditions: { uid, resourceVersion } })).code,
      ).toBe(200);
    });

    it.each([
      [{ propagationPolicy: "Nope" }, "propagationPolicy FieldValueNotSupported"],
      [{ propagationPolicy: "Foreground", orphanDependents: true }, "propagationPolicy FieldValueInvalid"],
      [{ dryRun: ["Some"] }, "dryRun FieldValueNotSupported"],
    ])("delete.refusals: refuses %j", async (options, cause) => {
      await made("stays");
      const reply = await stage().admin.delete(configMaps("stays"), options);
      expect(refusal(reply)).toEqual(refused(422, "Invalid", cause));
      expect(reply.body.details).toMatchObject({ group: "meta.k8s.io", kind: "DeleteOptions" });
    });

    it.each(["[]", "{", '{"kind":"Pod","apiVersion":"v1"}', '{"gracePeriodSeconds":"x"}'])(
      "delete.malformed-options: refuses %s as options",
      async (options) => {
        await made("stays");
        expect(refusal(await stage().admin.delete(configMaps("stays"), options))).toEqual(refused(400, "BadRequest"));
        const query = await stage().admin.delete(`${configMaps("stays")}?gracePeriodSeconds=abc`);
        expect(refusal(query)).toEqual(refused(400, "BadRequest"));
      },
    );

    it("delete.query-options: takes the options from the query when there is no body", async () => {
      await made("queried");
      const reply = await stage().admin.delete(`${configMaps("queried")}?propagationPolicy=Nope`);
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "propagationPolicy FieldValueNotSupported"));
    });

    it("delete.grace-period: gives a Pod on a node time to end, which may be shortened", async () => {
      const pods = at(space, "pods");
      const pod = (name: string, more: object = {}) => ({
        metadata: { name },
        spec: { containers: [{ name: "main", image: "registry.example/app:1" }], ...more },
      });
      const { admin } = stage();
      await eventually(async () => expect((await admin.get(at(space, "serviceaccounts", "default"))).code).toBe(200));
      await admin.post(pods, pod("waiting"));
      expect((await admin.delete(`${pods}/waiting`)).body).toMatchObject({
        kind: "Pod",
        metadata: { name: "waiting" },
      });
      expect((await admin.get(`${pods}/waiting`)).code).toBe(404);

      await admin.post(pods, pod("placed", { nodeName: "nowhere" }));
      const marked = await admin.delete(`${pods}/placed`);
      expect(marked.body.metadata).toMatchObject({ deletionGracePeriodSeconds: 30, generation: 2 });
      const later = await admin.delete(`${pods}/placed`, { gracePeriodSeconds: 60 });
      expect(later.body.metadata.deletionTimestamp).toBe(marked.body.metadata.deletionTimestamp);
      const sooner = await admin.delete(`${pods}/placed`, { gracePeriodSeconds: 5 });
      expect(sooner.body.metadata.deletionGracePeriodSeconds).toBe(5);
      const ends = ({ metadata }: Body) => Date.parse(metadata.deletionTimestamp ?? "");
      expect(ends(marked.body) - ends(sooner.body)).toBe(25_000);
      await admin.delete(`${pods}/placed`, { gracePeriodSeconds: 0 });
      expect((await admin.get(`${pods}/placed`)).code).toBe(404);
    });

    it("delete.last-look: shows some kinds a last time", async () => {
      const accounts = at(space, "serviceaccounts");
      await stage().admin.post(accounts, { metadata: { name: "leaving" } });
      const { body } = await stage().admin.delete(`${accounts}/leaving`);
      expect(body).toMatchObject({ kind: "ServiceAccount", metadata: { name: "leaving" } });
      expect(body.metadata.deletionTimestamp).toBeUndefined();
    });

    it("delete-collection.labels: deletes a collection by its labels, and answers with what it deleted", async () => {
      for (const name of ["c1", "c2"]) await made(name, { metadata: { name, labels: { collect: "yes" } } });
      await made("c3", { metadata: { name: "c3", labels: { collect: "no" } } });
      const { code, body } = await stage().admin.delete(`${configMaps()}?labelSelector=collect%3Dyes`);
      expect(code).toBe(200);
      expect(body.kind).toBe("ConfigMapList");
      expect(body.items.map(({ metadata }) => metadata.name)).toEqual(["c1", "c2"]);
      const { body: rest } = await stage().admin.get(`${configMaps()}?labelSelector=collect`);
      expect(rest.items.map(({ metadata }) => metadata.name)).toEqual(["c3"]);
      expect(refusal(await stage().admin.delete("/api/v1/namespaces"))).toEqual(refused(405, "MethodNotAllowed"));
    });
  });

  describe("kinds with rules of their own", () => {
    it("kinds.config-map-immutable: keeps an immutable ConfigMap as it is", async () => {
      await made("frozen", { immutable: true });
      const reply = await stage().admin.patch(configMaps("frozen"), { data: { a: "2" } });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "data FieldValueForbidden"));
    });

    it("kinds.secret-data: checks and encodes the data of a Secret", async () => {
      const secrets = at(space, "secrets");
      const bad = await stage().admin.post(secrets, { metadata: { name: "bad" }, data: { a: "%" } });
      expect(refusal(bad)).toEqual(refused(400, "BadRequest"));
      const { body } = await stage().admin.post(secrets, { metadata: { name: "good" }, stringData: { a: "b" } });
      expect(body).toMatchObject({ type: "Opaque", data: { a: "Yg==" } });
      expect(body.stringData).toBeUndefined();
      const other = await stage().admin.patch(`${secrets}/good`, { type: "example.com/other" });
      expect(refusal(other)).toEqual(refused(422, "Invalid", "type FieldValueInvalid"));
    });

    it("kinds.deployment-selector: keeps the selector of a Deployment", async () => {
      await stage().admin.post(deployments(), deployment("selected", 0));
      const reply = await stage().admin.patch(deployments("selected"), {
        spec: { selector: { matchLabels: { app: "other" } }, template: { metadata: { labels: { app: "other" } } } },
      });
      expect(refusal(reply)).toEqual(refused(422, "Invalid", "spec.selector FieldValueInvalid"));
    });

    it("kinds.service-address: gives a Service an address and keeps it", async () => {
      const services = at(space, "services");
      const { body } = await stage().admin.post(services, {
        metadata: { name: "web" },
        spec: { ports: [{ port: 80 }] },
      });
      expect(body.spec).toMatchObject({
        type: "ClusterIP",
        clusterIP: expect.stringMatching(/^10\.96\./),
        sessionAffinity: "None",
        ipFamilyPolicy: "SingleStack",
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      });
      const moved = await stage().admin.patch(`${services}/web`, {
        spec: { clusterIP: "10.96.99.99", clusterIPs: ["10.96.99.99"] },
      });
      expect(moved.code).toBe(422);
    });

    it("kinds.lease-times: wants six decimals in the times of a Lease, and a version in its updates", async () => {
      const leases = inGroup("coordination.k8s.io", "v1", "leases", space);
      const spec = { holderIdentity: "me", leaseDurationSeconds: 10 };
      const coarse = await stage().admin.post(leases, {
        metadata: { name: "l" },
        spec: { ...spec, renewTime: "2026-01-01T00:00:00Z" },
      });
      expect(refusal(coarse)).toEqual(refused(400, "BadRequest"));
      const renewTime = "2026-01-01T00:00:00.123456Z";
      const put = await stage().admin.put(`${leases}/l`, { metadata: { name: "l" }, spec: { ...spec, renewTime } });
      expect(put.code).toBe(201);
      expect(put.body.spec).toMatchObject({ renewTime });
      const blind = await stage().admin.put(`${leases}/l`, { metadata: { name: "l" }, spec });
      expect(refusal(blind)).toEqual(refused(422, "Invalid", "metadata.resourceVersion FieldValueInvalid"));
    });

    it("kinds.event-groups: shows an Event in both of its groups, and wants it beside its object", async () => {
      const event = {
        metadata: { name: "e1" },
        involvedObject: { kind: "ConfigMap", namespace: space, name: "x" },
        reason: "Tested",
        message: "it works",
        type: "Normal",
        source: { component: "suite" },
        firstTimestamp: "2026-01-01T00:00:00Z",
        lastTimestamp: "2026-01-01T00:00:00Z",
        count: 1,
      };
      expect((await stage().admin.post(at(space, "events"), event)).code).toBe(201);
      const newer = await stage().admin.get(inGroup("events.k8s.io", "v1", "events", space, "e1"));
      expect(newer.body).toMatchObject({
        apiVersion: "events.k8s.io/v1",
        note: "it works",
        regarding: { kind: "ConfigMap", name: "x" },
        deprecatedSource: { component: "suite" },
        deprecatedCount: 1,
      });
      const elsewhere = {
        ...event,
        metadata: { name: "e2" },
        involvedObject: { ...event.involvedObject, namespace: "default" },
      };
      expect(refusal(await stage().admin.post(at(space, "events"), elsewhere))).toEqual(
        refused(422, "Invalid", "involvedObject.namespace FieldValueInvalid"),
      );
      const found = await stage().admin.get(
        `${at(space, "events")}?fieldSelector=involvedObject.name%3Dx,reason%3DTested`,
      );
      expect(found.body.items).toHaveLength(1);
    });
  });
}
