/** Works as people write them, with the kinds that controllers on the spoke act on, and what they report of those. */
import { describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { Job } from "#api/batch";
import { ConfigMap, ServiceAccount } from "#api/core";
import { type DynamicObject, kind } from "#api/meta";
import { ClusterRole } from "#api/rbac";
import type { ConditionRule, FeedbackRule, ManifestConfig } from "#api/work";
import { eventually } from "../../support/eventually.ts";
import { conditionOf, configMap, gadgetDefinition, manifestOf, saidOf, type WorkStage } from "./stage.ts";

const RBAC = "rbac.authorization.k8s.io";

const object = (apiVersion: string, word: string, namespace: string, name: string, rest: object): DynamicObject => ({
  apiVersion,
  kind: word,
  metadata: { name, ...(namespace && { namespace }) },
  ...rest,
});

const workload = (word: "Deployment" | "DaemonSet", namespace: string, name: string, image: string) =>
  object("apps/v1", word, namespace, name, {
    spec: {
      ...(word === "Deployment" && { replicas: 2 }),
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { serviceAccountName: "default", containers: [{ name: "c", image }] },
      },
    },
  });

const job = (namespace: string, name: string) =>
  object("batch/v1", "Job", namespace, name, {
    spec: {
      template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "busybox", command: ["true"] }] } },
    },
  });

