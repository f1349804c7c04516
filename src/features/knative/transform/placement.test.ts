import { describe, expect, it } from "vitest";
import { placed } from "./index.ts";
import { configMap, eventing, nameless, OWNER, service, serving, thing, workload } from "./testing/objects.ts";

const namespaceOf = (name: string) => thing("v1", "Namespace", name);

describe("the namespace", () => {
  it("is that of everything that lies in one, whatever the release says", () => {
    const [map] = serving({}, [thing("v1", "ConfigMap", "a", { metadata: { namespace: "knative-serving" } })]);
    expect(map?.metadata.namespace).toBe("knative");
  });

  it("is what every Namespace of a release becomes, and there is one of it", () => {
    expect(serving({}, [namespaceOf("knative-serving"), namespaceOf("kourier-system")])).toEqual([
      expect.objectContaining({ metadata: expect.objectContaining({ name: "knative" }) }),
    ]);
  });

  it.each([
    ["rbac.authorization.k8s.io/v1", "ClusterRole"],
    ["apiextensions.k8s.io/v1", "CustomResourceDefinition"],
    ["admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"],
    ["gateway.networking.k8s.io/v1", "GatewayClass"],
    ["networking.k8s.io/v1", "IngressClass"],
    ["cert-manager.io/v1", "ClusterIssuer"],
    ["scheduling.k8s.io/v1", "PriorityClass"],
  ])("is none for %s %s, nor has it an owner, because it lies in no namespace", (apiVersion, kind) => {
    const content = { metadata: { namespace: "stray" }, spec: { group: "x", names: { kind: "X" }, scope: "Cluster" } };
    const [object] = serving({}, [thing(apiVersion, kind, "a", content)]);
    expect(object?.metadata).toEqual({ name: "a", labels: { "app.kubernetes.io/name": "knative-serving" } });
  });

  it("follows discovery first, then the definitions of the release", () => {
    const definition = thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets.x.dev", {
      spec: { group: "x.dev", scope: "Cluster", names: { kind: "Widget", plural: "widgets" } },
    });
    const widget = thing("x.dev/v1", "Widget", "w");
    expect(serving({}, [definition, widget])[1]?.metadata.namespace).toBeUndefined();
    const scopeOf = () => "Namespaced" as const;
    expect(serving({}, [definition, widget], { scopeOf })[1]?.metadata.namespace).toBe("knative");
    expect(serving({}, [widget])[0]?.metadata.namespace).toBe("knative");
  });

  it("is named wherever another object names it, and only where it named one before", () => {
    const webhooks = [{ name: "w", clientConfig: { service: { name: "s", namespace: "knative-serving" } } }];
    const subjects = [
      { kind: "ServiceAccount", name: "c", namespace: "knative-serving" },
      { kind: "Group", name: "g" },
    ];
    const conversion = { webhook: { clientConfig: { service: { name: "s", namespace: "knative-serving" } } } };
    const rbac = "rbac.authorization.k8s.io/v1";
    const objects = serving({}, [
      thing("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "m", { webhooks }),
      thing("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "v", {
        webhooks: [{ name: "url", clientConfig: { url: "https://x" } }],
      }),
      thing(rbac, "ClusterRoleBinding", "c", { subjects }),
      thing(rbac, "RoleBinding", "r", { subjects }),
      thing("apiregistration.k8s.io/v1", "APIService", "a", { spec: { service: { name: "s", namespace: "old" } } }),
      thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", "d", {
        spec: { group: "x", names: { kind: "X" }, scope: "Cluster", conversion },
      }),
    ]);
    const moved = [
      { kind: "ServiceAccount", name: "c", namespace: "knative" },
      { kind: "Group", name: "g" },
    ];
    expect(objects).toMatchObject([
      { webhooks: [{ clientConfig: { service: { name: "s", namespace: "knative" } } }] },
      { webhooks: [{ name: "url", clientConfig: { url: "https://x" } }] },
      { subjects: moved },
      { subjects: moved },
      { spec: { service: { namespace: "knative" } } },
      { spec: { conversion: { webhook: { clientConfig: { service: { namespace: "knative" } } } } } },
    ]);
    expect(objects[2]).not.toHaveProperty("subjects.1.namespace");
  });

  it("[spec.namespace.labels] [spec.namespace.annotations] are put on it beside what it has", () => {
    const release = thing("v1", "Namespace", "knative-serving", { metadata: { labels: { kept: "1", changed: "1" } } });
    const wished = { labels: { changed: "2", added: "3" }, annotations: { note: "x" } };
    const [namespace, map] = serving({ namespace: wished }, [release, configMap("a")]);
    expect(namespace?.metadata).toMatchObject({
      labels: { kept: "1", changed: "2", added: "3" },
      annotations: { note: "x" },
    });
    expect(map?.metadata.annotations).toBeUndefined();
  });

  it("[spec.namespaceConfiguration.labels] [spec.namespaceConfiguration.annotations] are the same, and give way key by key", () => {
    const [namespace] = serving(
      {
        namespaceConfiguration: { labels: { a: "old", b: "old" }, annotations: { note: "old" } },
        namespace: { labels: { a: "new" } },
      },
      [namespaceOf("knative-serving")],
    );
    expect(namespace?.metadata.labels).toMatchObject({ a: "new", b: "old" });
    expect(namespace?.metadata.annotations).toEqual({ note: "old" });
  });
});

