/** How objects get to the spoke: every strategy, and works that want the same object. */
import { describe, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import { ConfigMap } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { APPLIED_HASH, type ManifestConfig, type UpdateStrategy } from "#api/work";
import { eventually } from "../../support/eventually.ts";
import { configMap, manifestOf, saidOf, type WorkStage } from "./stage.ts";

const config = (namespace: string, name: string, updateStrategy: UpdateStrategy): ManifestConfig => ({
  resourceIdentifier: { resource: "configmaps", namespace, name },
  updateStrategy,
});

export function strategyCases(stage: () => WorkStage): void {
  const existing = (namespace: string, name: string, data: Record<string, string>) =>
    stage().spoke.client.create(ConfigMap, { metadata: { namespace, name }, data }, { fieldManager: "somebody" });

  describe("CreateOnly", () => {
    it("leaves alone what is there, and still owns it", async () => {
      const namespace = await stage().namespace();
      await existing(namespace, "a", { k: "theirs" });
      const manifestConfigs = [config(namespace, "*", { type: "CreateOnly" })];
      const name = await stage().work([configMap(namespace, "a"), configMap(namespace, "b")], { manifestConfigs });
      await stage().untilReported(name, { applied: "True", available: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "theirs" });
      expect(await stage().dataOf(`${namespace}/b`)).toEqual({ k: "v" });
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
    });
  });

  describe("ReadOnly", () => {
    it("never creates, changes or removes, and reports what others do", async () => {
      const namespace = await stage().namespace();
      const manifestConfigs: ManifestConfig[] = [
        {
          ...config(namespace, "a*", { type: "ReadOnly" }),
          feedbackRules: [{ type: "JSONPaths", jsonPaths: [{ name: "k", path: ".data.k" }] }],
        },
      ];
      const name = await stage().work([configMap(namespace, "a1"), configMap(namespace, "a2")], { manifestConfigs });
      const before = await stage().untilReported(name, { applied: "True", available: "False" });
      expect(saidOf(before, "Available")?.reason).toBe("ResourceNotAvailable");
      await existing(namespace, "a1", { k: "1" });
      await existing(namespace, "a2", { k: "2" });
      await eventually(async () => {
        const work = await stage().untilReported(name, { applied: "True", available: "True" });
        const values = [0, 1].map(
          (ordinal) => manifestOf(work, ordinal).statusFeedback?.values?.[0]?.fieldValue.string,
        );
        expect(values).toEqual(["1", "2"]);
      });
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().dataOf(`${namespace}/a1`)).toEqual({ k: "1" });
    });
  });

  describe("ServerSideApply", () => {
    it("adds its fields to those of others, and without force tells of a conflict", async () => {
      const namespace = await stage().namespace();
      await existing(namespace, "a", { theirs: "1" });
      const manifestConfigs = [config(namespace, "a", { type: "ServerSideApply" })];
      const name = await stage().work([configMap(namespace, "a", { ours: "2" })], { manifestConfigs });
      await stage().untilReported(name, { applied: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ theirs: "1", ours: "2" });

      await stage().edit(name, { workload: { manifests: [configMap(namespace, "a", { ours: "2", theirs: "3" })] } });
      const work = await stage().untilReported(name, { applied: "False" });
      expect(saidOf(work, "Applied")?.message).toContain(".data.theirs");
      expect((await stage().dataOf(`${namespace}/a`))?.theirs).toBe("1");

      const forced = config(namespace, "a", { type: "ServerSideApply", serverSideApply: { force: true } });
      await stage().edit(name, { manifestConfigs: [forced] });
      await stage().untilReported(name, { applied: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ theirs: "3", ours: "2" });
    });

    it("of two works under different managers keeps both", async () => {
      const namespace = await stage().namespace();
      const strategy = (fieldManager: string): UpdateStrategy => ({
        type: "ServerSideApply",
        serverSideApply: { fieldManager },
      });
      const work = (key: string) =>
        stage().work([configMap(namespace, "a", { [key]: key })], {
          manifestConfigs: [config(namespace, "a", strategy(`work-agent-${key}`))],
        });
      const names = [await work("one"), await work("two")];
      for (const name of names) await stage().untilReported(name, { applied: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ one: "one", two: "two" });
      for (const name of names) await stage().delete(name);
      for (const name of names) await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
    });

    it("of two works lets one take fields by force, keeps the rest for the other, and refuses it what was taken", async () => {
      const namespace = await stage().namespace();
      const plain = await stage().work([configMap(namespace, "a", { both: "1", own: "1" })], {
        manifestConfigs: [config(namespace, "a", { type: "ServerSideApply" })],
      });
      await stage().untilReported(plain, { applied: "True" });
      const serverSideApply = { force: true, fieldManager: "work-agent-another" };
      const forced = await stage().work([configMap(namespace, "a", { both: "1" })], {
        manifestConfigs: [config(namespace, "a", { type: "ServerSideApply", serverSideApply })],
      });
      await stage().untilReported(forced, { applied: "True" });

      const edit = (data: Record<string, string>) =>
        stage().edit(plain, { workload: { manifests: [configMap(namespace, "a", data)] } });
      await edit({ both: "1", own: "2" });
      await stage().untilReported(plain, { applied: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ both: "1", own: "2" });
      await edit({ both: "2", own: "2" });
      const refused = await stage().untilReported(plain, { applied: "False" });
      expect(saidOf(refused, "Applied")?.message).toContain("work-agent-another");
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ both: "1", own: "2" });
    });

    it("leaves ignored fields to the spoke", async () => {
      const namespace = await stage().namespace();
      const ignoring = (fields: object): UpdateStrategy =>
        ({ type: "ServerSideApply", serverSideApply: { force: true, ignoreFields: [fields] } }) as UpdateStrategy;
      const manifestConfigs = [
        config(namespace, "present", ignoring({ condition: "OnSpokePresent", jqPathExpressions: [".data.k"] })),
        config(namespace, "change", ignoring({ condition: "OnSpokeChange", jsonPaths: [".data.k"] })),
        config(namespace, "wrong", ignoring({ condition: "OnSpokePresent", jqPathExpressions: [".data["] })),
      ];
      const manifests = (data: Record<string, string>) => [
        configMap(namespace, "present", data),
        configMap(namespace, "change", data),
        configMap(namespace, "wrong", data),
      ];
      const name = await stage().work(manifests({ k: "1", other: "1" }), { manifestConfigs });
      const first = await stage().untilReported(name, { applied: "False" });
      expect(saidOf(first, "Applied", 2)).toMatchObject({
        reason: "AppliedManifestSSAIgnoreFieldError",
        message: expect.stringContaining("JQ expression error in '.data['"),
      });
      expect(await stage().dataOf(`${namespace}/present`)).toEqual({ k: "1", other: "1" });
      const { metadata } = await stage().spoke.client.get(ConfigMap, `${namespace}/present`);
      expect(metadata.annotations).toHaveProperty([APPLIED_HASH]);
      for (const each of ["present", "change"]) {
        await stage().spoke.client.patch(ConfigMap, `${namespace}/${each}`, { data: { k: "spoke" } });
      }
      await stage().edit(name, { workload: { manifests: manifests({ k: "1", other: "2" }) } });
      await stage().untilReported(name, { applied: "False" });
      await eventually(async () => {
        expect(await stage().dataOf(`${namespace}/present`)).toEqual({ k: "spoke", other: "2" });
        expect(await stage().dataOf(`${namespace}/change`)).toEqual({ k: "1", other: "2" });
      });
    });
  });

  describe("fields that are ignored", () => {
    const program = (namespace: string, name: string, replicas: number, level: string): DynamicObject => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name, namespace },
      spec: {
        replicas,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: {
            containers: [
              {
                name: "c",
                image: "image",
                env: [
                  { name: "LEVEL", value: level },
                  { name: "MODE", value: "a" },
                ],
              },
            ],
          },
        },
      },
    });
    const levels = '.spec.template.spec.containers[] | select(.name == "c") | .env[] | select(.name == "LEVEL")';
    const FORMS: readonly [form: string, fields: object][] = [
      ["path", { jsonPaths: [".spec.replicas"] }],
      ["pointer", { jsonPointers: ["/spec/replicas"] }],
      ["expression", { jqPathExpressions: [".spec.replicas", levels] }],
    ];

    it.each([...FORMS])("are left as the spoke has them, said by %s", async (form, fields) => {
      const namespace = await stage().namespace();
      const strategy = (condition: string) =>
        ({
          type: "ServerSideApply",
          serverSideApply: { force: true, ignoreFields: [{ condition, ...fields }] },
        }) as UpdateStrategy;
      const manifestConfigs = ["OnSpokePresent", "OnSpokeChange"].map((condition, at) => ({
        resourceIdentifier: {
          group: "apps",
          resource: "deployments",
          namespace,
          name: at === 0 ? "present" : "change",
        },
        updateStrategy: strategy(condition),
      }));
      const programs = (replicas: number, level: string) =>
        ["present", "change"].map((name) => program(namespace, name, replicas, level));
      const seen = async (name: string) => {
        const { spec } = await stage().spoke.client.get(Deployment, `${namespace}/${name}`);
        return [spec.replicas, spec.template.spec.containers[0]?.env?.find((each) => each.name === "LEVEL")?.value];
      };
      const name = await stage().work(programs(0, "low"), { manifestConfigs });
      await stage().untilReported(name, { applied: "True" });
      for (const each of ["present", "change"]) {
        expect(await seen(each)).toEqual([0, "low"]);
        await stage().spoke.client.patch(
          Deployment,
          `${namespace}/${each}`,
          {
            spec: {
              replicas: 1,
              template: { spec: { containers: [{ name: "c", env: [{ name: "LEVEL", value: "theirs" }] }] } },
            },
          },
          { type: "strategic" },
        );
      }
      // Another work is done with in the meantime, so that whatever would be mended has been.
      const marker = await stage().work([configMap(namespace, "marker")]);
      await stage().untilReported(marker, { applied: "True" });
      for (const each of ["present", "change"]) expect(await seen(each)).toEqual([1, "theirs"]);

      await stage().edit(name, { workload: { manifests: programs(0, "high") } });
      await stage().untilReported(name, { applied: "True" });
      await eventually(async () => {
        expect(await seen("present")).toEqual([1, form === "expression" ? "theirs" : "high"]);
        expect(await seen("change")).toEqual([0, "high"]);
      });
    });
  });

  describe("an object that two works want", () => {
    it("is as the older one says, the other is told, and gets its way when the older one goes", async () => {
      const namespace = await stage().namespace();
      const older = await stage().work([configMap(namespace, "a", { k: "older" })], {}, `a-older-${namespace}`);
      await stage().untilReported(older, { applied: "True" });
      const younger = await stage().work([configMap(namespace, "a", { k: "younger" })], {}, `b-younger-${namespace}`);
      const told = await stage().untilReported(younger, { applied: "False" });
      expect(saidOf(told, "Applied")?.message).toContain(`ManifestWork ${older} is older`);
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "older" });
      const { metadata } = await stage().spoke.client.get(ConfigMap, `${namespace}/a`);
      expect(metadata.ownerReferences).toHaveLength(2);

      await stage().delete(older);
      await stage().untilGone(older);
      await stage().untilReported(younger, { applied: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "younger" });
      await stage().delete(younger);
      await stage().untilGone(younger);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
    });

    it("and want alike is everybody's, and survives the removal from one of them", async () => {
      const namespace = await stage().namespace();
      const names = [
        await stage().work([configMap(namespace, "a"), configMap(namespace, "mine")]),
        await stage().work([configMap(namespace, "a")]),
      ];
      for (const name of names) await stage().untilReported(name, { applied: "True" });
      const [first = "", second = ""] = names;
      await stage().edit(first, { workload: { manifests: [configMap(namespace, "mine")] } });
      await eventually(async () => {
        const { metadata } = await stage().spoke.client.get(ConfigMap, `${namespace}/a`);
        expect(metadata.ownerReferences).toHaveLength(1);
      });
      await stage().delete(second);
      await stage().untilGone(second);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
      expect(await stage().exists(ConfigMap, `${namespace}/mine`)).toBe(true);
    });
  });

  describe("Update", () => {
    it("of what only the server can complete still stands when another agent takes over", async () => {
      const namespace = await stage().namespace();
      const job = (image: string): DynamicObject => ({
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: { name: "once", namespace },
        spec: {
          template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image, command: ["true"] }] } },
        },
      });
      const claim: DynamicObject = {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        metadata: { name: "disk", namespace },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      };
      const name = await stage().work([job("busybox"), claim]);
      await stage().untilReported(name, { applied: "True", available: "True" });
      await stage().stopAgent();
      await stage().startAgent();
      await stage().edit(name, { workload: { manifests: [job("busybox"), claim, configMap(namespace, "more")] } });
      await stage().untilReported(name, { applied: "True", available: "True" });
      await stage().edit(name, { workload: { manifests: [job("busybox:2"), claim] } });
      const work = await stage().untilReported(name, { applied: "False" });
      expect(saidOf(work, "Applied")?.message).toContain("immutable");
    });

    it("replaces what others added to the content, and a changed role reference is told as a failure", async () => {
      const namespace = await stage().namespace();
      const binding = (role: string): DynamicObject => ({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { name: "b", namespace },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: role },
        subjects: [{ kind: "ServiceAccount", name: "x", namespace }],
      });
      await existing(namespace, "a", { theirs: "1" });
      const name = await stage().work([configMap(namespace, "a"), binding("one")]);
      await stage().untilReported(name, { applied: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "v" });
      await stage().edit(name, { workload: { manifests: [configMap(namespace, "a"), binding("two")] } });
      const work = await stage().untilReported(name, { applied: "False" });
      expect(saidOf(work, "Applied", 0)?.status).toBe("True");
      expect(saidOf(work, "Applied", 1)?.message).toMatch(/cannot change roleRef|roleRef/);
    });
  });
}
