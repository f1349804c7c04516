/** Upstream's work agent and ours side by side, on hubs of ours and on upstream's; and each in the place of the other. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { ManagedCluster } from "#api/cluster";
import { ConfigMap, Pod } from "#api/core";
import { HubWebhooks, WebhookPath } from "#api/operator";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/rbac";
import { AppliedManifestWork, ManifestWork } from "#api/work";
import { DEFAULT_GATES, runHub } from "#app";
import { clientConfigAt, webhookConfiguration } from "#features/operator/kit";
import { isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { silentLog } from "#lib/log";
import { missingControlPlane, startControlPlane } from "../kube/control-plane.ts";
import { refusalOf, workAdmissionCases } from "../suites/admission.ts";
import { configMap, manifestOf } from "../suites/work/stage.ts";
import { build, run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startEmbedded, type TestServer } from "../support/servers.ts";
import {
  startStockHub,
  startStockWorkManager,
  startStockWorkWebhook,
  stockRegistration,
  stockWork,
} from "./stock-ocm.ts";
import { kubectl, missingOf } from "./strangers.ts";
import { comparisonCases } from "./work-comparison.ts";
import { exchangeCases } from "./work-exchange.ts";
import { type FleetCluster, type HubKind, type Running, WorkFleet } from "./work-fleet.ts";
import { servedCases } from "./work-served.ts";

const missing = missingOf({ paths: [stockWork, kubectl()] });
const missingHub = missingOf({ paths: [stockWork, stockRegistration, kubectl()] }) ?? missingControlPlane();
const because = (why: string | undefined) => (why ? ` (${why})` : "");

describe.skipIf(missing)(`our hub on an embedded API server${because(missing)}`, () =>
  mixedFleet({ start: () => startEmbedded("hub"), run: ourHub }),
);

describe.skipIf(missingHub)(`our hub on kube-apiserver${because(missingHub)}`, () =>
  mixedFleet({ start: () => startControlPlane("hub"), run: ourHub }),
);

describe.skipIf(missingHub)(`upstream's hub on kube-apiserver${because(missingHub)}`, () =>
  mixedFleet({ start: () => startControlPlane("hub"), run: stockHub }),
);

const GATES = { ...DEFAULT_GATES, CleanUpCompletedManifestWork: true };

async function ourHub({ client }: TestServer): Promise<Running[]> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const ended = runHub({ client, webhooks: {}, gates: GATES, clock: systemClock, log: silentLog, signal });
  const stop = () => {
    stopping.abort();
    return ended;
  };
  return [{ stop }];
}

async function stockHub({ kubeconfig: hub, client }: TestServer, dir: string): Promise<Running[]> {
  const registration = await startStockHub({ hub, dir });
  const flags = ["--feature-gates=CleanUpCompletedManifestWork=true"];
  const manager = await startStockWorkManager({ hub, dir, flags });
  const webhook = await startStockWorkWebhook({ hub, dir });
  const asked = HubWebhooks.find(({ path }) => path === WebhookPath.validateWork);
  if (!asked) throw new Error("nobody is asked about works");
  const configuration = webhookConfiguration(asked, clientConfigAt(webhook.url, asked, webhook.authority));
  await client.create(ValidatingWebhookConfiguration, configuration as unknown as ValidatingWebhookConfiguration);
  return [registration, manager, webhook];
}

const CLUSTERS = { cluster1: "upstream's", cluster11: "our" } as const;
const NAMED = Object.entries(CLUSTERS).map(([name, maker]) => [maker, name] as const);

function mixedFleet(kind: HubKind): void {
  let fleet: WorkFleet;
  const cluster = (name: string): FleetCluster => fleet.cluster(name);

  beforeAll(async () => {
    build();
    fleet = await WorkFleet.open(kind, CLUSTERS);
    const work = { metadata: { name: "probe", namespace: "default" }, spec: { workload: { manifests: [] } } };
    await eventually(async () =>
      expect(await refusalOf(fleet.hub.client.create(ManifestWork, work, { dryRun: true }))).toMatchObject({
        code: 400,
      }),
    );
  }, 180_000);
  afterAll(() => fleet?.close(), 60_000);

  describe("before a work is written", () =>
    workAdmissionCases(() => fleet.hub, { asksAtEveryChange: kind.run === ourHub }));

  describe.each(NAMED)("%s agent", (_, name) => {
    it("runs the pod of a work that was applied with kubectl, and says so", async () => {
      const file = fleet.file(`${name}-mw-01.yaml`);
      await writeFile(file, podWork(name));
      await typed(["apply", "-f", file]);
      await eventually(async () => {
        const { status } = await cluster(name).spoke.client.get(Pod, "default/hello");
        expect(status?.phase).toBe("Running");
      });
      await eventually(async () =>
        expect(manifestOf(await cluster(name).read("mw-01")).statusFeedback?.values).toEqual(
          expect.arrayContaining([{ name: "PodPhase", fieldValue: { type: "String", string: "Running" } }]),
        ),
      );
      const seen = await typed(["get", "manifestworks", "-n", name, "-o", "jsonpath={..conditions[*].reason}"]);
      expect(seen).toContain("AppliedManifestWorkComplete");
      await typed(["delete", "-f", file, "--wait", "--timeout=60s"]);
      expect(await cluster(name).exists(Pod, "default/hello")).toBe(false);
    });

    it("serves a work that capstan makes, and capstan tells how it fares", async () => {
      const namespace = await cluster(name).namespace("given");
      const file = fleet.file(`${name}-given.json`);
      await writeFile(file, JSON.stringify(configMap(namespace, "a")));
      const made = await capstan("create", "work", "given", "-f", file, "--clusters", name);
      expect(made.code, made.stderr).toBe(0);
      await cluster(name).untilReported("given", { applied: "True", available: "True" });
      expect(await cluster(name).dataOf(`${namespace}/a`)).toEqual({ k: "v" });
      const good = await capstan("why", "work", "given", "-c", name);
      expect([good.code, good.stdout + good.stderr]).toEqual([0, expect.stringContaining("in place")]);

      await writeFile(file, JSON.stringify({ ...configMap("nowhere", "a") }));
      const changed = await capstan("create", "work", "given", "-f", file, "--clusters", name, "--overwrite");
      expect(changed.code, changed.stderr).toBe(0);
      await cluster(name).untilReported("given", { applied: "False" });
      const bad = await capstan("why", "work", "given", "-c", name);
      expect(bad.stdout + bad.stderr).toMatch(
        /1 of its 1 manifests are not in place[\s\S]*ConfigMap nowhere\/a: .*namespace/,
      );
      const listed = await capstan("get", "works", "-c", name, "-o", "json");
      expect(listed.stdout).toContain("given");
      const gone = await capstan("delete", "work", "given", "--clusters", name);
      expect(gone.code, gone.stderr).toBe(0);
      await cluster(name).untilGone("given");
    });

    servedCases(() => cluster(name));
  });

  describe("both agents", () =>
    comparisonCases({ theirs: () => cluster("cluster1"), ours: () => cluster("cluster11") }));

  describe("an agent in the place of another", () =>
    exchangeCases({ theirs: () => cluster("cluster1"), ours: () => cluster("cluster11") }));

  describe.each(NAMED)("a cluster that is let go, with %s agent", (_, name) => {
    it("leaves nothing behind, neither on the hub nor on the spoke", async () => {
      const namespace = await cluster(name).namespace("left");
      for (const work of ["left-1", "left-2"]) {
        await cluster(name).work(work, [configMap(namespace, work)]);
        await cluster(name).untilReported(work, { applied: "True" });
      }
      const { client: hub } = fleet.hub;
      await hub.delete(ManagedCluster, name);
      await eventually(() => expect(hub.get(ManagedCluster, name)).rejects.toSatisfy(isNotFound));
      expect((await hub.list(ManifestWork, { namespace: name })).items).toEqual([]);
      const { client: spoke } = cluster(name).spoke;
      expect((await spoke.list(AppliedManifestWork)).items).toEqual([]);
      for (const work of ["left-1", "left-2"])
        expect(await cluster(name).exists(ConfigMap, `${namespace}/${work}`)).toBe(false);
      const role = `open-cluster-management:managedcluster:${name}`;
      await eventually(async () => {
        await expect(hub.get(ClusterRole, role)).rejects.toSatisfy(isNotFound);
        await expect(hub.get(ClusterRoleBinding, role)).rejects.toSatisfy(isNotFound);
        expect((await hub.list(RoleBinding, { namespace: name })).items).toEqual([]);
      });
    });
  });

  const capstan = (...words: string[]) => run(...words, "--kubeconfig", fleet.file("hub.kubeconfig"));
  const typed = (words: readonly string[]) =>
    new Promise<string>((resolve, reject) => {
      const env = { PATH: process.env.PATH, HOME: fleet.dir, KUBECONFIG: fleet.file("hub.kubeconfig") };
      execFile(kubectl() ?? "", words, { env }, (error, stdout, stderr) =>
        error ? reject(new Error(`kubectl ${words.join(" ")}: ${stderr}`)) : resolve(stdout),
      );
    });
}

const podWork = (namespace: string) => `
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata:
  name: mw-01
  namespace: ${namespace}
spec:
  workload:
    manifests:
      - apiVersion: v1
        kind: Pod
        metadata:
          name: hello
          namespace: default
        spec:
          containers:
            - name: hello
              image: busybox
              command: ["sh", "-c", "echo 'Hello, Kubernetes!' && sleep 3600"]
          restartPolicy: OnFailure
  manifestConfigs:
    - resourceIdentifier: { group: "", resource: pods, namespace: default, name: hello }
      feedbackRules: [{ type: WellKnownStatus }]
`;