describe("owners and labels", () => {
  it("are those of the installation, and no others", () => {
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "other", uid: "u-9" }];
    const [map] = serving({}, [thing("v1", "ConfigMap", "a", { metadata: { ownerReferences } })]);
    expect(map?.metadata.ownerReferences).toEqual([{ ...OWNER, controller: true, blockOwnerDeletion: true }]);
    expect(map?.metadata.labels).toEqual({ "app.kubernetes.io/name": "knative-serving" });
  });

  it("are the anchor's on another cluster", () => {
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "knativeserving-ks-root-owner", uid: "u-2" };
    const [map] = serving({}, [configMap("a")], { owner });
    expect(map?.metadata.ownerReferences).toMatchObject([owner]);
  });

  it("overwrite the label of a release", () => {
    const labels = { "app.kubernetes.io/name": "other", kept: "1" };
    const [map] = eventing({}, [thing("v1", "ConfigMap", "a", { metadata: { labels } })]);
    expect(map?.metadata.labels).toEqual({ "app.kubernetes.io/name": "knative-eventing", kept: "1" });
  });
});

describe("Jobs", () => {
  it("are named after the version, because a Job cannot be changed", () => {
    const names = (component: typeof serving) =>
      component({}, [nameless("storage-version-migration-"), workload("clean", { kind: "Job" })]).map(
        ({ metadata }) => metadata.name,
      );
    expect(names(serving)).toEqual(["storage-version-migration-serving-1.23.0", "clean-serving-1.23.0"]);
    expect(names(eventing)).toEqual(["storage-version-migration-eventing-1.23.0", "clean-eventing-1.23.0"]);
  });

  it("keep the beginning of their name, because overrides go by it", () => {
    expect(serving({}, [nameless("a-")])[0]?.metadata.generateName).toBe("a-");
  });

  it("get no sidecar of Istio, unless they ask for one", () => {
    const label = "sidecar.istio.io/inject";
    const asking = { metadata: { labels: { [label]: "true" } } };
    const [without, having] = serving({}, [nameless("a-"), nameless("b-", { template: asking })]);
    expect(without).toHaveProperty(["spec", "template", "metadata", "labels", label], "false");
    expect(having).toHaveProperty(["spec", "template", "metadata", "labels", label], "true");
  });
});

describe("aggregated roles", () => {
  const role = thing("rbac.authorization.k8s.io/v1", "ClusterRole", "admin", {
    aggregationRule: { clusterRoleSelectors: [] },
    rules: [],
  });
  const rules = [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }];

  it("keep the rules that the cluster has put together", () => {
    expect(serving({}, [role], { aggregatedRules: (name) => (name === "admin" ? rules : undefined) })[0]).toMatchObject(
      { rules },
    );
  });

  it("are as written where there are none yet, and other roles always", () => {
    expect(serving({}, [role], { aggregatedRules: () => undefined })[0]).toMatchObject({ rules: [] });
    const plain = thing("rbac.authorization.k8s.io/v1", "ClusterRole", "admin", { rules: [] });
    expect(serving({}, [plain], { aggregatedRules: () => rules })[0]).toMatchObject({ rules: [] });
  });
});

describe("what is there twice", () => {
  it("is applied once, as it came last", () => {
    const maps = serving({}, [configMap("a", { v: "1" }), service("s"), configMap("a", { v: "2" })]);
    expect(maps).toMatchObject([{ data: { v: "2" } }, { kind: "Service" }]);
  });

  it("counts in whatever version", () => {
    const objects = [
      thing("autoscaling/v1", "HorizontalPodAutoscaler", "h"),
      thing("autoscaling/v2", "HorizontalPodAutoscaler", "h"),
    ];
    expect(serving({}, objects)).toHaveLength(1);
  });
});

