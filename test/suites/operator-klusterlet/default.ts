/** Agents that run on the cluster that they manage, as two programs or as one. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CustomResourceDefinition } from "#api/apiextensions";
import { Deployment } from "#api/apps";
import { ConfigMap, Namespace, Node, Secret, ServiceAccount } from "#api/core";
import { Klusterlet, OPERATOR_NAMESPACE } from "#api/operator";
import { ClusterRole, ClusterRoleBinding, Role } from "#api/rbac";
import { AppliedManifestWork } from "#api/work";
import { isForbidden } from "#kube";
import { eventually } from "../../support/eventually.ts";
import type { StartServer } from "../../support/servers.ts";
import { AGENTS, argsOf, holdRemoval, IMAGE, isGone, OperatorStage } from "./stage.ts";

const REGISTRATION = `${AGENTS}/klusterlet-registration-agent`;
const WORK = `${AGENTS}/klusterlet-work-agent`;
const SINGLETON = `${AGENTS}/klusterlet-agent`;
const ADDONS = "open-cluster-management-agent-addon";

export function defaultCases(start: StartServer): void {
  let stage: OperatorStage;

  beforeAll(async () => {
    stage = await OperatorStage.start(start, "klusterlet");
  }, 180_000);
  afterAll(() => stage?.stop(), 60_000);

  describe("made", () => {
    it("has a namespace, kinds, rights and two Deployments, and says so", async () => {
      await stage.create("klusterlet", { clusterName: "c1", externalServerURLs: [{ url: "https://c1.example" }] });
      await stage.until("klusterlet", "Applied", { status: "True", reason: "KlusterletApplied" });
      const { client } = stage;
      const space = await client.get(Namespace, AGENTS);
      expect(space.metadata.labels).toMatchObject({
        "operator.open-cluster-management.io/klusterlet": "klusterlet",
        "open-cluster-management.io/created-by-klusterlet": "klusterlet",
      });
      expect(space.metadata.annotations).toMatchObject({ "workload.openshift.io/allowed": "management" });
      await client.get(Namespace, ADDONS);
      for (const name of [
        "appliedmanifestworks.work.open-cluster-management.io",
        "clusterclaims.cluster.open-cluster-management.io",
        "clusterproperties.about.k8s.io",
      ]) {
        await client.get(CustomResourceDefinition, name);
      }
      for (const name of ["klusterlet-registration-sa", "klusterlet-work-sa"]) {
        await client.get(ServiceAccount, `${AGENTS}/${name}`);
      }
      for (const name of ["registration:agent", "work:agent", "work:execution", "work:aggregate"]) {
        await client.get(ClusterRole, `open-cluster-management:klusterlet-${name}`);
        await client.get(ClusterRoleBinding, `open-cluster-management:klusterlet-${name}`);
      }
      expect(
        (await client.get(ClusterRoleBinding, "open-cluster-management:klusterlet-work:execution-admin")).roleRef.name,
      ).toBe("admin");
      await client.get(Role, `${AGENTS}/open-cluster-management:management:klusterlet-registration:agent`);
    });

    it("runs the registration agent with what the Klusterlet says", async () => {
      const deployment = await stage.deployment(REGISTRATION);
      const { containers, serviceAccountName, volumes } = deployment.spec.template.spec;
      expect(deployment.spec.replicas).toBe(1);
      expect(deployment.spec.template.metadata?.labels?.app).toBe("klusterlet-registration-agent");
      expect(serviceAccountName).toBe("klusterlet-registration-sa");
      expect(containers[0]).toMatchObject({ name: "registration-controller", image: IMAGE });
      expect(argsOf(deployment).slice(0, 2)).toEqual(["agent", "registration"]);
      expect(argsOf(deployment)).toEqual(
        expect.arrayContaining([
          "--cluster-name=c1",
          "--bootstrap-kubeconfig=/spoke/bootstrap/kubeconfig",
          "--spoke-external-server-urls=https://c1.example",
        ]),
      );
      expect(argsOf(deployment).filter((word) => word.startsWith("--feature-gates"))).toEqual([]);
      expect(volumes).toContainEqual(
        expect.objectContaining({ secret: expect.objectContaining({ secretName: "bootstrap-hub-kubeconfig" }) }),
      );
    });

    it("has no work agent while there is no identity on the hub, and calls that no fault of the agent", async () => {
      await stage.until("klusterlet", "HubConnectionDegraded", {
        status: "True",
        reason: "BootstrapSecretMissing,HubKubeConfigSecretMissing",
      });
      const work = await stage.deployment(WORK);
      expect(work.spec.replicas).toBe(0);
      expect(work.spec.template.spec.containers[0]?.name).toBe("klusterlet-manifestwork-agent");
      await stage.until("klusterlet", "WorkDesiredDegraded", { status: "False", reason: "DeploymentsFunctional" });
      await stage.until("klusterlet", "Available", { status: "False", reason: "NoAvailablePods" });
    });

    it("says that the registration agent works once its Pod does", async () => {
      await stage.client.create(Secret, {
        metadata: { namespace: AGENTS, name: "bootstrap-hub-kubeconfig" },
        stringData: { kubeconfig: "{}" },
      });
      await stage.until("klusterlet", "RegistrationDesiredDegraded", {
        status: "False",
        reason: "DeploymentsFunctional",
      });
      await stage.until("klusterlet", "HubConnectionDegraded", {
        status: "True",
        reason: "BootstrapSecretError,HubKubeConfigSecretMissing",
      });
    });

    it("lists what was made, and the generations of its Deployments", async () => {
      await eventually(async () => {
        const { status } = await stage.client.get(Klusterlet, "klusterlet");
        expect(status?.generations?.map(({ name }) => name).sort()).toEqual([
          "klusterlet-registration-agent",
          "klusterlet-work-agent",
        ]);
        expect(status?.relatedResources).toContainEqual({
          group: "apps",
          version: "v1",
          resource: "deployments",
          namespace: AGENTS,
          name: "klusterlet-registration-agent",
        });
      });
    });

    it("gets quiet, and writes nothing more, however often it is touched", async () => {
      /** Ends when the operator has looked at it since. */
      const touch = async () => {
        const { reconciles } = stage;
        const annotations = { touched: String(reconciles) };
        const { metadata } = await stage.client.patch(Klusterlet, "klusterlet", { metadata: { annotations } });
        await eventually(() => expect(stage.reconciles).toBeGreaterThan(reconciles));
        return metadata.resourceVersion;
      };
      await eventually(async () => {
        await touch(); // whatever was under way before is over when the second is seen
        const written = await touch();
        expect((await stage.client.get(Klusterlet, "klusterlet")).metadata.resourceVersion).toBe(written);
        // Nor does anybody look again by themselves, but for the hub's word now and then.
        const soonest = Math.min(...[...stage.last.values()].map(({ retryIn = Number.POSITIVE_INFINITY }) => retryIn));
        expect(soonest).toBeGreaterThan(1_000);
      });
    });

    it("starts the work agent when there is an identity, and stops it when that is gone", async () => {
      const identity = `${AGENTS}/hub-kubeconfig-secret`;
      const text = (value: string) => Buffer.from(value).toString("base64");
      await stage.client.create(Secret, {
        metadata: { namespace: AGENTS, name: "hub-kubeconfig-secret" },
        data: { kubeconfig: text("clusters: []"), "cluster-name": text("c1") },
      });
      await stage.untilDeployed(WORK, ({ spec }) => expect(spec.replicas).toBe(1));
      await stage.until("klusterlet", "Available", { status: "True", reason: "KlusterletAvailable" });
      const args = argsOf(await stage.deployment(WORK));
      const { uid } = (await stage.client.get(Klusterlet, "klusterlet")).metadata;
      expect(args).toEqual(
        expect.arrayContaining([
          "--cluster-name=c1",
          "--hub-kubeconfig=/spoke/hub-kubeconfig/kubeconfig",
          `--agent-id=${uid}`,
        ]),
      );
      await stage.client.delete(Secret, identity);
      await stage.untilDeployed(WORK, ({ spec }) => expect(spec.replicas).toBe(0));
    });
  });

  describe("kept", () => {
    it("puts back what somebody edits or deletes", async () => {
      await stage.client.patch(
        Deployment,
        REGISTRATION,
        { spec: { template: { spec: { containers: [{ name: "registration-controller", image: "evil:1" }] } } } },
        { type: "strategic" },
      );
      await stage.untilDeployed(REGISTRATION, ({ spec }) =>
        expect(spec.template.spec.containers[0]?.image).toBe(IMAGE),
      );
      const role = "open-cluster-management:klusterlet-work:agent";
      await stage.client.delete(ClusterRole, role);
      await eventually(() => stage.client.get(ClusterRole, role));
      await stage.client.delete(Deployment, REGISTRATION);
      await eventually(() => stage.deployment(REGISTRATION));
    });

    it("follows the Klusterlet: images, placement, priority, host aliases, resources", async () => {
      await stage.patch("klusterlet", {
        registrationImagePullSpec: "mirror.example/capstan:2",
        workImagePullSpec: "quay.io/open-cluster-management/work:v1",
        nodePlacement: { nodeSelector: { role: "agents" }, tolerations: [{ key: "agents", operator: "Exists" }] },
        priorityClassName: "system-cluster-critical",
        hubApiServerHostAlias: { ip: "10.1.2.3", hostname: "hub.example" },
        resourceRequirement: { type: "ResourceRequirement", resourceRequirements: { limits: { memory: "64Mi" } } },
      });
      await stage.untilDeployed(REGISTRATION, ({ spec: { template } }) => {
        expect(template.spec).toMatchObject({
          nodeSelector: { role: "agents" },
          tolerations: [{ key: "agents", operator: "Exists" }],
          priorityClassName: "system-cluster-critical",
          hostAliases: [{ ip: "10.1.2.3", hostnames: ["hub.example"] }],
        });
        expect(template.spec.containers[0]).toMatchObject({
          image: "mirror.example/capstan:2",
          resources: { limits: { memory: "64Mi" } },
        });
      });
      expect((await stage.container(WORK)).image).toBe(IMAGE);
    });

    it("follows the registration configuration: certificates, claims, gates, annotations", async () => {
      await stage.patch("klusterlet", {
        nodePlacement: null,
        externalServerURLs: [{ url: "" }],
        registrationConfiguration: {
          clientCertExpirationSeconds: 7200,
          clusterAnnotations: { "agent.open-cluster-management.io/zone": "a", "other.example/x": "y" },
          clusterClaimConfiguration: { maxCustomClusterClaims: 7, reservedClusterClaimSuffixes: ["reserved.io"] },
          featureGates: [
            { feature: "ClusterProperty", mode: "Disable" },
            { feature: "NoSuchGate", mode: "Enable" },
          ],
        },
      });
      await stage.untilDeployed(REGISTRATION, (deployment) => {
        const args = argsOf(deployment);
        expect(args).toEqual(
          expect.arrayContaining([
            "--client-cert-expiration-seconds=7200",
            "--cluster-annotations=agent.open-cluster-management.io/zone=a",
            "--max-custom-cluster-claims=7",
            "--reserved-cluster-claim-suffixes=reserved.io",
            "--feature-gates=ClusterProperty=false",
          ]),
        );
        expect(args.filter((word) => word.startsWith("--spoke-external-server-urls"))).toEqual([]);
      });
      await stage.until("klusterlet", "ValidFeatureGates", { status: "False", reason: "InvalidFeatureGatesExisting" });
      await stage.patch("klusterlet", { registrationConfiguration: null });
      await stage.until("klusterlet", "ValidFeatureGates", { status: "True", reason: "FeatureGatesAllValid" });
    });

    it("has three of each agent where the control plane has several nodes, of which one works", async () => {
      const masters = ["master-1", "master-2"];
      for (const name of masters) {
        const labels = { "node-role.kubernetes.io/control-plane": "" };
        await stage.client.create(Node, { metadata: { name, labels }, spec: { unschedulable: true } });
      }
      await stage.untilDeployed(REGISTRATION, (deployment) => {
        expect(deployment.spec.replicas).toBe(3);
        expect(argsOf(deployment)).toContain("--leader-elect");
      });
      for (const name of masters) await stage.client.delete(Node, name);
      await stage.untilDeployed(REGISTRATION, ({ spec }) => expect(spec.replicas).toBe(1));
    });

    it("lets the agent grant exactly the access that the annotation names", async () => {
      const agent = await stage.as(`${AGENTS}/klusterlet-registration-sa`);
      const binding = (role: string) => ({
        metadata: { name: `open-cluster-management:cluster-access:${AGENTS}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io" as const, kind: "ClusterRole" as const, name: role },
        subjects: [{ kind: "ServiceAccount" as const, name: "cluster-access", namespace: AGENTS }],
      });
      await expect(agent.create(ClusterRoleBinding, binding("view"))).rejects.toSatisfy(isForbidden);
      await stage.client.patch(
        Klusterlet,
        "klusterlet",
        { metadata: { annotations: { "access.capstan.dev/cluster-role": "view" } } },
        { type: "merge" },
      );
      await stage.untilDeployed(REGISTRATION, (deployment) =>
        expect(argsOf(deployment)).toContain("--grant-access=view"),
      );
      await expect(agent.create(ClusterRoleBinding, binding("cluster-admin"))).rejects.toSatisfy(isForbidden);
      await eventually(() => agent.create(ClusterRoleBinding, binding("view")));
      await expect(agent.list(Secret, { namespace: AGENTS })).rejects.toSatisfy(isForbidden);
      agent.close();
    });

    it("copies the image pull secret to where agents and add-ons run, and takes it away with its source", async () => {
      const name = "open-cluster-management-image-pull-credentials";
      await stage.client.create(Namespace, {
        metadata: { name: "my-addon", labels: { "addon.open-cluster-management.io/namespace": "true" } },
      });
      await stage.client.create(Secret, {
        metadata: { namespace: OPERATOR_NAMESPACE, name },
        type: "kubernetes.io/dockerconfigjson",
        stringData: { ".dockerconfigjson": '{"auths":{}}' },
      });
      for (const namespace of [AGENTS, ADDONS, "my-addon"]) {
        await eventually(async () =>
          expect((await stage.client.get(Secret, `${namespace}/${name}`)).type).toBe("kubernetes.io/dockerconfigjson"),
        );
      }
      await stage.client.delete(Secret, `${OPERATOR_NAMESPACE}/${name}`);
      for (const namespace of [AGENTS, ADDONS, "my-addon"]) {
        await eventually(() => isGone(stage.client.get(Secret, `${namespace}/${name}`)));
      }
    });
  });

  describe("while its agent holds removals", () => {
    it("says of which works, and what lets them go, until they are let go", async () => {
      const klusterlet = await stage.client.get(Klusterlet, "klusterlet");
      expect(klusterlet.status?.conditions?.some(({ type }) => type === "WorkRemovalHeld")).toBe(false);
      const first = await holdRemoval(stage.client, klusterlet, "one");
      const confirm = "work.capstan.dev/removal=confirmed";
      await stage.until("klusterlet", "WorkRemovalHeld", {
        status: "True",
        reason: "RemovalHeld",
        message: expect.stringContaining(`kubectl annotate appliedmanifestworks ${first} ${confirm}`),
      });
      const second = await holdRemoval(stage.client, klusterlet, "two");
      const stranger = await holdRemoval(stage.client, { ...klusterlet, metadata: { name: "x", uid: "x" } }, "other");
      await stage.until("klusterlet", "WorkRemovalHeld", {
        message: expect.stringMatching(
          /ManifestWorks one, two brought.*annotate appliedmanifestworks -l work.capstan.dev\/removal-held /,
        ),
      });
      for (const name of [first, second, stranger]) await stage.client.delete(AppliedManifestWork, name);
      await stage.until("klusterlet", "WorkRemovalHeld", { status: "False", reason: "NoRemovalHeld" });
    });
  });

  describe("in another mode", () => {
    it("becomes one Deployment, and two again", async () => {
      await stage.patch("klusterlet", { deployOption: { mode: "Singleton" }, imagePullSpec: "mirror.example/both:1" });
      await stage.untilDeployed(SINGLETON, (deployment) => {
        const { containers, serviceAccountName } = deployment.spec.template.spec;
        expect(containers[0]).toMatchObject({ name: "klusterlet-agent", image: "mirror.example/both:1" });
        expect(serviceAccountName).toBe("klusterlet-work-sa");
        expect(deployment.spec.template.metadata?.labels?.app).toBe("klusterlet-agent");
        expect(argsOf(deployment)[0]).toBe("agent");
        expect(argsOf(deployment)[1]).not.toBe("registration");
      });
      await eventually(() => isGone(stage.deployment(REGISTRATION)));
      await eventually(() => isGone(stage.deployment(WORK)));
      await stage.until("klusterlet", "WorkDesiredDegraded", { status: "False", reason: "DeploymentsFunctional" });
      await stage.patch("klusterlet", { deployOption: { mode: "Default" } });
      await eventually(() => stage.deployment(WORK));
      await eventually(() => isGone(stage.deployment(SINGLETON)));
    });

    it("refuses what there is not, touches nothing, and says what to choose", async () => {
      await stage.patch("klusterlet", { deployOption: { mode: "SingletonHosted" } });
      await stage.until("klusterlet", "Applied", {
        status: "False",
        reason: "KlusterletApplyFailed",
        message: expect.stringContaining("choose Default, Singleton, Hosted"),
      });
      await stage.deployment(WORK);
      await stage.patch("klusterlet", { deployOption: { mode: "Default" } });
      await stage.until("klusterlet", "Applied", { status: "True" });
    });

    it("refuses a second Klusterlet in the same namespace", async () => {
      await stage.create("another", { clusterName: "c2" });
      await stage.until("another", "Applied", {
        status: "False",
        message: expect.stringContaining("choose another spec.namespace"),
      });
      await stage.client.delete(Klusterlet, "another");
      await stage.untilGone("another");
      await stage.until("klusterlet", "Applied", { status: "True" });
    });
  });

  describe("with another namespace", () => {
    it("moves there, and leaves nothing of its own behind", async () => {
      await stage.patch("klusterlet", { namespace: "open-cluster-management-elsewhere" });
      await eventually(() => stage.deployment("open-cluster-management-elsewhere/klusterlet-registration-agent"));
      await eventually(() => isGone(stage.client.get(Namespace, AGENTS)));
      await stage.patch("klusterlet", { namespace: AGENTS });
      await eventually(() => stage.deployment(REGISTRATION));
      await eventually(() => isGone(stage.client.get(Namespace, "open-cluster-management-elsewhere")));
    });
  });

  describe("deleted", () => {
    it("keeps what it shares with another Klusterlet for that one", async () => {
      await stage.create("second", { clusterName: "c2", namespace: "open-cluster-management-second" });
      await stage.until("second", "Applied", { status: "True" });
      await stage.client.delete(Klusterlet, "second");
      await stage.untilGone("second");
      await isGone(stage.client.get(Namespace, "open-cluster-management-second"));
      await stage.client.get(Namespace, ADDONS);
      await stage.until("klusterlet", "Applied", { status: "True" });
    });

    it("leaves a namespace in which somebody else has something, and lets works go that wait for the agent", async () => {
      const { uid = "" } = (await stage.client.get(Klusterlet, "klusterlet")).metadata;
      const work = (name: string, agentID: string) =>
        stage.client.create(AppliedManifestWork, {
          metadata: { name, finalizers: ["cluster.open-cluster-management.io/applied-manifest-work-cleanup"] },
          spec: { hubHash: "hub", agentID, manifestWorkName: name },
        });
      await work("ours", uid);
      await work("others", "another-agent");
      await stage.client.create(ConfigMap, { metadata: { namespace: ADDONS, name: "precious" } });

      await stage.client.delete(Klusterlet, "klusterlet");
      await stage.untilGone("klusterlet");
      await isGone(stage.client.get(Namespace, AGENTS));
      await stage.client.get(ConfigMap, `${ADDONS}/precious`);
      expect((await stage.client.get(AppliedManifestWork, "ours")).metadata.finalizers ?? []).toEqual([]);
      expect((await stage.client.get(AppliedManifestWork, "others")).metadata.finalizers).toHaveLength(1);
      await stage.client.delete(ConfigMap, `${ADDONS}/precious`);
    });

    it("leaves only the definitions, without its marks", async () => {
      const labelSelector = "open-cluster-management.io/created-by-klusterlet";
      for (const kind of [CustomResourceDefinition, Namespace, ClusterRole, ClusterRoleBinding, Deployment] as const) {
        expect((await stage.client.list(kind as typeof Namespace, { labelSelector })).items).toEqual([]);
      }
      const binding = `open-cluster-management:cluster-access:${AGENTS}`;
      await isGone(stage.client.get(ClusterRoleBinding, binding));
      const definition = await stage.client.get(
        CustomResourceDefinition,
        "appliedmanifestworks.work.open-cluster-management.io",
      );
      expect(definition.metadata.annotations ?? {}).not.toHaveProperty("operator.open-cluster-management.io/version");
    });
  });
}
