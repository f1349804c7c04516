/**
 * The rights that the chart gives the hub are enough for all that it does: joined clusters, and Knative on any of them;
 * on any API server.
 */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { SubjectAccessReview } from "#api/authorization";
import { ManagedCluster, ManagedClusterSetBinding } from "#api/cluster";
import { Lease } from "#api/coordination";
import { ConfigMap, Namespace, Pod, Secret } from "#api/core";
import { ClusterProfile } from "#api/inventory";
import { KnativeEventing, KnativeServing } from "#api/knative";
import { ClusterRole, ClusterRoleBinding, RBAC_GROUP } from "#api/rbac";
import { ManifestWork } from "#api/work";
import { DEFAULT_GATES, FLEET_NAMESPACE, runAgent, runHub, untilWorking } from "#app";
import { directorySource } from "#features/knative";
import { Bootstrap } from "#features/registration/hub";
import { type Client, connectionOf, createClient, isForbidden, isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { accountToken } from "../support/account-token.ts";
import { auditedSoFar } from "../support/audit.ts";
import { eventually } from "../support/eventually.ts";
import { SECRETS, SPOKE } from "../support/inventory.ts";
import { bootstrapKubeconfig, prepareSpoke } from "../support/prepared.ts";
import { Relay } from "../support/relay.ts";
import type { StartServer, TestServer } from "../support/servers.ts";
import { thirdPartyKinds } from "../support/third-party-kinds.ts";
import { SMALL, smallReleases } from "./knative/small-release.ts";
import {
  deploymentsIn,
  KnativeStage,
  missingReleases,
  type OperatorOptions,
  REF,
  RELEASES,
  untilGone,
  untilReady,
} from "./knative/stage.ts";

const chart = fileURLToPath(new URL("../../charts/capstan-hub", import.meta.url));
const noReleases = missingReleases();

const AGENT_NAMESPACE = "open-cluster-management-agent";
const INGRESSES = all("istio", "contour", "gateway-api", "kourier");
const SOURCES = all("ceph", "github", "gitlab", "kafka", "rabbitmq", "redis");
const ENCRYPTED = { config: { "config-features": { "transport-encryption": "permissive" } } };
/** The fewest rights with which all but Knative on the hub itself works. */
const WITHOUT_LOCAL = ["--set", "hub.localKnative=false"];
const WITH_LOCAL = ["--set", "hub.localKnative=true"];

export function chartRightsSuite(start: StartServer, helm: string): void {
  const namespace = "knative-operator";
  const account = `${namespace}/capstan-hub`;
  let stage: KnativeStage;
  let asHub: Client;
  const stops: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    stage = await KnativeStage.open(start);
    const { hub } = stage.inventory;
    await helmed("install", "--create-namespace", ...WITHOUT_LOCAL);
    asHub = await clientOf(hub, account);

    await stage.hub.create(Namespace, { metadata: { name: FLEET_NAMESPACE } });
    await stage.hub.create(ManagedClusterSetBinding, {
      metadata: { name: "default", namespace: FLEET_NAMESPACE },
      spec: { clusterSet: "default" },
    });
    await prepareSpoke(stage.spoke, AGENT_NAMESPACE);
    running((signal) =>
      runHub({
        client: asHub,
        clock: systemClock,
        log: silentLog,
        signal,
        autoApproveUsers: [Bootstrap.user],
        gates: { ...DEFAULT_GATES, CleanUpCompletedManifestWork: true },
        lease: { namespace, name: "capstan-hub" },
      }),
    );
    const { url, authority } = stage.inventory.spoke;
    const bootstrap = await bootstrapKubeconfig(stage.hub, hub.authority);
    running((signal) =>
      runAgent({
        clusterName: "cluster1",
        spoke: stage.spoke,
        endpoints: [{ url, caBundle: Buffer.from(authority).toString("base64") }],
        bootstrap,
        namespace: AGENT_NAMESPACE,
        grantAccess: "cluster-admin",
        clock: systemClock,
        log: silentLog,
        signal,
      }),
    );
  });
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
    asHub?.close();
    await stage?.close();
  });

  async function helmed(verb: "install" | "upgrade", ...more: string[]): Promise<void> {
    const { run, hubKubeconfig } = stage.inventory;
    const args = [verb, "capstan", chart, "-n", namespace, ...more];
    const { code, stderr } = await run(helm, args, { KUBECONFIG: hubKubeconfig });
    expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  }
  function running(start: (signal: AbortSignal) => Promise<void>): void {
    const stopping = new AbortController();
    const ended = start(stopping.signal);
    stops.push(() => {
      stopping.abort();
      return ended;
    });
  }
  /** Runs the Knative operator meanwhile, as the hub. */
  async function operating(options: OperatorOptions, work: () => Promise<void>): Promise<void> {
    const operator = await stage.start({ as: account, releases: smallReleases(), ...options });
    try {
      await work();
    } finally {
      await operator.stop();
    }
  }
  const wish = (name: string, spec: object) =>
    stage.hub.create(KnativeServing, { metadata: { name, namespace: "knative-serving" }, spec });
  const small = (name: string, spec: object = {}) => wish(name, { version: "1.23.0", ingress: {}, ...spec });
  const remove = async (name: string) => {
    await stage.hub.delete(KnativeServing, `knative-serving/${name}`);
    await untilGone(() => stage.serving(name));
  };

  it("lets a cluster join, and shows the way to it in the inventory", async () => {
    const before = new Date();
    await eventually(() => stage.hub.patch(ManagedCluster, "cluster1", { spec: { hubAcceptsClient: true } }));
    await untilWorking(stage.hub, "cluster1", before, AbortSignal.timeout(60_000));
    await eventually(async () => {
      const { status } = await stage.hub.get(ClusterProfile, `${FLEET_NAMESPACE}/cluster1`);
      expect(status?.accessProviders).toHaveLength(1);
      expect(findCondition(status?.conditions, "ControlPlaneHealthy")).toMatchObject({ status: "True" });
    });
    await eventually(async () => {
      const { spec } = await stage.hub.get(Lease, `${namespace}/capstan-hub`);
      expect(spec?.holderIdentity).toBeTruthy();
    });
  });

  it("removes a work that is finished when its time is over, and no other", async () => {
    const manifests = [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } }];
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const complete = { type: "Complete", status: "True", reason: "R", message: "", lastTransitionTime };
    for (const name of ["finished", "unfinished"]) {
      const metadata = { name, namespace: "cluster1" };
      const spec = { workload: { manifests }, deleteOption: { ttlSecondsAfterFinished: 0 } };
      await stage.hub.create(ManifestWork, { metadata, spec });
    }
    const status = { conditions: [complete] };
    await stage.hub.patch(ManifestWork, "cluster1/finished", { status }, { subresource: "status" });
    await untilGone(() => stage.hub.get(ManifestWork, "cluster1/finished"));
    expect((await stage.hub.get(ManifestWork, "cluster1/unfinished")).metadata.deletionTimestamp).toBeUndefined();
    await stage.hub.delete(ManifestWork, "cluster1/unfinished");
    await untilGone(() => stage.hub.get(ManifestWork, "cluster1/unfinished"));
  });

  it("installs Knative on it and takes it away again", () =>
    operating({}, async () => {
      await small("spoke", { clusterProfileRef: { namespace: FLEET_NAMESPACE, name: "cluster1" } });
      await untilReady(() => stage.serving("spoke"));
      expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual(SMALL);
      await remove("spoke");
      await eventually(async () => expect(await deploymentsIn(stage.spoke, "knative-serving")).toEqual([]));
    }));

  it("notes what it had to leave behind on a lost cluster, and removes it when the cluster returns", async () => {
    const relay = await Relay.to(stage.inventory.spoke.url);
    await stage.offer(relay.url);
    const notes = async () =>
      (await stage.hub.list(ConfigMap, { labelSelector: "operator.capstan.dev/leftover" })).items.map(
        ({ metadata }) => metadata.namespace,
      );
    await operating({ removalPatience: 1_000 }, async () => {
      await small("lost", { clusterProfileRef: REF });
      await untilReady(() => stage.serving("lost"));
      await relay.cut();
      await remove("lost");
      expect(await notes()).toEqual([namespace]);
      await stage.offer();
      await eventually(async () => expect(await notes()).toEqual([]));
    });
    await relay.cut();
  });

  it("installs Knative on the hub itself and takes it away again", async () => {
    await helmed("upgrade", ...WITH_LOCAL);
    await operating({}, async () => {
      await small("here");
      await untilReady(() => stage.serving("here"));
      expect(await deploymentsIn(stage.hub, "knative-serving")).toEqual(SMALL);
      await remove("here");
      await eventually(async () => expect(await deploymentsIn(stage.hub, "knative-serving")).toEqual([]));
    });
  });

  it.skipIf(noReleases)(
    `installs what Knative publishes on the hub itself${noReleases ? ` (${noReleases})` : ""}`,
    () =>
      operating({ releases: directorySource(RELEASES) }, async () => {
        for (const kind of thirdPartyKinds) await stage.hub.create(CustomResourceDefinition, kind);
        await stage.hub.create(Namespace, { metadata: { name: "istio-system" } });
        await wish("published", { version: "1.23.0", ingress: INGRESSES, security: all("securityGuard") });
        await stage.hub.create(KnativeEventing, {
          metadata: { name: "published", namespace: "knative-eventing" },
          spec: { version: "1.23.0", source: SOURCES, ...ENCRYPTED },
        });
        await untilReady(() => stage.serving("published"));
        await untilReady(() => stage.eventing("published"));
        await stage.hub.delete(KnativeEventing, "knative-eventing/published");
        await remove("published");
        await untilGone(() => stage.eventing("published"));
        const labelSelector = "app.kubernetes.io/name in (knative-serving,knative-eventing)";
        expect((await stage.hub.list(ClusterRole, { labelSelector })).items).toEqual([]);
      }),
  );

  it("puts a cluster out again, with all that it was given", async () => {
    await stage.hub.patch(ManagedCluster, "cluster1", { spec: { hubAcceptsClient: false } });
    await eventually(async () => {
      await expect(stage.hub.get(Secret, "cluster1/capstan-cluster-access")).rejects.toSatisfy(isNotFound);
      const { status } = await stage.hub.get(ClusterProfile, `${FLEET_NAMESPACE}/cluster1`);
      expect(status?.accessProviders ?? []).toEqual([]);
    });
    await stage.hub.delete(ManagedCluster, "cluster1");
    const role = "open-cluster-management:managedcluster:cluster1";
    await untilGone(() => stage.hub.get(ClusterRole, role));
    await untilGone(() => stage.hub.get(ClusterProfile, `${FLEET_NAMESPACE}/cluster1`));
  });

  it("was refused nothing in all that, nor is it when it asks whether an agent may renew its certificate", async () => {
    const resourceAttributes = { verb: "list", resource: "pods" };
    await asHub.create(SubjectAccessReview, { metadata: {}, spec: { user: "agent", resourceAttributes } });
    const asked = (await auditedSoFar(stage.inventory.hub)).filter(({ user }) =>
      user?.username?.endsWith(":capstan-hub"),
    );
    expect(asked.length).toBeGreaterThan(100);
    const refused = asked.filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(refused.map(({ verb, requestURI }) => `${verb} ${requestURI.split("?")[0]}`)).toEqual([]);
  });

  it("could not have done what it need not: see Pods, change Secrets of others, or hand out more than it has", async () => {
    await helmed("upgrade", ...WITHOUT_LOCAL);
    const pods = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
    const admin = { apiGroup: RBAC_GROUP, kind: "ClusterRole", name: "cluster-admin" } as const;
    const subjects = [{ kind: "ServiceAccount" as const, name: "capstan-hub", namespace }];
    const attempts = [
      () => asHub.list(Pod),
      () => asHub.patch(Secret, `${SECRETS}/${SPOKE}`, { metadata: { labels: { by: "hub" } } }),
      () => asHub.create(ClusterRole, { metadata: { name: "more" }, rules: pods }),
      () => asHub.create(ClusterRoleBinding, { metadata: { name: "more" }, roleRef: admin, subjects }),
      () => asHub.patch(ConfigMap, "default/kube-root-ca.crt", { metadata: { labels: { by: "hub" } } }),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toSatisfy(isForbidden);
  });
}

function all<Name extends string>(...names: Name[]): Record<Name, { enabled: true }> {
  return Object.fromEntries(names.map((name) => [name, { enabled: true }])) as Record<Name, { enabled: true }>;
}

async function clientOf(server: TestServer, account: string): Promise<Client> {
  const { cert: _, key: __, ...connection } = await connectionOf(server.kubeconfig);
  return createClient({ connection: { ...connection, token: await accountToken(server, account) } });
}
