/** Webhooks of an embedded cluster that are named by their Service: Pods that really run are called, others are simulated. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openCluster } from "#apiserver";
import { kubeconfigFor } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { eventually } from "../support/eventually.ts";
import { type RawClient, type Reply, rawClient } from "../support/raw.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import { allowed, denied, startWebhookServer, type WebhookServer } from "../support/webhook-server.ts";

const SPACE = "hooks";
const CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const at = (plural: string, name?: string) => `/api/v1/namespaces/${SPACE}/${plural}${name ? `/${name}` : ""}`;
const configuration = (caBundle: string, more: object = {}) => ({
  metadata: { name: "hook" },
  webhooks: [
    {
      name: "hook.example.com",
      clientConfig: { service: { name: "hook", namespace: SPACE, path: "/check" }, caBundle },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
      ...more,
    },
  ],
});

async function withNamespace(admin: RawClient): Promise<void> {
  await admin.post("/api/v1/namespaces", { metadata: { name: SPACE } });
  await eventually(async () => expect((await admin.get(at("serviceaccounts", "default"))).code).toBe(200));
}

describe("webhooks behind Services", () => {
  let server: TestServer;
  let admin: RawClient;
  let webhook: WebhookServer;
  beforeAll(async () => {
    webhook = await startWebhookServer({ dnsNames: [`hook.${SPACE}.svc`] });
    server = await startEmbedded("webhooks");
    admin = await rawClient({ kubeconfig: server.kubeconfig });
    await withNamespace(admin);
    await admin.post(at("services"), {
      metadata: { name: "hook" },
      spec: { selector: { app: "hook" }, ports: [{ port: 443, targetPort: webhook.port }] },
    });
    await admin.post(at("pods"), {
      metadata: { name: "hook", labels: { app: "hook" } },
      spec: { nodeName: "node", containers: [{ name: "c", image: "hook" }] },
    });
    await admin.post(CONFIGURATIONS, configuration(webhook.caBundle));
  });
  afterAll(async () => {
    admin.close();
    await server.close();
    await webhook.close();
  });

  let count = 0;
  const post = (): Promise<Reply> => admin.post(at("configmaps"), { metadata: { name: `cm-${++count}` } });
  const runsAt = (podIP: string, status = "True") =>
    admin.patch(`${at("pods", "hook")}/status`, {
      status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions: [{ type: "Ready", status }] },
    });
  const simulates = (wish: string | null) =>
    admin.patch(at("services", "hook"), { metadata: { annotations: { "simulate.capstan.dev/webhook": wish } } });
  const remarks = async (): Promise<string[]> => {
    const lines = (await readFile(server.auditLog, "utf8")).trim().split("\n");
    const annotations = lines.map((line) => (JSON.parse(line) as { annotations?: Record<string, string> }).annotations);
    return annotations.flatMap((each) => each?.["hook.example.com/simulated"] ?? []);
  };

  beforeEach(() => webhook.answer((review) => allowed(review)));

  it("call a Pod that really runs, by the name of its Service", async () => {
    await runsAt("127.0.0.1");
    webhook.answer((review) => denied(review, { message: "heard" }));
    expect((await post()).body.message).toBe('admission webhook "hook.example.com" denied the request: heard');
    expect(webhook.calls).toMatchObject([{ path: "/check", query: "timeout=10s" }]);
  });

  it("fail while no Pod is ready", async () => {
    await runsAt("127.0.0.1", "False");
    const { code, body } = await post();
    expect(code).toBe(500);
    expect(body.message).toContain(
      `Post "https://hook.${SPACE}.svc:443/check?timeout=10s": no endpoints available for service "hook"`,
    );
  });

  it("allow while all Pods are simulated, and the audit log tells", async () => {
    await runsAt("10.1.2.3");
    expect((await post()).code).toBe(201);
    expect(webhook.calls).toEqual([]);
    await eventually(async () =>
      expect(await remarks()).toContain(`allowed, because all Pods behind Service ${SPACE}/hook are simulated`),
    );
  });

  it("deny or are absent when their Service says so", async () => {
    await runsAt("10.1.2.3");
    await simulates("deny");
    expect((await post()).body.message).toContain('admission webhook "hook.example.com" denied the request');
    await simulates("absent");
    expect((await post()).body.message).toContain('no endpoints available for service "hook"');
    await simulates("allow");
    expect((await post()).code).toBe(201);
    await simulates(null);
  });

  it("may write to the server while they are asked", async () => {
    await runsAt("127.0.0.1");
    webhook.answer(async (review) => {
      const { name = "" } = review.request;
      if (!name.startsWith("copy-")) await admin.post(at("configmaps"), { metadata: { name: `copy-${name}` } });
      return allowed(review);
    });
    const { body } = await post();
    expect((await admin.get(at("configmaps", `copy-${body.metadata.name}`))).code).toBe(200);
  });

  it("convert nothing while all Pods are simulated, and the audit log tells", async () => {
    await runsAt("10.1.2.3");
    const group = "unconverted.example.com";
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const things = (version: string, name?: string) => `/apis/${group}/${version}/things${name ? `/${name}` : ""}`;
    await admin.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: `things.${group}` },
      spec: {
        group,
        scope: "Cluster",
        names: { plural: "things", kind: "Thing" },
        versions: [
          { name: "v1", served: true, storage: true, schema },
          { name: "v2", served: true, storage: false, schema },
        ],
        conversion: {
          strategy: "Webhook",
          webhook: {
            clientConfig: { service: { name: "hook", namespace: SPACE } },
            conversionReviewVersions: ["v1"],
          },
        },
      },
    });
    const thing = { apiVersion: `${group}/v1`, kind: "Thing", metadata: { name: "x" }, spec: { a: 1 } };
    await admin.post(things("v1"), thing);
    expect((await admin.get(things("v2", "x"))).body).toMatchObject({ apiVersion: `${group}/v2`, spec: { a: 1 } });
    await eventually(async () =>
      expect(await readFile(server.auditLog, "utf8")).toContain(
        `"simulate.capstan.dev/conversion":"all Pods behind Service ${SPACE}/hook are simulated"`,
      ),
    );
  });
});

describe("a cluster whose webhooks are gone", () => {
  it("starts all the same, and can be mended", async () => {
    const dir = await mkdtemp(join(tmpdir(), "capstan-gone-"));
    const open = () =>
      openCluster({
        name: "gone",
        dir,
        durability: "os",
        ports: [0],
        signingDurationMs: 3_600_000,
        version: "0.0.0-test",
        clock: systemClock,
        log: silentLog,
      });
    const client = ({ url, authority, administrator }: Awaited<ReturnType<typeof open>>) =>
      rawClient({
        kubeconfig: kubeconfigFor({
          name: "gone",
          server: url,
          ca: authority,
          cert: administrator.certificate,
          key: administrator.key,
        }),
      });
    const first = await open();
    const before = await client(first);
    await withNamespace(before);
    const everything = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
    await before.post(CONFIGURATIONS, configuration("", { rules: everything }));
    before.close();
    await first.close();

    const second = await open();
    const after = await client(second);
    const refused = await after.post(at("configmaps"), { metadata: { name: "x" } });
    expect(refused.body.message).toContain('service "hook" not found');
    expect((await after.delete(`${CONFIGURATIONS}/hook`)).code).toBe(200);
    expect((await after.post(at("configmaps"), { metadata: { name: "x" } })).code).toBe(201);
    after.close();
    await second.close();
    await rm(dir, { recursive: true, force: true });
  });
});
