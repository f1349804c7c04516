/** What must hold of the webhooks of a hub that an operator keeps, on any API server. */
import { expect, it } from "vitest";
import { MutatingWebhookConfiguration, ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Pod, Secret, Service } from "#api/core";
import {
  type ClusterManager,
  ClusterManagerCondition,
  HUB_NAMESPACE,
  type HubWebhook,
  HubWebhooks,
  OperatorLabel,
  WebhookService,
} from "#api/operator";
import type { Client } from "#kube";
import { eventually } from "../support/eventually.ts";

/** A hub whose ClusterManager is applied. */
export interface WebhookStage {
  readonly name: string;
  client(): Client;
  manager(): Promise<ClusterManager>;
  patch(change: object): Promise<unknown>;
  /** The arguments of a Deployment. */
  args(key: string): Promise<readonly string[]>;
  /** Waits until a condition is so. */
  until(type: string, condition: object): Promise<unknown>;
}

export function hubWebhookCases({ name, client, manager, patch, args, until }: WebhookStage): void {
  const clientConfig = async ({ name, type }: HubWebhook) => {
    const kind = type === "Mutating" ? MutatingWebhookConfiguration : ValidatingWebhookConfiguration;
    const [webhook] = (await client().get<ValidatingWebhookConfiguration>(kind, name)).webhooks ?? [];
    return webhook?.clientConfig;
  };
  const bundle = async () =>
    (await client().get(ConfigMap, `${HUB_NAMESPACE}/ca-bundle-configmap`)).data?.["ca-bundle.crt"] ?? "";
  const probe = () => client().create(ManagedCluster, { metadata: { name: "has.a.dot" } }, { dryRun: true });
  const untilAsked = () => eventually(() => expect(probe()).rejects.toThrow("managedclustervalidators.admission"));

  it("are asked at the address that each program has said, and are trusted by what the operator signs with", async () => {
    for (const webhook of HubWebhooks) {
      await eventually(async () => {
        const { metadata } = await client().get(Service, `${HUB_NAMESPACE}/${WebhookService[webhook.program]}`);
        const url = metadata.annotations?.["webhook.capstan.dev/url"];
        expect(url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
        expect(await clientConfig(webhook)).toEqual({
          url: `${url}${webhook.path}`,
          caBundle: Buffer.from(await bundle()).toString("base64"),
        });
      });
    }
    const related = (await manager()).status?.relatedResources ?? [];
    for (const { name, type } of HubWebhooks) {
      const resource = `${type.toLowerCase()}webhookconfigurations`;
      expect(related).toContainEqual(expect.objectContaining({ resource, name }));
    }
    await untilAsked();
    const secret = await client().get(Secret, `${HUB_NAMESPACE}/registration-webhook-serving-cert`);
    expect(secret.type).toBe("kubernetes.io/tls");
    expect(secret.metadata.labels).toMatchObject({ [OperatorLabel.createdByClusterManager]: name });
  });

  it("are asked again when somebody tells the server otherwise, or takes their certificates away", async () => {
    const [webhook] = HubWebhooks;
    if (!webhook) throw new Error("there is none");
    const before = await clientConfig(webhook);
    const open = { webhooks: [] };
    await client().patch(ValidatingWebhookConfiguration, webhook.name, open, { type: "merge" });
    await eventually(async () => expect(await clientConfig(webhook)).toEqual(before));
    await client().delete(ValidatingWebhookConfiguration, webhook.name);
    await eventually(async () => expect(await clientConfig(webhook)).toEqual(before));

    await client().delete(Secret, `${HUB_NAMESPACE}/signer-secret`);
    await eventually(async () => {
      expect((await bundle()).match(/BEGIN/g)).toHaveLength(2);
      expect((await clientConfig(webhook))?.caBundle).toBe(Buffer.from(await bundle()).toString("base64"));
    });
    const serving = `${HUB_NAMESPACE}/registration-webhook-serving-cert`;
    const { uid } = (await client().get(Secret, serving)).metadata;
    await client().delete(Secret, serving);
    await eventually(async () => expect((await client().get(Secret, serving)).metadata.uid).not.toBe(uid));
    await untilAsked();
  });

  it("that have gone are found again by themselves, at another port", async () => {
    const [webhook] = HubWebhooks;
    if (!webhook) throw new Error("there is none");
    const before = await clientConfig(webhook);
    const labelSelector = `app=${name}-registration-webhook`;
    for (const { metadata } of (await client().list(Pod, { namespace: HUB_NAMESPACE, labelSelector })).items) {
      await client().delete(Pod, `${HUB_NAMESPACE}/${metadata.name}`);
    }
    await eventually(async () => {
      const now = await clientConfig(webhook);
      expect(now?.url).toBeDefined();
      expect(now?.url).not.toBe(before?.url);
    });
    await untilAsked();
    await until(ClusterManagerCondition.HubRegistrationDegraded, { status: "False" });
  });

  it("follow what the ClusterManager says of ports, gates and images", async () => {
    const key = `${HUB_NAMESPACE}/${name}-work-webhook`;
    const bindConfiguration = { port: 10_443, healthProbePort: 8001, metricsPort: 0 };
    await patch({
      spec: {
        deployOption: { default: { workWebhookConfiguration: { bindConfiguration } } },
        workConfiguration: { featureGates: [{ feature: "NilExecutorValidating", mode: "Enable" }] },
      },
    });
    await eventually(async () => {
      expect(await args(key)).toEqual(
        expect.arrayContaining([
          "--webhook-address=:10443",
          "--health-address=:8001",
          "--feature-gates=NilExecutorValidating=true",
        ]),
      );
      const { spec } = await client().get(Service, `${HUB_NAMESPACE}/cluster-manager-work-webhook`);
      expect(spec.ports?.map(({ port, targetPort }) => [port, targetPort])).toEqual([[10_443, 10_443]]);
    });
    expect((await args(key)).join()).not.toContain("--metrics-address");
    await until(ClusterManagerCondition.ValidFeatureGates, { status: "True" });
    await patch({ spec: { deployOption: { default: null }, workConfiguration: null } });
    await eventually(async () => expect(await args(key)).toContain("--webhook-address=:9443"));
    await until(ClusterManagerCondition.Progressing, { status: "False" });
  });
}
