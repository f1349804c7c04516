/** What an installation costs when nothing changes: nothing. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigMap } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { KnativeServing } from "#api/knative";
import { type AuditedRequest, auditedSoFar } from "../../support/audit.ts";
import { eventually } from "../../support/eventually.ts";
import { FLEET, SPOKE } from "../../support/inventory.ts";
import { smallReleases } from "./small-release.ts";
import { type KnativeStage, type Operator, REF, untilGone, untilReady } from "./stage.ts";

export function quietCases(given: () => KnativeStage): void {
  describe("an installation that is as wished", () => {
    let stage: KnativeStage;
    let operator: Operator;
    beforeAll(async () => {
      stage = given();
      operator = await stage.start({ releases: smallReleases() });
    });
    afterAll(async () => {
      await stage.hub.delete(KnativeServing, "knative-serving/quiet").catch(() => {});
      await untilGone(() => stage.serving("quiet"));
      await operator?.stop();
    });

    /** What the operator has asked of the spoke, but for streams. */
    const asked = async (): Promise<AuditedRequest[]> =>
      (await auditedSoFar(stage.inventory.spoke)).filter(
        ({ verb, user }) => verb !== "watch" && user?.username === "system:serviceaccount:default:consumer",
      );
    const change = (config: object) =>
      stage.hub.patch(KnativeServing, "knative-serving/quiet", { spec: { config: { network: config } } });
    /** Whoever sees this on the spoke knows that all before it is done. */
    const changed = async (value: string) => {
      await change({ value });
      await eventually(async () => {
        const { data } = await stage.spoke.get(ConfigMap, "knative-serving/config-network");
        expect(data?.value).toBe(value);
      });
      return asked();
    };

    it("is neither read nor written, however often its profile or its object is touched", async () => {
      await stage.hub.create(KnativeServing, {
        metadata: { name: "quiet", namespace: "knative-serving" },
        spec: { version: "1.23.0", clusterProfileRef: REF, ingress: {} },
      });
      await untilReady(() => stage.serving("quiet"));
      await eventually(async () => {
        expect((await stage.serving("quiet")).status?.annotations).toHaveProperty(
          "operator.capstan.dev/completed-jobs",
        );
      });
      const before = await changed("one");
      for (const beat of ["1", "2", "3"]) {
        const properties = [{ name: "beat", value: beat }];
        await stage.hub.patch(
          ClusterProfile,
          `${FLEET}/${SPOKE}`,
          { status: { properties } },
          { subresource: "status" },
        );
        await stage.hub.patch(KnativeServing, "knative-serving/quiet", { metadata: { annotations: { beat } } });
      }
      const after = await changed("two");
      expect(after.slice(before.length).map(({ verb, requestURI }) => `${verb} ${requestURI.split("?")[0]}`)).toEqual([
        "patch /api/v1/namespaces/knative-serving/configmaps/config-network",
      ]);
    });
  });
}
