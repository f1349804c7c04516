/** What a plan foretells: what the agent would do, against the objects that are there, and nothing is written for it. */
import { describe, expect, it } from "vitest";
import { ConfigMap, Namespace, Secret } from "#api/core";
import type { DynamicObject } from "#api/meta";
import type { ManifestConfig } from "#api/work";
import { type ClusterPlan, originOf, planDeletion, planWorks } from "#app";
import { connectionOf } from "#kube";
import { eventually } from "../../support/eventually.ts";
import { CLUSTER, configMap, gadgetDefinition, type Spec, type WorkStage } from "./stage.ts";

type Planned = ClusterPlan["objects"][number];

export function planCases(stage: () => WorkStage): void {
  const task = () => ({ client: stage().hub.client, dryRun: true, signal: AbortSignal.timeout(60_000) });
  const ways = { connectionTo: async () => connectionOf(stage().spoke.kubeconfig) };
  const seen = ([plan]: readonly ClusterPlan[]): readonly Planned[] => {
    expect(plan).toMatchObject({ cluster: CLUSTER });
    expect(plan?.unseen).toBeUndefined();
    return plan?.objects ?? [];
  };
  const plan = async (name: string, manifests: readonly DynamicObject[]) =>
    seen(await planWorks(task(), { name, clusters: [CLUSTER], manifests, overwrite: true }, ways));
  const planned = async (name: string, manifests: readonly DynamicObject[]) =>
    (await plan(name, manifests)).map(lineOf);
  const deletion = async (name: string) =>
    seen(await planDeletion(task(), name, [CLUSTER], { ...ways, force: false })).map(lineOf);
  const lineOf = ({ action, kind, name, changes }: Planned) => {
    const fields = changes.map(({ path, before, after, drift }) => {
      return `${path}: ${JSON.stringify(before)} → ${JSON.stringify(after)}${drift ? " (drift)" : ""}`;
    });
    return [`${action} ${kind} ${name}`, ...(action === "change" ? fields.sort() : [])].join("; ");
  };
  const applied = async (manifests: readonly DynamicObject[], spec: Spec = {}) => {
    const name = await stage().work(manifests, spec);
    await stage().untilReported(name, { applied: "True" });
    return name;
  };
  const patch = (key: string, change: object) => stage().spoke.client.patch(ConfigMap, key, change);
  const strategy = (namespace: string, updateStrategy: ManifestConfig["updateStrategy"]): Spec => ({
    manifestConfigs: [
      {
        resourceIdentifier: { resource: "configmaps", namespace, name: "*" },
        ...(updateStrategy && { updateStrategy }),
      },
    ],
  });

  describe("a plan", () => {
    it("tells what is created, changed, left alone and deleted, and it comes out so", async () => {
      const namespace = await stage().namespace();
      const before = [configMap(namespace, "kept"), configMap(namespace, "edited", { k: "old", gone: "x" })];
      const name = await applied([...before, configMap(namespace, "leaving")]);
      const versions = async () =>
        (await stage().spoke.client.list(ConfigMap, { namespace })).items.map(
          ({ metadata }) => metadata.resourceVersion,
        );
      const untouched = await versions();
      const after = [
        configMap(namespace, "kept"),
        configMap(namespace, "edited", { k: "new" }),
        configMap(namespace, "coming"),
      ];
      expect(await planned(name, after)).toEqual([
        "leave ConfigMap kept",
        'change ConfigMap edited; .data.gone: "x" → undefined; .data.k: "old" → "new"',
        "create ConfigMap coming",
        "delete ConfigMap leaving",
      ]);
      expect(await versions()).toEqual(untouched);
      expect((await stage().get(name)).metadata.generation).toBe(1);

      await stage().edit(name, { workload: { manifests: after } });
      await stage().untilReported(name, { applied: "True" });
      await eventually(async () => expect(await stage().exists(ConfigMap, `${namespace}/leaving`)).toBe(false));
      expect(await stage().dataOf(`${namespace}/edited`)).toEqual({ k: "new" });
      expect(await planned(name, after)).toEqual([
        "leave ConfigMap kept",
        "leave ConfigMap edited",
        "leave ConfigMap coming",
      ]);
    });

    it("tells what somebody changed or removed on the cluster, which is mended", async () => {
      const namespace = await stage().namespace();
      const manifests = [configMap(namespace, "a", { k: "wished", other: "1" }), configMap(namespace, "b")];
      const name = await applied(manifests);
      await stage().stopAgent();
      try {
        await patch(`${namespace}/a`, { data: { k: "theirs" }, metadata: { labels: { theirs: "stays" } } });
        await stage().spoke.client.delete(ConfigMap, `${namespace}/b`);
        const wished = [configMap(namespace, "a", { k: "wished", other: "2" }), configMap(namespace, "b")];
        const objects = await plan(name, wished);
        expect(objects.map(lineOf)).toEqual([
          'change ConfigMap a; .data.k: "theirs" → "wished" (drift); .data.other: "1" → "2"',
          "create ConfigMap b",
        ]);
        expect(objects[1]?.message).toContain("somebody removed it on the cluster");
      } finally {
        await stage().startAgent();
      }
    });

    it("tells that it takes over what is there already", async () => {
      const namespace = await stage().namespace();
      await stage().spoke.client.create(ConfigMap, {
        metadata: { name: "theirs", namespace },
        data: { k: "1", l: "2" },
      });
      const [object] = await plan("new-work", [configMap(namespace, "theirs", { k: "1" })]);
      expect(object && lineOf(object)).toBe('change ConfigMap theirs; .data.l: "2" → undefined');
      expect(object?.message).toBe("it is there already, and from now on goes with this work");
    });

    it("knows what a server adds by itself, and that a kind and its objects come together", async () => {
      const namespace = await stage().namespace();
      const deployment: DynamicObject = {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "d", namespace },
        spec: {
          replicas: 0,
          selector: { matchLabels: { app: "d" } },
          template: { metadata: { labels: { app: "d" } }, spec: { containers: [{ name: "c", image: "i:1" }] } },
        },
      };
      const name = await applied([deployment]);
      expect(await planned(name, [deployment])).toEqual(["leave Deployment d"]);
      const newer = structuredClone(deployment) as DynamicObject & {
        spec: { template: { spec: { containers: { image: string }[] } } };
      };
      for (const container of newer.spec.template.spec.containers) container.image = "i:2";
      const group = `g${namespace}.example.com`;
      const gadget = { apiVersion: `${group}/v1`, kind: "Gadget", metadata: { name: "g", namespace } };
      expect(await planned(name, [newer, gadgetDefinition(group), gadget])).toEqual([
        'change Deployment d; .spec.template.spec.containers[name=c].image: "i:1" → "i:2"',
        `create CustomResourceDefinition gadgets.${group}`,
        "create Gadget g",
      ]);
      const [blocked] = await plan(name, [gadget]);
      expect(blocked).toMatchObject({ action: "blocked", message: expect.stringContaining("does not know Gadget") });
    });

    it("never shows what is in a Secret, nor what kubectl noted of one", async () => {
      const namespace = await stage().namespace();
      const secret = (value: string): DynamicObject => ({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s", namespace, annotations: { "kubectl.kubernetes.io/last-applied-configuration": value } },
        stringData: { password: value },
      });
      const name = await applied([secret("canary-one")]);
      const objects = await plan(name, [
        secret("canary-two"),
        { ...secret("canary-three"), metadata: { name: "t", namespace } },
      ]);
      expect(objects.map(({ action }) => action)).toEqual(["change", "create"]);
      const paths = objects[0]?.changes.map(({ path, drift }) => [path, drift ?? false]) ?? [];
      expect(paths).toContainEqual([".data.password", false]);
      expect(JSON.stringify(objects)).not.toContain("canary");
      expect(JSON.stringify(objects)).not.toContain(Buffer.from("canary-two").toString("base64"));
      const { data } = await stage().spoke.client.get(Secret, `${namespace}/s`);
      expect(data?.password).toBe(Buffer.from("canary-one").toString("base64"));
    });
  });

  describe("a plan by strategy", () => {
    it("leaves what is only created or only looked at", async () => {
      const namespace = await stage().namespace();
      for (const [type, name] of [
        ["CreateOnly", "a"],
        ["ReadOnly", "b"],
      ] as const) {
        await stage().spoke.client.create(ConfigMap, { metadata: { name, namespace }, data: { k: "theirs" } });
        const work = await applied([configMap(namespace, name)], strategy(namespace, { type }));
        const [object] = await plan(work, [configMap(namespace, name, { k: "other" })]);
        expect(object).toMatchObject({ action: "leave", message: expect.stringContaining(type) });
      }
    });

    it("asks the server what applying there would do: fields of others stay, and what they claim is a conflict", async () => {
      const namespace = await stage().namespace();
      const name = await applied(
        [configMap(namespace, "a", { k: "1" })],
        strategy(namespace, { type: "ServerSideApply" }),
      );
      const theirs = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace }, data: { l: "theirs" } };
      await stage().spoke.client.patch(ConfigMap, `${namespace}/a`, theirs, {
        type: "apply",
        fieldManager: "somebody",
      });
      expect(await planned(name, [configMap(namespace, "a", { k: "2" })])).toEqual([
        'change ConfigMap a; .data.k: "1" → "2"',
      ]);
      const [conflict] = await plan(name, [configMap(namespace, "a", { k: "1", l: "ours" })]);
      expect(conflict).toMatchObject({ action: "blocked", message: "somebody claims .data.l" });
    });

    it("leaves to the cluster what the work ignores", async () => {
      const namespace = await stage().namespace();
      const ignoreFields = [{ condition: "OnSpokePresent" as const, jsonPointers: ["/data/l"] }];
      const type = "ServerSideApply";
      const spec = strategy(namespace, { type, serverSideApply: { force: true, ignoreFields } });
      const name = await applied([configMap(namespace, "a", { k: "1", l: "1" })], spec);
      await patch(`${namespace}/a`, { data: { l: "theirs" } });
      expect(await planned(name, [configMap(namespace, "a", { k: "2", l: "2" })])).toEqual([
        'change ConfigMap a; .data.k: "1" → "2"',
      ]);
    });

    it("names the older work that decides, and what an executor may not do", async () => {
      const namespace = await stage().namespace();
      const older = await applied([configMap(namespace, "shared", { k: "older" })]);
      const younger = await stage().work([configMap(namespace, "shared", { k: "younger" })], {}, `z-${namespace}`);
      await stage().untilReported(younger, { applied: "False" });
      const [object] = await plan(younger, [configMap(namespace, "shared", { k: "other" })]);
      expect(object).toMatchObject({
        action: "leave",
        message: expect.stringContaining(`ManifestWork ${older} is older`),
      });

      await stage().account(namespace, "weak", []);
      const serviceAccount = { namespace, name: "weak" };
      const weak = await stage().work([configMap(namespace, "w")], {
        executor: { subject: { type: "ServiceAccount", serviceAccount } },
      });
      await stage().untilReported(weak, { applied: "False" });
      const [denied] = await plan(weak, [configMap(namespace, "w", { k: "2" })]);
      expect(denied).toMatchObject({ action: "blocked", message: expect.stringContaining("not allowed to apply") });
    });
  });

  describe("a plan of an end", () => {
    it("deletes what is the work's alone; what others have, or is orphaned, stays", async () => {
      const namespace = await stage().namespace();
      const inner = `${namespace}-inner`;
      const space: DynamicObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: inner } };
      const name = await applied([configMap(namespace, "own"), configMap(namespace, "shared"), space]);
      await applied([configMap(namespace, "shared")]);
      const objects = seen(await planDeletion(task(), name, [CLUSTER], { ...ways, force: false }));
      expect(objects.map(lineOf).sort()).toEqual([
        "delete ConfigMap own",
        `delete Namespace ${inner}`,
        "leave ConfigMap shared",
      ]);
      expect(objects.find(({ kind }) => kind === "Namespace")?.message).toBe("with all that is in it");
      const forced = seen(await planDeletion(task(), name, [CLUSTER], { ...ways, force: true }));
      expect(forced.map(({ action }) => action)).toEqual(["leave", "leave", "leave"]);
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, `${namespace}/shared`)).toBe(true);
      await eventually(async () => expect(await stage().exists(Namespace, inner)).toBe(false));

      const orphan = await applied([configMap(namespace, "orphan")], { deleteOption: { propagationPolicy: "Orphan" } });
      expect(await deletion(orphan)).toEqual(["leave ConfigMap orphan"]);
      const origin = await originOf(stage().spoke.client, { kind: "configmap", name: "orphan", namespace });
      expect(origin.works).toMatchObject([{ isOwner: false, work: orphan }]);
      expect(await planned(orphan, [configMap(namespace, "other")])).toEqual([
        "create ConfigMap other",
        "leave ConfigMap orphan",
      ]);
    });

    it("says that a removal will be held where the hub shows another work than the one that placed it", async () => {
      const namespace = await stage().namespace();
      const name = await applied([configMap(namespace, "a"), configMap(namespace, "b")]);
      await stage().stopAgent();
      try {
        await stage().forget(name);
        const objects = await plan(name, [configMap(namespace, "a")]);
        expect(objects.map(({ action }) => action)).toEqual(["leave", "leave"]);
        expect(objects[1]?.message).toMatch(/held until somebody confirms it, because the hub has another work/);
        await stage().work([configMap(namespace, "a"), configMap(namespace, "b")], {}, name);
      } finally {
        await stage().startAgent();
      }
      await stage().untilReported(name, { applied: "True" });
    });
  });

  describe("a plan for a cluster that cannot be reached", () => {
    it("says why, and compares the works", async () => {
      const namespace = await stage().namespace();
      const name = await applied([configMap(namespace, "a", { k: "1" })]);
      const wish = { name, clusters: [CLUSTER], manifests: [configMap(namespace, "a", { k: "2" })], overwrite: true };
      const [nowhere] = await planWorks(task(), wish, {});
      expect(nowhere?.unseen).toMatch(/it has no ClusterProfile that one may read, and no context of the kubeconfig/);
      expect(nowhere?.objects.map(lineOf)).toEqual(['change ConfigMap a; .data.k: "1" → "2"']);
      const [silent] = await planWorks(task(), wish, { connectionTo: async () => ({ server: "https://127.0.0.1:1" }) });
      expect(silent?.unseen).toMatch(/https:\/\/127\.0\.0\.1:1 does not let us in/);
    });
  });
}
