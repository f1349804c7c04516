import { describe, expect, it } from "vitest";
import { clone } from "#lib/json";
import { ApiError } from "../errors.ts";
import { pullPolicyFor } from "./pod-defaults.ts";
import { qosClass } from "./pods.ts";
import { type Body, context, created, edited, find, shown, updated } from "./testing/drafts.ts";

const container = { name: "c", image: "x" };
const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
const selector = { matchLabels: { a: "b" } };

describe("pod specs", () => {
  const images: [image: string, policy: string, why: string][] = [
    ["nginx", "Always", "no tag means the latest"],
    ["nginx:latest", "Always", "the latest changes"],
    ["nginx:1.27", "IfNotPresent", "a version does not"],
    ["host:5000/nginx", "Always", "a port is not a tag"],
    ["nginx@sha256:abc", "IfNotPresent", "a digest never changes"],
    ["nginx:latest@sha256:abc", "Always", "the tag is looked at first"],
  ];
  it.each(images)("pulls %s %s, because %s", (image, policy) => {
    expect(pullPolicyFor(image)).toBe(policy);
  });

  it("ask for what they may use, when they are Pods", () => {
    const { object } = created(find("Pod"), {
      spec: {
        containers: [
          { ...container, resources: { limits: { cpu: "1000m", memory: "1Gi" }, requests: { cpu: "500m" } } },
        ],
      },
    });
    expect(object.spec).toMatchObject({ containers: [{ resources: { requests: { cpu: "500m", memory: "1Gi" } } }] });
    expect(object.status).toMatchObject({ phase: "Pending", qosClass: "Burstable" });
  });

  it("belong to a class of service", () => {
    const of = (resources: object) => qosClass({ containers: [{ resources }] });
    const both = { cpu: "1", memory: "1Gi" };
    expect(of({})).toBe("BestEffort");
    expect(of({ requests: { cpu: "1" } })).toBe("Burstable");
    expect(of({ limits: both, requests: both })).toBe("Guaranteed");
  });

  const rows: [why: string, spec: Record<string, unknown>, errors: string[]][] = [
    ["something must run", { containers: [] }, ["spec.containers: Required"]],
    ["containers have images", { containers: [{ name: "c" }] }, ["spec.containers[0].image: Required"]],
    ["names are labels", { containers: [{ ...container, name: "C" }] }, ["spec.containers[0].name: Invalid"]],
    ["names are unique", { containers: [container, container] }, ["spec.containers[1].name: Duplicate"]],
    [
      "ports have a range",
      { containers: [{ ...container, ports: [{ containerPort: 70_000 }] }] },
      ["spec.containers[0].ports[0].containerPort: Invalid"],
    ],
    [
      "mounts need a volume",
      { containers: [{ ...container, volumeMounts: [{ name: "v", mountPath: "/v" }] }] },
      ["spec.containers[0].volumeMounts[0].name: NotFound"],
    ],
    [
      "policies are known",
      { containers: [container], restartPolicy: "Sometimes" },
      ["spec.restartPolicy: NotSupported"],
    ],
    [
      "volumes have names",
      { containers: [container], volumes: [{ emptyDir: {} }] },
      ["spec.volumes[0].name: Required"],
    ],
  ];
  it.each(rows)("%s", (_, spec, errors) => {
    expect(shown(created(find("Pod"), { spec }).errors)).toEqual(errors);
  });
});

