/** Works in the name of a weak account: whatever it lacks, in verbs, kinds or rights to give away, is not done. */
import { describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import type { DynamicObject } from "#api/meta";
import { ClusterRole, type PolicyRule, RoleBinding } from "#api/rbac";
import { eventually } from "../../support/eventually.ts";
import { conditionOf, configMap, gadgetDefinition, type Spec, saidOf, type WorkStage } from "./stage.ts";

const RBAC = "rbac.authorization.k8s.io";
const VERBS = ["get", "create", "update", "patch", "delete"] as const;
const verbsBut = (missing?: string) => VERBS.filter((verb) => verb !== missing);

interface Sort {
  readonly group: string;
  readonly resource: string;
  object(namespace: string): DynamicObject;
}

const SORTS: readonly Sort[] = [
  { group: "", resource: "configmaps", object: (namespace) => configMap(namespace, "a") },
  {
    group: "apps",
    resource: "deployments",
    object: (namespace) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "a", namespace },
      spec: {
        replicas: 0,
        selector: { matchLabels: { app: "a" } },
        template: { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    }),
  },
  {
    group: "scheduling.k8s.io",
    resource: "priorityclasses",
    object: (namespace) => ({
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: `class-${namespace}` },
      value: 1,
    }),
  },
];

/** Kinds that hold secrets, give rights, or make further kinds. */
const TELLING_SORTS: readonly Sort[] = [
  {
    group: "",
    resource: "secrets",
    object: (namespace) => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a", namespace },
      stringData: { password: "canary" },
    }),
  },
  {
    group: "",
    resource: "serviceaccounts",
    object: (namespace) => ({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "a", namespace } }),
  },
  {
    group: "apiextensions.k8s.io",
    resource: "customresourcedefinitions",
    object: (namespace) => gadgetDefinition(`${namespace}.example.com`),
  },
];

