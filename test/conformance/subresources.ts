/** Parts of objects that have a path of their own. */
import { beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Body } from "../support/raw.ts";
import { handmadePods } from "./pods.ts";
import { at, deployment, inGroup, refusal, refused, type Staged } from "./stage.ts";

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "main", image: "registry.example/app:1" }] },
});

export function subresourcesSuite(stage: Staged): void {
  const pods = handmadePods(stage);
  let space: string;
  beforeAll(async () => {
    space = await pods.namespace();
  });
  const apps = (plural: string, name?: string) => inGroup("apps", "v1", plural, space, name);
  const deployments = (name?: string) => apps("deployments", name);
  const made = async (name: string): Promise<Body> =>
    (await stage().admin.post(deployments(), { ...deployment(name, 0), metadata: { name, labels: { a: "1" } } })).body;

  describe("/status", () => {
    it("subresources.status-read: shows the whole object", async () => {
      const { metadata } = await made("whole");
      const { code, body } = await stage().admin.get(`${deployments("whole")}/status`);
      expect(code).toBe(200);
      expect(body).toMatchObject({ kind: "Deployment", metadata: { uid: metadata.uid }, spec: { replicas: 0 } });
    });

    it("subresources.status-replace: takes the status of a PUT and nothing else, on the newest version only", async () => {
      const first = await made("replaced");
      const { body: current } = await stage().admin.get(deployments("replaced"));
      const wish = {
        ...current,
        metadata: { ...current.metadata, labels: { a: "2" }, annotations: { b: "3" } },
        spec: { ...(current.spec as object), replicas: 9 },
        status: { collisionCount: 4 },
      };
      const { code, body } = await eventually(async () => {
        const { body: newest } = await stage().admin.get(deployments("replaced"));
        const { resourceVersion } = newest.metadata;
        const reply = await stage().admin.put(`${deployments("replaced")}/status`, {
          ...wish,
          metadata: { ...wish.metadata, resourceVersion },
        });
        if (reply.code === 409) throw new Error("its controller was quicker");
        return reply;
      });
      expect(code).toBe(200);
      expect(body).toMatchObject({
        metadata: { labels: { a: "1" }, annotations: { b: "3" }, generation: 1 },
        spec: { replicas: 0 },
        status: { collisionCount: 4 },
      });
      const late = await stage().admin.put(`${deployments("replaced")}/status`, {
        ...first,
        metadata: { ...first.metadata, resourceVersion: "1" },
      });
      expect(refusal(late)).toEqual(refused(409, "Conflict"));
    });

    it.each([
      ["merge", { status: { collisionCount: 2 }, spec: { replicas: 5 } }],
      ["strategic", { status: { collisionCount: 2 }, spec: { replicas: 5 } }],
      [
        "json",
        [
          { op: "add", path: "/status/collisionCount", value: 2 },
          { op: "replace", path: "/spec/replicas", value: 5 },
        ],
      ],
    ] as const)("subresources.status-patch: takes a %s patch", async (type, patch) => {
      await made(`patched-${type}`);
      const { code, body } = await stage().admin.patch(`${deployments(`patched-${type}`)}/status`, patch, type);
      expect(code).toBe(200);
      expect(body).toMatchObject({ spec: { replicas: 0 }, status: { collisionCount: 2 } });
    });

    it("subresources.status-dry-run: leaves no trace when it runs dry", async () => {
      await made("dry");
      const path = `${deployments("dry")}/status?dryRun=All`;
      const { code, body } = await stage().admin.patch(path, { status: { collisionCount: 8 } });
      expect([code, body.status]).toMatchObject([200, { collisionCount: 8 }]);
      const { body: after } = await stage().admin.get(deployments("dry"));
      expect(after.status).not.toMatchObject({ collisionCount: 8 });
    });

    it("subresources.status-missing: does not make what is not there", async () => {
      const reply = await stage().admin.patch(`${deployments("nobody")}/status`, { status: {} });
      expect(refusal(reply)).toEqual(refused(404, "NotFound"));
    });

    it("subresources.status-right: is a right of its own", async () => {
      await made("guarded");
      const dora = await stage().user("dora");
      const rbac = (kind: string) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${space}/${kind}`;
      await stage().admin.post(rbac("roles"), {
        metadata: { name: "spec-only" },
        rules: [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "patch"] }],
      });
      await stage().admin.post(rbac("rolebindings"), {
        metadata: { name: "dora" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "spec-only" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "dora" }],
      });
      await eventually(async () => expect((await dora.get(deployments("guarded"))).code).toBe(200));
      const reply = await dora.patch(`${deployments("guarded")}/status`, { status: { collisionCount: 1 } });
      expect(refusal(reply)).toEqual(refused(403, "Forbidden"));
      expect(reply.body.message).toContain('cannot patch resource "deployments/status" in API group "apps"');
    });
  });

  describe("/scale", () => {
    it.each([
      ["replicasets", { replicas: 0, selector: { matchLabels: { app: "s" } }, template: template("s") }],
      [
        "statefulsets",
        { replicas: 0, serviceName: "s", selector: { matchLabels: { app: "s" } }, template: template("s") },
      ],
    ])("subresources.scale-kinds: is there for %s", async (plural, spec) => {
      const { code } = await stage().admin.post(apps(plural), { metadata: { name: "s" }, spec });
      expect(code).toBe(201);
      const { body } = await stage().admin.get(`${apps(plural, "s")}/scale`);
      expect(body).toMatchObject({ kind: "Scale", apiVersion: "autoscaling/v1", status: { selector: "app=s" } });
    });

    it("subresources.scale-core: is there for ReplicationControllers, with their selector in short", async () => {
      const path = at(space, "replicationcontrollers");
      const spec = { replicas: 0, selector: { app: "rc" }, template: template("rc") };
      await stage().admin.post(path, { metadata: { name: "rc" }, spec });
      const { body } = await stage().admin.get(`${path}/rc/scale`);
      expect(body).toMatchObject({ kind: "Scale", status: { replicas: 0, selector: "app=rc" } });
    });

    it("subresources.scale-none: is not there for kinds without a size", async () => {
      await stage().admin.post(apps("daemonsets"), {
        metadata: { name: "d" },
        spec: { selector: { matchLabels: { app: "d" } }, template: template("d") },
      });
      expect(refusal(await stage().admin.get(`${apps("daemonsets", "d")}/scale`))).toEqual(refused(404, "NotFound"));
    });

    it("subresources.scale-replace: takes a PUT of a Scale, on the version that it names", async () => {
      await made("sized");
      const path = `${deployments("sized")}/scale`;
      const { body: scale } = await stage().admin.get(path);
      const unconditional = { ...scale, metadata: { name: "sized", namespace: space }, spec: { replicas: 2 } };
      const wished = await stage().admin.put(path, unconditional);
      expect([wished.code, wished.body.spec]).toEqual([200, { replicas: 2 }]);
      expect((await stage().admin.get(deployments("sized"))).body).toMatchObject({
        spec: { replicas: 2 },
        metadata: { generation: 2 },
      });
      const late = await stage().admin.put(path, { ...scale, spec: { replicas: 3 } });
      expect(refusal(late)).toEqual(refused(409, "Conflict"));
      const other = await stage().admin.put(path, { ...unconditional, kind: "Deployment", apiVersion: "apps/v1" });
      expect(refusal(other)).toEqual(refused(400, "BadRequest"));
    });

    it("subresources.scale-zero: leaves out a size of zero, and takes it as one", async () => {
      await made("emptied");
      const path = `${deployments("emptied")}/scale`;
      await stage().admin.patch(path, { spec: { replicas: 3 } });
      const { body: scale } = await stage().admin.get(path);
      const { resourceVersion: _, ...metadata } = scale.metadata;
      const { body } = await stage().admin.put(path, { ...scale, metadata, spec: {} });
      expect(body.spec).toEqual({});
      expect((await stage().admin.get(deployments("emptied"))).body.spec).toMatchObject({ replicas: 0 });
    });
  });

  describe("paths that are not there", () => {
    it.each([
      ["DELETE", "deployments/unfit/status"],
      ["POST", "deployments/unfit/status"],
      ["POST", "deployments/unfit/scale"],
      ["DELETE", "deployments/unfit/scale"],
    ])("subresources.methods: refuses %s %s", async (method, path) => {
      await made("unfit");
      const body = method === "POST" ? { body: {} } : {};
      const reply = await stage().admin.request(method, `/apis/apps/v1/namespaces/${space}/${path}`, body);
      expect(refusal(reply)).toEqual(refused(405, "MethodNotAllowed"));
    });

    it("subresources.unknown: does not know a part that no kind has, nor one that this kind lacks", async () => {
      await made("plain");
      for (const path of [`${deployments("plain")}/odd`, `${at(space, "configmaps", "kube-root-ca.crt")}/status`]) {
        expect(refusal(await stage().admin.get(path))).toEqual(refused(404, "NotFound"));
      }
    });
  });

  describe("/binding", () => {
    it("subresources.binding: puts a Pod on a node, once", async () => {
      const node = await pods.node();
      await stage().admin.post(at(space, "pods"), { metadata: { name: "bound" }, spec: template("bound").spec });
      const path = `${at(space, "pods", "bound")}/binding`;
      const binding = {
        apiVersion: "v1",
        kind: "Binding",
        metadata: { name: "bound", annotations: { by: "me" } },
        target: { apiVersion: "v1", kind: "Node", name: node },
      };
      const { code, body } = await stage().admin.post(path, binding);
      expect([code, body.status]).toEqual([201, "Success"]);
      expect((await stage().admin.get(at(space, "pods", "bound"))).body).toMatchObject({
        metadata: { annotations: { by: "me" } },
        spec: { nodeName: node },
        status: { conditions: [{ type: "PodScheduled", status: "True" }] },
      });
      expect(refusal(await stage().admin.post(path, binding))).toEqual(refused(409, "Conflict"));
    });

    it("subresources.bindings: may be asked for beside the Pod as well", async () => {
      const node = await pods.node();
      await stage().admin.post(at(space, "pods"), { metadata: { name: "beside" }, spec: template("beside").spec });
      const { code } = await stage().admin.post(at(space, "bindings"), {
        metadata: { name: "beside" },
        target: { kind: "Node", name: node },
      });
      expect(code).toBe(201);
      expect((await stage().admin.get(at(space, "pods", "beside"))).body.spec).toMatchObject({ nodeName: node });
    });

    it.each([
      ["no node", { target: {} }],
      ["something that is no node", { target: { kind: "Pod", name: "x" } }],
    ])("subresources.binding-refusals: refuses %s, though without a reason", async (_, more) => {
      await stage().admin.post(at(space, "pods"), { metadata: { name: "free" }, spec: template("free").spec });
      const reply = await stage().admin.post(`${at(space, "pods", "free")}/binding`, {
        metadata: { name: "free" },
        ...more,
      });
      expect(refusal(reply)).toEqual(refused(500, undefined));
      expect((await stage().admin.get(at(space, "pods", "free"))).body.spec).not.toHaveProperty("nodeName");
    });
  });
}
