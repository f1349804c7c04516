/** Works that the hub does not have any more: what goes, what is held, and what the hub's ledger says. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { RBAC_GROUP, Role, RoleBinding } from "#api/rbac";
import { AppliedManifestWork, DETACH_LEDGER, WorkFinalizer } from "#api/work";
import { eventually } from "../../support/eventually.ts";
import { CLUSTER, configMap, type WorkStage } from "./stage.ts";

/** Short enough for a test, and long enough to be seen. */
const GRACE = 1_000;
const HELD = "work.capstan.dev/removal-held";
const SEEN = "work.capstan.dev/seen";

export function forgottenCases(stage: () => WorkStage): void {
  describe("a work that the hub has lost", () => {
    /** Keeps the hub from looking as if it had lost everything. */
    let other: string;
    beforeAll(async () => {
      await stage().stopAgent();
      await stage().startAgent({ evictionGrace: GRACE });
      other = await stage().work([configMap(await stage().namespace(), "other")]);
      await stage().untilReported(other, { applied: "True" });
    });
    afterAll(async () => {
      await stage().stopAgent();
      await stage().startAgent();
    });

    const annotate = async (work: string, annotations: Record<string, string>) => {
      const { metadata } = await stage().applied(work);
      await stage().spoke.client.patch(AppliedManifestWork, metadata.name, { metadata: { annotations } });
    };
    const held = async (work: string) => (await stage().applied(work)).metadata.annotations?.[HELD];
    const placed = async (count = 1) => {
      const namespace = await stage().namespace();
      const works: string[] = [];
      for (let at = 0; at < count; at++) works.push(await stage().work([configMap(namespace, `m${at}`)]));
      for (const work of works) await stage().untilReported(work, { applied: "True" });
      return { namespace, works, first: works[0] ?? "" };
    };

    it("takes along what it brought after the grace period", async () => {
      const { namespace, first } = await placed();
      await stage().forget(first);
      await eventually(async () => expect(await stage().exists(ConfigMap, `${namespace}/m0`)).toBe(false));
      await eventually(() => expect(stage().applied(first)).rejects.toThrow("there is no AppliedManifestWork"));
    });

    it("takes nothing along if it is made again in time", async () => {
      const { namespace, first } = await placed();
      await stage().stopAgent();
      await stage().forget(first);
      await stage().startAgent({ evictionGrace: 600_000 });
      await eventually(async () => expect((await stage().applied(first)).status?.evictionStartTime).toBeDefined());
      await stage().work([configMap(namespace, "m0")], {}, first);
      await eventually(async () => expect((await stage().applied(first)).status?.evictionStartTime).toBeUndefined());
      expect(await stage().exists(ConfigMap, `${namespace}/m0`)).toBe(true);
      await stage().stopAgent();
      await stage().startAgent({ evictionGrace: GRACE });
    });

    it("is held with the others if they are many, and goes when somebody confirms", async () => {
      const { namespace, works, first } = await placed(6);
      await stage().stopAgent();
      for (const work of works) await stage().forget(work);
      await stage().startAgent({ evictionGrace: GRACE });
      for (const work of works)
        await eventually(async () => expect(await held(work)).toMatch(/lacks many works at once/));
      const { items } = await stage().spoke.client.list(AppliedManifestWork, { labelSelector: HELD });
      expect(items.map(({ spec }) => spec?.manifestWorkName)).toEqual(expect.arrayContaining(works));
      await annotate(first, { "work.capstan.dev/removal": "confirmed" });
      await eventually(async () => expect(await stage().exists(ConfigMap, `${namespace}/m0`)).toBe(false));
      for (let at = 1; at < works.length; at++) {
        expect(await stage().exists(ConfigMap, `${namespace}/m${at}`)).toBe(true);
      }
      for (const work of works.slice(1)) await annotate(work, { "work.capstan.dev/removal": "confirmed" });
      for (const work of works) {
        await eventually(() => expect(stage().applied(work)).rejects.toThrow("there is no AppliedManifestWork"));
      }
    });

    it("is held if the hub has gone back in time", async () => {
      const { namespace, first } = await placed();
      await stage().stopAgent();
      const { uid = "", generation = 1 } = (await stage().get(first)).metadata;
      await annotate(first, { [SEEN]: JSON.stringify({ uid, generation, resourceVersion: "9000000000000" }) });
      await stage().forget(first);
      await stage().startAgent({ evictionGrace: GRACE });
      await eventually(async () => expect(await held(first)).toMatch(/earlier state than when it placed it/));
      expect(await stage().exists(ConfigMap, `${namespace}/m0`)).toBe(true);
      await annotate(first, { "work.capstan.dev/removal": "confirmed" });
      await eventually(async () => expect(await stage().exists(ConfigMap, `${namespace}/m0`)).toBe(false));
    });

    it("of another hub is held until somebody confirms, shares what it has, and one of another agent is left alone", async () => {
      const { namespace, first } = await placed();
      const mine = await stage().applied(first);
      const ofOtherHub = (name: string, agentID: string) =>
        stage().spoke.client.create(AppliedManifestWork, {
          metadata: { name: `another-${name}`, finalizers: [WorkFinalizer.applied] },
          spec: { hubHash: "another", agentID, manifestWorkName: name },
        });
      const former = await ofOtherHub(`${first}-former`, mine.spec?.agentID ?? "");
      const foreign = await ofOtherHub(`${first}-foreign`, "another-agent");
      const owner = ({ metadata: { name, uid = "" } }: AppliedManifestWork) => {
        return { apiVersion: "work.open-cluster-management.io/v1", kind: "AppliedManifestWork", name, uid };
      };
      await stage().spoke.client.create(ConfigMap, {
        metadata: { name: "only", namespace, ownerReferences: [owner(former)] },
      });
      await stage().spoke.client.patch(ConfigMap, `${namespace}/m0`, {
        metadata: { ownerReferences: [owner(mine), owner(former)] },
      });
      const appliedResources = ["only", "m0"].map((name) => ({
        version: "v1",
        resource: "configmaps",
        namespace,
        name,
      }));
      const change = { status: { appliedResources } };
      await stage().spoke.client.patch(AppliedManifestWork, former.metadata.name, change, { subresource: "status" });
      await eventually(async () => expect(await held(`${first}-former`)).toMatch(/placed by a hub at another address/));
      await annotate(`${first}-former`, { "work.capstan.dev/removal": "confirmed" });
      await eventually(async () => expect(await stage().exists(ConfigMap, `${namespace}/only`)).toBe(false));
      expect(await stage().exists(ConfigMap, `${namespace}/m0`)).toBe(true);
      const left = await stage().applied(`${first}-foreign`);
      expect(left.metadata.deletionTimestamp).toBeUndefined();
      expect(left.metadata.annotations).toBeUndefined();
      await stage().spoke.client.patch(AppliedManifestWork, foreign.metadata.name, { metadata: { finalizers: null } });
      await stage().spoke.client.delete(AppliedManifestWork, foreign.metadata.name);
    });

    it("goes at once if the hub's ledger names it, and the ledger is worked off", async () => {
      const { hub } = stage();
      const { namespace, first } = await placed();
      const { uid } = (await stage().get(first)).metadata;
      await stage().stopAgent();
      await hub.client.create(Role, {
        metadata: { name: "ledger", namespace: CLUSTER },
        rules: [
          {
            apiGroups: [""],
            resources: ["configmaps"],
            resourceNames: [DETACH_LEDGER],
            verbs: ["get", "list", "watch", "update", "patch"],
          },
        ],
      });
      await hub.client.create(RoleBinding, {
        metadata: { name: "ledger", namespace: CLUSTER },
        roleRef: { apiGroup: RBAC_GROUP, kind: "Role", name: "ledger" },
        subjects: [{ kind: "ServiceAccount", name: "agent", namespace: CLUSTER }],
      });
      const entry = JSON.stringify({ uid, since: "2026-01-01T00:00:00Z" });
      await hub.client.create(ConfigMap, {
        metadata: { name: DETACH_LEDGER, namespace: CLUSTER },
        data: { [first]: entry, "never-came-here": entry },
      });
      await stage().forget(first);
      await stage().startAgent({ evictionGrace: 600_000 });
      await eventually(async () => {
        expect((await hub.client.get(ConfigMap, `${CLUSTER}/${DETACH_LEDGER}`)).data ?? {}).toEqual({});
      });
      expect(await stage().exists(ConfigMap, `${namespace}/m0`)).toBe(false);
      await hub.client.delete(ConfigMap, `${CLUSTER}/${DETACH_LEDGER}`);
    });
  });
}
