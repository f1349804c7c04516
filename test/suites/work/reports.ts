/** What works report of their objects, and whose rights count. */
import { describe, expect, it } from "vitest";
import { ConfigMap, Secret } from "#api/core";
import type { DynamicObject } from "#api/meta";
import type { ConditionRule, FeedbackRule } from "#api/work";
import { eventually } from "../../support/eventually.ts";
import { conditionOf, configMap, manifestOf, type Spec, saidOf, type WorkStage } from "./stage.ts";

export function reportCases(stage: () => WorkStage): void {
  const rules = (namespace: string, conditionRules: ConditionRule[], feedbackRules: FeedbackRule[] = []): Spec => ({
    manifestConfigs: [
      { resourceIdentifier: { resource: "configmaps", namespace, name: "*" }, conditionRules, feedbackRules },
    ],
  });
  const patch = (key: string, data: object) => stage().spoke.client.patch(ConfigMap, key, { data });
  const readOnly = (spec: Spec): Spec => ({
    manifestConfigs: (spec.manifestConfigs ?? []).map((each) => ({ ...each, updateStrategy: { type: "CreateOnly" } })),
  });

  describe("feedback", () => {
    it("follows the object, and its condition's time moves with the values", async () => {
      const namespace = await stage().namespace();
      const feedback: FeedbackRule[] = [{ type: "JSONPaths", jsonPaths: [{ name: "k", path: ".data.k" }] }];
      const name = await stage().work(
        [configMap(namespace, "a", { k: "1" })],
        readOnly(rules(namespace, [], feedback)),
      );
      await stage().untilReported(name, { applied: "True" });
      const reported = async () => manifestOf(await stage().get(name)).statusFeedback?.values?.[0]?.fieldValue.string;
      expect(await reported()).toBe("1");
      await patch(`${namespace}/a`, { k: "2" });
      await eventually(async () => expect(await reported()).toBe("2"));

      const synced = async () =>
        manifestOf(await stage().get(name)).conditions.find(({ type }) => type === "StatusFeedbackSynced");
      const before = await synced();
      let value = 2;
      await eventually(async () => {
        await patch(`${namespace}/a`, { k: String(++value) });
        await eventually(async () => expect(await reported()).toBe(String(value)));
        const after = await synced();
        expect(after?.lastTransitionTime).not.toBe(before?.lastTransitionTime); // of which there is one a second
        expect(after).toMatchObject({ status: before?.status, reason: before?.reason });
      });
    });

    it("that cannot be had says so", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a")], rules(namespace, [], [{ type: "WellKnownStatus" }]));
      await eventually(async () =>
        expect(saidOf(await stage().get(name), "StatusFeedbackSynced")).toMatchObject({
          type: "StatusFeedbackSynced",
          status: "False",
          reason: "StatusFeedbackSyncFailed",
          message: expect.stringContaining("cannot find the wellknown statuses"),
        }),
      );
    });
  });

  describe("conditions of one's own", () => {
    it("come from expressions, are summed up over manifests, and a work that is complete is not applied again", async () => {
      const namespace = await stage().namespace();
      const complete: ConditionRule = {
        condition: "Complete",
        type: "CEL",
        celExpressions: ["object.data.state == 'done'"],
        messageExpression: "'state is ' + object.data.state",
      };
      const manifests = [configMap(namespace, "a", { state: "new" }), configMap(namespace, "b", { state: "done" })];
      const name = await stage().work(manifests, readOnly(rules(namespace, [complete])));
      await eventually(async () => {
        const work = await stage().get(name);
        expect(conditionOf(work, "Complete")).toMatchObject({
          status: "False",
          reason: "ConditionRulesAggregated",
          message: "Aggregated from 2 manifest conditions",
        });
        expect(manifestOf(work).conditions.at(-1)).toMatchObject({
          type: "Complete",
          status: "False",
          reason: "ConditionRuleEvaluated",
          message: "state is new",
        });
      });
      await patch(`${namespace}/a`, { state: "done" });
      await eventually(async () => expect(conditionOf(await stage().get(name), "Complete")?.status).toBe("True"));

      await stage().edit(name, { workload: { manifests: [configMap(namespace, "c")] } });
      const marker = await stage().work([configMap(namespace, "marker")]);
      await stage().untilReported(marker, { applied: "True" });
      expect(await stage().exists(ConfigMap, `${namespace}/c`)).toBe(false);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(true);
    });
  });

  describe("a work executed as a service account", () => {
    const executor = (namespace: string, name: string): Spec => ({
      executor: { subject: { type: "ServiceAccount", serviceAccount: { namespace, name } } },
    });
    const VERBS = ["create", "update", "patch", "get", "delete"];
    const allOf = (resources: string[], verbs = VERBS) => [{ apiGroups: [""], resources, verbs }];

    it("gets done what the account may do, and nothing else", async () => {
      const namespace = await stage().namespace();
      await stage().account(namespace, "weak", allOf(["configmaps"]));
      const secret: DynamicObject = {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "s", namespace },
        stringData: { a: "b" },
      };
      const name = await stage().work([configMap(namespace, "a"), secret], executor(namespace, "weak"));
      const work = await stage().untilReported(name, { applied: "False", available: "False" });
      expect(saidOf(work, "Applied", 0)?.status).toBe("True");
      expect(saidOf(work, "Applied", 1)?.message).toBe(
        `Failed to apply manifest: not allowed to apply the resource  secrets, ${namespace} s, will try again in 1m0s`,
      );
      expect(await stage().exists(Secret, `${namespace}/s`)).toBe(false);
    });

    it("needs the right to delete only for what goes with the work", async () => {
      const namespace = await stage().namespace();
      await stage().account(namespace, "keeper", allOf(["configmaps"], ["create", "update", "patch", "get"]));
      const owned = await stage().work([configMap(namespace, "a")], executor(namespace, "keeper"));
      const orphaned = await stage().work([configMap(namespace, "b")], {
        ...executor(namespace, "keeper"),
        deleteOption: { propagationPolicy: "Orphan" },
      });
      const orphaningRules = [{ resource: "configmaps", namespace, name: "c" }];
      const some = await stage().work([configMap(namespace, "c"), configMap(namespace, "d")], {
        ...executor(namespace, "keeper"),
        deleteOption: { propagationPolicy: "SelectivelyOrphan", selectivelyOrphans: { orphaningRules } },
      });
      await stage().untilReported(owned, { applied: "False" });
      await stage().untilReported(orphaned, { applied: "True" });
      const partly = await stage().untilReported(some, { applied: "False" });
      expect([0, 1].map((ordinal) => saidOf(partly, "Applied", ordinal)?.status)).toEqual(["True", "False"]);
    });

    it("cannot give away more than the account has", async () => {
      const namespace = await stage().namespace();
      const rbac = { apiGroups: ["rbac.authorization.k8s.io"], resources: ["roles"], verbs: VERBS };
      await stage().account(namespace, "maker", [rbac, ...allOf(["configmaps"])]);
      const role = (name: string, resources: string[]): DynamicObject => ({
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { name, namespace },
        rules: [{ apiGroups: [""], resources, verbs: ["get"] }],
      });
      const name = await stage().work(
        [role("modest", ["configmaps"]), role("greedy", ["secrets"])],
        executor(namespace, "maker"),
      );
      const work = await stage().untilReported(name, { applied: "False" });
      expect(saidOf(work, "Applied", 0)?.status).toBe("True");
      expect(saidOf(work, "Applied", 1)?.message).toContain("error: permission escalation");
    });

    it("tells nothing of what the account may not read", async () => {
      const namespace = await stage().namespace();
      await stage().account(namespace, "blind", allOf(["configmaps"], ["create"]));
      await stage().spoke.client.create(ConfigMap, { metadata: { namespace, name: "private" }, data: { k: "hidden" } });
      const name = await stage().work([configMap(namespace, "private")], {
        ...executor(namespace, "blind"),
        ...rules(namespace, [], [{ type: "JSONPaths", jsonPaths: [{ name: "k", path: ".data.k" }] }]),
      });
      const work = await stage().untilReported(name, { applied: "False", available: "False" });
      expect(JSON.stringify(work.status)).not.toContain("hidden");
      expect(await stage().dataOf(`${namespace}/private`)).toEqual({ k: "hidden" });
    });
  });
}
