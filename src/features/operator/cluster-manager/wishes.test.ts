import { describe, expect, it } from "vitest";
import type { DynamicObject } from "#api/meta";
import type { ClusterManager } from "#api/operator";
import { type WishOptions, wishesOf } from "./wishes.ts";

const OPTIONS: WishOptions = {
  gates: { ClusterProfile: true },
  workGates: {},
  reached: undefined,
  arguments: { registration: [], knative: [], controllers: ["*"] },
  image: "capstan:1",
  replicas: 1,
  version: "1.3.1+capstan.1",
  newer: new Set(),
  pullSecret: undefined,
  syncLabels: false,
};
const LABELS = { app: "x", team: "a", "open-cluster-management.io/y": "z" };

function wishes(options: Partial<WishOptions> = {}, spec: ClusterManager["spec"] = {}): DynamicObject[] {
  const metadata = { name: "cm", labels: LABELS };
  return wishesOf({ apiVersion: "v1", kind: "ClusterManager", metadata, spec }, { ...OPTIONS, ...options });
}
const named = (objects: readonly DynamicObject[]) => objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

describe("what a ClusterManager has on its hub", () => {
  it("is all in upstream's names", () => {
    const all = named(wishes());
    expect(all.filter((name) => !name.startsWith("CustomResourceDefinition"))).toEqual([
      "Namespace open-cluster-management-hub",
      "ServiceAccount registration-controller-sa",
      "ClusterRole open-cluster-management:cm-registration:controller",
      "ClusterRoleBinding open-cluster-management:cm-registration:controller",
      "Deployment cm-registration-controller",
      "ServiceAccount knative-controller-sa",
      "ClusterRole open-cluster-management:cm-knative:controller",
      "ClusterRoleBinding open-cluster-management:cm-knative:controller",
      "ConfigMap clusterprofile-provider-file",
      "Deployment cm-knative-controller",
      "Role open-cluster-management:leader-election",
      "RoleBinding open-cluster-management:leader-election",
      "ServiceAccount registration-webhook-sa",
      "ClusterRole open-cluster-management:cm-registration:webhook",
      "ClusterRoleBinding open-cluster-management:cm-registration:webhook",
      "Role open-cluster-management:cm-registration:webhook",
      "RoleBinding open-cluster-management:cm-registration:webhook",
      "Service cluster-manager-registration-webhook",
      "Deployment cm-registration-webhook",
      "ServiceAccount work-webhook-sa",
      "ClusterRole open-cluster-management:cm-work:webhook",
      "ClusterRoleBinding open-cluster-management:cm-work:webhook",
      "Role open-cluster-management:cm-work:webhook",
      "RoleBinding open-cluster-management:cm-work:webhook",
      "Service cluster-manager-work-webhook",
      "Deployment cm-work-webhook",
      "ServiceAccount addon-webhook-sa",
      "Role open-cluster-management:cm-addon:webhook",
      "RoleBinding open-cluster-management:cm-addon:webhook",
      "Service cluster-manager-addon-webhook",
      "Deployment cm-addon-webhook",
    ]);
    expect(all.filter((name) => name.startsWith("CustomResourceDefinition"))).toHaveLength(14);
  });

  it("removes what clusters leave only while ResourceCleanup is open, and has the right to delete only then", () => {
    const of = (isOpen: boolean) => wishes({ gates: { ClusterProfile: true, ResourceCleanup: isOpen } });
    const program = (objects: readonly DynamicObject[]) =>
      JSON.stringify(objects.find(({ metadata }) => metadata.name === "cm-registration-controller"));
    expect(program(of(true))).not.toContain("ResourceCleanup");
    expect(program(of(false))).toContain("--feature-gates=ResourceCleanup=false");
    const deletable = (objects: readonly DynamicObject[]) => {
      const role = objects.find(({ metadata }) => metadata.name.endsWith("cm-registration:controller"));
      const rules = (role?.rules ?? []) as { resources?: string[]; verbs: string[] }[];
      return rules
        .filter(
          ({ resources = [], verbs }) => verbs.includes("delete") && /manifestworks|addons/.test(resources.join()),
        )
        .flatMap(({ resources }) => resources);
    };
    expect(deletable(of(true))).toEqual(["managedclusteraddons", "manifestworks"]);
    expect(deletable(of(false))).toEqual([]);
  });

  it("carries its labels on definitions, and on all else only if that was asked for", () => {
    const labelled = (objects: readonly DynamicObject[]) =>
      objects.filter(({ metadata }) => metadata.labels?.team === "a").map(({ kind }) => kind);
    expect(new Set(labelled(wishes()))).toEqual(new Set(["CustomResourceDefinition"]));
    const synced = wishes({ syncLabels: true });
    expect(labelled(synced)).toHaveLength(synced.length);
    for (const { metadata } of synced) expect(metadata.labels).not.toHaveProperty("open-cluster-management.io/y");
    const program = synced.find(({ kind }) => kind === "Deployment");
    expect(program?.spec).toMatchObject({ template: { metadata: { labels: { team: "a" } } } });
  });

  it("has no definition that a newer operator wrote", () => {
    const name = "managedclusters.cluster.open-cluster-management.io";
    expect(named(wishes())).toContain(`CustomResourceDefinition ${name}`);
    expect(named(wishes({ newer: new Set([name]) }))).not.toContain(`CustomResourceDefinition ${name}`);
  });

  it("has nothing of Knative's rights where the Knative controller has nothing to do", () => {
    const controllers = ["*", "-knative-serving", "-knative-eventing", "-knative-leftovers"];
    const without = named(wishes({ arguments: { registration: [], knative: [], controllers } }));
    expect(without.filter((name) => /knative-controller|cm-knative|provider-file/.test(name))).toEqual([]);
    expect(without).toContain("Deployment cm-registration-controller");
  });

  it("does not let anybody in without a person while the gate is closed", () => {
    const spec = { registrationConfiguration: { autoApproveUsers: ["alice"] } };
    const args = (gate: boolean) =>
      JSON.stringify(wishes({ gates: { ManagedClusterAutoApproval: gate } }, spec).map((each) => each.spec));
    expect(args(false)).not.toContain("alice");
    expect(args(true)).toContain("--cluster-auto-approval-users=alice");
  });
});

