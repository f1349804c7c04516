import { describe, expect, it } from "vitest";
import type { WorkloadOverride } from "#api/knative";
import {
  configMap,
  containerOf,
  eventing,
  nameless,
  podOf,
  seen,
  serving,
  thing,
  workload,
} from "./testing/objects.ts";

const autoscaler = (name: string, spec: object) => thing("autoscaling/v2", "HorizontalPodAutoscaler", name, { spec });

describe("[spec.high-availability.replicas] is the number for all", () => {
  const ha = { "high-availability": { replicas: 3 } };

  it("is the number of all Deployments", () => {
    expect(seen(serving(ha, [workload("controller", { spec: { replicas: 1 } })])[0]).replicas).toBe(3);
    expect(seen(serving({}, [workload("controller", { spec: { replicas: 1 } })])[0]).replicas).toBe(1);
  });

  it.each([
    "pingsource-mt-adapter",
    "webhook",
    "activator",
    "3scale-kourier-gateway",
    "eventing-webhook",
    "mt-broker-ingress",
    "mt-broker-filter",
    "kafka-broker-dispatcher",
    "kafka-source-dispatcher",
    "kafka-channel-dispatcher",
  ])("leaves %s alone, because something else decides", (name) => {
    expect(seen(serving(ha, [workload(name)])[0])).not.toHaveProperty("replicas");
  });

  it("leaves StatefulSets alone", () => {
    expect(seen(serving(ha, [workload("x", { kind: "StatefulSet" })])[0])).not.toHaveProperty("replicas");
  });

  it.each<[string, object, object]>([
    ["goes up, with the same room above", { minReplicas: 1, maxReplicas: 5 }, { minReplicas: 3, maxReplicas: 7 }],
    ["stays where it is high enough", { minReplicas: 4, maxReplicas: 5 }, { minReplicas: 4, maxReplicas: 5 }],
    ["stays where it is just that", { minReplicas: 3, maxReplicas: 3 }, { minReplicas: 3, maxReplicas: 3 }],
    ["has no upper bound where it had none", { minReplicas: 1 }, { minReplicas: 3 }],
    ["counts from nothing where it had no lower bound", { maxReplicas: 5 }, { minReplicas: 3, maxReplicas: 8 }],
  ])("an autoscaler %s", (_, before, after) => {
    expect(serving(ha, [autoscaler("activator", before)])[0]).toMatchObject({ spec: after });
  });

  it("gives way to what is said of a single workload, in either list", () => {
    const one = [{ name: "controller", replicas: 2 }];
    const replicas = (spec: object) => seen(serving({ ...ha, ...spec }, [workload("controller")])[0]).replicas;
    expect(replicas({ workloads: one })).toBe(2);
    expect(replicas({ deployments: one })).toBe(2);
    expect(replicas({ workloads: [{ name: "other", replicas: 2 }] })).toBe(3);
  });
});

describe("[spec.workloads.replicas] is the number for one", () => {
  const wish = (name: string, replicas: number) => ({ workloads: [{ name, replicas }] });

  it("is the number of a Deployment or StatefulSet", () => {
    expect(seen(serving(wish("controller", 4), [workload("controller")])[0]).replicas).toBe(4);
    expect(seen(serving(wish("controller", 0), [workload("controller")])[0]).replicas).toBe(0);
    expect(seen(serving(wish("s", 4), [workload("s", { kind: "StatefulSet" })])[0]).replicas).toBe(4);
    expect(seen(serving(wish("other", 4), [workload("controller")])[0])).not.toHaveProperty("replicas");
  });

  it("goes to the autoscaler where there is one, also under another name", () => {
    const objects = [workload("activator"), autoscaler("activator", { minReplicas: 1, maxReplicas: 20 })];
    const [deployment, hpa] = serving(wish("activator", 5), objects);
    expect(seen(deployment)).not.toHaveProperty("replicas");
    expect(hpa).toMatchObject({ spec: { minReplicas: 5, maxReplicas: 24 } });
    for (const [name, hpaName] of [
      ["mt-broker-ingress", "broker-ingress-hpa"],
      ["mt-broker-filter", "broker-filter-hpa"],
    ] as const) {
      const [only] = eventing(wish(name, 5), [autoscaler(hpaName, { minReplicas: 1, maxReplicas: 10 })]);
      expect(only).toMatchObject({ spec: { minReplicas: 5, maxReplicas: 14 } });
    }
  });
});