describe("what was installed", () => {
  it("is named as it was, and lies where it lay", () => {
    const manifests = [configMap("a"), nameless("migrate-"), service("knative-local-gateway"), namespaceOf("x")].map(
      (object) => ({ object, source: "test" }),
    );
    const options = {
      component: { kind: "KnativeServing", spec: {} },
      installNamespace: "knative",
      version: "1.22.0",
    } as const;
    expect(placed(manifests, options).map(({ object: { metadata } }) => [metadata.namespace, metadata.name])).toEqual([
      ["knative", "a"],
      ["knative", "migrate-serving-1.22.0"],
      ["istio-system", "knative-local-gateway"],
      [undefined, "knative"],
    ]);
  });
});

describe("what is put together wrongly", () => {
  it.each<[string, object]>([
    ["apps/v1 Deployment", {}],
    ["apps/v1 Deployment", { spec: null }],
    ["apps/v1 Deployment", { spec: { template: { spec: { containers: [null] } } } }],
    [
      "apps/v1 Deployment",
      { spec: { template: { metadata: null, spec: { containers: [{ name: "kourier", env: null }] } } } },
    ],
    ["batch/v1 Job", { spec: { template: {} } }],
    ["v1 Service", { spec: null }],
    ["v1 Service", { spec: { ports: null, selector: null } }],
    ["v1 ConfigMap", { data: null }],
    ["v1 Namespace", { metadata: { labels: null, annotations: null } }],
    ["policy/v1 PodDisruptionBudget", {}],
    ["autoscaling/v2 HorizontalPodAutoscaler", { spec: null }],
    ["apiextensions.k8s.io/v1 CustomResourceDefinition", { spec: null }],
    ["apiextensions.k8s.io/v1 CustomResourceDefinition", { spec: { names: null } }],
    ["networking.istio.io/v1 Gateway", {}],
    ["caching.internal.knative.dev/v1alpha1 Image", { spec: null }],
    ["rbac.authorization.k8s.io/v1 ClusterRoleBinding", { subjects: null }],
    ["admissionregistration.k8s.io/v1 MutatingWebhookConfiguration", { webhooks: [null, { clientConfig: null }] }],
  ])("%s with %j is left to the server to refuse", (type, content) => {
    const [apiVersion = "", kind = ""] = type.split(" ");
    const spec = {
      registry: { default: "x", imagePullSecrets: [{ name: "s" }] },
      config: { kourier: { a: "b" } },
      namespace: { labels: { a: "b" } },
      resources: [{ container: "kourier", limits: { cpu: 1 } }],
      "high-availability": { replicas: 2 },
      services: [{ name: "kourier", selector: { a: "b" } }],
      podDisruptionBudgets: [{ name: "kourier", minAvailable: 1 }],
      workloads: [
        { name: "kourier", replicas: 3, labels: { a: "b" }, env: [{ container: "kourier", envVars: [{ name: "A" }] }] },
      ],
      ingress: {
        istio: { enabled: true },
        kourier: { enabled: true, "service-type": "NodePort", "http-port": 30_080 },
      },
    };
    expect(
      serving(spec, [thing(apiVersion, kind, "kourier", content)], { kubernetesMinVersion: "v1.30.0" }),
    ).toHaveLength(1);
  });
});

describe("originals", () => {
  it("are left as they are, because others install them too", () => {
    const frozen = <T>(value: T): T => {
      if (typeof value === "object" && value !== null)
        for (const inner of Object.values(Object.freeze(value))) frozen(inner);
      return value;
    };
    const objects = frozen([
      workload("controller"),
      configMap("config-features", { a: "1" }),
      namespaceOf("n"),
      service("kourier", { ports: [{ name: "https", port: 443 }] }),
    ]);
    const spec = {
      registry: { default: "example.com/x", imagePullSecrets: [{ name: "s" }] },
      config: { features: { a: "2" } },
      workloads: [{ name: "controller", labels: { a: "b" }, replicas: 2 }],
      namespace: { labels: { a: "b" } },
      "controller-custom-certs": { type: "Secret", name: "x" },
      ingress: { kourier: { enabled: true, "service-type": "NodePort", "https-port": 30_443 } },
      security: { securityGuard: { enabled: true } },
    };
    expect(serving(spec, objects, { kubernetesMinVersion: "v1.30.0" })).toHaveLength(4);
  });
});
