/** How an installation ends: always, and without leaving anything behind that nobody knows of. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import { ConfigMap } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { KnativeServing, TargetReason } from "#api/knative";
import { ClusterRole } from "#api/rbac";
import { findCondition, isTrue } from "#lib/conditions";
import { eventually } from "../../support/eventually.ts";
import { FLEET, SPOKE } from "../../support/inventory.ts";
import { Relay } from "../../support/relay.ts";
import { SMALL, smallReleases } from "./small-release.ts";
import { deploymentsIn, type KnativeStage, type Operator, REF, untilGone, untilReady } from "./stage.ts";

export function endingCases(given: () => KnativeStage): void {
  describe("an installation that is deleted", () => {
    let stage: KnativeStage;
    let operator: Operator | undefined;
    beforeAll(() => {
      stage = given();
    });
    afterEach(async () => {
      await stage.offer();
      operator ??= await stage.start({ releases: smallReleases() });
      const { items } = await stage.hub.list(KnativeServing, { namespace: "knative-serving" });
      for (const { metadata } of items) {
        await remove(metadata.name).catch(() => {});
        await untilGone(() => look(metadata.name));
      }
      await operator.stop();
      operator = undefined;
    });

    const look = (name = "ending") => stage.serving(name);
    const start = async (options: object = {}) => {
      operator = await stage.start({ releases: smallReleases(), ...options });
    };
    const wish = (name = "ending", spec: object = { clusterProfileRef: REF }) =>
      stage.hub.create(KnativeServing, {
        metadata: { name, namespace: "knative-serving" },
        spec: { version: "1.23.0", ingress: {}, ...spec },
      });
    const remove = (name = "ending") => stage.hub.delete(KnativeServing, `knative-serving/${name}`);
    const nothingIsLeft = () =>
      eventually(async () => {
        expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual([]);
        const roles = await stage.spoke.list(ClusterRole, { labelSelector: "app.kubernetes.io/name=knative-serving" });
        expect(roles.items).toEqual([]);
        const maps = await stage.spoke.list(ConfigMap, { namespace: "knative-serving" });
        expect(maps.items.map(({ metadata }) => metadata.name)).toEqual(["kube-root-ca.crt"]);
      });
    const uidsOfDeployments = async () =>
      (await stage.spoke.list(Deployment, { namespace: "knative-serving" })).items.map(({ metadata }) => metadata.uid);
    const leftovers = async () =>
      (await stage.hub.list(ConfigMap, { labelSelector: "operator.capstan.dev/leftover" })).items;

    it("goes at once if nothing was ever put anywhere", async () => {
      await start();
      await wish("nowhere", { clusterProfileRef: { namespace: FLEET, name: "nobody" } });
      await eventually(async () => expect((await look("nowhere")).metadata.finalizers).toHaveLength(1));
      await remove("nowhere");
      await untilGone(() => look("nowhere"));
      expect(await leftovers()).toEqual([]);
    });

    it("while no operator runs is removed when one does", async () => {
      await start();
      await wish();
      await untilReady(look);
      await operator?.stop();
      await remove();
      await start();
      await untilGone(look);
      await nothingIsLeft();
    });

    it("waits for its cluster and says so, and goes when it is back", async () => {
      const relay = await Relay.to(stage.inventory.spoke.url);
      await stage.offer(relay.url);
      await start();
      await wish();
      await untilReady(look);
      await relay.cut();
      await remove();
      await eventually(async () => {
        const { status } = await look();
        const condition = findCondition(status?.conditions, "TargetClusterResolved");
        expect(condition).toMatchObject({ status: "False", reason: TargetReason.stale });
        expect(condition?.message).toMatch(/left behind after/);
      });
      await relay.mend();
      await untilGone(look);
      await nothingIsLeft();
      await relay.cut();
    });

    it("ends although its cluster is lost, and what is left goes when it returns, under another profile too", async () => {
      const relay = await Relay.to(stage.inventory.spoke.url);
      await stage.offer(relay.url);
      await start({ removalPatience: 1_000 });
      await wish();
      await untilReady(look);
      await relay.cut();
      await remove();
      await untilGone(look);
      expect(await leftovers()).toMatchObject([{ data: { installation: "KnativeServing knative-serving/ending" } }]);
      expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual(SMALL);

      const { spec, status } = await stage.hub.get(ClusterProfile, `${FLEET}/${SPOKE}`);
      await stage.hub.create(ClusterProfile, { metadata: { name: "returned", namespace: FLEET }, spec });
      await stage.offer();
      const offered = (await stage.hub.get(ClusterProfile, `${FLEET}/${SPOKE}`)).status;
      await stage.hub.patch(
        ClusterProfile,
        `${FLEET}/returned`,
        { status: { ...status, ...offered } },
        { subresource: "status" },
      );
      await nothingIsLeft();
      await eventually(async () => expect(await leftovers()).toEqual([]));
      await stage.hub.delete(ClusterProfile, `${FLEET}/returned`);
    });

    it("leaves what is there to another installation that waits for the same cluster", async () => {
      await start();
      await wish("one");
      await untilReady(() => look("one"));
      await wish("two", { clusterProfileRef: REF, config: { network: { "inherited-by": "two" } } });
      await eventually(async () => {
        const said = findCondition((await look("two")).status?.conditions, "InstallSucceeded");
        expect(said).toMatchObject({ status: "False" });
        expect(said?.message).toContain("KnativeServing knative-serving/one is installed on the same cluster");
      });
      const before = await uidsOfDeployments();
      await remove("one");
      await untilGone(() => look("one"));
      await untilReady(() => look("two"));
      await untilGone(() => stage.spoke.get(ConfigMap, "knative-serving/knativeserving-one-root-owner"));
      await untilGone(() => stage.spoke.get(ConfigMap, "knative-serving/knativeserving-one-installed"));
      expect(await uidsOfDeployments()).toEqual(before);
      await remove("two");
      await untilGone(() => look("two"));
      await nothingIsLeft();
    });

    it("was not alone on its cluster, and one of those that came at the same time stood there", async () => {
      for (const name of ["three", "four"]) await wish(name);
      await start();
      const all = () => Promise.all(["three", "four"].map(look));
      const areReady = async () =>
        (await all()).map(({ status }) => findCondition(status?.conditions, "Ready")?.status).sort();
      await eventually(async () => expect(await areReady()).toEqual(["False", "True"]));
      const [ready] = (await all()).filter(({ status }) => isTrue(status?.conditions, "Ready"));
      const [waiting] = (await all()).filter(({ status }) => !isTrue(status?.conditions, "Ready"));
      await remove(ready?.metadata.name);
      await untilGone(() => look(ready?.metadata.name));
      await untilReady(() => look(waiting?.metadata.name));
      await remove(waiting?.metadata.name);
      await untilGone(() => look(waiting?.metadata.name));
      await nothingIsLeft();
    });

    it("on the hub itself leaves nothing there either", async () => {
      await start();
      await wish("here", {});
      await untilReady(() => look("here"));
      expect(await deploymentsIn(stage.hub, "knative-serving")).toEqual(SMALL);
      await remove("here");
      await untilGone(() => look("here"));
      await eventually(async () => expect(await deploymentsIn(stage.hub, "knative-serving")).toEqual([]));
    });
  });
}
