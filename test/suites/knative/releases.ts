/** The releases that people install, whole: every ingress, every source, up to the next version and away again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Namespace } from "#api/core";
import { KnativeEventing, KnativeServing } from "#api/knative";
import { ClusterRole, ClusterRoleBinding } from "#api/rbac";
import { eventually } from "../../support/eventually.ts";
import { thirdPartyKinds } from "../../support/third-party-kinds.ts";
import {
  deploymentsIn,
  type KnativeStage,
  missingReleases,
  type Operator,
  REF,
  untilGone,
  untilReady,
} from "./stage.ts";

const OFF = { enabled: false };
const INGRESSES: readonly [name: string, deployments: readonly string[]][] = [
  ["istio", ["net-istio-controller", "net-istio-webhook"]],
  ["contour", ["net-contour-controller"]],
  ["gateway-api", ["net-gateway-api-controller", "net-gateway-api-webhook"]],
  ["kourier", ["3scale-kourier-gateway", "net-kourier-controller"]],
];
const SOURCES = ["ceph", "github", "gitlab", "kafka", "rabbitmq", "redis"];

export function releaseCases(given: () => KnativeStage): void {
  const missing = missingReleases();

  describe.skipIf(missing)(`releases of Knative${missing ? ` (${missing})` : ""}`, () => {
    let stage: KnativeStage;
    let operator: Operator;
    beforeAll(async () => {
      stage = given();
      for (const kind of thirdPartyKinds) await stage.spoke.create(CustomResourceDefinition, kind);
      await stage.spoke.create(Namespace, { metadata: { name: "istio-system" } });
      operator = await stage.start();
    });
    afterAll(() => operator?.stop());

    /** Nothing of the component, but its definitions. */
    const leavesNothing = (component: string) =>
      eventually(async () => {
        const labelSelector = `app.kubernetes.io/name=${component}`;
        for (const kind of [ClusterRole, ClusterRoleBinding]) {
          expect((await stage.spoke.list(kind, { labelSelector })).items).toEqual([]);
        }
        expect(await deploymentsIn(stage.spoke, component)).toEqual([]);
      });

    it("Serving goes through every ingress, and up a version", async () => {
      const look = () => stage.serving("wide");
      const ingress = (name: string) => ({
        ...Object.fromEntries(INGRESSES.map(([other]) => [other, OFF])),
        [name]: { enabled: true },
      });
      await stage.hub.create(KnativeServing, {
        metadata: { name: "wide", namespace: "knative-serving" },
        spec: { version: "1.22", clusterProfileRef: REF, ingress: ingress("istio") },
      });
      for (const [name, deployments] of INGRESSES) {
        await stage.hub.patch(KnativeServing, "knative-serving/wide", { spec: { ingress: ingress(name) } });
        await eventually(async () => {
          const others = INGRESSES.filter(([other]) => other !== name).flatMap(([, theirs]) => theirs);
          const found = await deploymentsIn(stage.spoke, "knative-serving");
          expect(found).toEqual(expect.arrayContaining([...deployments]));
          expect(found.filter((each) => others.includes(each))).toEqual([]);
        });
        await untilReady(look);
      }
      await stage.hub.patch(KnativeServing, "knative-serving/wide", { spec: { version: "1.23" } });
      await eventually(async () => expect((await look()).status?.version).toBe("1.23.0"));
      await stage.hub.delete(KnativeServing, "knative-serving/wide");
      await untilGone(look);
      await leavesNothing("knative-serving");
    });

    it("Eventing goes up a version, and through every source", async () => {
      const look = () => stage.eventing("wide");
      const sources = (name?: string) => Object.fromEntries(SOURCES.map((each) => [each, { enabled: each === name }]));
      const change = (spec: object) => stage.hub.patch(KnativeEventing, "knative-eventing/wide", { spec });
      await stage.hub.create(KnativeEventing, {
        metadata: { name: "wide", namespace: "knative-eventing" },
        spec: { version: "1.22", clusterProfileRef: REF },
      });
      await untilReady(look);
      await change({ version: "1.23.0" });
      await eventually(async () => expect((await look()).status?.version).toBe("1.23.0"));
      for (const name of SOURCES) {
        await change({ source: sources(name) });
        await eventually(async () => {
          const { status, metadata } = await look();
          expect(status?.observedGeneration).toBe(metadata.generation);
          expect(status?.manifests?.at(-1)).toMatch(new RegExp(`eventing-source/1.23/${name}$`));
        });
        await untilReady(look);
      }
      await stage.hub.delete(KnativeEventing, "knative-eventing/wide");
      await untilGone(look);
      await leavesNothing("knative-eventing");
    });
  });
}