const container = (more: object = {}) => ({ name: "controller", image: "gcr.io/x/controller", ...more });
/** The Deployment `controller` as an override leaves it. */
const having = (override: Omit<WorkloadOverride, "name">, before: Parameters<typeof workload>[1] = {}) =>
  serving({ workloads: [{ name: "controller", ...override }] }, [
    workload("controller", { containers: [container()], ...before }),
  ])[0];

describe("an override", () => {
  it("[spec.workloads.name] goes by the name of a Deployment, a StatefulSet, or by the beginning of a Job's", () => {
    const workloads = [
      { name: "migrate-", labels: { a: "b" } },
      { name: "s", labels: { a: "b" } },
      { name: "d", labels: { a: "b" } },
    ];
    const objects = [
      nameless("migrate-"),
      workload("s", { kind: "StatefulSet" }),
      workload("d", { kind: "DaemonSet" }),
      workload("x"),
    ];
    expect(serving({ workloads }, objects).map(({ metadata }) => metadata.labels?.a)).toEqual([
      "b",
      "b",
      undefined,
      undefined,
    ]);
  });

  it("[spec.deployments] is the older name, and has the first word", () => {
    const [deployment] = serving(
      {
        deployments: [{ name: "controller", labels: { a: "1", b: "1" } }],
        workloads: [{ name: "controller", labels: { a: "2" } }],
      },
      [workload("controller")],
    );
    expect(deployment?.metadata.labels).toMatchObject({ a: "2", b: "1" });
  });

  it("[spec.workloads.labels] [spec.workloads.annotations] are put on it and on its Pods", () => {
    const before = { metadata: { labels: { kept: "1" } }, template: { metadata: { labels: { app: "x" } } } };
    const object = having({ labels: { a: "b" }, annotations: { n: "o" } }, before);
    expect(object?.metadata).toMatchObject({ labels: { kept: "1", a: "b" }, annotations: { n: "o" } });
    expect(seen(object).template.metadata).toEqual({ labels: { app: "x", a: "b" }, annotations: { n: "o" } });
  });

  it("leaves no empty maps behind", () => {
    expect(seen(having({ replicas: 1 })).template).not.toHaveProperty("metadata");
    expect(having({ replicas: 1 })?.metadata).not.toHaveProperty("annotations");
  });

  const toleration = { key: "dedicated", operator: "Exists" };
  const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" };
  const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
  it.each<[string, Omit<WorkloadOverride, "name">, object]>([
    [
      "[spec.workloads.nodeSelector] replaces that of the release",
      { nodeSelector: { disk: "ssd" } },
      { nodeSelector: { disk: "ssd" } },
    ],
    [
      "[spec.workloads.tolerations] replaces those of the release",
      { tolerations: [toleration] },
      { tolerations: [toleration] },
    ],
    [
      "[spec.workloads.topologySpreadConstraints] replaces those of the release",
      { topologySpreadConstraints: [spread] },
      { topologySpreadConstraints: [spread] },
    ],
    ["[spec.workloads.affinity] replaces that of the release", { affinity }, { affinity }],
  ])("%s", (_, override, after) => {
    const pod = {
      nodeSelector: { old: "1" },
      tolerations: [{ key: "old" }],
      topologySpreadConstraints: [{ maxSkew: 9 }],
      affinity: { podAffinity: {} },
    };
    expect(podOf(having(override, { pod }))).toEqual({
      ...podOf(workload("controller", { containers: [container()], pod })),
      ...after,
    });
  });

  it("that is empty leaves the Pods as they are", () => {
    const pod = {
      nodeSelector: { old: "1" },
      tolerations: [{ key: "old" }],
      topologySpreadConstraints: [{ maxSkew: 9 }],
    };
    const nothing = { nodeSelector: {}, tolerations: [], topologySpreadConstraints: [], env: [], resources: [] };
    expect(podOf(having(nothing, { pod }))).toMatchObject(pod);
  });

  it("[spec.workloads.hostNetwork] comes with a resolver that knows Services, and can be taken away", () => {
    expect(podOf(having({ hostNetwork: true }))).toMatchObject({
      hostNetwork: true,
      dnsPolicy: "ClusterFirstWithHostNet",
    });
    const off = podOf(having({ hostNetwork: false }, { pod: { hostNetwork: true, dnsPolicy: "Default" } }));
    expect(off).not.toHaveProperty("hostNetwork");
    expect(off.dnsPolicy).toBe("Default");
  });

  it("[spec.workloads.version] [spec.workloads.volumeMounts] do nothing, as ever", () => {
    const volumeMounts = [{ name: "v", mountPath: "/v" }];
    expect(podOf(having({ version: "v1", volumeMounts }))).toEqual({ containers: [container()] });
  });
});