describe("pods", () => {
  const resource = find("Pod");
  const own = { key: "own", operator: "Exists" };
  const { object: pod } = created(resource, { spec: { containers: [container], tolerations: [own] } });
  const spec = pod.spec as Record<string, unknown>;

  const changes: [why: string, change: Record<string, unknown>, errors: string[]][] = [
    ["the image may change", { containers: [{ ...(spec.containers as object[])[0], image: "y" }] }, []],
    [
      "tolerations may be added",
      { tolerations: [...(spec.tolerations as object[]), { key: "a", operator: "Exists" }] },
      [],
    ],
    ["tolerations may not go", { tolerations: [] }, ["spec.tolerations: Forbidden"]],
    ["tolerations that the server added come back", { tolerations: [own, { key: "a", operator: "Exists" }] }, []],
    ["the account stays", { serviceAccountName: "other", serviceAccount: "other" }, ["spec: Forbidden"]],
    ["the node is set by binding only", { nodeName: "n" }, ["spec: Forbidden"]],
  ];
  it.each(changes)("%s", (_, change, errors) => {
    const next = updated(resource, pod, (draft) => {
      draft.spec = { ...spec, ...change };
    });
    expect(shown(next.errors)).toEqual(errors);
  });

  it("are refused where their account is missing", () => {
    expect(() => created(resource, { spec: { containers: [container], serviceAccountName: "ghost" } })).toThrow(
      'serviceaccount "ghost" not found',
    );
  });

  it("get no token when they want none", () => {
    const { object } = created(resource, { spec: { containers: [container], automountServiceAccountToken: false } });
    expect(object.spec).not.toHaveProperty("volumes");
  });

  it("are bound to a node once", async () => {
    const stored = clone(pod);
    const { subresources } = find("Pod", "", {
      change: async (_storage, _key, edit) => {
        edit(stored);
        return stored;
      },
    });
    const binding = subresources.find(({ name }) => name === "binding");
    const request = {
      parent: pod,
      body: { apiVersion: "v1", kind: "Binding", metadata: { name: "x" }, target: { kind: "Node", name: "n1" } },
      context,
    };

    expect(await binding?.answer?.(request)).toMatchObject({ kind: "Status", status: "Success" });
    expect(stored.spec).toMatchObject({ nodeName: "n1" });
    expect(stored.status).toMatchObject({ conditions: [{ type: "PodScheduled", status: "True" }] });
    await expect(binding?.answer?.(request)).rejects.toThrow('pod x is already assigned to node "n1"');
  });

  it("keep their class of service through /status", () => {
    const { errors } = edited(resource, "status", pod, (draft) => {
      draft.status = { phase: "Running", qosClass: "Guaranteed" };
    });
    expect(shown(errors)).toEqual(["status.qosClass: Invalid"]);
  });
});

describe("workloads", () => {
  const rows: [why: string, kind: string, spec: Record<string, unknown>, errors: string[]][] = [
    [
      "a selector is needed",
      "ReplicaSet",
      { template },
      ["spec.selector: Required", "spec.template.metadata.labels: Invalid"],
    ],
    ["an empty selector would take all", "Deployment", { template, selector: {} }, ["spec.selector: Invalid"]],
    [
      "the selector finds its own Pods",
      "StatefulSet",
      { template, selector: { matchLabels: { a: "c" } } },
      ["spec.template.metadata.labels: Invalid"],
    ],
    [
      "Pods are always restarted",
      "DaemonSet",
      { selector, template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } },
      ["spec.template.spec.restartPolicy: NotSupported"],
    ],
    ["replicas are not negative", "Deployment", { selector, template, replicas: -1 }, ["spec.replicas: Invalid"]],
    [
      "a rollout can move",
      "Deployment",
      { selector, template, strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } } },
      ["spec.strategy.rollingUpdate.maxUnavailable: Invalid"],
    ],
    ["jobs come to an end", "Job", { template }, ["spec.template.spec.restartPolicy: Required"]],
    [
      "cron has five fields",
      "CronJob",
      { schedule: "* *", jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: "Never" } } } } },
      ["spec.schedule: Invalid"],
    ],
  ];
  it.each(rows)("%s", (_, kind, spec, errors) => {
    expect(shown(created(find(kind), { spec }).errors)).toEqual(errors);
  });

  it("keep their selector", () => {
    const resource = find("Deployment");
    const { object } = created(resource, { spec: { selector, template } });
    const { errors } = updated(resource, object, (draft) => {
      draft.spec = {
        selector: { matchLabels: { a: "b", c: "d" } },
        template: { ...template, metadata: { labels: { a: "b", c: "d" } } },
      };
    });
    expect(shown(errors)).toEqual(["spec.selector: Invalid"]);
  });

  it("count the templates of a DaemonSet", () => {
    const resource = find("DaemonSet");
    const { object } = created(resource, { spec: { selector, template } });
    const next = (edit: Body) =>
      updated(resource, object, (draft) => Object.assign(draft, clone(edit))).object.metadata.annotations;
    expect(next({})).toEqual({ "deprecated.daemonset.template.generation": "1" });
    expect(
      next({ spec: { selector, template: { ...template, spec: { containers: [{ ...container, image: "y" }] } } } }),
    ).toEqual({ "deprecated.daemonset.template.generation": "2" });
  });

  it("keep a StatefulSet's identity", () => {
    const resource = find("StatefulSet");
    const { object } = created(resource, { spec: { selector, template, serviceName: "s" } });
    const { errors } = updated(resource, object, (draft) => {
      draft.spec = { selector, template, serviceName: "t", replicas: 5 };
    });
    expect(errors).toMatchObject([{ field: "spec", reason: "FieldValueForbidden" }]);
  });
});