export function workloadCases(stage: () => WorkStage): void {
  const listed = async (work: string) =>
    (await stage().applied(work)).status?.appliedResources?.map(({ resource, name }) => `${resource}/${name}`);

  describe("a program with its account and its rights", () => {
    it("is created and updated as one, and exactly what belongs to it now is recorded", async () => {
      const namespace = await stage().namespace();
      const role = (verbs: string[]) =>
        object(`${RBAC}/v1`, "Role", namespace, "app", { rules: [{ apiGroups: [""], resources: ["pods"], verbs }] });
      const others = [
        object("v1", "ServiceAccount", namespace, "app", {}),
        object(`${RBAC}/v1`, "RoleBinding", namespace, "app", {
          roleRef: { apiGroup: RBAC, kind: "Role", name: "app" },
          subjects: [{ kind: "ServiceAccount", name: "app", namespace }],
        }),
      ];
      const name = await stage().work([...others, role(["get"]), workload("Deployment", namespace, "app", "one")]);
      await stage().untilReported(name, { applied: "True", available: "True" });
      expect(await listed(name)).toEqual(["serviceaccounts/app", "deployments/app", "rolebindings/app", "roles/app"]);
      const manifests = [role(["get", "list"]), workload("Deployment", namespace, "app", "two")];
      await stage().edit(name, { workload: { manifests } });
      await stage().untilReported(name, { applied: "True", available: "True" });
      await eventually(async () => expect(await listed(name)).toEqual(["deployments/app", "roles/app"]));
      expect(await stage().exists(ServiceAccount, `${namespace}/app`)).toBe(false);
      const { spec } = await stage().spoke.client.get(Deployment, `${namespace}/app`);
      expect(spec.template.spec.containers[0]?.image).toBe("two");
    });

    it("is not touched by an agent that starts again, so that its generation stays", async () => {
      const namespace = await stage().namespace();
      const manifestConfigs: ManifestConfig[] = [
        {
          resourceIdentifier: { group: "apps", resource: "deployments", namespace, name: "on-the-server" },
          updateStrategy: { type: "ServerSideApply" },
        },
      ];
      const names = ["replaced", "on-the-server"];
      const programs = names.map((each) => workload("Deployment", namespace, each, "image"));
      const name = await stage().work(programs, { manifestConfigs });
      await stage().untilReported(name, { applied: "True", available: "True" });
      const generations = () =>
        Promise.all(
          names.map(
            async (each) => (await stage().spoke.client.get(Deployment, `${namespace}/${each}`)).metadata.generation,
          ),
        );
      const before = await generations();
      await stage().stopAgent();
      await stage().startAgent();
      await stage().edit(name, { workload: { manifests: [...programs, configMap(namespace, "more")] } });
      await stage().untilReported(name, { applied: "True" });
      expect(await generations()).toEqual(before);
    });
  });

  describe("a custom resource that comes with its definition", () => {
    it("keeps the annotations and finalizers that others have given it, and goes with its definition", async () => {
      const namespace = await stage().namespace();
      const group = `${namespace}.example.com`;
      const Gadget = kind({ group, version: "v1", kind: "Gadget", plural: "gadgets", namespaced: true });
      const definition = gadgetDefinition(group);
      const gadget = (size: number): DynamicObject => ({
        apiVersion: `${group}/v1`,
        kind: "Gadget",
        metadata: { name: "g", namespace, annotations: { ours: String(size) } },
        spec: { size },
      });
      const name = await stage().work([definition, gadget(1)]);
      await stage().untilReported(name, { applied: "True", available: "True" });
      const key = `${namespace}/g`;
      await stage().spoke.client.patch(Gadget, key, {
        metadata: { annotations: { theirs: "1" }, finalizers: ["example.com/wait"] },
      });
      await stage().edit(name, { workload: { manifests: [definition, gadget(2)] } });
      await stage().untilReported(name, { applied: "True" });
      await eventually(async () => {
        const live = await stage().spoke.client.get(Gadget, key);
        expect(live.metadata.annotations).toMatchObject({ ours: "2", theirs: "1" });
        expect(live.metadata.finalizers).toEqual(["example.com/wait"]);
        expect(live.spec).toEqual({ size: 2 });
      });
      await stage().delete(name);
      await eventually(async () => {
        expect((await stage().spoke.client.get(Gadget, key)).metadata.deletionTimestamp).toBeDefined();
      });
      await stage().spoke.client.patch(Gadget, key, { metadata: { finalizers: null } });
      await stage().untilGone(name);
      expect(await stage().exists(CustomResourceDefinition, `gadgets.${group}`)).toBe(false);
    });
  });

  describe("what controllers on the spoke complete", () => {
    it("is left to them: the rules of an aggregated role", async () => {
      const suffix = await stage().namespace();
      const part = object(`${RBAC}/v1`, "ClusterRole", "", `part-${suffix}`, {
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      });
      part.metadata.labels = { [`${suffix}/aggregate`]: "true" };
      const whole = object(`${RBAC}/v1`, "ClusterRole", "", `whole-${suffix}`, {
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [`${suffix}/aggregate`]: "true" } }] },
        rules: [],
      });
      const name = await stage().work([part, whole]);
      await stage().untilReported(name, { applied: "True", available: "True" });
      await eventually(async () => {
        const { rules } = await stage().spoke.client.get(ClusterRole, `whole-${suffix}`);
        expect(rules).toMatchObject([{ resources: ["pods"], verbs: ["get"] }]);
      });
      await stage().untilReported(name, { applied: "True" });
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(ClusterRole, `whole-${suffix}`)).toBe(false);
    });

    it("goes with the work: a Job and its Pods", async () => {
      const namespace = await stage().namespace();
      const complete: ConditionRule = { condition: "Complete", type: "WellKnownConditions" };
      const manifestConfigs: ManifestConfig[] = [
        {
          resourceIdentifier: { group: "batch", resource: "jobs", namespace, name: "once" },
          conditionRules: [complete],
          feedbackRules: [{ type: "WellKnownStatus" }],
        },
        { resourceIdentifier: { resource: "configmaps", namespace, name: "*" }, conditionRules: [complete] },
      ];
      const name = await stage().work([job(namespace, "once"), configMap(namespace, "a")], { manifestConfigs });
      await eventually(async () => {
        const work = await stage().get(name);
        // Only a Job and a Pod are known to be finished, so the work is when the Job is.
        expect(conditionOf(work, "Complete")?.status).toBe("True");
        expect(saidOf(work, "Complete")).toMatchObject({ status: "True", message: "Job is finished" });
        expect(saidOf(work, "Complete", 1)).toBeUndefined();
        expect(manifestOf(work, 0).statusFeedback?.values).toMatchObject([
          { name: "JobComplete", fieldValue: { type: "String", string: "True" } },
          { name: "JobSucceeded", fieldValue: { type: "Integer", integer: 1 } },
        ]);
      });
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(Job, `${namespace}/once`)).toBe(false);
    });
  });

  describe("what a work reports", () => {
    it("of Deployments and DaemonSets are the values that everybody knows", async () => {
      const namespace = await stage().namespace();
      const wellKnown = (resource: string): ManifestConfig => ({
        resourceIdentifier: { group: "apps", resource, namespace, name: "*" },
        feedbackRules: [{ type: "WellKnownStatus" }],
      });
      const manifests = [
        workload("Deployment", namespace, "d", "image"),
        workload("DaemonSet", namespace, "s", "image"),
      ];
      const manifestConfigs = [wellKnown("deployments"), wellKnown("daemonsets")];
      const name = await stage().work(manifests, { manifestConfigs });
      await eventually(async () => {
        const work = await stage().get(name);
        const values = (ordinal: number) =>
          Object.fromEntries(
            (manifestOf(work, ordinal).statusFeedback?.values ?? []).map((each) => [
              each.name,
              each.fieldValue.integer,
            ]),
          );
        expect(values(0)).toEqual({ ReadyReplicas: 2, Replicas: 2, AvailableReplicas: 2 });
        expect(values(1)).toEqual({ NumberReady: 1, DesiredNumberScheduled: 1, NumberAvailable: 1 });
      });
    });

    it("comes from the first of the rules that match, by name or by wildcard, and a structure is no value", async () => {
      const namespace = await stage().namespace();
      const path = (name: string, where: string): FeedbackRule => {
        return { type: "JSONPaths", jsonPaths: [{ name, path: where }] };
      };
      const config = (name: string, rule: FeedbackRule): ManifestConfig => ({
        resourceIdentifier: { resource: "configmaps", namespace, name },
        feedbackRules: [rule],
      });
      const manifestConfigs = [
        config("b", path("whole", ".data")),
        config("*", path("first", ".data.k")),
        config("a", path("second", ".data.k")),
      ];
      const name = await stage().work([configMap(namespace, "a"), configMap(namespace, "b")], { manifestConfigs });
      await eventually(async () => {
        const work = await stage().get(name);
        expect(manifestOf(work, 0).statusFeedback?.values).toEqual([
          { name: "first", fieldValue: { type: "String", string: "v" } },
        ]);
        expect(manifestOf(work, 1).conditions.at(-1)).toMatchObject({
          type: "StatusFeedbackSynced",
          status: "False",
          reason: "StatusFeedbackSyncFailed",
        });
      });
    });

    it("follows what has no namespace as well", async () => {
      const role = `role-${await stage().namespace()}`;
      const manifestConfigs: ManifestConfig[] = [
        {
          resourceIdentifier: { group: RBAC, resource: "clusterroles", name: role },
          feedbackScrapeType: "Watch",
          feedbackRules: [{ type: "JSONPaths", jsonPaths: [{ name: "mark", path: ".metadata.labels.mark" }] }],
        },
      ];
      const name = await stage().work([object(`${RBAC}/v1`, "ClusterRole", "", role, { rules: [] })], {
        manifestConfigs,
      });
      await stage().untilReported(name, { applied: "True" });
      await stage().spoke.client.patch(ClusterRole, role, { metadata: { labels: { mark: "seen" } } });
      await eventually(async () => {
        const [value] = manifestOf(await stage().get(name)).statusFeedback?.values ?? [];
        expect(value?.fieldValue.string).toBe("seen");
      });
    });

    it("of its manifests stays as it is while they are only mended, and moves with the work's generation", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a", { k: "1" })]);
      const before = await stage().untilReported(name, { applied: "True", available: "True" });
      await stage().spoke.client.patch(ConfigMap, `${namespace}/a`, { data: { k: "changed" } });
      await eventually(async () => expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "1" }));
      expect(manifestOf(await stage().get(name)).conditions).toEqual(manifestOf(before).conditions);
      let value = 1;
      await eventually(async () => {
        await stage().edit(name, { workload: { manifests: [configMap(namespace, "a", { k: String(++value) })] } });
        const after = await stage().untilReported(name, { applied: "True" });
        const applied = saidOf(after, "Applied");
        expect(applied?.observedGeneration).toBe(value);
        // Of these there is one a second.
        expect(applied?.lastTransitionTime).not.toBe(saidOf(before, "Applied")?.lastTransitionTime);
        // What was said anew is last, as upstream's agent has it.
        expect(manifestOf(after).conditions.map(({ type }) => type)).toEqual([
          "Available",
          "StatusFeedbackSynced",
          "Applied",
        ]);
      });
    });
  });

  describe("owners", () => {
    const owners = async (key: string) =>
      ((await stage().spoke.client.get(ConfigMap, key)).metadata.ownerReferences ?? []).map((each) => each.kind);

    it("of what is applied on the server follow the work's word about orphans", async () => {
      const namespace = await stage().namespace();
      const key = `${namespace}/a`;
      const manifestConfigs: ManifestConfig[] = [
        {
          resourceIdentifier: { resource: "configmaps", namespace, name: "a" },
          updateStrategy: { type: "ServerSideApply" },
        },
      ];
      const deleteOption = { propagationPolicy: "Orphan" as const };
      const name = await stage().work([configMap(namespace, "a")], { manifestConfigs, deleteOption });
      await stage().untilReported(name, { applied: "True" });
      expect(await owners(key)).toEqual([]);
      await stage().edit(name, { deleteOption: null });
      await stage().untilReported(name, { applied: "True" });
      await eventually(async () => expect(await owners(key)).toEqual(["AppliedManifestWork"]));
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, key)).toBe(false);
    });

    it("that are no works keep nothing", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a")]);
      await stage().untilReported(name, { applied: "True" });
      const other = await stage().spoke.client.create(ConfigMap, { metadata: { name: "other", namespace } });
      const { metadata } = await stage().spoke.client.get(ConfigMap, `${namespace}/a`);
      const reference = { apiVersion: "v1", kind: "ConfigMap", name: "other", uid: other.metadata.uid ?? "" };
      await stage().spoke.client.patch(ConfigMap, `${namespace}/a`, {
        metadata: { ownerReferences: [...(metadata.ownerReferences ?? []), reference] },
      });
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
      expect(await stage().exists(ConfigMap, `${namespace}/other`)).toBe(true);
    });
  });
}
