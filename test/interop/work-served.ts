/** What any work agent does for the works of any hub. */
import { expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { ConfigMap, Secret } from "#api/core";
import type { DynamicObject } from "#api/meta";
import type { ManifestConfig, ManifestWork, UpdateStrategy } from "#api/work";
import { findCondition } from "#lib/conditions";
import { configMap, gadgetDefinition, manifestOf, type Spec } from "../suites/work/stage.ts";
import { eventually } from "../support/eventually.ts";
import type { FleetCluster } from "./work-fleet.ts";

const VERBS = ["create", "update", "patch", "get", "delete"];

export const configs = (namespace: string, name: string, updateStrategy: UpdateStrategy): ManifestConfig => ({
  resourceIdentifier: { resource: "configmaps", namespace, name },
  updateStrategy,
});

/** What is said of the application of a manifest; the order of conditions is nobody's promise. */
const appliedIn = (work: ManifestWork, ordinal = 0) => findCondition(manifestOf(work, ordinal).conditions, "Applied");

export function servedCases(cluster: () => FleetCluster): void {
  const theirs = (namespace: string, name: string, data: Record<string, string>) =>
    cluster().spoke.client.create(ConfigMap, { metadata: { namespace, name }, data }, { fieldManager: "somebody" });
  const as = (namespace: string, name: string): Spec => ({
    executor: { subject: { type: "ServiceAccount", serviceAccount: { namespace, name } } },
  });

  it("applies what is edited, removes what has left the work, and all of it with the work", async () => {
    const namespace = await cluster().namespace("edited");
    await cluster().work("edited", [configMap(namespace, "a", { k: "1" }), configMap(namespace, "b")]);
    await cluster().untilReported("edited", { applied: "True", available: "True" });
    const first = await cluster().spoke.client.get(ConfigMap, `${namespace}/a`);
    await cluster().edit("edited", {
      workload: { manifests: [configMap(namespace, "a", { k: "2" }), configMap(namespace, "c")] },
    });
    const work = await cluster().untilReported("edited", { applied: "True" });
    expect(work.status?.resourceStatus?.manifests).toHaveLength(2);
    const second = await cluster().spoke.client.get(ConfigMap, `${namespace}/a`);
    expect([second.data, second.metadata.uid]).toEqual([{ k: "2" }, first.metadata.uid]);
    await eventually(async () => expect(await cluster().exists(ConfigMap, `${namespace}/b`)).toBe(false));
    await eventually(async () =>
      expect((await cluster().record("edited")).status?.appliedResources?.map(({ name }) => name)).toEqual(["a", "c"]),
    );
    await cluster().delete("edited");
    for (const name of ["a", "c"]) expect(await cluster().exists(ConfigMap, `${namespace}/${name}`)).toBe(false);
    await expect(cluster().record("edited")).rejects.toThrow("there is no AppliedManifestWork");
  });

  it("brings a kind and an object of it, and takes both away", async () => {
    const namespace = await cluster().namespace("brought");
    const group = "brought.example.com";
    const gadget: DynamicObject = { apiVersion: `${group}/v1`, kind: "Gadget", metadata: { name: "one", namespace } };
    await cluster().work("brought", [gadget, gadgetDefinition(group)]);
    await cluster().untilReported("brought", { applied: "True", available: "True" });
    await cluster().delete("brought");
    expect(await cluster().exists(CustomResourceDefinition, `gadgets.${group}`)).toBe(false);
  });

  it("leaves orphans, all or those that are named, and only those", async () => {
    const namespace = await cluster().namespace("orphans");
    const pair = (name: string) => [configMap(namespace, `${name}-1`), configMap(namespace, `${name}-2`)];
    await cluster().work("orphans-all", pair("all"), { deleteOption: { propagationPolicy: "Orphan" } });
    const orphaningRules = [{ group: "", resource: "configmaps", namespace, name: "some-1" }];
    await cluster().work("orphans-some", pair("some"), {
      deleteOption: { propagationPolicy: "SelectivelyOrphan", selectivelyOrphans: { orphaningRules } },
    });
    for (const name of ["orphans-all", "orphans-some"]) await cluster().untilReported(name, { applied: "True" });
    for (const name of ["orphans-all", "orphans-some"]) await cluster().delete(name);
    const { items } = await cluster().spoke.client.list(ConfigMap, { namespace });
    const names = items.map(({ metadata }) => metadata.name).filter((name) => name !== "kube-root-ca.crt");
    expect(names.sort()).toEqual(["all-1", "all-2", "some-1"]);
  });

  it("keeps what another work has too", async () => {
    const namespace = await cluster().namespace("shared");
    for (const name of ["shared-1", "shared-2"]) {
      await cluster().work(name, [configMap(namespace, "a")]);
      await cluster().untilReported(name, { applied: "True" });
    }
    await cluster().delete("shared-1");
    expect(await cluster().exists(ConfigMap, `${namespace}/a`)).toBe(true);
    await cluster().delete("shared-2");
    expect(await cluster().exists(ConfigMap, `${namespace}/a`)).toBe(false);
  });

  it("waits with the end of a work for what holds its objects", async () => {
    const namespace = await cluster().namespace("held");
    await cluster().work("held", [configMap(namespace, "a")]);
    await cluster().untilReported("held", { applied: "True" });
    const finalizers = (names: string[] | null) =>
      cluster().spoke.client.patch(ConfigMap, `${namespace}/a`, { metadata: { finalizers: names } });
    await finalizers(["example.com/wait"]);
    const gone = cluster().delete("held");
    await eventually(async () => {
      const { metadata } = await cluster().spoke.client.get(ConfigMap, `${namespace}/a`);
      expect(metadata.deletionTimestamp).toBeDefined();
    });
    expect((await cluster().read("held")).metadata.deletionTimestamp).toBeDefined();
    await finalizers(null);
    await gone;
  });

  it("only creates, where that is the strategy", async () => {
    const namespace = await cluster().namespace("create-only");
    await theirs(namespace, "a", { k: "theirs" });
    const manifestConfigs = [configs(namespace, "*", { type: "CreateOnly" })];
    await cluster().work("create-only", [configMap(namespace, "a"), configMap(namespace, "b")], { manifestConfigs });
    await cluster().untilReported("create-only", { applied: "True", available: "True" });
    expect(await cluster().dataOf(`${namespace}/a`)).toEqual({ k: "theirs" });
    expect(await cluster().dataOf(`${namespace}/b`)).toEqual({ k: "v" });
    await cluster().delete("create-only");
    expect(await cluster().exists(ConfigMap, `${namespace}/b`)).toBe(false);
  });

  it("only looks, where that is the strategy", async () => {
    const namespace = await cluster().namespace("read-only");
    const manifestConfigs: ManifestConfig[] = [
      {
        ...configs(namespace, "a", { type: "ReadOnly" }),
        feedbackRules: [{ type: "JSONPaths", jsonPaths: [{ name: "k", path: ".data.k" }] }],
      },
    ];
    await cluster().work("read-only", [configMap(namespace, "a")], { manifestConfigs });
    await cluster().untilReported("read-only", { applied: "True", available: "False" });
    expect(await cluster().exists(ConfigMap, `${namespace}/a`)).toBe(false);
    await theirs(namespace, "a", { k: "theirs" });
    await eventually(async () =>
      expect(manifestOf(await cluster().read("read-only")).statusFeedback?.values).toEqual([
        { name: "k", fieldValue: { type: "String", string: "theirs" } },
      ]),
    );
    await cluster().delete("read-only");
    expect(await cluster().dataOf(`${namespace}/a`)).toEqual({ k: "theirs" });
  });

  it("applies on the server beside others, tells of a conflict, and overrules it only with force", async () => {
    const namespace = await cluster().namespace("server-side");
    await theirs(namespace, "a", { theirs: "1" });
    const strategy = (force: boolean) => ({
      manifestConfigs: [configs(namespace, "a", { type: "ServerSideApply", serverSideApply: { force } })],
    });
    await cluster().work("server-side", [configMap(namespace, "a", { ours: "2" })], strategy(false));
    await cluster().untilReported("server-side", { applied: "True" });
    expect(await cluster().dataOf(`${namespace}/a`)).toEqual({ theirs: "1", ours: "2" });
    const greedy = { workload: { manifests: [configMap(namespace, "a", { ours: "2", theirs: "3" })] } };
    await cluster().edit("server-side", greedy);
    const refused = await cluster().untilReported("server-side", { applied: "False" });
    expect(appliedIn(refused)?.message).toContain(".data.theirs");
    await cluster().edit("server-side", strategy(true));
    await cluster().untilReported("server-side", { applied: "True" });
    expect(await cluster().dataOf(`${namespace}/a`)).toEqual({ theirs: "3", ours: "2" });
    await cluster().delete("server-side");
    expect(await cluster().exists(ConfigMap, `${namespace}/a`)).toBe(false);
  });

  it("does in the name of an account what that may do, and nothing else", async () => {
    const namespace = await cluster().namespace("executed");
    await cluster().account(namespace, "weak", [{ apiGroups: [""], resources: ["configmaps"], verbs: VERBS }]);
    const secret: DynamicObject = { apiVersion: "v1", kind: "Secret", metadata: { name: "s", namespace } };
    await cluster().work("executed", [configMap(namespace, "a"), secret], as(namespace, "weak"));
    const work = await cluster().untilReported("executed", { applied: "False", available: "False" });
    expect(appliedIn(work)?.status).toBe("True");
    expect(appliedIn(work, 1)?.message).toBe(
      `Failed to apply manifest: not allowed to apply the resource  secrets, ${namespace} s, will try again in 1m0s`,
    );
    expect(await cluster().exists(Secret, `${namespace}/s`)).toBe(false);
    await cluster().delete("executed");
  });

  it("finishes, and the hub takes what is finished away when its time is over", async () => {
    const namespace = await cluster().namespace("finished");
    await cluster().work("finished", [configMap(namespace, "a", { state: "done" })], {
      deleteOption: { propagationPolicy: "Foreground", ttlSecondsAfterFinished: 0 },
      manifestConfigs: [
        {
          resourceIdentifier: { resource: "configmaps", namespace, name: "a" },
          conditionRules: [{ condition: "Complete", type: "CEL", celExpressions: ["object.data.state == 'done'"] }],
        },
      ],
    });
    await cluster().untilGone("finished");
    expect(await cluster().exists(ConfigMap, `${namespace}/a`)).toBe(false);
  });
}
