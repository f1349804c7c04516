/** Objects that stand on each other, given in whatever order. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ConfigMap, Namespace } from "#api/core";
import { kind } from "#api/meta";
import { ClusterRole } from "#api/rbac";
import { eventually } from "../../support/eventually.ts";
import {
  configMap,
  definition,
  deployment,
  endpointSlice,
  namespace,
  service,
  webhook,
  widget,
  wishes,
} from "./objects.ts";
import { type ApplyStage, deedsIn, reasonsIn } from "./stage.ts";

const PATIENCE = 60_000;
const newGroup = () => `g${randomUUID().slice(0, 8)}.example.com`;
const widgetsOf = (group: string) =>
  kind({ group, version: "v1", kind: "Widget", plural: "widgets", namespaced: true });

export function phaseCases(stage: () => ApplyStage): void {
  describe("phases", () => {
    it("put everything in in one go, although it comes in the worst order", async () => {
      const [group, name] = [newGroup(), `apply-${randomUUID().slice(0, 8)}`];
      const set = {
        wishes: wishes(
          widget(group, name, "w"),
          deployment(name, "web"),
          configMap(name, "settings"),
          {
            apiVersion: "rbac.authorization.k8s.io/v1",
            kind: "RoleBinding",
            metadata: { name: "r", namespace: name },
            roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" },
            subjects: [{ kind: "ServiceAccount", name: "s", namespace: name }],
          },
          { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "s", namespace: name } },
          definition(group),
          namespace(name),
        ),
      };
      const report = await stage().engine().apply(set, { patience: PATIENCE });
      expect(report.complete).toBe(true);
      expect(deedsIn(report)).toEqual([
        `created Widget ${name}/w`,
        `created Deployment ${name}/web`,
        `created ConfigMap ${name}/settings`,
        `created RoleBinding ${name}/r`,
        `created ServiceAccount ${name}/s`,
        `created CustomResourceDefinition widgets.${group}`,
        `created Namespace ${name}`,
      ]);
    });

    it("keep trouble to those who stand on it", async () => {
      const ns = await stage().namespace();
      const report = await stage()
        .engine()
        .apply({
          wishes: wishes(namespace("Not_A_Name"), configMap("Not_A_Name", "inside"), configMap(ns, "elsewhere")),
        });
      expect(reasonsIn(report)).toEqual({
        "Namespace Not_A_Name": "refused: Invalid",
        "ConfigMap Not_A_Name/inside": "held back: Prerequisite",
        [`ConfigMap ${ns}/elsewhere`]: "created: Applied",
      });
      expect(report.complete).toBe(false);
    });

    it("do not wait for the Service of a webhook that has no namespace to be in", async () => {
      const [group, ns] = [newGroup(), `twice-${randomUUID().slice(0, 8)}`];
      const set = {
        wishes: wishes(
          namespace(ns, { a: "1" }),
          namespace(ns, { a: "2" }),
          service(ns, "hook"),
          definition(group),
          webhook(group, ns, "hook"),
        ),
      };
      const report = await stage().engine().apply(set, { patience: 600_000 });
      expect(reasonsIn(report)).toMatchObject({
        [`Namespace ${ns}`]: "refused: Duplicate",
        [`Service ${ns}/hook`]: "held back: Prerequisite",
        [`ValidatingWebhookConfiguration widgets.${group}`]: "held back: Prerequisite",
      });
    });

    it("leave it to a controller to fill an aggregated role", async () => {
      const name = `aggregated-${randomUUID().slice(0, 8)}`;
      const aggregated = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name },
        aggregationRule: { clusterRoleSelectors: [{ matchLabels: { "example.com/part": name } }] },
        rules: [],
      };
      const part = {
        ...aggregated,
        metadata: { name: `${name}-part`, labels: { "example.com/part": name } },
        aggregationRule: undefined,
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      };
      const set = { wishes: wishes(aggregated, part) };
      await stage().engine().apply(set);
      await eventually(async () => expect((await stage().client.get(ClusterRole, name)).rules).toHaveLength(1));
      expect(deedsIn(await stage().engine().apply(set))).toEqual([
        `unchanged ClusterRole ${name}`,
        `unchanged ClusterRole ${name}-part`,
      ]);
    });

    it("do not wait for a kind that nobody brings, nor for a namespace", async () => {
      const ns = await stage().namespace();
      const set = { wishes: wishes(widget(newGroup(), ns, "w"), configMap("nowhere-at-all", "c")) };
      const report = await stage().engine().apply(set, { patience: 600_000 });
      expect(reasonsIn(report)).toEqual({
        [`Widget ${ns}/w`]: "waiting: UnknownKind",
        "ConfigMap nowhere-at-all/c": "waiting: NamespaceMissing",
      });
      expect(report.objects.map(({ message }) => message)).toEqual([
        expect.stringContaining("install its CustomResourceDefinition first"),
        expect.stringContaining("create it, or add it to the manifests"),
      ]);
    });

    it("register a webhook when its Service is backed, and what it judges after it", async () => {
      const [group, ns] = [newGroup(), await stage().namespace()];
      const set = {
        wishes: wishes(widget(group, ns, "w"), webhook(group, ns, "hook"), definition(group), service(ns, "hook")),
      };
      const engine = stage().engine();
      const early = await engine.apply(set, { patience: 0 });
      expect(reasonsIn(early)).toMatchObject({
        [`ValidatingWebhookConfiguration widgets.${group}`]: "waiting: WebhookUnbacked",
        [`Service ${ns}/hook`]: "created: Applied",
      });
      expect(early.objects[0]?.action).toBe("waiting");

      const waits: string[] = [];
      const applied = engine.apply(set, { patience: PATIENCE, onWait: (what) => waits.push(what) });
      await eventually(() => expect(waits).toContain(`Service ${ns}/hook to have ready endpoints`));
      expect(await stage().exists(widgetsOf(group), `${ns}/w`)).toBe(false);
      await engine.apply({ wishes: wishes(endpointSlice(ns, "hook")) });
      const late = await applied;
      expect(late.complete).toBe(true);
      expect(deedsIn(late).slice(0, 2)).toEqual([
        `created Widget ${ns}/w`,
        `created ValidatingWebhookConfiguration widgets.${group}`,
      ]);
      // It judges already: whether it is backed is not ours to ask any more.
      await stage().client.delete(
        kind({
          group: "discovery.k8s.io",
          version: "v1",
          kind: "EndpointSlice",
          plural: "endpointslices",
          namespaced: true,
        }),
        `${ns}/hook-1`,
      );
      expect((await stage().engine().apply(set)).complete).toBe(true);
      await stage().client.delete(
        kind({
          group: "admissionregistration.k8s.io",
          version: "v1",
          kind: "ValidatingWebhookConfiguration",
          plural: "validatingwebhookconfigurations",
          namespaced: false,
        }),
        `widgets.${group}`,
      );
    });

    it("wait for what is being deleted, and create it anew when it is gone", async () => {
      const ns = await stage().namespace();
      const { client } = stage();
      const finalizers = ["example.com/hold"];
      await client.create(ConfigMap, { metadata: { name: "old", namespace: ns, finalizers }, data: { k: "old" } });
      await client.delete(ConfigMap, `${ns}/old`);
      const set = { wishes: wishes(configMap(ns, "old", { k: "new" })) };
      expect(reasonsIn(await stage().engine().apply(set))).toEqual({
        [`ConfigMap ${ns}/old`]: "waiting: BeingDeleted",
      });

      const waits: string[] = [];
      const applied = stage()
        .engine()
        .apply(set, { patience: PATIENCE, onWait: (what) => waits.push(what) });
      await eventually(() => expect(waits).toEqual([`ConfigMap ${ns}/old to be gone`]));
      await client.patch(ConfigMap, `${ns}/old`, { metadata: { finalizers: null } });
      expect(deedsIn(await applied)).toEqual([`created ConfigMap ${ns}/old`]);
      expect((await stage().configMap(`${ns}/old`)).data).toEqual({ k: "new" });
    });

    it("end when they are called off, and say of the rest that it was not asked for", async () => {
      const ns = await stage().namespace();
      const stop = new AbortController();
      const set = { wishes: wishes(...Array.from({ length: 50 }, (_, i) => configMap(ns, `c-${i}`))) };
      const report = await stage()
        .engine({ atOnce: 1 })
        .apply(set, { signal: stop.signal, onReport: () => stop.abort() });
      expect(report.complete).toBe(false);
      const actions = report.objects.map(({ action }) => action);
      expect([actions[0], new Set(actions.slice(1))]).toEqual(["created", new Set(["held back"])]);
    });
  });

  describe("what cannot be one set", () => {
    it("is refused by object: the same one twice with different content, and what is no object", async () => {
      const ns = await stage().namespace();
      const nameless = { ...configMap(ns, "x"), metadata: { name: "" } };
      const set = {
        wishes: [
          { object: configMap(ns, "twice", { k: "1" }), source: "a.yaml, document 1, line 1" },
          { object: configMap(ns, "twice", { k: "2" }), source: "b.yaml, document 1, line 1" },
          { object: configMap(ns, "same") },
          { object: configMap(ns, "same") },
          { object: nameless },
        ],
      };
      const report = await stage().engine().apply(set);
      expect(report.objects.map(({ action, reason }) => `${action} ${reason}`)).toEqual([
        "refused Duplicate",
        "refused Duplicate",
        "created Applied",
        "created Applied",
        "refused Malformed",
      ]);
      expect(report.objects[0]?.message).toContain("a.yaml, document 1, line 1; b.yaml, document 1, line 1");
      expect(await stage().exists(ConfigMap, `${ns}/twice`)).toBe(false);
    });
  });

  describe("namespaces", () => {
    it("are filled in where an object names none, and dropped where it must not", async () => {
      const ns = await stage().namespace();
      const [bare, role] = [configMap("", "bare"), `role-${ns}`];
      const clusterRole = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: role, namespace: ns },
        rules: [],
      };
      const report = await stage()
        .engine()
        .apply({ wishes: wishes(bare, clusterRole), namespace: ns });
      expect(deedsIn(report)).toEqual([`created ConfigMap ${ns}/bare`, `created ClusterRole ${role}`]);
      expect(await stage().exists(Namespace, ns)).toBe(true);
    });
  });
}
