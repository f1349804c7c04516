/** From the wish to Knative on a spoke, through its changes, to its end. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Deployment } from "#api/apps";
import { ConfigMap, Namespace } from "#api/core";
import { KnativeServing } from "#api/knative";
import { ClusterRole } from "#api/rbac";
import { findCondition } from "#lib/conditions";
import { eventually } from "../../support/eventually.ts";
import {
  deploymentsIn,
  type KnativeStage,
  missingReleases,
  type Operator,
  REF,
  untilGone,
  untilReady,
} from "./stage.ts";

const KOURIER = { ingress: { kourier: { enabled: true }, istio: { enabled: false }, contour: { enabled: false } } };
const OF_KOURIER = ["3scale-kourier-gateway", "net-kourier-controller"];
const OF_SERVING = ["activator", "autoscaler", "autoscaler-hpa", "controller", "webhook"];

export function lifeCases(given: () => KnativeStage): void {
  const missing = missingReleases();

  describe.skipIf(missing)(`Knative Serving on a spoke${missing ? ` (${missing})` : ""}`, () => {
    let stage: KnativeStage;
    let operator: Operator;
    beforeAll(async () => {
      stage = given();
      operator = await stage.start();
    });
    afterAll(() => operator?.stop());

    const look = () => stage.serving("ks");
    const change = (spec: object) => stage.hub.patch(KnativeServing, "knative-serving/ks", { spec });

    it("is installed in its namespace there, and Ready", async () => {
      await stage.hub.create(KnativeServing, {
        metadata: { name: "ks", namespace: "knative-serving" },
        spec: { version: "1.22", clusterProfileRef: REF, namespace: { labels: { team: "a" } }, ...KOURIER },
      });
      await untilReady(look);
      const { status } = await look();
      expect(status).toMatchObject({ version: "1.22.1", observedGeneration: 1 });
      expect(status?.manifests).toHaveLength(2);
      expect(findCondition(status?.conditions, "TargetClusterResolved")).toMatchObject({ status: "True" });
      expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual([...OF_KOURIER, ...OF_SERVING].sort());
      expect(await deploymentsIn(stage.hub, "knative-serving")).toEqual([]);
      const { metadata } = await stage.spoke.get(Namespace, "knative-serving");
      expect(metadata.labels).toMatchObject({ team: "a", "app.kubernetes.io/managed-by": "knative-operator" });
    });

    it("hangs on an anchor that says what it is", async () => {
      const { metadata } = await stage.spoke.get(ConfigMap, "knative-serving/knativeserving-ks-root-owner");
      expect(metadata.labels).toMatchObject({
        "app.kubernetes.io/managed-by": "knative-operator",
        "operator.knative.dev/cr-name": "ks",
      });
      expect(metadata.annotations).toMatchObject({
        "operator.knative.dev/anchor": "true",
        "operator.knative.dev/protected": "true",
      });
      const { metadata: owned } = await stage.spoke.get(Deployment, "knative-serving/activator");
      expect(owned.ownerReferences).toEqual([
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          name: metadata.name,
          uid: metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
    });

    it("follows changes of its wish", async () => {
      await change({ config: { network: { "ingress-class": "kourier.ingress.networking.knative.dev" } } });
      await eventually(async () => {
        const { data } = await stage.spoke.get(ConfigMap, "knative-serving/config-network");
        expect(data?.["ingress-class"]).toBe("kourier.ingress.networking.knative.dev");
      });
      await untilReady(look);
    });

    it("is mended when somebody changes or deletes a part of it", async () => {
      await stage.spoke.delete(ConfigMap, "knative-serving/config-network");
      await stage.spoke.patch(Deployment, "knative-serving/activator", {
        metadata: { labels: { "app.kubernetes.io/name": "x" } },
      });
      await eventually(async () => {
        const { data } = await stage.spoke.get(ConfigMap, "knative-serving/config-network");
        expect(data?.["ingress-class"]).toBe("kourier.ingress.networking.knative.dev");
        const { metadata } = await stage.spoke.get(Deployment, "knative-serving/activator");
        expect(metadata.labels?.["app.kubernetes.io/name"]).toBe("knative-serving");
      });
    });

    it("leaves an existing namespace as it is", async () => {
      const before = await stage.spoke.get(Namespace, "knative-serving");
      await change({ namespace: { labels: { team: "b" } }, "high-availability": { replicas: 2 } });
      await eventually(async () => {
        const { spec } = await stage.spoke.get(Deployment, "knative-serving/controller");
        expect(spec.replicas).toBe(2);
      });
      const after = await stage.spoke.get(Namespace, "knative-serving");
      expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    });

    it("goes to the next version, and nothing of the former is left", async () => {
      await change({ version: "1.23.0" });
      await eventually(async () => expect((await look()).status?.version).toBe("1.23.0"));
      const { metadata } = await stage.spoke.get(Deployment, "knative-serving/controller");
      expect(metadata.labels?.["app.kubernetes.io/version"]).toBe("1.23.0");
    });

    it("refuses to jump over a version, and says so", async () => {
      await change({ version: "1.20.0" });
      await eventually(async () => {
        const { status } = await look();
        const condition = findCondition(status?.conditions, "VersionMigrationEligible");
        expect(condition).toMatchObject({ status: "False", reason: "Error" });
        expect(condition?.message).toMatch(/across multiple MINOR versions.*; go to 1\.22\.1 first$/);
      });
      await change({ version: "1.23.0" });
      await untilReady(look);
    });

    it("loses what belongs to an ingress that is no longer wished for", async () => {
      await change({ ingress: { kourier: { enabled: false } } });
      await eventually(async () => expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual(OF_SERVING));
      await untilReady(look);
    });

    it("leaves nothing but its namespace and the definitions when it goes", async () => {
      await stage.hub.delete(KnativeServing, "knative-serving/ks");
      await untilGone(look);
      await untilGone(() => stage.spoke.get(ConfigMap, "knative-serving/knativeserving-ks-root-owner"));
      await eventually(async () => {
        expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual([]);
        const roles = await stage.spoke.list(ClusterRole, { labelSelector: "app.kubernetes.io/name=knative-serving" });
        expect(roles.items).toEqual([]);
        const maps = await stage.spoke.list(ConfigMap, { namespace: "knative-serving" });
        expect(maps.items.map(({ metadata }) => metadata.name)).toEqual(["kube-root-ca.crt"]);
      });
      await stage.spoke.get(Namespace, "knative-serving");
    });
  });
}