describe("the webhooks of a hub", () => {
  const reached = (services: Record<string, string> = {}, ...programs: ("registration" | "work" | "addon")[]) => ({
    authorities: "AUTHORITIES",
    programs: new Set(programs),
    services: Object.fromEntries(
      Object.entries(services).map(([program, url]) => [
        program,
        {
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: program, annotations: { "webhook.capstan.dev/url": url } },
          spec: {},
        },
      ]),
    ),
  });
  const configurations = (objects: readonly DynamicObject[]) =>
    objects.filter(({ kind }) => kind.endsWith("WebhookConfiguration"));
  const configOf = (objects: readonly DynamicObject[], part: string) => {
    const [found] = configurations(objects).filter(({ metadata }) => metadata.name.startsWith(part));
    return (found?.webhooks as { clientConfig: unknown; rules: unknown }[] | undefined)?.[0];
  };
  const caBundle = Buffer.from("AUTHORITIES").toString("base64");

  it("are asked once somebody answers, each by itself", () => {
    expect(configurations(wishes())).toEqual([]);
    expect(configurations(wishes({ reached: reached() }))).toEqual([]);
    expect(named(configurations(wishes({ reached: reached({}, "work") })))).toEqual([
      "ValidatingWebhookConfiguration manifestworkvalidators.admission.work.open-cluster-management.io",
    ]);
    const both = wishes({ reached: reached({}, "registration", "work") });
    expect(named(configurations(both)).sort()).toEqual([
      "MutatingWebhookConfiguration managedclustermutators.admission.cluster.open-cluster-management.io",
      "ValidatingWebhookConfiguration managedclustersetbindingvalidators.admission.cluster.open-cluster-management.io",
      "ValidatingWebhookConfiguration managedclustervalidators.admission.cluster.open-cluster-management.io",
      "ValidatingWebhookConfiguration manifestworkvalidators.admission.work.open-cluster-management.io",
    ]);
    expect(configOf(both, "managedclustermutators")).toMatchObject({
      clientConfig: {
        caBundle,
        service: {
          namespace: "open-cluster-management-hub",
          name: "cluster-manager-registration-webhook",
          path: "/mutate-cluster-open-cluster-management-io-v1-managedcluster",
          port: 9443,
        },
      },
      failurePolicy: "Fail",
      timeoutSeconds: 10,
      sideEffects: "None",
      admissionReviewVersions: ["v1beta1", "v1"],
      rules: [{ operations: ["CREATE", "UPDATE"], apiVersions: ["*"], resources: ["managedclusters"] }],
    });
  });

  it("are asked where their program says that it listens, but nowhere else than on the machine of the server", () => {
    const at = (url: string) =>
      configOf(wishes({ reached: reached({ work: url }, "work") }), "manifestwork")?.clientConfig;
    expect(at("https://127.0.0.1:4567")).toEqual({
      url: "https://127.0.0.1:4567/validate-work-open-cluster-management-io-v1-manifestwork",
      caBundle,
    });
    for (const url of ["http://127.0.0.1:1", "https://evil.example:1", "https://127.0.0.1.evil.example:1", "x"]) {
      expect(at(url)).toMatchObject({ service: { name: "cluster-manager-work-webhook" } });
    }
  });

  it("listen as the ClusterManager says", () => {
    const bindConfiguration = { port: 1234, healthProbePort: 0, metricsPort: 0, hostNetwork: true };
    const webhookConfiguration = { workWebhookConfiguration: { bindConfiguration } };
    const deployOption = { mode: "Default", default: webhookConfiguration } as const;
    const all = wishes({ reached: reached({}, "work") }, { deployOption });
    const program = (name: string) => all.find(({ metadata }) => metadata.name === name)?.spec;
    const pod = (name: string) => (program(name) as { template: { spec: Record<string, unknown> } }).template.spec;
    const container = (name: string) => (pod(name).containers as Record<string, unknown>[])[0];
    expect(container("cm-work-webhook")).toMatchObject({
      ports: [{ name: "webhook", containerPort: 1234 }],
      args: expect.arrayContaining(["webhook", "work", "--webhook-address=:1234"]),
    });
    expect(JSON.stringify(container("cm-work-webhook"))).not.toMatch(/health|metrics|Probe/);
    expect(pod("cm-work-webhook")).toMatchObject({ hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" });
    expect(program("cluster-manager-work-webhook")).toMatchObject({ ports: [{ port: 1234, targetPort: 1234 }] });
    expect(configOf(all, "manifestwork")).toMatchObject({ clientConfig: { service: { port: 1234 } } });

    expect(container("cm-registration-webhook")).toMatchObject({
      args: [
        "webhook",
        "registration",
        "--webhook-address=:9443",
        "--certificate-dir=/etc/capstan/webhook",
        "--service=open-cluster-management-hub/cluster-manager-registration-webhook",
        "--metrics-address=:8080",
        "--health-address=:8000",
      ],
      readinessProbe: { httpGet: { path: "/readyz", port: 8000 } },
    });
    expect(pod("cm-registration-webhook")).not.toHaveProperty("hostNetwork");
  });

  it("are told of the gates that concern them", () => {
    const args = (gates: object, workGates: object) =>
      wishes({ gates: { ...gates }, workGates: { ...workGates } })
        .filter(({ metadata, kind }) => kind === "Deployment" && metadata.name.endsWith("-webhook"))
        .map(({ metadata, spec }) => [
          metadata.name,
          /--feature-gates=[^"]*/.exec(JSON.stringify(spec))?.[0] ?? "nothing",
        ]);
    expect(args({}, {})).toEqual([
      ["cm-registration-webhook", "nothing"],
      ["cm-work-webhook", "nothing"],
      ["cm-addon-webhook", "nothing"],
    ]);
    expect(args({ DefaultClusterSet: false, ResourceCleanup: false }, { NilExecutorValidating: true })).toEqual([
      ["cm-registration-webhook", "--feature-gates=DefaultClusterSet=false"],
      ["cm-work-webhook", "--feature-gates=NilExecutorValidating=true"],
      ["cm-addon-webhook", "nothing"],
    ]);
  });

  it("bring the kinds of add-ons once somebody converts them", () => {
    const kinds = (...programs: ("addon" | "work")[]) =>
      wishes({ reached: reached({ addon: "https://127.0.0.1:5" }, ...programs) })
        .filter(({ kind, metadata }) => kind === "CustomResourceDefinition" && /clusteraddons/.test(metadata.name))
        .map(({ spec }) => (spec as { conversion?: object }).conversion);
    expect(kinds("work")).toEqual([]);
    expect(kinds("addon")).toEqual([
      expect.objectContaining({
        strategy: "Webhook",
        webhook: expect.objectContaining({ clientConfig: { url: "https://127.0.0.1:5/convert", caBundle } }),
      }),
    ]);
  });
});
