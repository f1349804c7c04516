/** What a newcomer tries first, and what then must hold. */
import { describe, expect, it } from "vitest";
import { ConfigMap, Namespace, Pod } from "#api/core";
import { Event } from "#api/events";
import type { DynamicObject } from "#api/meta";
import { ManifestWork } from "#api/work";
import { auditedSoFar } from "../../support/audit.ts";
import { eventually } from "../../support/eventually.ts";
import { CLUSTER, conditionOf, configMap, gadgetDefinition, manifestOf, saidOf, type WorkStage } from "./stage.ts";

export function basicCases(stage: () => WorkStage): void {
  describe("a pod deployed from the hub", () => {
    it("runs on the spoke, and the work says so", async () => {
      const name = await stage().work(
        [
          {
            apiVersion: "v1",
            kind: "Pod",
            metadata: { name: "hello", namespace: "default" },
            spec: { containers: [{ name: "hello", image: "busybox", command: ["sh", "-c", "sleep 3600"] }] },
          },
        ],
        {
          manifestConfigs: [
            {
              resourceIdentifier: { resource: "pods", name: "hello", namespace: "default" },
              feedbackRules: [{ type: "WellKnownStatus" }],
            },
          ],
        },
        "mw-01",
      );
      await eventually(async () => {
        const { status } = await stage().spoke.client.get(Pod, "default/hello");
        expect(status?.phase).toBe("Running");
      });
      const work = await eventually(async () => {
        const reported = await stage().get(name);
        expect(manifestOf(reported).statusFeedback?.values).toEqual([
          { name: "PodReady", fieldValue: { type: "String", string: "True" } },
          { name: "PodPhase", fieldValue: { type: "String", string: "Running" } },
        ]);
        return reported;
      });
      expect(work.metadata.finalizers).toEqual(["cluster.open-cluster-management.io/manifest-work-cleanup"]);
      expect(conditionOf(work, "Applied")).toMatchObject({
        status: "True",
        reason: "AppliedManifestWorkComplete",
        message: "Apply manifest work complete",
      });
      expect(conditionOf(work, "Available")).toMatchObject({
        status: "True",
        reason: "ResourcesAvailable",
        message: "All resources are available",
      });
      expect(manifestOf(work)).toMatchObject({
        resourceMeta: { ordinal: 0, version: "v1", kind: "Pod", resource: "pods", name: "hello", namespace: "default" },
        conditions: [
          { type: "Applied", status: "True", reason: "AppliedManifestComplete", observedGeneration: 1 },
          { type: "Available", status: "True", reason: "ResourceAvailable" },
          { type: "StatusFeedbackSynced", status: "True", reason: "StatusFeedbackSynced" },
        ],
      });
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(Pod, "default/hello")).toBe(false);
    });
  });

  describe("a work", () => {
    it("is recorded on the spoke, with its labels and all its objects, which name the record as an owner", async () => {
      const namespace = await stage().namespace();
      const name = `labelled-${namespace}`;
      await stage().hub.client.create(ManifestWork, {
        metadata: { name, namespace: CLUSTER, labels: { team: "a" } },
        spec: { workload: { manifests: [configMap(namespace, "b"), configMap(namespace, "a")] } },
      });
      await stage().untilReported(name, { applied: "True", available: "True" });
      const applied = await stage().applied(name);
      expect(applied.metadata.labels).toEqual({ team: "a" });
      expect(applied.metadata.name).toBe(`${applied.spec?.hubHash}-${name}`);
      expect(applied.metadata.finalizers).toEqual(["cluster.open-cluster-management.io/applied-manifest-work-cleanup"]);
      const { metadata } = await stage().spoke.client.get(ConfigMap, `${namespace}/a`);
      expect(applied.status?.appliedResources).toMatchObject([
        { version: "v1", resource: "configmaps", namespace, name: "a", uid: metadata.uid },
        { version: "v1", resource: "configmaps", namespace, name: "b" },
      ]);
      const { uid = "", name: ownerName } = applied.metadata;
      expect(metadata.ownerReferences).toEqual([
        { apiVersion: "work.open-cluster-management.io/v1", kind: "AppliedManifestWork", name: ownerName, uid },
      ]);
    });

    it("that is edited changes its objects, and what has left it goes", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a", { k: "1" }), configMap(namespace, "b")]);
      const first = await stage().untilReported(name, { applied: "True" });
      await stage().edit(name, { workload: { manifests: [configMap(namespace, "a", { k: "2" })] } });
      const second = await stage().untilReported(name, { applied: "True" });
      expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "2" });
      await eventually(async () => expect(await stage().exists(ConfigMap, `${namespace}/b`)).toBe(false));
      await eventually(async () =>
        expect((await stage().applied(name)).status?.appliedResources?.map((each) => each.name)).toEqual(["a"]),
      );
      expect(first.status?.resourceStatus?.manifests).toHaveLength(2);
      expect(second.status?.resourceStatus?.manifests).toHaveLength(1);
      expect(saidOf(second, "Applied")).toMatchObject({ type: "Applied", observedGeneration: 2 });
    });

    it("has objects of the whole cluster too, and says no namespace of them", async () => {
      const role: DynamicObject = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name: `role-${await stage().namespace()}`, namespace: "default" },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
      };
      const name = await stage().work([role]);
      const work = await stage().untilReported(name, { applied: "True", available: "True" });
      expect(manifestOf(work).resourceMeta).toEqual({
        ordinal: 0,
        group: "rbac.authorization.k8s.io",
        version: "v1",
        kind: "ClusterRole",
        resource: "clusterroles",
        name: role.metadata.name,
      });
    });

    it("may bring a namespace, a kind, and objects of it, in any order", async () => {
      const namespace = `brought-${(await stage().namespace()).slice(-6)}`;
      const group = `${namespace}.example.com`;
      const gadget: DynamicObject = {
        apiVersion: `${group}/v1`,
        kind: "Gadget",
        metadata: { name: "one", namespace, finalizers: [] },
        spec: { size: 1 },
      };
      const definition = gadgetDefinition(group);
      const place: DynamicObject = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
      const name = await stage().work([gadget, definition, place]);
      const work = await stage().untilReported(name, { applied: "True", available: "True" });
      expect(manifestOf(work, 0).resourceMeta.resource).toBe("gadgets");
      expect((await stage().applied(name)).status?.appliedResources).toHaveLength(3);
      await stage().delete(name);
      await stage().untilGone(name);
      expect(await stage().exists(Namespace, namespace)).toBe(false);
    });

    it("with one bad manifest applies the others, and says which is bad and why", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([
        configMap("nowhere-to-be-found", "a"),
        { apiVersion: "example.org/v1", kind: "Nothing", metadata: { name: "x", namespace } },
        configMap(namespace, "good"),
      ]);
      const work = await stage().untilReported(name, { applied: "False", available: "False" });
      expect(await stage().exists(ConfigMap, `${namespace}/good`)).toBe(true);
      const [missing, unknown, good] = [0, 1, 2].map((ordinal) => manifestOf(work, ordinal).conditions);
      expect(missing?.[0]).toMatchObject({ status: "False", reason: "AppliedManifestFailed" });
      expect(missing?.[0]?.message).toMatch(/^Failed to apply manifest: .*namespace/);
      expect(unknown?.[0]?.message).toContain(`the server doesn't have a resource type "Nothing"`);
      expect(unknown?.[1]).toMatchObject({ status: "Unknown", reason: "IncompleteResourceMeta" });
      expect(good?.[0]).toMatchObject({ status: "True" });
      expect(conditionOf(work, "Applied")).toMatchObject({
        reason: "AppliedManifestWorkFailed",
        message: "Failed to apply manifest work",
      });

      await eventually(async () => {
        const { items } = await stage().hub.client.list(Event, { namespace: CLUSTER });
        const told = items.filter(({ regarding }) => regarding?.name === name).map(({ note }) => note ?? "");
        expect(told.some((note) => note.includes("Nothing"))).toBe(true);
      });

      // What was missing comes, and nobody has to touch the work.
      await stage().spoke.client.create(Namespace, { metadata: { name: "nowhere-to-be-found" } });
      await eventually(async () =>
        expect(saidOf(await stage().get(name), "Applied", 0)).toMatchObject({ status: "True" }),
      );
    });
  });

  describe("what changes on the spoke", () => {
    it("is mended when it happens: what was changed, and what was removed", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a", { k: "wished" })]);
      const before = await stage().untilReported(name, { applied: "True", available: "True" });
      await stage().spoke.client.patch(ConfigMap, `${namespace}/a`, { data: { k: "changed", more: "x" } });
      await eventually(async () => expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "wished" }));
      await stage().spoke.client.delete(ConfigMap, `${namespace}/a`);
      await eventually(async () => expect(await stage().dataOf(`${namespace}/a`)).toEqual({ k: "wished" }));
      await eventually(async () => {
        const after = await stage().get(name);
        expect(saidOf(after, "Applied")).toEqual(saidOf(before, "Applied"));
        expect(conditionOf(after, "Available")?.status).toBe("True");
      });
    });

    it("but is nothing of ours is left alone", async () => {
      const namespace = await stage().namespace();
      const name = await stage().work([configMap(namespace, "a")]);
      await stage().untilReported(name, { applied: "True" });
      const labels = { theirs: "yes" };
      await stage().spoke.client.patch(ConfigMap, `${namespace}/a`, {
        metadata: { labels, finalizers: ["a.example/b"] },
      });
      await stage().edit(name, { workload: { manifests: [configMap(namespace, "a", { k: "2" })] } });
      await stage().untilReported(name, { applied: "True" });
      const { metadata, data } = await stage().spoke.client.get(ConfigMap, `${namespace}/a`);
      expect(data).toEqual({ k: "2" });
      expect(metadata).toMatchObject({ labels, finalizers: ["a.example/b"] });
      await stage().spoke.client.patch(ConfigMap, `${namespace}/a`, { metadata: { finalizers: null } });
    });
  });

  describe("at rest", () => {
    /** What the agent of today asked of either server. */
    const asked = async (): Promise<string[]> => {
      const { hub, spoke, userAgent } = stage();
      const heard = [...(await auditedSoFar(hub)), ...(await auditedSoFar(spoke))];
      return heard
        .filter((event) => event.userAgent === userAgent)
        .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
    };

    it("nothing is read or written, and after a restart nothing is written", async () => {
      const [namespace, elsewhere] = [await stage().namespace(), await stage().namespace()];
      const name = await stage().work([configMap(namespace, "a"), configMap(namespace, "b")]);
      await stage().untilReported(name, { applied: "True", available: "True" });
      const about = async () =>
        (await asked()).filter((request) => request.includes(name) || request.includes(namespace));
      const other = async (): Promise<string> => {
        const marker = await stage().work([configMap(elsewhere, `c-${Math.random().toString(36).slice(2)}`)]);
        await stage().untilReported(marker, { applied: "True" });
        return marker;
      };
      // What the agent has still to say of its own last write is said while it is busy with another work.
      await other();
      const before = await about();
      expect(before.some((request) => request.startsWith("create"))).toBe(true);
      await other();
      expect(await about()).toEqual(before);

      await stage().stopAgent();
      await stage().startAgent();
      const marker = await other();
      const writes = (await asked()).filter((request) => !/^(get|list|watch) /.test(request));
      expect(writes.filter((write) => !write.includes(marker) && !write.includes(elsewhere))).toEqual([
        "create /apis/work.open-cluster-management.io/v1/appliedmanifestworks",
      ]);
    });
  });
}
