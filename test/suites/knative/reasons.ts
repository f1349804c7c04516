/** Why a cluster cannot be installed on: each reason by its real cause, and how it ends. */
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { Secret, ServiceAccount } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { KnativeServing, TargetReason } from "#api/knative";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { findCondition } from "#lib/conditions";
import { eventually } from "../../support/eventually.ts";
import { FLEET, SECRETS, SPOKE } from "../../support/inventory.ts";
import { Relay } from "../../support/relay.ts";
import { smallReleases } from "./small-release.ts";
import { type KnativeStage, type Operator, REF, untilGone, untilReady } from "./stage.ts";

export function reasonCases(given: () => KnativeStage): void {
  describe("a target cluster", () => {
    let stage: KnativeStage;
    let operator: Operator | undefined;
    let relay: Relay | undefined;
    beforeAll(() => {
      stage = given();
    });
    afterEach(async () => {
      await relay?.cut();
      relay = undefined;
      await stage.offer();
      await stage.sayHealthy("True");
      await stage.inventory.rotateToken();
      operator ??= await stage.start({ releases: smallReleases() });
      await stage.hub.delete(KnativeServing, "knative-serving/target").catch(() => {});
      await untilGone(look);
      await operator.stop();
      operator = undefined;
      await stage.hub.delete(ClusterProfile, `${FLEET}/late`).catch(() => {});
    });

    const look = () => stage.serving("target");
    const start = async (options: object = {}) => {
      operator = await stage.start({ releases: smallReleases(), ...options });
    };
    const wish = (clusterProfileRef: { namespace: string; name: string } = REF) =>
      stage.hub.create(KnativeServing, {
        metadata: { name: "target", namespace: "knative-serving" },
        spec: { version: "1.23.0", clusterProfileRef, ingress: {} },
      });
    const saying = (reason: TargetReason) =>
      eventually(async () => {
        const { status } = await look();
        const condition = findCondition(status?.conditions, "TargetClusterResolved");
        expect(condition).toMatchObject({ status: "False", reason });
        expect(findCondition(status?.conditions, "Ready")).toMatchObject({ status: "False", reason });
        return condition?.message ?? "";
      });

    it("is not found while there is no such profile", async () => {
      await start();
      await wish({ namespace: FLEET, name: "late" });
      expect(await saying(TargetReason.profileNotFound)).toContain("fleet/late");
      const { spec, status } = await stage.hub.get(ClusterProfile, `${FLEET}/${SPOKE}`);
      await stage.hub.create(ClusterProfile, { metadata: { name: "late", namespace: FLEET }, spec });
      await stage.hub.patch(ClusterProfile, `${FLEET}/late`, { status }, { subresource: "status" });
      await untilReady(look);
    });

    it("is not ready while its profile says so, also after it was", async () => {
      await stage.sayHealthy("False");
      await start();
      await wish();
      expect(await saying(TargetReason.profileNotReady)).toContain("ControlPlaneHealthy");
      await stage.sayHealthy("True");
      await untilReady(look);
      await stage.sayHealthy("False");
      await saying(TargetReason.profileNotReady);
    });

    it("cannot be reached without a provider file", async () => {
      await start({ providerFile: "" });
      await wish();
      expect(await saying(TargetReason.accessNotConfigured)).toContain("--clusterprofile-provider-file");
      await operator?.stop();
      await start();
      await untilReady(look);
    });

    it("cannot be reached if no provider matches, until the file has one", async () => {
      const file = await stage.inventory.file(
        "others.json",
        JSON.stringify({ providers: [{ name: "other", builtin: "secretreader" }] }),
      );
      await start({ providerFile: file });
      await wish();
      expect(await saying(TargetReason.disabled)).toContain("token-secretreader");
      const providers = [{ name: "token-secretreader", builtin: "token-secretreader" }];
      await stage.inventory.file("others.json", JSON.stringify({ providers }));
      await untilReady(look);
    });

    it("cannot be reached if the credentials cannot be had, until they can", async () => {
      await stage.hub.delete(Secret, `${SECRETS}/${SPOKE}`);
      await start();
      await wish();
      expect(await saying(TargetReason.accessFailed)).toContain(SPOKE);
      await stage.inventory.rotateToken();
      await untilReady(look);
    });

    it("has not answered yet", async () => {
      relay = await Relay.to(stage.inventory.spoke.url);
      await relay.cut();
      await stage.offer(relay.url);
      await start();
      await wish();
      expect(await saying(TargetReason.clientFailed)).toContain(relay.url);
      await relay.mend();
      await untilReady(look);
    });

    it("has answered before, and does not now", async () => {
      relay = await Relay.to(stage.inventory.spoke.url);
      await stage.offer(relay.url);
      await start();
      await wish();
      await untilReady(look);
      await relay.cut();
      await saying(TargetReason.stale);
      const { status } = await look();
      expect(findCondition(status?.conditions, "InstallSucceeded")).toMatchObject({ status: "True" });
      await relay.mend();
      await untilReady(look);
      relay.fallSilent();
      await saying(TargetReason.stale);
      await relay.mend();
      await untilReady(look);
    });

    it("is unknown while the hub does not let profiles be read", async () => {
      const namespace = "default";
      const { metadata } = await stage.hub.create(ServiceAccount, {
        metadata: { generateName: "no-profiles-", namespace },
      });
      const { name } = metadata;
      const everything = ["", "operator.knative.dev", "apps", "batch"].map((group) => ({
        apiGroups: [group],
        resources: ["*"],
        verbs: ["*"],
      }));
      await stage.hub.create(ClusterRole, { metadata: { name }, rules: everything });
      await stage.hub.create(ClusterRoleBinding, {
        metadata: { name },
        roleRef: { apiGroup: RBAC_GROUP, kind: "ClusterRole", name },
        subjects: [{ kind: "ServiceAccount", name, namespace }],
      });
      await start({ as: `${namespace}/${name}` });
      await wish();
      expect(await saying(TargetReason.profileUnavailable)).toContain("read ClusterProfile");
      const rule = { apiGroups: ["multicluster.x-k8s.io"], resources: ["*"], verbs: ["*"] };
      await stage.hub.patch(ClusterRole, name, { rules: [...everything, rule] });
      await untilReady(look);
    });
  });
}