export function rightsCases(stage: () => WorkStage): void {
  const as = (namespace: string, name: string): Spec => ({
    executor: { subject: { type: "ServiceAccount", serviceAccount: { namespace, name } } },
  });
  const onRoles = { apiGroups: [RBAC], resources: ["roles", "rolebindings", "clusterroles"], verbs: [...VERBS] };
  const role = (namespace: string, name: string, resources: string[]): DynamicObject => ({
    apiVersion: `${RBAC}/v1`,
    kind: "Role",
    metadata: { name, namespace },
    rules: [{ apiGroups: [""], resources, verbs: ["get"] }],
  });
  const denied = async (name: string) => {
    const work = await stage().untilReported(name, { applied: "False" });
    return saidOf(work, "Applied")?.message ?? "";
  };

  describe("whatever the account lacks", () => {
    for (const sort of [...SORTS, ...TELLING_SORTS]) {
      it(`of verbs for ${sort.resource} is not done in its name, and all is done when it lacks none`, async () => {
        const namespace = await stage().namespace();
        const { group, resource } = sort;
        const works = new Map<string, string>();
        for (const missing of VERBS) {
          const account = `without-${missing}`;
          const rules: PolicyRule[] = [{ apiGroups: [group], resources: [resource], verbs: verbsBut(missing) }];
          await stage().account(namespace, account, rules);
          works.set(missing, await stage().work([sort.object(namespace)], as(namespace, account)));
        }
        for (const [missing, name] of works) {
          expect(await denied(name), `without ${missing}`).toContain(
            `not allowed to apply the resource ${group} ${resource}`,
          );
          expect(conditionOf(await stage().get(name), "Available")?.status, `without ${missing}`).toBe("False");
        }
        for (const name of works.values()) await stage().delete(name);
        for (const name of works.values()) await stage().untilGone(name);
        await stage().account(namespace, "able", [{ apiGroups: [group], resources: [resource], verbs: verbsBut() }]);
        const name = await stage().work([sort.object(namespace)], as(namespace, "able"));
        await stage().untilReported(name, { applied: "True", available: "True" });
        await stage().delete(name);
        await stage().untilGone(name);
      });
    }

    it("over an owner cannot be had by holding up its deletion", async () => {
      const namespace = await stage().namespace();
      await stage().account(namespace, "weak", [{ apiGroups: [""], resources: ["configmaps"], verbs: [...VERBS] }]);
      const victim = await stage().spoke.client.create(RoleBinding, {
        metadata: { name: "victim", namespace },
        roleRef: { apiGroup: RBAC, kind: "Role", name: "any" },
      });
      const owned = (blockOwnerDeletion: boolean): DynamicObject => {
        const { name, uid = "" } = victim.metadata;
        const owner = { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", name, uid, blockOwnerDeletion };
        return { ...configMap(namespace, "a"), metadata: { name: "a", namespace, ownerReferences: [owner] } };
      };
      const name = await stage().work([owned(true)], as(namespace, "weak"));
      expect(await denied(name)).toContain("it would hold up the deletion of RoleBinding victim");
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
      await stage().edit(name, { workload: { manifests: [owned(false)] } });
      await stage().untilReported(name, { applied: "True" });
    });

    it("cannot be given away: not by a role that exists already, nor by one that gathers others", async () => {
      const namespace = await stage().namespace();
      await stage().account(namespace, "maker", [
        onRoles,
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
      ]);
      const name = await stage().work([role(namespace, "r", ["configmaps"])], as(namespace, "maker"));
      await stage().untilReported(name, { applied: "True" });
      await stage().edit(name, { workload: { manifests: [role(namespace, "r", ["secrets"])] } });
      expect(await denied(name)).toContain("error: permission escalation");

      const gathering: DynamicObject = {
        apiVersion: `${RBAC}/v1`,
        kind: "ClusterRole",
        metadata: { name: `gathering-${namespace}` },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { any: "thing" } }] },
        rules: [],
      };
      const gatherer = await stage().work([gathering], as(namespace, "maker"));
      expect(await denied(gatherer)).toContain("error: permission escalation");
      expect(await stage().exists(ClusterRole, gathering.metadata.name)).toBe(false);
    });

    it("cannot be bound to anybody without the right to bind it, and can with it", async () => {
      const namespace = await stage().namespace();
      const strong = `strong-${namespace}`;
      await stage().spoke.client.create(ClusterRole, {
        metadata: { name: strong },
        rules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
      });
      const binding: DynamicObject = {
        apiVersion: `${RBAC}/v1`,
        kind: "RoleBinding",
        metadata: { name: "b", namespace },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: strong },
        subjects: [{ kind: "ServiceAccount", name: "anybody", namespace }],
      };
      await stage().account(namespace, "weak", [onRoles]);
      const refused = await stage().work([binding], as(namespace, "weak"));
      expect(await denied(refused)).toContain("error: permission escalation");
      expect(await stage().exists(RoleBinding, `${namespace}/b`)).toBe(false);
      await stage().delete(refused);
      await stage().untilGone(refused);
      const bind = { apiGroups: [RBAC], resources: ["clusterroles"], resourceNames: [strong], verbs: ["bind"] };
      await stage().account(namespace, "binder", [onRoles, bind]);
      const allowed = await stage().work([binding], as(namespace, "binder"));
      await stage().untilReported(allowed, { applied: "True" });
    });

    it("can be given away by who may escalate", async () => {
      const namespace = await stage().namespace();
      const escalate = { apiGroups: [RBAC], resources: ["roles"], verbs: ["escalate"] };
      await stage().account(namespace, "chief", [onRoles, escalate]);
      const name = await stage().work([role(namespace, "greedy", ["secrets"])], as(namespace, "chief"));
      await stage().untilReported(name, { applied: "True" });
      await stage().edit(name, { workload: { manifests: [role(namespace, "greedy", ["secrets", "pods"])] } });
      await stage().untilReported(name, { applied: "True" });
    });

    it("cannot be slipped into a role that gathers others by a label", async () => {
      const namespace = await stage().namespace();
      const label = { [`${namespace}/aggregate`]: "true" };
      const whole = `whole-${namespace}`;
      await stage().spoke.client.create(ClusterRole, {
        metadata: { name: whole },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
        rules: [],
      });
      await stage().account(namespace, "maker", [
        onRoles,
        { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
      ]);
      const part = (name: string, resources: string[]): DynamicObject => ({
        apiVersion: `${RBAC}/v1`,
        kind: "ClusterRole",
        metadata: { name: `${name}-${namespace}`, labels: label },
        rules: [{ apiGroups: [""], resources, verbs: ["get"] }],
      });
      const name = await stage().work(
        [part("modest", ["configmaps"]), part("greedy", ["secrets"])],
        as(namespace, "maker"),
      );
      const work = await stage().untilReported(name, { applied: "False" });
      expect(saidOf(work, "Applied", 0)?.status).toBe("True");
      expect(saidOf(work, "Applied", 1)?.message).toContain("error: permission escalation");
      await eventually(async () => {
        const { rules = [] } = await stage().spoke.client.get(ClusterRole, whole);
        expect(rules.flatMap(({ resources }) => resources)).toEqual(["configmaps"]);
      });
    });

    it("is done once it is granted, and stops being done for what comes after it is taken away", async () => {
      const namespace = await stage().namespace();
      const all = [{ apiGroups: [""], resources: ["configmaps"], verbs: [...VERBS] }];
      await stage().account(namespace, "waiting", []);
      const name = await stage().work([configMap(namespace, "a")], as(namespace, "waiting"));
      await stage().untilReported(name, { applied: "False" });
      const rules = (of: PolicyRule[]) =>
        stage().spoke.client.patch(ClusterRole, `${namespace}-waiting`, { rules: of }, { type: "merge" });
      await rules(all);
      await stage().edit(name, { workload: { manifests: [configMap(namespace, "a", { k: "2" })] } });
      await stage().untilReported(name, { applied: "True" });
      await rules([]);
      const after = await stage().work([configMap(namespace, "b")], as(namespace, "waiting"));
      await stage().untilReported(after, { applied: "False" });
      expect(await stage().exists(ConfigMap, `${namespace}/b`)).toBe(false);
    });

    it("shows without anybody touching the work, and what was done before stays the work's to remove", async () => {
      const namespace = await stage().namespace();
      const all = [{ apiGroups: [""], resources: ["configmaps"], verbs: [...VERBS] }];
      const rules = (of: PolicyRule[]) =>
        stage().spoke.client.patch(ClusterRole, `${namespace}-wavering`, { rules: of }, { type: "merge" });
      await stage().account(namespace, "wavering", []);
      const feedback = { type: "JSONPaths" as const, jsonPaths: [{ name: "k", path: ".data.k" }] };
      const name = await stage().work([configMap(namespace, "a", { k: "1" })], {
        ...as(namespace, "wavering"),
        manifestConfigs: [
          { resourceIdentifier: { resource: "configmaps", namespace, name: "a" }, feedbackRules: [feedback] },
        ],
      });
      await stage().untilReported(name, { applied: "False", available: "False" });
      await rules(all);
      await stage().untilReported(name, { applied: "True", available: "True" });
      await rules([]);
      await stage().untilReported(name, { applied: "False", available: "True" });
      // It may not read any more, and is told no more.
      await stage().spoke.client.patch(ConfigMap, `${namespace}/a`, { data: { k: "secret" } });
      await stage().edit(name, { workload: { manifests: [configMap(namespace, "a", { k: "2" })] } });
      const work = await stage().untilReported(name, { applied: "False", available: "True" });
      expect(JSON.stringify(work.status)).not.toContain("secret");
      expect((await stage().applied(name)).status?.appliedResources).toMatchObject([{ name: "a" }]);
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(ConfigMap, `${namespace}/a`)).toBe(false);
    });
  });
}
