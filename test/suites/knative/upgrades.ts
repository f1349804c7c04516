/** From one version to the next, whatever happens in between. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Job } from "#api/batch";
import { ConfigMap } from "#api/core";
import { KnativeServing } from "#api/knative";
import { ClusterRole } from "#api/rbac";
import { eventually } from "../../support/eventually.ts";
import { smallReleases } from "./small-release.ts";
import { type KnativeStage, type Operator, REF, untilGone, untilReady } from "./stage.ts";

export function upgradeCases(given: () => KnativeStage): void {
  describe("an upgrade", () => {
    let stage: KnativeStage;
    let operator: Operator;
    beforeAll(async () => {
      stage = given();
      operator = await stage.start({ releases: smallReleases() });
    });
    afterAll(async () => {
      await stage.hub.delete(KnativeServing, "knative-serving/upgraded").catch(() => {});
      await untilGone(look);
      await operator?.stop();
    });

    const look = () => stage.serving("upgraded");
    const change = (spec: object) => stage.hub.patch(KnativeServing, "knative-serving/upgraded", { spec });
    const names = async (namespace: string) =>
      (await stage.spoke.list(ConfigMap, { namespace })).items.map(({ metadata }) => metadata.name);

    it("removes what only the former version had, when the new one works and not before", async () => {
      await stage.hub.create(KnativeServing, {
        metadata: { name: "upgraded", namespace: "knative-serving" },
        spec: { version: "1.22.0", clusterProfileRef: REF, ingress: {} },
      });
      await untilReady(look);
      const held = [{ name: "activator", annotations: { "simulate.capstan.dev/ready-after": "1h" } }];
      await change({ version: "1.23.0", workloads: held });
      await eventually(async () => {
        const { status } = await look();
        expect(status?.conditions?.find(({ type }) => type === "DeploymentsAvailable")).toMatchObject({
          status: "False",
          message: "Waiting on deployments: activator",
        });
      });
      expect(await names("knative-serving")).toContain("config-former");
      expect((await look()).status?.version).toBe("1.22.0");

      await change({ workloads: null });
      await eventually(async () => expect((await look()).status?.version).toBe("1.23.0"));
      expect(await names("knative-serving")).not.toContain("config-former");
      await untilGone(() => stage.spoke.get(ClusterRole, "former"));
    });

    it("runs a Job once, also when it has been cleared away", async () => {
      const key = "knative-serving/migrate-serving-1.23.0";
      await eventually(async () => {
        expect((await look()).status?.annotations?.["operator.capstan.dev/completed-jobs"]).toBe(
          "migrate-serving-1.23.0",
        );
      });
      await stage.spoke.delete(Job, key, { propagationPolicy: "Background" });
      await change({ config: { network: { changed: "yes" } } });
      await eventually(async () => {
        const { data } = await stage.spoke.get(ConfigMap, "knative-serving/config-network");
        expect(data?.changed).toBe("yes");
      });
      await untilGone(() => stage.spoke.get(Job, key));
    });

    it("ends well however often the operator is stopped on the way", async () => {
      await change({ version: "1.22.0" });
      await eventually(async () => expect((await look()).status?.version).toBe("1.22.0"));
      expect(await names("knative-serving")).toContain("config-former");
      await change({ version: "1.23.0" });
      for (let round = 0; round < 5; round++) {
        await operator.stop();
        operator = await stage.start({ releases: smallReleases() });
      }
      await eventually(async () => expect((await look()).status?.version).toBe("1.23.0"));
      await untilReady(look);
      expect(await names("knative-serving")).not.toContain("config-former");
    });
  });
}