describe("resources", () => {
  const before = { resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "100m" } } };
  const wanted = { container: "controller", limits: { cpu: "2" }, requests: { memory: "10Mi" } };
  const merged = { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "100m", memory: "10Mi" } };
  const objects = [workload("controller", { containers: [container(before), { name: "sidecar" }] })];

  it("[spec.workloads.resources.container] [spec.workloads.resources.limits] [spec.workloads.resources.requests] are merged key by key", () => {
    const [object] = serving({ workloads: [{ name: "controller", resources: [wanted] }] }, objects);
    expect(containerOf(object).resources).toEqual(merged);
    expect(containerOf(object, 1)).toEqual({ name: "sidecar" });
  });

  it("[spec.resources.container] [spec.resources.limits] [spec.resources.requests] are those of that container in all Deployments", () => {
    const [object, set] = serving({ resources: [wanted] }, [
      ...objects,
      workload("s", { kind: "StatefulSet", containers: [container(before)] }),
    ]);
    expect(containerOf(object).resources).toEqual(merged);
    expect(containerOf(set).resources).toEqual(before.resources);
  });

  it("[spec.resources] gives way to what is said of the Deployment", () => {
    const own = { name: "controller", resources: [{ container: "controller", limits: { cpu: "9" } }] };
    const [object] = serving({ resources: [wanted], workloads: [own] }, objects);
    expect(containerOf(object).resources).toEqual({ limits: { cpu: "9", memory: "1Gi" }, requests: { cpu: "100m" } });
  });

  it("appear where there were none", () => {
    const [object] = serving({ resources: [{ container: "controller", requests: { cpu: 1 } }] }, [
      workload("controller"),
    ]);
    expect(containerOf(object).resources).toEqual({ requests: { cpu: 1 } });
  });

  it("[spec.resources.claims] [spec.workloads.resources.claims] do nothing, as ever", () => {
    const claims = [{ name: "gpu" }];
    const [object] = serving({ resources: [{ container: "controller", claims }] }, objects);
    expect(containerOf(object).resources).toEqual(before.resources);
    const [other] = serving(
      { workloads: [{ name: "controller", resources: [{ container: "controller", claims }] }] },
      objects,
    );
    expect(containerOf(other).resources).toEqual(before.resources);
  });
});

describe("[spec.workloads.env.container] [spec.workloads.env.envVars] set variables", () => {
  const env = (envVars: { name: string; value?: string }[]) => ({ env: [{ container: "controller", envVars }] });

  it("take the place of those of the same name, and come last else", () => {
    const containers = [
      container({
        env: [
          { name: "A", valueFrom: { fieldRef: { fieldPath: "x" } } },
          { name: "B", value: "1" },
        ],
      }),
    ];
    expect(
      containerOf(
        having(
          env([
            { name: "A", value: "2" },
            { name: "C", value: "3" },
          ]),
          { containers },
        ),
      ).env,
    ).toEqual([
      { name: "A", value: "2" },
      { name: "B", value: "1" },
      { name: "C", value: "3" },
    ]);
  });

  it("appear where there were none, and only in that container", () => {
    const containers = [container(), { name: "other" }];
    const object = having(env([{ name: "A", value: "1" }]), { containers });
    expect(containerOf(object).env).toEqual([{ name: "A", value: "1" }]);
    expect(containerOf(object, 1)).not.toHaveProperty("env");
  });

  it("reach Jobs", () => {
    const workloads = [{ name: "migrate-", ...env([{ name: "A", value: "1" }]) }];
    const [job] = serving({ workloads }, [nameless("migrate-", { containers: [container()] })]);
    expect(containerOf(job).env).toEqual([{ name: "A", value: "1" }]);
  });
});