describe("/scale", () => {
  const resource = find("Deployment");
  const { object } = created(resource, {
    spec: { selector: { matchLabels: { b: "1", a: "b" } }, template, replicas: 3 },
  });
  const view = resource.subresources.find(({ name }) => name === "scale")?.view;

  it("shows replicas and the selector as text", () => {
    expect(view?.read(object)).toMatchObject({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "x", namespace: "default" },
      spec: { replicas: 3 },
      status: { replicas: 0, selector: "a=b,b=1" },
    });
  });

  it("writes replicas and nothing else", () => {
    const draft = clone(object);
    view?.write(draft, { apiVersion: "", kind: "", metadata: { name: "x" }, spec: { replicas: 5 } });
    expect(draft).toEqual({ ...object, spec: { ...(object.spec as object), replicas: 5 } });
  });

  it("refuses less than none", () => {
    const wish = { apiVersion: "", kind: "", metadata: { name: "x" }, spec: { replicas: -1 } };
    expect(() => view?.write(clone(object), wish)).toThrow(ApiError);
  });
});

describe("autoscalers", () => {
  const v2 = find("HorizontalPodAutoscaler", "autoscaling/v2");
  const v1 = find("HorizontalPodAutoscaler", "autoscaling/v1");
  const spec = { scaleTargetRef: { kind: "Deployment", name: "d" }, maxReplicas: 3 };

  it("watch the CPU when told nothing", () => {
    const { object, errors } = created(v2, { spec });
    expect(errors).toEqual([]);
    expect(object.spec).toMatchObject({
      minReplicas: 1,
      metrics: [{ resource: { name: "cpu", target: { averageUtilization: 80 } } }],
    });
    expect(v2.table.row(object, context.now).slice(0, 6)).toEqual([
      "x",
      "Deployment/d",
      "cpu: <unknown>/80%",
      "1",
      3,
      0,
    ]);
  });

  it("are stored as v2 when they come as v1, and shown as v1 again", () => {
    const { object } = created(v1, { spec: { ...spec, targetCPUUtilizationPercentage: 50 } });
    expect(object).toMatchObject({
      apiVersion: "autoscaling/v2",
      spec: { metrics: [{ resource: { target: { averageUtilization: 50 } } }] },
    });
    expect(v1.strategy.present(object)).toMatchObject({
      apiVersion: "autoscaling/v1",
      spec: { ...spec, targetCPUUtilizationPercentage: 50 },
      status: { currentReplicas: 0, desiredReplicas: 0 },
    });
  });

  it("lose nothing to a client that reads and writes v1", () => {
    const target = { type: "AverageValue", averageValue: "10" };
    const metrics = [{ type: "External", external: { metric: { name: "queue" }, target } }];
    const { object } = created(v2, {
      spec: { ...spec, metrics, behavior: { scaleDown: { policies: [], tolerance: "1" } } },
    });
    const through = v1.strategy.decode(v1.strategy.present(object)).object;
    expect(through.spec).toEqual(object.spec);
    expect(through.metadata.annotations ?? {}).toEqual({});
  });
});
