/** What must hold of the operator of a hub on any API server: it runs as its own service account, with what it has. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ValidatingWebhookConfiguration } from "#api/admissionregistration";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ManagedCluster, ManagedClusterSetBinding, managedClusterSetCrd } from "#api/cluster";
import { ConfigMap, Namespace, Node, Secret, Service, ServiceAccount } from "#api/core";
import { ClusterProfile, clusterProfileCrd } from "#api/inventory";
import { KnativeServing } from "#api/knative";
import type { DynamicObject } from "#api/meta";
import {
  ClusterManager,
  ClusterManagerCondition,
  clusterManagerCrd,
  HUB_NAMESPACE,
  OPERATOR_NAMESPACE,
  OperatorAnnotation,
  OperatorFinalizer,
  OperatorLabel,
  OperatorSecret,
} from "#api/operator";
import { ClusterRole, ClusterRoleBinding, RoleBinding } from "#api/rbac";
import { ManifestWork, manifestWorkCrd } from "#api/work";
import { FLEET_NAMESPACE, runHub, runRegistration, untilWorking } from "#app";
import { clusterManagerControllers, clusterManagerInstallation } from "#features/operator/cluster-manager";
import { Bootstrap, bootstrapObjects } from "#features/registration/hub";
import { type Client, connectionOf, createApplyEngine, createClient, isNotFound } from "#kube";
import { systemClock } from "#lib/clock";
import { findCondition } from "#lib/conditions";
import { silentLog } from "#lib/log";
import { connectedCluster, runControllers } from "#runtime";
import { accountToken } from "../support/account-token.ts";
import { auditedSoFar } from "../support/audit.ts";
import { eventually } from "../support/eventually.ts";
import { bootstrapKubeconfig, prepareSpoke } from "../support/prepared.ts";
import type { StartServer, TestServer } from "../support/servers.ts";
import { runningWebhooks } from "../support/webhook-programs.ts";
import { smallReleases } from "./knative/small-release.ts";
import { untilGone, untilReady } from "./knative/stage.ts";
import { hubWebhookCases } from "./operator-webhooks.ts";

const IMAGE = "registry.example/capstan:1.2.3";
const NAME = "cluster-manager";
const REGISTRATION = `${HUB_NAMESPACE}/${NAME}-registration-controller`;
const KNATIVE = `${HUB_NAMESPACE}/${NAME}-knative-controller`;
const AGENT = "open-cluster-management-agent";

export function clusterManagerSuite(start: StartServer): void {
  let server: TestServer;
  let client: Client;
  let asOperator: Client;
  let reconciles = 0;
  const stops: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await start("hub-operator", { nodes: { count: 1, own: { image: IMAGE, run: runningWebhooks() } } });
    ({ client } = server);
    await applied([clusterManagerCrd as unknown as DynamicObject, ...clusterManagerInstallation({ image: IMAGE })]);
    await applied(bootstrapObjects() as DynamicObject[]);
    asOperator = await as(`${OPERATOR_NAMESPACE}/cluster-manager`);
    running((signal) => {
      const cluster = connectedCluster({ name: "hub", client: asOperator, clock: systemClock, log: silentLog });
      const controllers = clusterManagerControllers({
        cluster,
        image: IMAGE,
        removalPatience: 3_000,
        clock: systemClock,
      });
      const observe = () => {
        reconciles++;
      };
      return runControllers({ controllers, clock: systemClock, log: silentLog, observe, signal });
    });
  }, 180_000);
  afterAll(async () => {
    await Promise.all(stops.map((stop) => stop()));
    asOperator?.close();
    await server?.close();
  }, 60_000);

  async function applied(objects: readonly DynamicObject[]): Promise<void> {
    const engine = createApplyEngine({ client, fieldManager: "administrator" });
    const report = await engine.apply({ wishes: objects.map((object) => ({ object })) }, { patience: 30_000 });
    expect(report.objects.filter(({ action }) => action === "refused" || action === "waiting")).toEqual([]);
  }
  async function as(account: string): Promise<Client> {
    const { cert: _, key: __, ...connection } = await connectionOf(server.kubeconfig);
    return createClient({ connection: { ...connection, token: await accountToken(server, account) } });
  }
  function running(begin: (signal: AbortSignal) => Promise<void>): () => Promise<unknown> {
    const stopping = new AbortController();
    const ended = begin(stopping.signal);
    const stop = () => {
      stopping.abort();
      return ended;
    };
    stops.push(stop);
    return stop;
  }
  const create = (name: string, spec: ClusterManager["spec"] = {}) =>
    client.create(ClusterManager, { metadata: { name }, spec });
  const patch = (change: object) => client.patch(ClusterManager, NAME, change, { type: "merge" });
  const manager = () => client.get(ClusterManager, NAME);
  const said = async (type: string, name = NAME) => {
    const { status, metadata } = await client.get(ClusterManager, name);
    expect(status?.observedGeneration).toBe(metadata.generation);
    return findCondition(status?.conditions, type);
  };
  const until = (type: string, condition: object, name = NAME) =>
    eventually(async () => expect(await said(type, name)).toMatchObject(condition));
  const container = async (key: string) => (await client.get(Deployment, key)).spec.template.spec.containers[0];
  const args = async (key: string) => (await container(key))?.args ?? [];
  const isGone = (look: Promise<unknown>) => expect(look).rejects.toSatisfy(isNotFound);

  it("makes all that a hub needs, and says so", async () => {
    await create(NAME);
    await until(ClusterManagerCondition.Applied, { status: "True", reason: "ClusterManagerApplied" });
    await until(ClusterManagerCondition.Progressing, { status: "False", reason: "ClusterManagerUpToDate" });
    await until(ClusterManagerCondition.HubRegistrationDegraded, {
      status: "False",
      reason: "RegistrationFunctional",
    });
    await until(ClusterManagerCondition.ValidFeatureGates, { status: "True", reason: "FeatureGatesAllValid" });

    const { metadata, status } = await manager();
    expect(metadata.finalizers).toEqual([OperatorFinalizer.clusterManager]);
    expect(status?.conditions?.map(({ type }) => type)).not.toContain("HubPlacementDegraded");
    const related = status?.relatedResources ?? [];
    expect(related).toContainEqual({
      group: "apps",
      version: "v1",
      resource: "deployments",
      namespace: HUB_NAMESPACE,
      name: "cluster-manager-registration-controller",
    });
    expect(related.filter(({ resource }) => resource === "customresourcedefinitions").map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "managedclusters.cluster.open-cluster-management.io",
        "managedclustersets.cluster.open-cluster-management.io",
        "managedclustersetbindings.cluster.open-cluster-management.io",
        "manifestworks.work.open-cluster-management.io",
        "clusterprofiles.multicluster.x-k8s.io",
        "knativeservings.operator.knative.dev",
      ]),
    );
    expect(status?.generations?.map(({ name }) => name).sort()).toEqual([
      "cluster-manager-addon-webhook",
      "cluster-manager-knative-controller",
      "cluster-manager-registration-controller",
      "cluster-manager-registration-webhook",
      "cluster-manager-work-webhook",
    ]);
    const label = { [OperatorLabel.createdByClusterManager]: NAME };
    expect((await client.get(Namespace, HUB_NAMESPACE)).metadata.labels).toMatchObject(label);
    const account = await client.get(ServiceAccount, `${HUB_NAMESPACE}/registration-controller-sa`);
    expect(account.metadata.labels).toMatchObject(label);
    const role = "open-cluster-management:cluster-manager-registration:controller";
    expect((await client.get(ClusterRoleBinding, role)).roleRef.name).toBe(role);
    const definition = await client.get(CustomResourceDefinition, managedClusterSetCrd.metadata.name);
    expect(definition.metadata.annotations?.[OperatorAnnotation.version]).toBe("1.3.1+capstan.1.2.3");
    expect((await client.get(ConfigMap, `${HUB_NAMESPACE}/clusterprofile-provider-file`)).data).toEqual({
      "providers.json": '{"providers":[{"name":"token-secretreader","builtin":"token-secretreader"}]}',
    });
  });

  it("runs its own image, without privileges, with one Pod each where one node is", async () => {
    const { spec, metadata } = await client.get(Deployment, REGISTRATION);
    expect(metadata.labels?.app).toBe("clustermanager-registration-controller");
    expect(spec.replicas).toBe(1);
    expect(spec.template.metadata?.labels?.app).toBe("clustermanager-registration-controller");
    expect(spec.template.spec.serviceAccountName).toBe("registration-controller-sa");
    const found = await container(REGISTRATION);
    expect(found).toMatchObject({
      name: "hub-registration-controller",
      image: IMAGE,
      resources: { requests: { cpu: "2m", memory: "16Mi" } },
      securityContext: {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] },
      },
    });
    expect(found?.args).toEqual([
      "hub",
      "--no-webhooks",
      "--leader-elect",
      "--leader-elect-namespace=open-cluster-management-hub",
      "--leader-elect-name=registration-controller",
      "--controllers=*,-knative-serving,-knative-eventing,-knative-leftovers",
      "--metrics-address=:8000",
    ]);
    expect(await args(KNATIVE)).toContain("--controllers=knative-serving,knative-eventing,knative-leftovers");
  });

  it("changes the Pods when images, placement or resources change", async () => {
    const tolerations = [{ key: "infra", operator: "Exists", effect: "NoSchedule" }];
    await patch({
      spec: {
        registrationImagePullSpec: "mirror.example/capstan:1",
        nodePlacement: { nodeSelector: { "kubernetes.io/os": "linux" }, tolerations },
        resourceRequirement: { type: "ResourceRequirement", resourceRequirements: { limits: { memory: "64Mi" } } },
      },
    });
    await eventually(async () => {
      const { spec } = (await client.get(Deployment, REGISTRATION)).spec.template;
      expect(spec.nodeSelector).toEqual({ "kubernetes.io/os": "linux" });
      expect(spec.tolerations).toEqual(tolerations);
      expect(spec.containers[0]).toMatchObject({ image: "mirror.example/capstan:1" });
      expect(spec.containers[0]?.resources).toEqual({ limits: { memory: "64Mi" } });
    });
    const upstream = "quay.io/open-cluster-management/registration:v1.3.1";
    await patch({
      spec: { registrationImagePullSpec: upstream, nodePlacement: null, resourceRequirement: { type: "BestEffort" } },
    });
    await eventually(async () => {
      const { spec } = (await client.get(Deployment, REGISTRATION)).spec.template;
      expect(spec.containers[0]?.image).toBe(IMAGE);
      expect(spec.containers[0]?.resources ?? {}).toEqual({});
      expect(spec.nodeSelector).toBeUndefined();
      expect(spec.tolerations).toBeUndefined();
    });
  });

  it("follows feature gates that change later, and names those that there are not", async () => {
    const gates = (featureGates: unknown) => patch({ spec: { registrationConfiguration: { featureGates } } });
    await gates([
      { feature: "ClusterProfile", mode: "Disable" },
      { feature: "NoSuchGate", mode: "Enable" },
      { feature: "ClusterImporter", mode: "Disable" },
    ]);
    await eventually(async () => expect(await args(REGISTRATION)).toContain("--feature-gates=ClusterProfile=false"));
    await until(ClusterManagerCondition.ValidFeatureGates, {
      status: "False",
      reason: "InvalidFeatureGatesExisting",
      message: expect.stringContaining("NoSuchGate (registrationConfiguration)"),
    });
    const role = () => client.get(ClusterRole, "open-cluster-management:cluster-manager-registration:controller");
    const mayKeepProfiles = async () =>
      (await role()).rules?.some(({ resources }) => resources?.includes("clusterprofiles"));
    expect(await mayKeepProfiles()).toBe(false);
    const { metadata } = await client.get(CustomResourceDefinition, clusterProfileCrd.metadata.name);
    expect(metadata.deletionTimestamp).toBeUndefined();

    await gates(null);
    await eventually(async () => expect((await args(REGISTRATION)).join()).not.toContain("--feature-gates"));
    await until(ClusterManagerCondition.ValidFeatureGates, { status: "True" });
    await eventually(async () => expect(await mayKeepProfiles()).toBe(true));
  });

  it("passes on who need not be accepted by a person, from either field", async () => {
    const featureGates = [{ feature: "ManagedClusterAutoApproval", mode: "Enable" }];
    const autoApproveUsers = ["alice"];
    await patch({ spec: { registrationConfiguration: { featureGates, autoApproveUsers } } });
    await eventually(async () => expect(await args(REGISTRATION)).toContain("--cluster-auto-approval-users=alice"));
    const registrationDrivers = [{ authType: "csr", csr: { autoApprovedIdentities: [Bootstrap.user, "carol"] } }];
    await patch({ spec: { registrationConfiguration: { registrationDrivers } } });
    await eventually(async () => {
      expect(await args(REGISTRATION)).toContain(`--cluster-auto-approval-users=${Bootstrap.user},carol`);
      expect(await args(REGISTRATION)).toContain("--feature-gates=ManagedClusterAutoApproval=true");
    });
    await patch({ spec: { registrationConfiguration: null } });
    await eventually(async () => expect((await args(REGISTRATION)).join()).not.toContain("auto-approval"));
  });

  it("gives further arguments to the program that they concern", async () => {
    const told = (words: unknown) =>
      patch({ metadata: { annotations: { [OperatorAnnotation.hubArguments]: words && JSON.stringify(words) } } });
    await told([
      "--knative-manifests=/releases",
      "--clusterprofile-provider-file=/providers",
      "--controllers=*,-knative-eventing",
    ]);
    await eventually(async () => {
      expect(await args(KNATIVE)).toEqual(
        expect.arrayContaining([
          "--knative-manifests=/releases",
          "--clusterprofile-provider-file=/providers",
          "--controllers=knative-serving,knative-leftovers",
        ]),
      );
      await isGone(client.get(ConfigMap, `${HUB_NAMESPACE}/clusterprofile-provider-file`));
    });
    expect((await args(REGISTRATION)).join()).not.toContain("knative-manifests");
    await told("nonsense");
    await until(ClusterManagerCondition.Applied, {
      status: "False",
      reason: "MalformedHubArguments",
      message: expect.stringContaining("no JSON list of words"),
    });
    await told(null);
    await until(ClusterManagerCondition.Applied, { status: "True" });
  });

  it("undoes at once what others do to its objects", async () => {
    await client.patch(Deployment, REGISTRATION, { spec: { replicas: 5 } }, { type: "merge" });
    await eventually(async () => expect((await client.get(Deployment, REGISTRATION)).spec.replicas).toBe(1));
    await client.patch(
      Deployment,
      REGISTRATION,
      { spec: { template: { spec: { containers: [{ name: "hub-registration-controller", image: "other:1" }] } } } },
      { type: "strategic" },
    );
    await eventually(async () => expect((await container(REGISTRATION))?.image).toBe(IMAGE));
    const account = `${HUB_NAMESPACE}/registration-controller-sa`;
    const { uid } = (await client.get(ServiceAccount, account)).metadata;
    await client.delete(ServiceAccount, account);
    await eventually(async () => expect((await client.get(ServiceAccount, account)).metadata.uid).not.toBe(uid));
    const role = "open-cluster-management:cluster-manager-registration:controller";
    await client.patch(ClusterRole, role, { rules: [] }, { type: "merge" });
    await eventually(async () => expect((await client.get(ClusterRole, role)).rules?.length).toBeGreaterThan(10));
    await client.delete(Deployment, KNATIVE);
    await eventually(() => client.get(Deployment, KNATIVE));
  });

  it("removes what an operator before it has made and it does not, such as a webhook that nobody answers", async () => {
    const labels = { [OperatorLabel.createdByClusterManager]: NAME };
    const service = { name: "cluster-manager-former-webhook", namespace: HUB_NAMESPACE };
    await client.create(Service, { metadata: { ...service, labels }, spec: { ports: [{ port: 9443 }] } });
    await client.create(ValidatingWebhookConfiguration, { metadata: { name: "managedclustervalidators", labels } });
    await client.delete(ServiceAccount, `${HUB_NAMESPACE}/registration-controller-sa`);
    await eventually(() => isGone(client.get(Service, `${service.namespace}/${service.name}`)));
    await eventually(() => isGone(client.get(ValidatingWebhookConfiguration, "managedclustervalidators")));
    await eventually(() => client.get(ServiceAccount, `${HUB_NAMESPACE}/registration-controller-sa`));
  });

  describe("webhooks", () => hubWebhookCases({ name: NAME, client: () => client, manager, patch, args, until }));

  it("copies the pull secret while there is one", async () => {
    const copy = () => client.get(Secret, `${HUB_NAMESPACE}/${OperatorSecret.imagePull}`);
    const data = (text: string) => ({ ".dockerconfigjson": Buffer.from(text).toString("base64") });
    const metadata = { name: OperatorSecret.imagePull, namespace: OPERATOR_NAMESPACE };
    await client.create(Secret, { metadata, type: "kubernetes.io/dockerconfigjson", data: data('{"auths":{}}') });
    await eventually(async () => expect((await copy()).type).toBe("kubernetes.io/dockerconfigjson"));
    const source = `${OPERATOR_NAMESPACE}/${OperatorSecret.imagePull}`;
    await client.patch(Secret, source, { data: data('{"auths":{"a":{}}}') }, { type: "merge" });
    await eventually(async () => expect((await copy()).data).toEqual(data('{"auths":{"a":{}}}')));
    await client.delete(Secret, source);
    await eventually(() => isGone(copy()));
  });

  it("wants three Pods of each program where more than one node carries the control plane", async () => {
    const [node] = (await client.list(Node)).items;
    const role = { "node-role.kubernetes.io/control-plane": "" };
    await client.patch(Node, node?.metadata.name ?? "", { metadata: { labels: role } }, { type: "merge" });
    await client.create(Node, { metadata: { name: "second", labels: role } });
    await eventually(async () => expect((await client.get(Deployment, REGISTRATION)).spec.replicas).toBe(3));
    await client.delete(Node, "second");
    await eventually(async () => expect((await client.get(Deployment, REGISTRATION)).spec.replicas).toBe(1));
  });

  it("leaves a definition alone that a newer operator has written", async () => {
    const name = managedClusterSetCrd.metadata.name;
    const noted = (version: string, shortNames: string[]) =>
      client.patch(
        CustomResourceDefinition,
        name,
        { metadata: { annotations: { [OperatorAnnotation.version]: version } }, spec: { names: { shortNames } } },
        { type: "merge" },
      );
    const short = async () => (await client.get(CustomResourceDefinition, name)).spec.names.shortNames;
    await noted("99.0.0", ["newer"]);
    // Something else is undone after it, so that it must have been looked at.
    await client.patch(Deployment, REGISTRATION, { spec: { replicas: 4 } }, { type: "merge" });
    await eventually(async () => expect((await client.get(Deployment, REGISTRATION)).spec.replicas).toBe(1));
    expect(await short()).toEqual(["newer"]);
    await noted("0.1.0", ["older"]);
    await eventually(async () => expect(await short()).toEqual(["mclset", "mclsets"]));
  });

  it("says what is wrong with Pods that do not come", async () => {
    await patch({ spec: { nodePlacement: { nodeSelector: { nowhere: "yes" } } } });
    await until(ClusterManagerCondition.Progressing, {
      status: "True",
      reason: "ClusterManagerDeploymentRolling",
      message: expect.stringContaining("cluster-manager-registration-controller"),
    });
    await patch({ spec: { nodePlacement: null } });
    await until(ClusterManagerCondition.Progressing, { status: "False" });
    await until(ClusterManagerCondition.HubRegistrationDegraded, { status: "False" });
  });

  it("says that it does not do Hosted, and touches nothing; and that a hub has one ClusterManager", async () => {
    await create("hosted", { deployOption: { mode: "Hosted" } });
    await until(
      ClusterManagerCondition.Applied,
      { status: "False", reason: "UnsupportedDeployOption", message: expect.stringContaining("Hosted") },
      "hosted",
    );
    await create("second");
    await until(
      ClusterManagerCondition.Applied,
      { status: "False", reason: "OtherClusterManager", message: expect.stringContaining(NAME) },
      "second",
    );
    for (const name of ["hosted", "second"]) {
      expect((await client.get(ClusterManager, name)).metadata.finalizers ?? []).toEqual([]);
      await client.delete(ClusterManager, name);
      await eventually(() => isGone(client.get(ClusterManager, name)));
    }
    await client.get(Deployment, REGISTRATION);
  });

  describe("with a cluster", () => {
    let stopHub: () => Promise<unknown>;
    let stopAgent: () => Promise<unknown>;

    it("lets the registration controller do all its work with the rights that it got", async () => {
      await prepareSpoke(client, AGENT);
      const asRegistration = await as(`${HUB_NAMESPACE}/registration-controller-sa`);
      const ended = running((signal) =>
        runHub({
          client: asRegistration,
          autoApproveUsers: [Bootstrap.user],
          lease: { namespace: HUB_NAMESPACE, name: "registration-controller" },
          clock: systemClock,
          log: silentLog,
          signal,
        }),
      );
      stopHub = async () => {
        await ended();
        asRegistration.close();
      };
      const bootstrap = await bootstrapKubeconfig(client, server.authority);
      stopAgent = running((signal) =>
        runRegistration({
          clusterName: "cluster1",
          spoke: client,
          endpoints: [],
          bootstrap,
          namespace: AGENT,
          grantAccess: "view",
          clock: systemClock,
          log: silentLog,
          signal,
        }),
      );
      await client.create(Namespace, { metadata: { name: FLEET_NAMESPACE } });
      await eventually(() =>
        client.patch(
          ManagedCluster,
          "cluster1",
          { spec: { hubAcceptsClient: true, leaseDurationSeconds: 3 } },
          { type: "merge" },
        ),
      );
      await bound(client, FLEET_NAMESPACE);
      await untilWorking(client, "cluster1", new Date(0), AbortSignal.timeout(60_000));
      await eventually(() => client.get(ClusterProfile, `${FLEET_NAMESPACE}/cluster1`));
      await eventually(() => client.get(Secret, "cluster1/capstan-cluster-access"));
    });

    it("lets the Knative controller do all its work with the rights that it got, on the hub itself too", async () => {
      const asKnative = await as(`${HUB_NAMESPACE}/knative-controller-sa`);
      const stop = running((signal) =>
        runHub({
          client: asKnative,
          controllers: ["knative-serving", "knative-eventing", "knative-leftovers"],
          knative: { releases: smallReleases() },
          lease: { namespace: HUB_NAMESPACE, name: "knative-controller" },
          clock: systemClock,
          log: silentLog,
          signal,
        }),
      );
      await client.create(Namespace, { metadata: { name: "knative-serving" } });
      const metadata = { name: "small", namespace: "knative-serving" };
      await client.create(KnativeServing, { metadata, spec: { version: "1.23.0", ingress: {} } });
      const serving = () => client.get(KnativeServing, "knative-serving/small");
      await untilReady(serving);
      await client.delete(KnativeServing, "knative-serving/small");
      await untilGone(serving);
      await stop();
      asKnative.close();
    });

    it("was refused nothing, neither the operator nor the programs", async () => {
      expect(await refused(/:(cluster-manager|(registration|knative)-controller-sa|[a-z]+-webhook-sa)$/)).toEqual([]);
    });

    it("asks for nothing when it looks again and all is as it should be", async () => {
      await eventually(async () => {
        const before = await byOperator();
        const looks = reconciles;
        const touched = { metadata: { labels: { "example.com/seen": String(looks) } } };
        await client.patch(Deployment, REGISTRATION, touched, { type: "merge" });
        await eventually(() => expect(reconciles).toBeGreaterThan(looks));
        expect(await byOperator()).toBe(before);
      });
    });

    it("removes all of it, in order, and says what it waits for", async () => {
      await client.create(ManifestWork, {
        metadata: { name: "held", namespace: "cluster1", finalizers: ["example.com/nobody"] },
        spec: {
          workload: {
            manifests: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "default" } }],
          },
        },
      });
      await client.create(Namespace, {
        metadata: { name: "kept", labels: { "open-cluster-management.io/cluster-name": "kept" } },
      });
      await client.create(ConfigMap, { metadata: { name: "mine", namespace: "kept" } });
      await client.create(Namespace, { metadata: { name: "users" } });
      await client.create(KnativeServing, { metadata: { name: "mine", namespace: "users" } });

      await client.delete(ClusterManager, NAME);
      await eventually(async () =>
        expect(await said(ClusterManagerCondition.Progressing)).toMatchObject({
          status: "True",
          reason: "Removing",
          message: expect.stringContaining("cluster1/held (example.com/nobody)"),
        }),
      );
      // The registration controller has to be there for the clusters.
      await client.get(Deployment, REGISTRATION);
      await eventually(() => isGone(client.get(ManagedCluster, "cluster1")));
      await stopAgent();
      await stopHub();
      await eventually(() => isGone(manager()));

      await isGone(client.get(CustomResourceDefinition, manifestWorkCrd.metadata.name));
      await isGone(client.get(CustomResourceDefinition, managedClusterSetCrd.metadata.name));
      await isGone(client.get(Namespace, HUB_NAMESPACE));
      await isGone(client.get(Namespace, "cluster1"));
      const label = "open-cluster-management.io/cluster-name";
      for (const kind of [ClusterRole, ClusterRoleBinding]) {
        expect((await client.list(kind, { labelSelector: label })).items).toEqual([]);
        expect((await client.list(kind, { labelSelector: OperatorLabel.createdByClusterManager })).items).toEqual([]);
      }
      expect((await client.list(RoleBinding, { labelSelector: label })).items).toEqual([]);
    });

    it("leaves the inventory's definition, and what is of others", async () => {
      const { metadata } = await client.get(CustomResourceDefinition, clusterProfileCrd.metadata.name);
      expect(metadata.annotations?.[OperatorAnnotation.version]).toBeUndefined();
      expect(metadata.labels?.[OperatorLabel.createdByClusterManager]).toBeUndefined();
      expect((await client.list(ClusterProfile)).items).toEqual([]);
      await client.get(ConfigMap, "kept/mine");
      expect((await client.get(Namespace, "kept")).metadata.labels).not.toHaveProperty(
        "open-cluster-management.io/cluster-name",
      );
      await client.get(KnativeServing, "users/mine");
      await isGone(client.get(CustomResourceDefinition, "knativeeventings.operator.knative.dev"));
      await client.get(Namespace, FLEET_NAMESPACE);
    });

    it("makes a hub again where one was", async () => {
      await create(NAME);
      await until(ClusterManagerCondition.Applied, { status: "True" });
      await until(ClusterManagerCondition.Progressing, { status: "False" });
      await client.delete(ClusterManager, NAME);
      await eventually(() => isGone(manager()));
    });

    it("removes a hub whose webhooks seem to run and do not answer, although clusters wait for somebody", async () => {
      await create(NAME);
      await until(ClusterManagerCondition.Applied, { status: "True" });
      await until(ClusterManagerCondition.Progressing, { status: "False" });
      const asked = () => client.create(ManagedCluster, { metadata: { name: "has.a.dot" } }, { dryRun: true });
      await eventually(() => expect(asked()).rejects.toThrow("denied the request"));
      await client.create(ManagedCluster, { metadata: { name: "held", finalizers: ["example.com/nobody"] } });
      await patch({ spec: { registrationImagePullSpec: "mirror.example/other:1" } });
      await eventually(() => expect(asked()).rejects.toThrow("failed calling webhook"));
      await client.delete(ClusterManager, NAME);
      await eventually(() => isGone(manager()));
      expect((await client.list(ValidatingWebhookConfiguration)).items).toEqual([]);
    });

    it("was refused nothing at the end either", async () => {
      expect(await refused(/:cluster-manager$/)).toEqual([]);
    });
  });

  async function refused(users: RegExp): Promise<string[]> {
    const asked = (await auditedSoFar(server)).filter(({ user }) => users.test(user?.username ?? ""));
    expect(asked.length).toBeGreaterThan(100);
    return asked
      .filter(({ responseStatus }) => responseStatus?.code === 403)
      .map(({ user, verb, requestURI }) => `${user?.username} ${verb} ${requestURI}`);
  }
  async function byOperator(): Promise<number> {
    const asked = await auditedSoFar(server);
    return asked.filter(({ user }) => user?.username?.endsWith(`:${OPERATOR_NAMESPACE}:cluster-manager`)).length;
  }
}

async function bound(client: Client, namespace: string): Promise<void> {
  await client.create(ManagedClusterSetBinding, {
    metadata: { name: "default", namespace },
    spec: { clusterSet: "default" },
  });
}