describe.each([
  ["[spec.workloads.readinessProbes.container] readiness probes", "readinessProbes", "readinessProbe"],
  ["[spec.workloads.livenessProbes.container] liveness probes", "livenessProbes", "livenessProbe"],
] as const)("%s", (_, list, field) => {
  const probe = { httpGet: { port: 8080 }, periodSeconds: 5, timeoutSeconds: 1 };
  const probeAfter = (override: object, before: object = { [field]: probe }) =>
    containerOf(having({ [list]: [{ container: "controller", ...override }] }, { containers: [container(before)] }))[
      field
    ];

  it.each([
    [
      "[spec.workloads.readinessProbes.initialDelaySeconds] [spec.workloads.livenessProbes.initialDelaySeconds] is merged into the probe",
      { initialDelaySeconds: 7 },
    ],
    [
      "[spec.workloads.readinessProbes.timeoutSeconds] [spec.workloads.livenessProbes.timeoutSeconds] is merged into the probe",
      { timeoutSeconds: 7 },
    ],
    [
      "[spec.workloads.readinessProbes.periodSeconds] [spec.workloads.livenessProbes.periodSeconds] is merged into the probe",
      { periodSeconds: 7 },
    ],
    [
      "[spec.workloads.readinessProbes.successThreshold] [spec.workloads.livenessProbes.successThreshold] is merged into the probe",
      { successThreshold: 7 },
    ],
    [
      "[spec.workloads.readinessProbes.failureThreshold] [spec.workloads.livenessProbes.failureThreshold] is merged into the probe",
      { failureThreshold: 7 },
    ],
    [
      "[spec.workloads.readinessProbes.terminationGracePeriodSeconds] [spec.workloads.livenessProbes.terminationGracePeriodSeconds] is merged into the probe",
      { terminationGracePeriodSeconds: 7 },
    ],
  ])("%s, whose question stays", (_name, override) => {
    expect(probeAfter(override)).toEqual({ ...probe, ...override });
  });

  it("keep a number where the override has a zero", () => {
    expect(probeAfter({ periodSeconds: 0, timeoutSeconds: 3 })).toEqual({ ...probe, timeoutSeconds: 3 });
  });

  it("go when the override has no number", () => {
    expect(probeAfter({})).toBeUndefined();
    expect(probeAfter({ periodSeconds: 0 })).toBeUndefined();
    expect(probeAfter({ terminationGracePeriodSeconds: 0 })).toEqual({ ...probe, terminationGracePeriodSeconds: 0 });
  });

  it("are made where there was none", () => {
    expect(probeAfter({ periodSeconds: 7 }, {})).toEqual({ periodSeconds: 7 });
  });

  it("of other containers stay", () => {
    expect(probeAfter({ container: "other", periodSeconds: 7 })).toEqual(probe);
  });
});

describe("the oldest Kubernetes", () => {
  const variable = { name: "KUBERNETES_MIN_VERSION", value: "v1.30.0" };

  it.each(["Deployment", "StatefulSet", "DaemonSet", "Job"] as const)("is told to every container of a %s", (kind) => {
    const containers = [{ name: "a", env: [{ name: "KUBERNETES_MIN_VERSION", value: "old" }] }, { name: "b" }];
    const [object] = serving({}, [workload("x", { kind, containers, pod: { initContainers: [{ name: "i" }] } })], {
      kubernetesMinVersion: "v1.30.0",
    });
    const { containers: after, initContainers } = podOf(object);
    expect(after.map(({ env }) => env)).toEqual([[variable], [variable]]);
    expect(initContainers).toEqual([{ name: "i", env: [variable] }]);
  });

  it("is told to nobody when nobody says it, nor to what makes no Pods", () => {
    expect(containerOf(serving({}, [workload("x")])[0])).not.toHaveProperty("env");
    expect(containerOf(serving({}, [workload("x")], { kubernetesMinVersion: "" })[0])).not.toHaveProperty("env");
    expect(serving({}, [configMap("a")], { kubernetesMinVersion: "v1.30.0" })[0]).not.toHaveProperty("spec");
  });

  it("gives way to an override", () => {
    const workloads = [
      { name: "x", env: [{ container: "x", envVars: [{ name: "KUBERNETES_MIN_VERSION", value: "v1" }] }] },
    ];
    const [object] = serving({ workloads }, [workload("x")], { kubernetesMinVersion: "v1.30.0" });
    expect(containerOf(object).env).toEqual([{ name: "KUBERNETES_MIN_VERSION", value: "v1" }]);
  });
});
